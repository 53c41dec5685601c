// SPDX-License-Identifier: Apache-2.0

// Named formats: the checks of names that the API itself makes.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "cel/library/costs.h"
#include "cel/program.h"
#include "golang/url.h"
#include "kube_cel/libraries.h"

namespace portcullis::kube_cel {
namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Style;
using cel::Value;
using Texts = std::vector<std::string>;

// Names that end in "-" before something generated is appended.
std::string WithoutTrailingDash(std::string_view text) {
  if (text.size() > 1 && text.ends_with('-')) {
    return base::StrCat(text.substr(0, text.size() - 2), "a");
  }
  return std::string(text);
}

template <Texts (*check)(std::string_view)>
Texts AsPrefix(std::string_view text) {
  return check(WithoutTrailingDash(text));
}

Texts CheckUri(std::string_view text) {
  const auto uri = golang::ParseRequestUri(text);
  return uri.ok() ? Texts{} : Texts{uri.status().message()};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

Texts CheckUuid(std::string_view text) {
  constexpr std::array<std::size_t, 5> kGroups = {8, 4, 4, 4, 12};
  std::size_t at = 0;
  bool valid = true;
  for (std::size_t group = 0; group < kGroups.size() && valid; ++group) {
    if (group > 0 && at < text.size() && text[at] == '-') ++at;
    valid = at + kGroups[group] <= text.size() &&
            std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at),
                        text.begin() + static_cast<std::ptrdiff_t>(at + kGroups[group]), IsHex);
    at += kGroups[group];
  }
  return valid && at == text.size() ? Texts{} : Texts{"does not match the UUID format"};
}

Texts CheckByte(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const auto digits = text.substr(0, text.size() - padding);
  const bool valid = !text.empty() && text.size() % 4 == 0 &&
                     std::all_of(digits.begin(), digits.end(), [](char c) {
                       return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              c == '+' || c == '/';
                     });
  return valid ? Texts{} : Texts{"invalid base64"};
}

int Number(std::string_view text) {
  int value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

bool IsDate(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != 4 && i != 7 && !IsDigit(text[i])) return false;
  }
  const int year = Number(text.substr(0, 4));
  const int month = Number(text.substr(5, 2));
  const int day = Number(text.substr(8, 2));
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const int days = kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
  return day >= 1 && day <= days;
}

Texts CheckDate(std::string_view text) { return IsDate(text) ? Texts{} : Texts{"invalid date"}; }

bool IsClock(std::string_view text) {
  if (text.size() < 9) return false;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i % 3 == 2 ? text[i] != ':' : !IsDigit(text[i])) return false;
  }
  if (text.substr(0, 2) > "23" || text.substr(3, 2) > "59" || text.substr(6, 2) > "59") {
    return false;
  }
  text.remove_prefix(8);
  if (text.size() > 1 && IsDigit(text[1]) && text[0] != '+' && text[0] != '-') {
    text.remove_prefix(1);
    while (!text.empty() && IsDigit(text[0])) text.remove_prefix(1);
  }
  if (text == "z" || text == "Z") return true;
  return text.size() == 6 && (text[0] == '+' || text[0] == '-') && IsDigit(text[1]) &&
         IsDigit(text[2]) && text[3] == ':' && IsDigit(text[4]) && IsDigit(text[5]);
}

Texts CheckDateTime(std::string_view text) {
  const auto t = text.find_first_of("tT");
  const bool valid =
      t != std::string_view::npos && IsDate(text.substr(0, t)) && IsClock(text.substr(t + 1));
  return valid ? Texts{} : Texts{"invalid datetime"};
}

struct Format {
  std::string_view name;
  Texts (*check)(std::string_view text);
  std::uint64_t pattern_size;  // what validating costs, as a length of a regular expression
};

constexpr std::uint64_t kUuidPattern = 70;
constexpr std::uint64_t kTimePattern = 71;

constexpr Format kFormats[] = {
    {"dns1123Label", &api::IsDns1123Label, 30},
    {"dns1123Subdomain", &api::IsDns1123Subdomain, 60},
    {"dns1035Label", &api::IsDns1035Label, 30},
    {"qualifiedName", &api::IsQualifiedName, 60},
    {"dns1123LabelPrefix", &AsPrefix<&api::IsDns1123Label>, 30},
    {"dns1123SubdomainPrefix", &AsPrefix<&api::IsDns1123Subdomain>, 60},
    {"dns1035LabelPrefix", &AsPrefix<&api::IsDns1035Label>, 30},
    {"labelValue", &api::IsValidLabelValue, 40},
    {"uri", &CheckUri, 1103},
    {"uuid", &CheckUuid, kUuidPattern},
    {"byte", &CheckByte, 84},
    {"date", &CheckDate, kTimePattern},
    {"datetime", &CheckDateTime, kTimePattern},
};

class FormatValue final : public cel::Object {
 public:
  explicit FormatValue(const Format& format) : format_(&format) {}
  ~FormatValue() = default;
  const cel::Type* type() const override { return &kFormatType; }
  const Format& format() const { return *format_; }
  std::string_view GoType() const override { return "cel.Format"; }
  bool IsHashable() const override { return false; }
  Value Equals(json::Arena&, Value other) const override {
    if (!other.is_object() || other.object()->type() != &kFormatType) return cel::NoSuchOverload();
    return Value::Bool(static_cast<const FormatValue*>(other.object())->format_ == format_);
  }

 private:
  const Format* format_;
};

template <std::size_t index>
Value Get(EvalContext& context, std::span<const Value>) {
  return Value::FromObject(cel::New<FormatValue>(context.arena(), kFormats[index]));
}

Value Named(EvalContext& context, std::span<const Value> args) {
  for (const Format& format : kFormats) {
    if (format.name != args[0].text()) continue;
    return cel::MakeSome(context.arena(),
                         Value::FromObject(cel::New<FormatValue>(context.arena(), format)));
  }
  return Value::None();
}

Value ValidateText(EvalContext& context, std::span<const Value> args) {
  const Format& format = static_cast<const FormatValue*>(args[0].object())->format();
  const Texts problems = format.check(args[1].text());
  if (problems.empty()) return Value::None();
  std::vector<Value> list;
  for (const std::string& problem : problems) {
    list.push_back(cel::MakeString(context.arena(), problem));
  }
  return cel::MakeSome(context.arena(), cel::MakeList(context.arena(), list));
}

std::uint64_t ValidateCost(std::span<const Value> args, Value) {
  if (!args[0].is_object() || args[0].object()->type() != &kFormatType) return 1;
  const Format& format = static_cast<const FormatValue*>(args[0].object())->format();
  return cel::ScaledCost(cel::CostSize(args[1]) + 1, 0.1) *
         cel::ScaledCost(format.pattern_size, 0.25);
}

std::optional<cel::CallEstimate> EstimateValidate(
    std::span<const cel::EstimatedArgument* const> args) {
  const cel::Range text = cel::ScaleByFactor(args[1]->size(), 0.1);
  constexpr double kLongestPattern = 128 * 0.25;
  return cel::CallEstimate{cel::ScaleByFactor(text, kLongestPattern), std::nullopt};
}

constexpr cel::Function Getter(std::string_view name, std::string_view id, cel::FunctionImpl impl,
                               std::string_view doc, std::string_view example) {
  return {.name = name,
          .id = id,
          .signature = "() -> kubernetes.NamedFormat",
          .impl = impl,
          .since = 31,
          .doc = doc,
          .example = example};
}

constexpr cel::Function kFunctions[] = {
    {.name = "format.named",
     .id = "format_named",
     .signature = "(string) -> optional_type(kubernetes.NamedFormat)",
     .impl = &Named,
     .since = 31,
     .doc = "The format of that name, if there is one.",
     .example = "format.named('uuid').hasValue()"},
    {.name = "validate",
     .id = "format_validate",
     .style = Style::kMember,
     .signature = "(kubernetes.NamedFormat, string) -> optional_type(list(string))",
     .impl = &ValidateText,
     .cost = &ValidateCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateValidate,
     .since = 31,
     .doc = "What is wrong with a text; nothing if it fits.",
     .example = "!format.dns1123Label().validate('a-b').hasValue()"},
    Getter("format.dns1123Label", "format_dns1123Label", &Get<0>, "An RFC 1123 label.",
           "!format.dns1123Label().validate('a').hasValue()"),
    Getter("format.dns1123Subdomain", "format_dns1123Subdomain", &Get<1>, "An RFC 1123 subdomain.",
           "!format.dns1123Subdomain().validate('a.b').hasValue()"),
    Getter("format.dns1035Label", "format_dns1035Label", &Get<2>, "An RFC 1035 label.",
           "!format.dns1035Label().validate('a').hasValue()"),
    Getter("format.qualifiedName", "format_qualifiedName", &Get<3>, "A qualified name.",
           "!format.qualifiedName().validate('a.b/c').hasValue()"),
    Getter("format.dns1123LabelPrefix", "format_dns1123LabelPrefix", &Get<4>,
           "The beginning of an RFC 1123 label.",
           "!format.dns1123LabelPrefix().validate('ab-').hasValue()"),
    Getter("format.dns1123SubdomainPrefix", "format_dns1123SubdomainPrefix", &Get<5>,
           "The beginning of an RFC 1123 subdomain.",
           "!format.dns1123SubdomainPrefix().validate('a.b-').hasValue()"),
    Getter("format.dns1035LabelPrefix", "format_dns1035LabelPrefix", &Get<6>,
           "The beginning of an RFC 1035 label.",
           "!format.dns1035LabelPrefix().validate('ab-').hasValue()"),
    Getter("format.labelValue", "format_labelValue", &Get<7>, "The value of a label.",
           "!format.labelValue().validate('A_b').hasValue()"),
    Getter("format.uri", "format_uri", &Get<8>, "What url() accepts.",
           "!format.uri().validate('https://a.b').hasValue()"),
    Getter("format.uuid", "format_uuid", &Get<9>, "A UUID, with or without dashes.",
           "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()"),
    Getter("format.byte", "format_byte", &Get<10>, "Base64 with padding.",
           "!format.byte().validate('aGVsbG8=').hasValue()"),
    Getter("format.date", "format_date", &Get<11>, "A date, 2006-01-02.",
           "!format.date().validate('2024-02-29').hasValue()"),
    Getter("format.datetime", "format_datetime", &Get<12>, "A moment as RFC 3339 writes it.",
           "!format.datetime().validate('2024-02-29T01:02:03Z').hasValue()"),
};

}  // namespace

constinit const cel::Library kFormatLibrary = {.name = "kubernetes.format",
                                               .functions = kFunctions};

}  // namespace portcullis::kube_cel

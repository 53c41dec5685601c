// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/checks.h"

#include <algorithm>

#include "api/annotations.h"
#include "api/named_value.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kNonNegative = "must be greater than or equal to 0";
constexpr std::string_view kFieldIsImmutable = "field is immutable";

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

void AddInvalid(const FieldPath& path, std::string_view value,
                const std::vector<std::string>& texts, FieldErrors& errors) {
  for (const std::string& text : texts) errors.push_back(api::Invalid(path, value, text));
}

bool RequireField(json::Value parent, std::string_view name, const FieldPath& parent_path,
                  FieldErrors& errors, std::string_view detail) {
  const json::Value value = parent[name];
  const bool absent = value.is_null() || (value.is_string() && value.AsString().empty()) ||
                      ((value.is_array() || value.is_object()) && value.empty());
  if (absent) errors.push_back(api::Required(parent_path.Child(name), detail));
  return !absent;
}

bool CheckOneOf(json::Value value, const FieldPath& path,
                std::initializer_list<std::string_view> allowed, FieldErrors& errors, GoType type) {
  const std::string_view text = value.AsString();
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return true;
  errors.push_back(api::NotSupported(
      path, type == GoType::kNamed ? api::NamedValue(text) : api::BadValue(text), allowed));
  return false;
}

void CheckNonNegative(std::int64_t value, const FieldPath& path, FieldErrors& errors) {
  if (value < 0) errors.push_back(api::Invalid(path, value, kNonNegative));
}

void CheckNonNegative(json::Value value, const FieldPath& path, FieldErrors& errors) {
  CheckNonNegative(value.AsInt(), path, errors);
}

void CheckPositive(json::Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_int() && value.AsInt() <= 0) {
    errors.push_back(api::Invalid(path, value.AsInt(), "must be greater than 0"));
  }
}

void CheckPort(std::int64_t port, const FieldPath& path, FieldErrors& errors) {
  if (port < 1 || port > 65535) {
    errors.push_back(api::Invalid(path, port, "must be between 1 and 65535, inclusive"));
  }
}

void CheckPortNumOrName(json::Value port, const FieldPath& path, FieldErrors& errors) {
  if (port.is_string()) {
    AddInvalid(path, port.AsString(), IsValidPortName(port.AsString()), errors);
  } else {
    CheckPort(port.AsInt(), path, errors);
  }
}

bool CheckImmutable(json::Value value, json::Value old, const FieldPath& path,
                    FieldErrors& errors) {
  if (value == old) return true;
  errors.push_back(api::Invalid(path, value, kFieldIsImmutable));
  return false;
}

void CheckDomainPrefixedPath(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  if (value.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const std::string_view host = value.substr(0, value.find('/'));
  const std::string_view rest = value.substr(std::min(value.size(), host.size() + 1));
  if (host.empty() || rest.empty()) {
    errors.push_back(
        api::Invalid(path, value, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    return;
  }
  CheckSubdomain(host, path, errors);
  constexpr std::string_view kOthers = "/-._~%!$&'()*+,;=:";
  const bool good = std::all_of(rest.begin(), rest.end(), [&](char c) {
    return IsLetterOrDigit(c) || kOthers.find(c) != std::string_view::npos;
  });
  if (good) return;
  errors.push_back(api::Invalid(path, rest,
                                "Invalid path (regex used for validation is "
                                "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
}

void CheckLabels(json::Value labels, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* label : json::MembersByName(labels)) {
    AddInvalid(path, label->name(), api::IsQualifiedName(label->name()), errors);
    AddInvalid(path, label->value.AsString(), api::IsValidLabelValue(label->value.AsString()),
               errors);
  }
}

void CheckAnnotations(json::Value annotations, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* annotation : json::MembersByName(annotations)) {
    const std::string lower = base::ToLower(annotation->name());
    AddInvalid(path, annotation->name(), api::IsQualifiedName(lower), errors);
  }
  if (api::AnnotationBytes(annotations) > api::kMaxAnnotationBytes) {
    errors.push_back(api::TooLong(path, static_cast<int>(api::kMaxAnnotationBytes)));
  }
}

std::optional<std::int64_t> PercentOf(json::Value value) {
  const std::string_view text = value.AsString();
  if (text.empty() || text.back() != '%') return std::nullopt;
  const std::string_view digits = text.substr(0, text.size() - 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return base::ParseInt(digits);
}

void CheckIntOrPercent(json::Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_string()) {
    if (!PercentOf(value)) {
      errors.push_back(api::Invalid(path, api::NamedValue(value.AsString()),
                                    "a valid percent string must be a numeric string followed by "
                                    "an ending '%' (e.g. '1%',  or '93%', regex used for "
                                    "validation is '[0-9]+%')"));
    }
  } else {
    CheckNonNegative(value, path, errors);
  }
}

void CheckLabelSelector(json::Value selector, const FieldPath& path, FieldErrors& errors) {
  if (selector.is_null()) return;
  for (api::FieldError& error : api::ValidateLabelSelector(selector, path)) {
    errors.push_back(std::move(error));
  }
}

void CheckDnsLabel(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(path, value, api::IsDns1123Label(value), errors);
}

void CheckSubdomain(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(path, value, api::IsDns1123Subdomain(value), errors);
}

std::vector<std::string> IsConfigMapKey(std::string_view key) {
  std::vector<std::string> out;
  if (key.size() > 253) out.push_back("must be no more than 253 characters");
  const bool good = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return IsLetterOrDigit(c) || c == '-' || c == '_' || c == '.';
  });
  if (!good) {
    out.push_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')");
  }
  if (key == ".") {
    out.push_back("must not be '.'");
  } else if (key == "..") {
    out.push_back("must not be '..'");
  } else if (key.starts_with("..")) {
    out.push_back("must not start with '..'");
  }
  return out;
}

std::vector<std::string> IsValidPortName(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > 15) out.push_back("must be no more than 15 characters");
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!characters || name.empty()) {
    out.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    out.push_back("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos) {
    out.push_back("must not contain consecutive hyphens");
  }
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    out.push_back("must not begin or end with a hyphen");
  }
  return out;
}

std::vector<std::string> IsPathSegmentName(std::string_view name, bool is_prefix) {
  std::vector<std::string> out;
  if (!is_prefix && (name == "." || name == "..")) {
    return {base::StrCat("may not be '", name, "'")};
  }
  for (const char c : {'/', '%'}) {
    if (name.find(c) != std::string_view::npos) {
      out.push_back(base::StrCat("may not contain '", std::string(1, c), "'"));
    }
  }
  return out;
}

std::vector<std::string> IsSubdomainWithUnderscore(std::string_view name) {
  // With one underscore at the front of a label and any number inside, as plain letters would be.
  std::string plain;
  bool start = true;
  for (const char c : name) {
    const bool skipped = start && c == '_';
    if (!skipped) plain += c == '_' ? '-' : c;
    start = c == '.';
  }
  std::vector<std::string> out;
  if (name.size() > 253) out.emplace_back("must be no more than 253 characters");
  if (name.size() > 253 ? plain.empty() : !api::IsDns1123Subdomain(plain).empty()) {
    out.emplace_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
        "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
        "regex used for validation is "
        "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
  }
  return out;
}

api::Quantity QuantityOf(json::Value value) {
  auto quantity = value.is_string() ? api::Quantity::Parse(value.AsString())
                                    : api::Quantity::Parse(json::ToString(value));
  return quantity.ok() ? *std::move(quantity) : api::Quantity();
}

std::string Json(json::Value value) { return json::ToString(value); }

std::string Quoted(std::string_view text) {
  std::string out;
  json::WriteString(text, out);
  return out;
}

std::string StructJson(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string out = "{";
  for (const auto& [name, text] : members) {
    if (out.size() > 1) out += ",";
    out += base::StrCat("\"", name, "\":", text);
  }
  return out + "}";
}

void CheckTemplateMetadata(json::Value metadata, const FieldPath& path, FieldErrors& errors) {
  CheckAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  CheckLabels(metadata["labels"], path.Child("labels"), errors);
  for (const json::Member& field : metadata.members()) {
    if (field.name() == "annotations" || field.name() == "labels") continue;
    // The name of the Go field but for its first letter.
    const std::string_view shown = field.name() == "uid" ? "uID" : field.name();
    errors.push_back(api::Forbidden(path.Child(shown), "cannot be set"));
  }
}

}  // namespace portcullis::registry

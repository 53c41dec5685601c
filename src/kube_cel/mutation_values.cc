// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/mutation_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "api/patch/typed.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "kube_cel/mutation_objects.h"

namespace portcullis::kube_cel {
namespace {

using cel::Kind;
using cel::Value;

constexpr std::int64_t kMaxExact = (std::int64_t{1} << 53) - 1;
constexpr std::string_view kStructValue = "*structpb.Value";

// Numbers have no type once they are written: 3.0 is 3.
json::Value Number(double number) {
  constexpr double kLimit = 9223372036854775808.0;
  if (std::trunc(number) == number && number >= -kLimit && number < kLimit) {
    return json::Value::Int(static_cast<std::int64_t>(number));
  }
  return json::Value::Double(number);
}

// Bytes as Go prints them: "[120 121]", as a literal "{0x78, 0x79}".
std::string GoBytes(std::string_view bytes, bool literal) {
  std::string text = literal ? "{" : "[";
  for (const char each : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(each);
    if (text.size() > 1) text += literal ? ", " : " ";
    text += literal ? "0x" : std::to_string(byte);
    if (literal && byte > 15) text += kDigits[byte >> 4];
    if (literal) text += kDigits[byte & 15];
  }
  return text + (literal ? "}" : "]");
}

std::string Hex(std::uint64_t number) {
  char digits[16];
  return {digits, std::to_chars(std::begin(digits), std::end(digits), number, 16).ptr};
}

// A time as Go prints it with %#v.
std::string GoDate(Value value) {
  const std::time_t seconds = value.seconds();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char month[16];
  const std::string_view name(month, std::strftime(month, sizeof(month), "%B", &parts));
  std::string text =
      base::StrCat("time.Date(", std::to_string(parts.tm_year + 1900), ", time.", name);
  for (const std::int64_t part :
       {std::int64_t{parts.tm_mday}, std::int64_t{parts.tm_hour}, std::int64_t{parts.tm_min},
        std::int64_t{parts.tm_sec}, std::int64_t{value.nanos()}}) {
    text += ", " + std::to_string(part);
  }
  return text + ", time.UTC)";
}

// As Go prints a scalar with %#v; of others what %v prints.
std::string GoLiteral(Value value) {
  switch (value.kind()) {
    case Kind::kString:
      return base::GoQuote(value.text());
    case Kind::kTimestamp:
      return GoDate(value);
    case Kind::kDuration:
      return base::StrCat("types.Duration{Duration:", std::to_string(value.nanoseconds()), "}");
    case Kind::kUint:
      return base::StrCat("0x", Hex(value.uint_value()));
    default:
      return cel::PlainText(value);
  }
}

// As Go prints a value with %v or, as a literal, with %#v.
std::string GoText(json::Arena& arena, Value value, bool literal) {
  if (value.kind() == Kind::kBytes) {
    return base::StrCat(literal ? "types.Bytes" : "", GoBytes(value.text(), literal));
  }
  if (!value.is_list() && !value.is_map()) {
    if (literal) return GoLiteral(value);
    return value.is_string() ? std::string(value.text()) : cel::PlainText(value);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value.is_list()) {
      parts.push_back(GoText(arena, value.At(arena, i), literal));
    } else {
      parts.push_back(base::StrCat(GoText(arena, value.KeyAt(arena, i), literal), ":",
                                   GoText(arena, value.ValueAt(arena, i), literal)));
    }
  }
  if (value.is_map()) std::sort(parts.begin(), parts.end());
  if (!literal) {
    return base::StrCat(value.is_map() ? "map[" : "[", base::Join(parts, " "), "]");
  }
  return base::StrCat(value.is_map() ? "map[ref.Val]ref.Val{" : "[]ref.Val{",
                      base::Join(parts, ", "), "}");
}

// --- apply configurations ---

// Foreign values become errors when an operation is made.
class ObjectWriter {
 public:
  explicit ObjectWriter(json::Arena& arena) : arena_(arena) {}

  json::Value Object(Value object) {
    json::ObjectBuilder builder(arena_);
    for (const auto& field : FieldsOf(object)) {
      builder.Set(arena_.Copy(field.name), Field(field.value));
    }
    return builder.Build();
  }

  bool has_bad_key() const { return has_bad_key_; }
  // The Go type of the first value that is foreign; "" if none is.
  std::string_view foreign() const { return foreign_; }

 private:
  // Lists and maps are taken apart where they are the value of a field, and only there.
  json::Value Field(Value value) {
    if (value.kind() == Kind::kOptional && value.content()) return Field(*value.content());
    if (value.is_list() && value.json() == nullptr) {
      json::ArrayBuilder builder(arena_);
      for (std::size_t i = 0; i < value.size(); ++i) builder.Add(Native(value.At(arena_, i)));
      return builder.Build();
    }
    if (value.is_map() && value.json() == nullptr) {
      json::ObjectBuilder builder(arena_);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const Value key = value.KeyAt(arena_, i);
        has_bad_key_ = has_bad_key_ || !key.is_string();
        const std::string_view name = key.is_string() ? key.text() : std::string_view();
        builder.Set(arena_.Copy(name), Native(value.ValueAt(arena_, i)));
      }
      return builder.Build();
    }
    return Native(value);
  }

  json::Value Native(Value value) {
    if (IsConstructed(value)) return Object(value);
    switch (value.kind()) {
      case Kind::kNull:
        return Foreign("structpb.NullValue", "NULL_VALUE", "0");
      case Kind::kOptional:
        return value.content() ? Native(*value.content()) : json::Value();
      case Kind::kDouble:
        return Number(value.double_value());
      case Kind::kType:
        return json::String(arena_, value.type_value()->name);
      case Kind::kDuration:
        return Foreign("time.Duration", cel::PlainText(value), std::to_string(value.nanoseconds()));
      case Kind::kTimestamp:
        return Foreign("time.Time", value);
      case Kind::kBytes:
        return Foreign("[]uint8", GoBytes(value.text(), false),
                       "[]uint8" + GoBytes(value.text(), true));
      case Kind::kObject:
        return Foreign(value.object()->type()->name, value);
      case Kind::kList:
        if (value.json() == nullptr) return Foreign("[]ref.Val", value);
        break;
      case Kind::kMap:
        if (value.json() == nullptr) return Foreign("map[ref.Val]ref.Val", value);
        break;
      default:
        break;
    }
    const auto json = cel::ToJson(arena_, value);
    return json.ok() ? *json : json::Value();
  }

  json::Value Foreign(std::string_view type, Value value) {
    return Foreign(type, GoText(arena_, value, false), GoText(arena_, value, true));
  }
  json::Value Foreign(std::string_view type, std::string_view text, std::string_view literal) {
    if (foreign_.empty()) foreign_ = arena_.Copy(type);
    return api::patch::ForeignValue(arena_, type, text, literal);
  }

  json::Arena& arena_;
  bool has_bad_key_ = false;
  std::string_view foreign_;
};

// --- values of operations ---

// All numbers are doubles in the objects that an operation writes.
json::Value Rounded(json::Arena& arena, json::Value value) {
  if (value.is_number()) return Number(value.AsDouble());
  if (value.is_array()) {
    json::ArrayBuilder builder(arena);
    for (const json::Value& element : value.elements()) builder.Add(Rounded(arena, element));
    return builder.Build();
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder builder(arena);
  for (const json::Member& member : value.members()) {
    builder.Add(member.name(), Rounded(arena, member.value));
  }
  return builder.Build();
}

// Whole numbers that a double cannot hold are texts.
template <typename Integer>
json::Value Exact(json::Arena& arena, Integer number) {
  const bool exact = number <= static_cast<Integer>(kMaxExact) &&
                     (number >= Integer{0} || number >= static_cast<Integer>(-kMaxExact));
  if (exact) return json::Value::Int(static_cast<std::int64_t>(number));
  return json::String(arena, std::to_string(number));
}

base::Status Unconvertible(std::string_view type) {
  return base::Invalid(
      base::StrCat("type conversion error from ", type, " to '", kStructValue, "'"));
}

base::Result<json::Value> Convert(json::Arena& arena, Value value);

base::Result<std::string_view> Key(Value key) {
  switch (key.kind()) {
    case Kind::kString:
      return key.text();
    case Kind::kBool:
      return base::Invalid("type conversion error from bool to 'string'");
    default:
      return base::Invalid(
          base::StrCat("unsupported type conversion from '", cel::TypeName(key), "' to string"));
  }
}

base::Result<json::Value> ConvertObject(json::Arena& arena, Value object) {
  ObjectWriter writer(arena);
  const json::Value json = writer.Object(object);
  if (writer.has_bad_key())
    return base::Invalid("unable to convert a map whose keys are no strings");
  if (!writer.foreign().empty()) {
    return base::Invalid(base::StrCat("proto: invalid type: ", writer.foreign()));
  }
  return Rounded(arena, json);
}

base::Result<json::Value> ConvertOpaque(Value value) {
  // As Go names the types of Kubernetes' libraries: by the last part of the name.
  const std::string_view name = value.object()->type()->name;
  if (name == "JSONPatch") {
    return base::Invalid(base::StrCat("cannot convert to native type: ", kStructValue));
  }
  const bool plain = name.find(".authorization.") == std::string_view::npos;
  std::string_view type = plain ? name.substr(name.rfind('.') + 1) : name;
  if (type == "NamedFormat") type = "Format";
  return Unconvertible(base::StrCat("'", type, "'"));
}

base::Result<json::Value> Convert(json::Arena& arena, Value value) {
  if (IsConstructed(value)) return ConvertObject(arena, value);
  switch (value.kind()) {
    case Kind::kInt:
      return Exact(arena, value.int_value());
    case Kind::kUint:
      return Exact(arena, value.uint_value());
    case Kind::kDouble:
      if (!std::isfinite(value.double_value())) {
        const std::string_view text = std::isnan(value.double_value()) ? "NaN"
                                      : value.double_value() > 0       ? "+Inf"
                                                                       : "-Inf";
        return base::Invalid(base::StrCat("json: error calling MarshalJSON for type ", kStructValue,
                                          ": proto: google.protobuf.Value cannot have ", text,
                                          " value"));
      }
      return Number(value.double_value());
    case Kind::kType:
      return base::Invalid("type conversion not supported for 'type'");
    case Kind::kOptional:
      if (!value.content()) return base::Invalid("optional.none() dereference");
      return Convert(arena, *value.content());
    case Kind::kObject:
      return ConvertOpaque(value);
    case Kind::kList: {
      json::ArrayBuilder builder(arena);
      for (std::size_t i = 0; i < value.size(); ++i) {
        builder.Add(TRY(Convert(arena, value.At(arena, i))));
      }
      return builder.Build();
    }
    case Kind::kMap: {
      json::ObjectBuilder builder(arena);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string_view key = TRY(Key(value.KeyAt(arena, i)));
        builder.Set(arena.Copy(key), TRY(Convert(arena, value.ValueAt(arena, i))));
      }
      return builder.Build();
    }
    default:
      return cel::ToJson(arena, value);
  }
}

}  // namespace

base::Result<json::Value> ApplyConfigurationOf(json::Arena& arena, Value object) {
  ObjectWriter writer(arena);
  const json::Value json = writer.Object(object);
  if (writer.has_bad_key()) return base::Invalid("invalid return type: *dynamic.ObjectVal");
  return json;
}

base::Result<json::Value> PatchOperationOf(json::Arena& arena, Value operation) {
  if (!operation.is_object() || operation.object()->type()->name != "JSONPatch") {
    return base::Invalid(base::StrCat("unable to convert to ", kStructValue));
  }
  // Those two are always written.
  json::ObjectBuilder builder(arena);
  builder.Set("op", json::String(arena, ""));
  builder.Set("path", json::String(arena, ""));
  for (const auto& field : FieldsOf(operation)) {
    const bool is_value = field.name == "value";
    if (!is_value && field.name == "from" && field.value.text().empty()) continue;
    builder.Set(arena.Copy(field.name), TRY(Convert(arena, field.value)));
  }
  return builder.Build();
}

}  // namespace portcullis::kube_cel

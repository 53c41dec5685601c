// SPDX-License-Identifier: Apache-2.0

#include "api/patch/go_value.h"

#include "base/gotext.h"
#include "golang/strconv.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

// How a value that is no JSON is printed; null of others.
json::Value ForeignText(json::Value value, std::string_view form) {
  const json::Value foreign = value[kForeignField];
  return foreign.is_object() ? foreign[form] : json::Value();
}

}  // namespace

std::string GoLiteralText(json::Value value) {
  std::string out;
  switch (value.type()) {
    case json::Type::kNull:
      return "interface {}(nil)";
    case json::Type::kString:
      return base::GoQuote(value.AsString());
    case json::Type::kArray:
      for (const json::Value& element : value.elements()) {
        out.append(out.empty() ? "" : ", ").append(GoLiteralText(element));
      }
      return "[]interface {}{" + out + "}";
    case json::Type::kObject:
      if (const auto foreign = ForeignText(value, "literal"); foreign.is_string())
        return std::string(foreign.AsString());
      for (const json::Member* member : json::MembersByName(value)) {
        out.append(out.empty() ? "" : ", ").append(base::GoQuote(member->name())).append(":");
        out += GoLiteralText(member->value);
      }
      return "map[string]interface {}{" + out + "}";
    case json::Type::kDouble:
      return golang::FormatFloat(value.AsDouble());
    default:
      return json::ToString(value);
  }
}

std::string GoValueText(json::Value value) {
  switch (value.type()) {
    case json::Type::kNull:
      return "<nil>";
    case json::Type::kString:
      return std::string(value.AsString());
    case json::Type::kArray: {
      std::string out = "[";
      std::string_view separator;  // an element may be an empty text
      for (const json::Value& element : value.elements()) {
        out.append(separator).append(GoValueText(element));
        separator = " ";
      }
      return out + "]";
    }
    case json::Type::kObject: {
      if (const auto foreign = ForeignText(value, "text"); foreign.is_string())
        return std::string(foreign.AsString());
      std::string out = "map[";
      for (const json::Member* member : json::MembersByName(value)) {
        if (out.size() > 4) out.push_back(' ');
        out.append(member->name()).append(":").append(GoValueText(member->value));
      }
      return out + "]";
    }
    case json::Type::kDouble:
      return golang::FormatFloat(value.AsDouble());
    default:
      return json::ToString(value);
  }
}

std::string_view GoTypeName(json::Value value) {
  switch (value.type()) {
    case json::Type::kNull:
      return "<nil>";
    case json::Type::kBool:
      return "bool";
    case json::Type::kInt:
      return "int64";
    case json::Type::kDouble:
      return "float64";
    case json::Type::kString:
      return "string";
    case json::Type::kArray:
      return "[]interface {}";
    case json::Type::kObject:
      break;
  }
  return "map[string]interface {}";
}

bool IsEqualInGo(const json::Value& a, const json::Value& b) {
  if (a.IsSameAs(b)) return true;  // equal scalars are
  if (a.is_number() && b.is_number()) {
    return a.is_int() != b.is_int() && a.AsDouble() == b.AsDouble();
  }
  if (a.type() != b.type() || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.elements().size(); ++i) {
    if (!IsEqualInGo(a.elements()[i], b.elements()[i])) return false;
  }
  for (const json::Member& member : a.members()) {
    const json::Value* other = b.Find(member.name(), member.hash);
    if (other == nullptr || !IsEqualInGo(member.value, *other)) return false;
  }
  return a.is_array() || a.is_object();
}

}  // namespace portcullis::api::patch

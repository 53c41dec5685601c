// SPDX-License-Identifier: Apache-2.0

#include "api/patch/go_value.h"

#include <algorithm>
#include <vector>

#include "json/writer.h"

namespace portcullis::api::patch {

std::string GoValueText(json::Value value) {
  switch (value.type()) {
    case json::Type::kNull:
      return "<nil>";
    case json::Type::kString:
      return std::string(value.AsString());
    case json::Type::kArray: {
      std::string out = "[";
      for (const json::Value& element : value.elements()) {
        if (out.size() > 1) out.push_back(' ');
        out += GoValueText(element);
      }
      return out + "]";
    }
    case json::Type::kObject: {
      std::vector<const json::Member*> members;
      for (const json::Member& member : value.members()) members.push_back(&member);
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->name() < b->name(); });
      std::string out = "map[";
      for (const json::Member* member : members) {
        if (out.size() > 4) out.push_back(' ');
        out.append(member->name()).append(":").append(GoValueText(member->value));
      }
      return out + "]";
    }
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

}  // namespace portcullis::api::patch

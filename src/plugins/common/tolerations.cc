#include "plugins/common/tolerations.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::plugins::common {
namespace {

std::string_view Text(json::Value toleration, std::string_view member) {
  return toleration[member].AsString();
}

struct Field {
  std::string_view name;
  std::string_view go_type;
};
constexpr Field kFields[] = {{"key", "string"},
                             {"operator", "v1.TolerationOperator"},
                             {"value", "string"},
                             {"effect", "v1.TaintEffect"},
                             {"tolerationSeconds", "int64"}};

std::string_view JsonType(json::Value value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  return value.is_bool() ? "bool" : "number";
}

std::string CannotUnmarshal(json::Value value, std::string_view where) {
  return base::StrCat("json: cannot unmarshal ", JsonType(value), " into Go ", where);
}

const json::Value* FindInAnyCase(json::Value object, std::string_view name) {
  const json::Value* found = nullptr;
  for (const json::Member& member : object.members()) {
    if (base::ToLower(member.name()) == base::ToLower(name)) found = &member.value;
  }
  return found;
}

// Go goes on after a value of the wrong type and reports the first.
json::Value DecodeToleration(json::Arena& arena, json::Value given, std::string& error) {
  const auto fail = [&](std::string text) {
    if (error.empty()) error = std::move(text);
  };
  json::ObjectBuilder toleration(arena);
  if (!given.is_null() && !given.is_object()) {
    fail(CannotUnmarshal(given, "value of type v1.Toleration"));
  }
  for (const Field& field : kFields) {
    const json::Value* value = FindInAnyCase(given, field.name);
    if (value == nullptr || value->is_null()) continue;
    const bool number = field.go_type == "int64";
    if (number ? value->is_int() : value->is_string()) {
      toleration.Set(field.name, *value);
      continue;
    }
    std::string text = CannotUnmarshal(
        *value, base::StrCat("struct field Toleration.", field.name, " of type ", field.go_type));
    if (number && value->is_number()) {
      const std::string type = "number";
      text.insert(text.find(type) + type.size(), " " + json::ToString(*value));
    }
    fail(std::move(text));
  }
  return toleration.Build();
}

}  // namespace

base::Result<json::Value> DecodeTolerations(json::Arena& arena, std::string_view text) {
  const json::Value list = TRY(json::Parse(arena, text));
  if (list.is_null()) return json::Value();
  std::string error;
  if (!list.is_array()) error = CannotUnmarshal(list, "value of type []v1.Toleration");
  json::ArrayBuilder out(arena);
  for (const json::Value& given : list.elements()) {
    out.Add(DecodeToleration(arena, given, error));
  }
  if (!error.empty()) return base::BadRequest(error);
  return out.Build();
}

bool SameToleration(json::Value a, json::Value b) {
  for (std::string_view member : {"key", "operator", "value", "effect"}) {
    if (Text(a, member) != Text(b, member)) return false;
  }
  return a["tolerationSeconds"] == b["tolerationSeconds"];
}

bool Covers(json::Value wide, json::Value narrow) {
  if (SameToleration(wide, narrow)) return true;
  std::string_view op = Text(wide, "operator");
  if (Text(wide, "key") != Text(narrow, "key") && !(Text(wide, "key").empty() && op == "Exists")) {
    return false;
  }
  std::string_view effect = Text(wide, "effect");
  if (effect != Text(narrow, "effect") && !effect.empty()) return false;
  const json::Value most = wide["tolerationSeconds"];
  if (effect == "NoExecute" && most.is_int()) {
    const json::Value seconds = narrow["tolerationSeconds"];
    if (!seconds.is_int() || seconds.AsInt() > most.AsInt()) return false;
  }
  if (op.empty() || op == "Equal") {
    return Text(narrow, "operator") == "Equal" && Text(wide, "value") == Text(narrow, "value");
  }
  return op == "Exists";
}

json::Value MergeTolerations(json::Arena& arena, json::Value first, json::Value second) {
  std::vector<json::Value> all(first.elements().begin(), first.elements().end());
  all.insert(all.end(), second.elements().begin(), second.elements().end());
  std::vector<json::Value> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool covered = false;
    for (const json::Value& other : kept) covered = covered || Covers(other, all[i]);
    for (std::size_t j = i + 1; j < all.size() && !covered; ++j) {
      covered = !SameToleration(all[i], all[j]) && Covers(all[j], all[i]);
    }
    if (!covered) kept.push_back(all[i]);
  }
  return json::MakeArray(arena, kept);
}

bool AllowedBy(json::Value tolerations, json::Value whitelist) {
  if (whitelist.empty()) return true;
  for (const json::Value& toleration : tolerations.elements()) {
    bool covered = false;
    for (const json::Value& allowed : whitelist.elements()) {
      covered = covered || Covers(allowed, toleration);
    }
    if (!covered) return false;
  }
  return true;
}

}  // namespace portcullis::plugins::common

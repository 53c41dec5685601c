// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/tolerations.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
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

// Tolerations to look up what covers another one. Those that differ in nothing but their time lie
// together: of them the longest time decides.
class CoverIndex {
 public:
  void Insert(json::Value wide) {
    identities_.insert(IdentityOf(wide));
    const std::string_view op = Text(wide, "operator");
    const bool equal = op.empty() || op == "Equal";
    if (!equal && op != "Exists") return;  // it covers nothing but itself
    const bool everything = !equal && Text(wide, "key").empty();
    const Place place{everything, Text(wide, "key"), Text(wide, "effect"), equal,
                      equal ? Text(wide, "value") : ""};
    const bool limited = Text(wide, "effect") == "NoExecute";
    places_[place].emplace(limited ? TimeOf(wide) : kForever, IdentityOf(wide));
  }

  // Covers() by one of them.
  bool HasCoverOf(json::Value narrow) const {
    return identities_.contains(IdentityOf(narrow)) || HasOtherCoverOf(narrow);
  }

  // The same by one that is not the same toleration.
  bool HasOtherCoverOf(json::Value narrow) const {
    const std::string own = IdentityOf(narrow);
    const bool equal = Text(narrow, "operator") == "Equal";
    for (const bool everything : {false, true}) {
      const std::string_view key = everything ? "" : Text(narrow, "key");
      for (const std::string_view effect : {std::string_view(), Text(narrow, "effect")}) {
        if (Reaches({everything, key, effect, false, ""}, narrow, own)) return true;
        if (everything || !equal) continue;
        if (Reaches({false, key, effect, true, Text(narrow, "value")}, narrow, own)) return true;
      }
    }
    return false;
  }

 private:
  // Whether for all keys; key; effect; whether for one value; value.
  using Place = std::tuple<bool, std::string_view, std::string_view, bool, std::string_view>;
  using Time = std::pair<bool, std::int64_t>;  // whether without end, else seconds
  static constexpr Time kForever{true, 0};

  static Time TimeOf(json::Value toleration) {
    const json::Value seconds = toleration["tolerationSeconds"];
    return seconds.is_int() ? Time{false, seconds.AsInt()} : kForever;
  }

  static std::string IdentityOf(json::Value toleration) {
    std::string out;
    for (const std::string_view member : {"key", "operator", "value", "effect"}) {
      json::WriteString(Text(toleration, member), out);
    }
    json::Write(toleration["tolerationSeconds"], out);
    return out;
  }

  bool Reaches(const Place& place, json::Value narrow, const std::string& own) const {
    const auto found = places_.find(place);
    if (found == places_.end()) return false;
    auto longest = found->second.rbegin();
    if (longest->second == own) ++longest;
    return longest != found->second.rend() && longest->first >= TimeOf(narrow);
  }

  std::set<std::string> identities_;
  std::map<Place, std::set<std::pair<Time, std::string>>> places_;
};

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
  std::vector<bool> covered_later(all.size());
  CoverIndex later;
  for (std::size_t i = all.size(); i-- > 0;) {
    covered_later[i] = later.HasOtherCoverOf(all[i]);
    later.Insert(all[i]);
  }
  CoverIndex before;
  json::ArrayBuilder kept(arena);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (covered_later[i] || before.HasCoverOf(all[i])) continue;
    before.Insert(all[i]);
    kept.Add(all[i]);
  }
  return kept.Build();
}

bool AllowedBy(json::Value tolerations, json::Value whitelist) {
  if (whitelist.empty()) return true;
  CoverIndex allowed;
  for (const json::Value& toleration : whitelist.elements()) allowed.Insert(toleration);
  return std::all_of(tolerations.elements().begin(), tolerations.elements().end(),
                     [&](const json::Value& toleration) { return allowed.HasCoverOf(toleration); });
}

}  // namespace portcullis::plugins::common

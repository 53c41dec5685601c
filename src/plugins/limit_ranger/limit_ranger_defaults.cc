// SPDX-License-Identifier: Apache-2.0

#include "plugins/limit_ranger/limit_ranger_defaults.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "json/edit.h"

namespace portcullis::plugins::limit_ranger {
namespace {

constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";

// In order of names.
using Amounts = std::map<std::string_view, json::Value>;

struct Defaults {
  Amounts requests;
  Amounts limits;
};

void Overwrite(Amounts& amounts, json::Value list) {
  for (const json::Member& amount : list.members()) amounts[amount.name()] = amount.value;
}

Defaults DefaultsOf(json::Value limit_range) {
  Defaults out;
  for (const json::Value& item : limit_range["spec"]["limits"].elements()) {
    if (item["type"].AsString() != "Container") continue;
    Overwrite(out.requests, item["defaultRequest"]);
    Overwrite(out.limits, item["default"]);
  }
  return out;
}

// Fills `wanted` into resources.<kind>; returns the names that were missing.
std::vector<std::string_view> Fill(json::Arena& arena, json::Value& container,
                                   std::string_view kind, const Amounts& wanted) {
  const json::Value present = container["resources"][kind];
  std::vector<std::string_view> set;
  Amounts all;
  Overwrite(all, present);
  for (const auto& [name, amount] : wanted) {
    if (all.try_emplace(name, amount).second) set.push_back(name);
  }
  if (set.empty()) return set;
  json::ObjectBuilder list(arena);
  for (const auto& [name, amount] : all) list.Set(name, amount);
  container = json::SetPath(arena, container, {"resources", kind}, list.Build());
  return set;
}

json::Value FillContainers(json::Arena& arena, json::Value containers, std::string_view noun,
                           const Defaults& defaults, std::vector<std::string>& phrases) {
  return json::EditElements(arena, containers, [&](json::Value container) {
    const std::string_view name = container["name"].AsString();
    const auto requests = Fill(arena, container, "requests", defaults.requests);
    const auto limits = Fill(arena, container, "limits", defaults.limits);
    if (!requests.empty()) {
      phrases.push_back(base::StrCat(base::Join(requests, ", "), " request for ", noun, " ", name));
    }
    if (!limits.empty()) {
      phrases.push_back(base::StrCat(base::Join(limits, ", "), " limit for ", noun, " ", name));
    }
    return container;
  });
}

}  // namespace

json::Value WithDefaults(json::Arena& arena, json::Value pod, json::Value limit_range) {
  const Defaults defaults = DefaultsOf(limit_range);
  std::vector<std::string> phrases;
  json::Value out = pod;
  constexpr std::string_view kLists[][2] = {{"containers", "container"},
                                            {"initContainers", "init container"}};
  for (const auto& [list, noun] : kLists) {
    const json::Value before = out["spec"][list];
    if (before.empty()) continue;
    const json::Value after = FillContainers(arena, before, noun, defaults, phrases);
    if (!after.IsSameAs(before)) out = json::SetPath(arena, out, {"spec", list}, after);
  }
  if (phrases.empty()) return pod;
  const std::string text = "LimitRanger plugin set: " + base::Join(phrases, "; ");
  return json::SetPath(arena, out, {"metadata", "annotations", kAnnotation},
                       json::String(arena, text));
}

}  // namespace portcullis::plugins::limit_ranger

// SPDX-License-Identifier: Apache-2.0

#include "engine/definitions/custom_resource_names.h"

#include <algorithm>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::engine {
namespace {

using api::catalog::CustomNames;
using json::Value;

std::string InUse(std::string_view name) {
  return base::StrCat(base::GoQuote(name), " is already in use");
}

std::vector<std::string> Strings(Value list) {
  std::vector<std::string> out;
  for (const Value& element : list.elements()) out.emplace_back(element.AsString());
  return out;
}

}  // namespace

CustomNames ReadNames(Value names) {
  CustomNames out;
  out.plural = names["plural"].AsString();
  out.singular = names["singular"].AsString();
  out.kind = names["kind"].AsString();
  out.list_kind = names["listKind"].AsString();
  out.short_names = Strings(names["shortNames"]);
  out.categories = Strings(names["categories"]);
  return out;
}

Value WriteNames(json::Arena& arena, const CustomNames& names) {
  const auto list = [&](const std::vector<std::string>& texts) {
    json::ArrayBuilder out(arena);
    for (const std::string& text : texts) out.Add(std::string_view(text));
    return out.Build();
  };
  json::ObjectBuilder out(arena);
  out.Set("plural", std::string_view(names.plural));
  if (!names.singular.empty()) out.Set("singular", std::string_view(names.singular));
  if (!names.short_names.empty()) out.Set("shortNames", list(names.short_names));
  out.Set("kind", std::string_view(names.kind));
  if (!names.list_kind.empty()) out.Set("listKind", std::string_view(names.list_kind));
  if (!names.categories.empty()) out.Set("categories", list(names.categories));
  return out.Build();
}

void NamesInUse::Count(const CustomNames& names, int by) {
  const auto count = [by](std::unordered_map<std::string, int>& in, const std::string& name) {
    if (name.empty()) return;
    const auto place = in.try_emplace(name, 0).first;
    place->second += by;
    if (place->second == 0) in.erase(place);
  };
  count(resources_, names.plural);
  count(resources_, names.singular);
  for (const std::string& name : names.short_names) count(resources_, name);
  count(kinds_, names.kind);
  count(kinds_, names.list_kind);
}

NamesVerdict NamesInUse::Judge(const CustomNames& requested, const CustomNames& accepted) const {
  NamesVerdict out;
  out.accepted = accepted;
  const auto refuse = [&](std::string_view reason, std::string message) {
    out.all = false;
    out.reason = reason;
    out.message = std::move(message);
  };
  const auto take = [&](const std::unordered_map<std::string, int>& used, std::string_view reason,
                        std::string CustomNames::*name) {
    if (requested.*name != accepted.*name && used.contains(requested.*name)) {
      refuse(reason, InUse(requested.*name));
    } else {
      out.accepted.*name = requested.*name;
    }
  };
  take(resources_, "PluralConflict", &CustomNames::plural);
  take(resources_, "SingularConflict", &CustomNames::singular);
  std::vector<std::string> taken;
  for (const std::string& name : requested.short_names) {
    const auto& own = accepted.short_names;
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    std::string text = InUse(name);
    if (resources_.contains(name) && std::find(taken.begin(), taken.end(), text) == taken.end()) {
      taken.push_back(std::move(text));
    }
  }
  if (taken.empty()) {
    out.accepted.short_names = requested.short_names;
  } else {
    refuse("ShortNamesConflict",
           taken.size() == 1 ? taken.front() : base::StrCat("[", base::Join(taken, ", "), "]"));
  }
  take(kinds_, "KindConflict", &CustomNames::kind);
  take(kinds_, "ListKindConflict", &CustomNames::list_kind);
  out.accepted.categories = requested.categories;
  if (out.all) {
    out.reason = "NoConflicts";
    out.message = "no conflicts found";
  }
  return out;
}

}  // namespace portcullis::engine

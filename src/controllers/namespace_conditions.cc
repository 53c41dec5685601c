// SPDX-License-Identifier: Apache-2.0

#include "controllers/namespace_conditions.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"

namespace portcullis::controllers {
namespace {

// That of the conditions of most kinds. What an aggregated server says of an error may be longer.
constexpr std::size_t kMostOfAMessage = 32 << 10;

struct Told {
  std::string_view type;
  std::string_view reason;
  std::string message;
  bool wrong = false;
};

std::string Counts(const std::map<std::string, std::size_t>& counts, std::string_view between,
                   std::string_view after) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    parts.push_back(base::StrCat(name, between, std::to_string(count), after));
  }
  return base::Join(parts, ", ");
}

std::string Sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return base::Join(texts, ", ");
}

// What client-go says of versions whose servers have not told their resources lately.
std::string Stale(const std::vector<std::string>& versions) {
  std::vector<std::string> parts;
  for (const std::string& version : versions) {
    parts.push_back(base::StrCat(version, ": stale GroupVersion discovery: ", version));
  }
  return Sorted(std::move(parts));
}

std::vector<Told> WhatToTell(const NamespaceLeftovers& left) {
  std::vector<Told> told = {
      {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
       "All resources successfully discovered"},
      {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
       "All legacy kube types successfully parsed"},
      {"NamespaceDeletionContentFailure", "ContentDeleted",
       "All content successfully deleted, may be waiting on finalization"},
      {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"},
      {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
       "All content-preserving finalizers finished"},
  };
  if (!left.undiscovered.empty()) {
    told[0] = {
        told[0].type, "DiscoveryFailed",
        base::StrCat("Discovery failed for some groups, ", std::to_string(left.undiscovered.size()),
                     " failing: unable to retrieve the complete list of server APIs: ",
                     Stale(left.undiscovered)),
        true};
  }
  if (!left.errors.empty()) {
    told[2] = {
        told[2].type, "ContentDeletionFailed",
        base::StrCat("Failed to delete all resource types, ", std::to_string(left.errors.size()),
                     " remaining: ", Sorted(left.errors)),
        true};
  }
  if (!left.resources.empty()) {
    told[3] = {told[3].type, "SomeResourcesRemain",
               base::StrCat("Some resources are remaining: ",
                            Counts(left.resources, " has ", " resource instances")),
               true};
  }
  if (!left.finalizers.empty()) {
    told[4] = {told[4].type, "SomeFinalizersRemain",
               base::StrCat("Some content in the namespace has finalizers remaining: ",
                            Counts(left.finalizers, " in ", " resource instances")),
               true};
  }
  for (Told& each : told) each.message.resize(base::CutUtf8(each.message, kMostOfAMessage).size());
  return told;
}

}  // namespace

json::Value NamespaceConditions(json::Arena& arena, json::Value old, const NamespaceLeftovers& left,
                                std::string_view now) {
  std::vector<json::Value> conditions(old.elements().begin(), old.elements().end());
  bool changed = false;
  for (const Told& told : WhatToTell(left)) {
    const std::string_view status = told.wrong ? "True" : "False";
    const auto known = std::find_if(
        conditions.begin(), conditions.end(),
        [&](const json::Value& condition) { return condition["type"].AsString() == told.type; });
    std::string_view since = now;
    if (known != conditions.end() && (*known)["status"].AsString() == status) {
      if ((*known)["reason"].AsString() == told.reason &&
          (*known)["message"].AsString() == told.message) {
        continue;
      }
      since = (*known)["lastTransitionTime"].AsString();
    }
    const json::Value condition = json::ObjectBuilder(arena)
                                      .Set("type", told.type)
                                      .Set("status", status)
                                      .Set("lastTransitionTime", since)
                                      .Set("reason", told.reason)
                                      .Set("message", std::string_view(told.message))
                                      .Build();
    if (known == conditions.end()) {
      conditions.push_back(condition);
    } else {
      *known = condition;
    }
    changed = true;
  }
  return changed ? json::MakeArray(arena, conditions) : json::Value();
}

}  // namespace portcullis::controllers

// SPDX-License-Identifier: Apache-2.0

// An Evaluator knows how the objects of one resource count against quotas: which names of a quota
// speak of them, which scopes they are in, and how much one object uses.
//
// Pure: objects come as JSON in their v1 form. Immutable after construction. Shared by the
// plugin ResourceQuota, which charges, and the quota controller, which recounts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "api/quota/resources.h"
#include "api/quota/scope.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::api::quota {

enum class Change : std::uint8_t { kCreate, kUpdate };

// What evaluators may have to look up about other objects. A null document: there is none.
class Lookup {
 public:
  virtual ~Lookup() = default;
  // The object of a core or other resource by name, in its stored form.
  virtual json::Document Find(std::string_view group, std::string_view resource,
                              std::string_view ns, std::string_view name) const = 0;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Whether such a write is charged at all. `old_object` is null for kCreate.
  virtual bool Handles(Change change, std::string_view subresource, json::Value object,
                       json::Value old_object) const = 0;
  // Whether a quota's name, like "requests.cpu", speaks of these objects.
  virtual bool MatchesName(std::string_view name) const = 0;
  // Whether the object is in a scope. Errors for operators that do not exist.
  virtual base::Result<bool> MatchesScope(const ScopeSelector& selector, json::Value object) const;
  // What one object uses, by the names of quotas.
  virtual Resources Usage(json::Value object) const = 0;
  // When that changes although the object stays as it is; no value: never.
  virtual std::optional<base::WallTime> UsageEndsAt(json::Value object) const;
  // What must be specified because a quota limits `names`, or "" if everything is:
  // `must specify cpu for: a,b; memory for: b`.
  virtual std::string MissingFrom(json::Value object, std::span<const std::string> names) const;
  // True if the objects can be in a scope at all; others never match a quota that has one.
  virtual bool HasScopes() const { return false; }
};

// What differs between releases and clusters.
struct EvaluatorOptions {
  const release::Release& release = release::Release::Newest();
  // Lives as long as the evaluators; null: nothing can be looked up.
  const Lookup* lookup = nullptr;
  // Likewise; null: the system's.
  const base::Clock* clock = nullptr;
};

// The evaluator for a resource; for those without rules of their own it counts objects. Never null.
std::unique_ptr<const Evaluator> MakeEvaluator(const GroupResource& resource,
                                               const EvaluatorOptions& options);

// Resources that have an evaluator with rules of their own: what a recount has to visit beside the
// resources that a quota names as count/<resource>.
std::span<const std::string_view> ResourcesWithOwnRules();

// Whether the quota applies to the object: at least one of its names is matched and all scopes are.
base::Result<bool> Matches(const Evaluator& evaluator, json::Value quota, json::Value object);
// Those of the names that the evaluator matches.
std::vector<std::string> MatchingNames(const Evaluator& evaluator, const Resources& hard);

}  // namespace portcullis::api::quota

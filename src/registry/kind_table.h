// SPDX-License-Identifier: Apache-2.0

// KindTable: what surrounds admission for each built-in kind that needs more than the catalog says.
//
// The files are grouped by domain; each kind has one, named after it, which holds its row and
// everything that is said of this kind alone: `apps/deployment_strategy.cc` has
// `void AddDeploymentStrategy(KindTable& table)`. The build finds the files; a new kind is a new file
// and nothing else. What is too long for it stands beside it (`pods/pod_validation.cc`), what kinds
// of several domains share in validation/.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/default_strategy.h"
#include "registry/disabled_fields.h"
#include "registry/validation/field_rules.h"

namespace portcullis::registry {

// All that is wrong with a new object.
using Check = void (*)(const Context& ctx, json::Value object, api::FieldErrors& errors);
// All that is wrong with an object that is to replace `old`, through the resource itself or the
// subresource ctx.subresource.
using UpdateCheck = void (*)(const Context& ctx, json::Value object, json::Value old,
                             api::FieldErrors& errors);
// What to warn of when `object` is written; `old` is null for a create.
using WarningSource = void (*)(const Context& ctx, json::Value object, json::Value old,
                               std::vector<std::string>& warnings);

// See Strategy::MetadataChecks: those of updates of the object, and of its status and the like.
struct MetadataChecks {
  std::string_view update = "U";
  std::string_view subresource = "U";
};

// What is told by one row. Only the first two members must be set.
struct Kind {
  std::string_view group;
  std::string_view resource;
  Check validate = nullptr;
  // Of an update, between its two checks of the metadata.
  UpdateCheck validate_between = nullptr;
  // After these; null: `validate`, unless that stands between, and not for subresources.
  UpdateCheck validate_update = nullptr;
  std::span<const FieldRule> rules = {};   // besides, after the functions
  bool rules_between = false;              // of an update: between the checks of the metadata
  WarningSource warn = nullptr;            // of writes through the resource itself
  WarningSource warn_of_status = nullptr;  // of updates through the subresource `status`
  // The version in which the functions see objects of all versions, as kube-apiserver's see its
  // internal ones: "v1". Empty where the versions do not differ.
  std::string_view judged_in = {};
  Traits traits = {};  // has_status is taken from the catalog
  MetadataChecks metadata = {};
  // The fields of an object of which nothing is set that kube-apiserver's internal type holds by value and
  // therefore writes, as JSON: R"({"spec":{"replicas":0}})".
  std::string_view zero_fields = {};
  // Where the kind holds a pod spec ("spec.template.spec"), and what besides a client cannot write.
  std::string_view pod_spec = {};
  std::span<const DisabledField> disabled = {};
  // Null: the default strategy.
  std::unique_ptr<Strategy> (*make)(const Kind& kind) = nullptr;
};

// Immutable once all families are in; rows do not move. Thread-safe.
class KindTable {
 public:
  static const KindTable& BuiltIn();

  void Add(const Kind& kind) { kinds_.push_back(kind); }
  // The row of all custom resources; its group and resource are empty.
  void AddCustomResources(const Kind& kind) { custom_resources_ = kind; }
  const Kind* Find(std::string_view group, std::string_view resource) const;
  const std::deque<Kind>& kinds() const { return kinds_; }
  const Kind& custom_resources() const { return custom_resources_; }

 private:
  std::deque<Kind> kinds_;
  Kind custom_resources_;
};

// An update that is judged like a new object, too; not one of a subresource.
template <Check kCheck>
void AsNew(const Context& ctx, json::Value object, json::Value, api::FieldErrors& errors) {
  if (ctx.subresource.empty()) kCheck(ctx, object, errors);
}

// Short for a row's `make`.
template <typename StrategyOfKind>
std::unique_ptr<Strategy> Make(const Kind& kind) {
  return std::make_unique<StrategyOfKind>(kind);
}

}  // namespace portcullis::registry

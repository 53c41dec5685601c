// SPDX-License-Identifier: Apache-2.0

// A Strategy is what surrounds admission for one resource: what the server sets before the plugins
// see the object, what it checks after they have seen it, and how the object is deleted.
//
// Order of a create: decode, default, mutating admission, PrepareForCreate, Allocate, Validate,
// Canonicalize, validating admission, Complete, commit. An update is the same with PrepareForUpdate
// and ValidateUpdate. The generic parts are not a strategy's business: name, namespace, uid,
// creationTimestamp, generation 1 on create, resourceVersion, finalizer rules, and the checks of
// ObjectMeta.
//
// The kinds that have one add it to the KindTable (kind_table.h) from their file. A resource without
// one takes the default strategy, which knows only what the catalog says: kinds with a status
// subresource keep it on updates of the main resource. StrategyTable (strategy_table.h) makes them.
//
// Objects are in the version they are stored in; a kind with one version has no other. Threads: a
// strategy is asked from many threads at once, hence every method is const. Immutable after
// construction.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/names.h"
#include "api/user_info.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::api::catalog {
class Catalog;
struct ResourceInfo;
}  // namespace portcullis::api::catalog
namespace portcullis::authz {
class Authorizer;
}
namespace portcullis::store {
class Reader;
}

namespace portcullis::registry {

class ExpressionChecker;
class ServiceNetwork;

// What a strategy may look at besides the object. References outlive the call.
struct Context {
  json::Arena& arena;  // new values are made here
  const api::GroupVersionResource& resource;
  const api::GroupVersionKind& kind;
  std::string_view subresource;  // "" for the resource itself, "status", "scale", …
  std::string_view name;
  std::string_view name_space;  // "" for cluster-scoped resources
  const api::UserInfo& user;
  const base::Clock& clock;
  const store::Reader* reader = nullptr;           // may be null in tests
  const api::catalog::Catalog* catalog = nullptr;  // may be null in tests
  ServiceNetwork* services = nullptr;  // hands out cluster IPs and node ports; may be null
  bool dry_run = false;
  bool allow_privileged = true;                    // --allow-privileged: privileged containers
  const ExpressionChecker* expressions = nullptr;  // null: expressions are not compiled
  // Who may refer to what; null: no check.
  const authz::Authorizer* authorizer = nullptr;
  // The status of a ValidatingAdmissionPolicy tells what its expressions' types say.
  bool checks_policy_types = false;
  // Names of configurations that come from files cannot be used through the API
  // (gate ManifestBasedAdmissionControlConfig).
  bool reserves_static_names = false;
  const release::Release* release = &release::Release::Newest();
  // Takes what preparing and validating only warn of; null: they are dropped.
  std::vector<std::string>* warnings = nullptr;
  // The object as the client's text had it, with the empty lists and maps that decoding drops; in the
  // version of the request. Null if that is not known.
  json::Value sent = {};
  std::string_view verb = {};  // of the request: "update", "patch"; "" in tests
};

// DeleteOptions as they reach a strategy.
struct DeleteRequest {
  std::optional<std::int64_t> grace_period_seconds;
};

// What becomes of the dependents of a deleted object if the client does not say it. kUnsupported: what
// the client says is ignored, too; the kind has no dependents that are collected.
enum class Dependents : std::uint8_t { kDeleted, kOrphaned, kUnsupported };

class Strategy {
 public:
  virtual ~Strategy() = default;

  // After mutating admission: drops what a client may not set (status) and sets what the server
  // owns. Returns the object to go on with (ctx.arena).
  virtual json::Value PrepareForCreate(const Context& ctx, json::Value object) const;
  virtual json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                                       json::Value old) const;

  // Then: everything that is wrong, in field order. ObjectMeta has been
  // checked already, unless a create checks it only when all else is right.
  virtual bool ChecksMetadataLast() const { return false; }
  virtual void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const;
  virtual void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                              api::FieldErrors& errors) const;
  // What an update checks between the first and the second of MetadataChecks().
  virtual void ValidateBetween(const Context& ctx, json::Value object, json::Value old,
                               api::FieldErrors& errors) const;

  // Texts for Warning headers, in order.
  virtual void Warnings(const Context& ctx, json::Value object,
                        std::vector<std::string>& warnings) const;
  virtual void UpdateWarnings(const Context& ctx, json::Value object, json::Value old,
                              std::vector<std::string>& warnings) const;

  // After validation: brings equal objects to one form (sorted lists and the like).
  virtual json::Value Canonicalize(const Context& ctx, json::Value object) const;

  // After validating admission: what the server records in the object it is about to store.
  virtual json::Value Complete(const Context& ctx, json::Value object) const;

  // How names of the kind are checked: "" if good, else the detail of an Invalid value error
  // (one text per element). Default: DNS-1123 subdomain.
  virtual std::vector<std::string> CheckName(const Context& ctx, std::string_view name,
                                             bool is_prefix) const;

  // Which checks of the metadata an update makes besides those of all kinds, in order: a kind's own
  // validation mostly repeats them, and each fault is told as often as it is found. `U` is
  // ValidateObjectMetaUpdate, `F` the full ValidateObjectMeta with the kind's names; in lower case
  // without a look at whether finalizers are qualified.
  virtual std::string_view MetadataChecks(std::string_view subresource) const;

  // Fields that a write through the resource or the subresource ctx.subresource leaves as they are ("status",
  // "metadata.labels"): the writer does not come to own them, and no manager loses them.
  virtual std::vector<std::string_view> ResetFields(const Context& ctx) const;

  // PUT of an absent object makes it.
  virtual bool AllowCreateOnUpdate() const { return false; }
  // An apply to the status of an absent object makes it.
  virtual bool AllowCreateOnApplyStatus() const { return false; }
  // PUT without resourceVersion overwrites whatever is there.
  virtual bool AllowUnconditionalUpdate() const { return true; }

  // Whether an object may be deleted at all; asked before anything else is looked at.
  virtual base::Status CheckDelete(const Context& ctx) const;
  // Seconds the object lives on after a delete, or nothing if the kind is deleted at once.
  virtual std::optional<std::int64_t> GracePeriod(const Context& ctx, json::Value object,
                                                  const DeleteRequest& request) const;
  // Called when an object starts to terminate but stays (finalizers or a grace period).
  virtual json::Value PrepareForTermination(const Context& ctx, json::Value object) const;
  // True if something other than metadata.finalizers keeps a terminating object alive
  // (spec.finalizers of a Namespace).
  virtual bool HeldByOther(json::Value object) const;
  // The first delete only marks the object, whatever it holds; a later one may remove it. Its
  // options name the object's uid.
  virtual bool TerminatesFirst() const { return false; }
  // A delete that removes the object at once answers with the object, not with a Status.
  virtual bool ReturnsDeletedObject() const { return false; }
  virtual Dependents DependentsByDefault() const { return Dependents::kDeleted; }

  // After preparation, before validation: takes what objects of the kind share (cluster IPs, node
  // ports). `old` is null on create. What was taken is given back when validation fails.
  virtual base::Result<json::Value> Allocate(const Context& ctx, json::Value object,
                                             json::Value old) const;
  // Gives back what `gone` holds and `kept` (may be null) does not: when an object is gone, when an
  // update has been stored, or when a create or update has failed after Allocate().
  virtual void Release(const Context& ctx, json::Value gone, json::Value kept) const;
};

// Puts `status` of `old` (or nothing) into `object`: what every kind with a status subresource does
// on writes of the main resource.
json::Value KeepStatus(json::Arena& arena, json::Value object, json::Value old);
// The other way round, for writes of the status subresource: `old` with the status and the
// metadata of `object`.
json::Value OnlyStatus(json::Arena& arena, json::Value object, json::Value old);
// metadata.generation: one more than old's if `object` differs from `old` outside metadata and
// status.
json::Value CountGeneration(json::Arena& arena, json::Value object, json::Value old);

}  // namespace portcullis::registry

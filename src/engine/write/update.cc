// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <utility>

#include "admission/errors.h"
#include "api/api_status.h"
#include "api/schema/order.h"
#include "api/view/metadata.h"
#include "engine/codec/codec.h"
#include "engine/codec/hidden_fields.h"
#include "engine/write/admit.h"
#include "engine/write/creation.h"
#include "engine/write/initialization.h"
#include "engine/write/preconditions.h"
#include "engine/write/stages.h"
#include "engine/write/steps.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "json/shared_parts.h"
#include "registry/validation/object_meta.h"
#include "store/at_rest.h"
#include "store/readable.h"

namespace portcullis::engine {
namespace {

constexpr int kConflictRetries = 100;  // Kubernetes goes on until the request's time is over
constexpr std::string_view kModified =
    "the object has been modified; please apply your changes to the latest version and try again";

// An object that is being deleted goes for good with its last finalizer.
bool ShouldDelete(const registry::Strategy& strategy, json::Value object, json::Value live) {
  const api::view::Metadata metadata(object);
  if (!metadata.is_being_deleted() || !metadata.finalizers().empty()) return false;
  if (strategy.HeldByOther(object)) return false;
  const json::Value grace = live["metadata"]["deletionGracePeriodSeconds"];
  return grace.is_null() || grace.AsInt() == 0;
}

// One attempt of an update against `current`. A conflict that may be tried again has kConflict and
// sets `retry`.
class Attempt {
 public:
  Attempt(Operation& op, const UpdateSpec& spec, const WriteOptions& options,
          store::ObjectPtr current)
      : op_(op),
        spec_(spec),
        options_(options),
        current_(std::move(current)),
        strategy_(StrategyOf(op)) {}

  // Up to the commit. Nothing if there is none to make: outcome() is known then.
  base::Result<std::optional<PendingWrite>> Plan() {
    live_ = TRY(FromStore(op_, current_));
    TraceUpdate(op_, live_);
    json::Value object = TRY(spec_.transform(live_));
    if (IsAsWritten()) known_ = live_;
    if (spec_.replaces) {
      TraceReplaced(op_, object);
      // Most of it is as it was. Compare() wants to know what decoding has changed.
      if (!known_.is_null()) object = json::WithPartsOf(op_.arena, object, known_, op_.sent);
    }
    object = TRY(MatchNamespace(op_, object));
    TRY(MatchName(spec_.name, object));
    if (spec_.replaces) {
      TRY(CheckUid(op_, spec_.name, object["metadata"]["uid"].AsString(), live_));
    }
    if (spec_.track_fields) {
      object = TrackFields(op_, live_, object, options_.field_manager);
    }
    TraceStage(op_, kPrepare, "metadata", object);
    const json::Value before = object;
    object = TRY(RunMutating(op_, {.operation = admission::kUpdate,
                                   .name = spec_.name,
                                   .object = object,
                                   .old_object = live_,
                                   .options = options_.as_update}));
    if (!object.IsSameAs(before)) {
      object = RestoreManagedFields(op_, object, before);
    }
    object = DeduplicateOwners(op_, object, When::kAfterAdmission);
    TRY(Refuse(op_, "rbac", CheckGrant(op_, spec_.name, object, live_)));
    object = TRY(MatchNamespace(op_, TRY(SettleVersion(object))));
    allocated_ = KeepTimes(op_, TRY(PrepareAndAllocate(object)), live_);
    TraceStage(op_, kStrategy, "strategy", allocated_);
    auto write = PlanCommit();
    if (!write.ok() || !*write) Release(write.ok() && !op_.dry_run);
    return write;
  }

  // A conflict that may be tried again sets `retry`.
  base::Result<Outcome> Committed(base::Result<store::ObjectPtr> stored, bool& retry) {
    Release(stored.ok());
    if (!stored.ok()) return Failed(std::move(stored).status(), retry);
    if (removes_) {
      DeleteCompanion(op_, op_.ns, spec_.name);
      return outcome_;
    }
    outcome_.stored = *std::move(stored);
    TraceStored(op_, outcome_.object, *outcome_.stored);
    return outcome_;
  }

  const Outcome& outcome() const { return outcome_; }

 private:
  // Whether live_ lies in the store as it is, with the text that would be written of its values.
  bool IsAsWritten() const {
    return !live_.source().empty() && live_.source().data() == current_->bytes().data();
  }

  // resourceVersion of the new object: as given and checked, else the live one's.
  base::Result<json::Value> SettleVersion(json::Value object) {
    const RequestedVersion version = TRY(ReadRequestedVersion(object));
    const std::int64_t live = current_->revision();
    if (version.given && version.number != live) {
      return api::ConflictStatus(op_.group_resource(), spec_.name, kModified);
    }
    if (!version.given && !strategy_.AllowUnconditionalUpdate()) {
      const api::FieldErrors errors = {
          api::Invalid(api::FieldPath("metadata").Child("resourceVersion"), 0,
                       "must be specified for an update")};
      // Kubernetes puts the resource's name where the kind belongs.
      const auto& resource = op_.resource->resource;
      return api::InvalidStatus({resource.group, resource.resource}, spec_.name, errors);
    }
    return json::SetPath(op_.arena, object, {"metadata", "resourceVersion"},
                         json::String(op_.arena, std::to_string(live)));
  }

  // In a survey an object that is not valid comes back without allocations.
  base::Result<json::Value> PrepareAndAllocate(json::Value object) {
    if (op_.resource->custom && object["apiVersion"].AsString().empty()) {
      // Kubernetes looks up here of which kind it is.
      return base::InternalError(
          "Object 'apiVersion' is missing in 'object has no apiVersion field'");
    }
    auto context = StrategyContext(op_, spec_.name);
    std::vector<std::string> warnings;
    context.warnings = &warnings;
    object = KeepSystemFields(op_, object, live_);
    const json::Value stored = TRY(StoredForm(op_.arena, *op_.resource, current_, live_));
    // A refusal is about the kind that the client has given, which is not that of a status any more.
    const json::Value given = object;
    object = Settle(op_, object, strategy_.PrepareForUpdate(context, object, stored));
    object = TRY(strategy_.Allocate(context, object, live_));
    allocated_ = object;
    api::FieldErrors errors;
    registry::ValidateObjectMetaUpdate(context, strategy_, op_.resource->namespaced, object, live_,
                                       errors);
    CheckInitialization(op_, object, live_, errors);
    if (JudgesAsNew(op_, live_, errors)) {
      strategy_.Validate(context, object, errors);
    } else {
      strategy_.ValidateUpdate(context, object, live_, errors);
    }
    if (errors.empty()) strategy_.UpdateWarnings(context, object, live_, warnings);
    for (std::string& text : warnings) op_.recorder.Warn(std::move(text));
    if (!errors.empty()) {
      Release(false);
      TRY(Refuse(op_, "validation", ResourceInvalid(op_, given, errors)));
      return object;
    }
    return strategy_.Canonicalize(context, object);
  }

  // Releases allocated addresses and ports that are not used any more. An update that takes the
  // last finalizer away removes the object.
  void Release(bool done) {
    const auto context = StrategyContext(op_, spec_.name);
    if (done) {
      strategy_.Release(context, live_, removes_ ? json::Value() : allocated_);
    } else {
      strategy_.Release(context, allocated_, live_);
    }
  }

  // An earlier state of the object that had its defaults.
  json::Value Defaulted() const {
    const bool by_client = spec_.replaces || op_.verb == Verb::kPatch;
    const bool had_them = by_client && !known_.is_null() && !current_->lacks_defaults();
    return had_them ? known_ : DefaultedBody(op_);
  }

  base::Result<std::optional<PendingWrite>> PlanCommit() {
    json::Value object = allocated_;
    TRY(RunValidating(op_, {.operation = admission::kUpdate,
                            .name = spec_.name,
                            .object = object,
                            .old_object = AsShown(op_.arena, *op_.resource, live_),
                            .options = options_.as_update}));
    object = PruneCustom(*op_.catalog, op_.arena, op_.resource->kind, object);
    PendingWrite write;
    write.ns = op_.ns;
    write.name = spec_.name;
    write.expected = current_->revision();
    removes_ = !op_.dry_run && ShouldDelete(strategy_, object, live_);
    if (removes_) {
      // The answer is the object as it was to be written: it has not been in the store.
      outcome_.object = op_.resource->schema == nullptr || op_.resource->custom
                            ? object
                            : api::schema::InGoOrder(op_.arena, *op_.resource->schema, object);
      write.kind = PendingWrite::Kind::kDelete;
      return std::optional<PendingWrite>(std::move(write));
    }
    object = TRY(WithDefaultsOfReads(op_, object, Defaulted(), lacks_defaults_));
    object = strategy_.Complete(StrategyContext(op_, spec_.name), object);
    object = AsStored(*op_.catalog, op_.arena, op_.resource->kind, object,
                      known_.is_null() ? op_.canonical : known_);
    // It is taken away where an object is encoded for the store, and a dry run stores none.
    if (!op_.dry_run) object = json::RemovePath(op_.arena, object, {"metadata", "selfLink"});
    if (op_.dry_run) {
      outcome_.object = TRY(ThroughStore(op_, object));
      TraceEnd(op_, outcome_.object);
      return std::optional<PendingWrite>();
    }
    write.kind = PendingWrite::Kind::kUpdate;
    write.encoded = TRY(EncodeWithin(op_, object, !spec_.track_fields));
    outcome_.object = object;
    // A value under an old key, and one with null for bytes, is written again, as kube-apiserver does.
    if (SameContent(write.encoded, *current_) && !store::IsStale(*op_.world.store, *current_) &&
        lacks_defaults_ == current_->lacks_defaults() &&
        WithEmptyBytes(op_, allocated_).IsSameAs(allocated_)) {
      outcome_.stored = current_;
      TraceEnd(op_, object);
      return std::optional<PendingWrite>();
    }
    if (lacks_defaults_) MarkLacksDefaults(write.encoded);
    return std::optional<PendingWrite>(std::move(write));
  }

  base::Status Failed(base::Status status, bool& retry) const {
    if (status.reason() == base::Reason::kConflict) {
      retry = true;
      return api::ConflictStatus(op_.group_resource(), spec_.name, kModified);
    }
    if (status.reason() == base::Reason::kNotFound) {
      return api::NotFoundStatus(op_.group_resource(), spec_.name);
    }
    return status;
  }

  Operation& op_;
  const UpdateSpec& spec_;
  const WriteOptions& options_;
  const store::ObjectPtr current_;
  const registry::Strategy& strategy_;
  json::Value live_;
  json::Value known_;  // live_, if what the object shares with it needs no look
  json::Value allocated_;
  bool removes_ = false;
  bool lacks_defaults_ = false;  // kube-apiserver would store it so
  Outcome outcome_;
};

// An update, or a create in its place if the object is not there; once more after each conflict. If
// it says that the initialization of the object has failed, the object is removed afterwards.
class Change final : public Execution {
 public:
  Change(Operation& op, UpdateSpec spec, WriteOptions options)
      : op_(op), spec_(std::move(spec)), options_(std::move(options)) {}

  std::optional<PendingWrite> Advance() override {
    if (failed_ != nullptr) return Removal();
    while (!outcome_) {
      if (creation_) {
        if (auto write = creation_->Advance()) return write;
        EndCreation();
        continue;
      }
      auto next = TryOnce();
      if (!next.ok()) {
        outcome_.emplace(std::move(next).status());
      } else if (*next) {
        return *std::move(next);
      }
    }
    return std::nullopt;
  }

  void Committed(base::Result<store::ObjectPtr> stored) override {
    if (failed_ != nullptr) return Removed(stored);
    if (creation_) return creation_->Committed(std::move(stored));
    bool retry = false;
    auto result = attempt_->Committed(std::move(stored), retry);
    if (retry && tries_ < kConflictRetries) {
      ++tries_;
    } else {
      if (result.ok() && HasFailedInitialization(op_, result->object)) failed_ = result->stored;
      outcome_.emplace(std::move(result));
    }
  }

  base::Result<Outcome> TakeOutcome() override { return Shown(op_, *std::move(outcome_)); }

 private:
  // The removal of an object whose initialization has failed; finalizers do not stop it.
  PendingWrite Removal() const {
    PendingWrite write;
    write.kind = PendingWrite::Kind::kDelete;
    write.ns = op_.ns;
    write.name = spec_.name;
    write.expected = failed_->revision();
    return write;
  }

  void Removed(const base::Result<store::ObjectPtr>& answer) {
    if (!answer.ok() && answer.status().reason() == base::Reason::kConflict) {
      failed_ = op_.world.store->Get(KeyOf(op_, spec_.name));
      return;
    }
    failed_ = nullptr;
    StrategyOf(op_).Release(StrategyContext(op_, spec_.name), (*outcome_)->object, {});
  }

  base::Result<std::optional<PendingWrite>> TryOnce() {
    store::ObjectPtr current = TRY(store::GetReadable(*op_.world.store, KeyOf(op_, spec_.name)));
    if (current == nullptr) {
      TRY(BeginCreation());
      return std::optional<PendingWrite>();
    }
    attempt_.emplace(op_, spec_, options_, std::move(current));
    auto next = attempt_->Plan();
    if (next.ok() && !*next) outcome_.emplace(attempt_->outcome());
    return next;
  }

  base::Status BeginCreation() {
    if (!spec_.create_if_absent) return api::NotFoundStatus(op_.group_resource(), spec_.name);
    json::Value object = TRY(spec_.transform({}));
    TRY(CheckNoUid(op_, spec_, object));
    TRY(MatchNamespace(op_, object));
    TRY(MatchName(spec_.name, object));
    creation_ = MakeCreation(op_, object, options_, {spec_.track_fields, true});
    return base::OkStatus();
  }

  // Another one may have been faster: then there is something to update.
  void EndCreation() {
    auto made = creation_->TakeOutcome();
    creation_.reset();
    const bool overtaken = !made.ok() && made.status().reason() == base::Reason::kAlreadyExists &&
                           op_.world.store->Get(KeyOf(op_, spec_.name)) != nullptr;
    if (overtaken && tries_ < kConflictRetries) {
      ++tries_;
    } else {
      outcome_.emplace(std::move(made));
    }
  }

  Operation& op_;
  const UpdateSpec spec_;
  const WriteOptions options_;
  std::unique_ptr<Execution> creation_;  // if the object is not there
  std::optional<Attempt> attempt_;
  int tries_ = 0;
  store::ObjectPtr failed_;  // stored with the result of its initialization, to be removed
  std::optional<base::Result<Outcome>> outcome_;
};

}  // namespace

std::unique_ptr<Execution> BeginUpdate(Operation& op, UpdateSpec spec, WriteOptions options) {
  return std::make_unique<Change>(op, std::move(spec), std::move(options));
}

}  // namespace portcullis::engine

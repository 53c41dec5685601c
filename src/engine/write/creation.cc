// SPDX-License-Identifier: Apache-2.0

#include "engine/write/creation.h"

#include <optional>
#include <string>
#include <utility>

#include "admission/errors.h"
#include "api/api_status.h"
#include "authz/authorizer.h"
#include "engine/codec/codec.h"
#include "engine/write/admit.h"
#include "engine/write/initialization.h"
#include "engine/write/preconditions.h"
#include "engine/write/stages.h"
#include "engine/write/steps.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "registry/validation/object_meta.h"

namespace portcullis::engine {
namespace {

constexpr int kNameAttempts = 8;

// Facts about the object of a create that it does not hold itself.
struct CreateFacts {
  std::string requested_name;  // before admission; "" if the client left it open
  bool generated = false;      // the server chooses the name
  bool has_version = false;    // carries a resourceVersion, which no new object may
};

// An update that turns out to be a creation needs the right to create.
base::Status CheckMayCreate(Operation& op, const std::string& name) {
  authz::Attributes attributes;
  attributes.user = &op.user;
  attributes.verb = "create";
  attributes.group = op.resource->resource.group;
  attributes.version = op.resource->resource.version;
  attributes.resource = op.resource->resource.resource;
  attributes.subresource = op.subresource_name();
  attributes.ns = op.ns;
  attributes.name = name;
  const authz::Decision decision = op.world.authorizer->Authorize(attributes);
  if (decision.allowed()) return base::OkStatus();
  if (!decision.error.empty()) return base::InternalError(decision.error);
  return authz::Denied(attributes, decision.reason);
}

// The name is taken, perhaps by an object that is about to go. With a generateName the name counts
// as generated, even if the client has given one.
base::Status Exists(Operation& op, std::string_view name, json::Value object) {
  const bool generated = !object["metadata"]["generateName"].AsString().empty();
  const base::Status status = generated
                                  ? api::GenerateNameConflictStatus(op.group_resource(), name, 1)
                                  : api::AlreadyExistsStatus(op.group_resource(), name);
  const store::ObjectPtr existing = op.world.store->Get(KeyOf(op, name));
  const bool terminating =
      existing != nullptr && !existing->document()["metadata"]["deletionTimestamp"].is_null();
  return terminating ? status.Annotate("object is being deleted") : status;
}

// Whether another name is tried after a collision, as releases since v1.31 do.
bool RetriesNames(const Operation& op) {
  return op.world.release->GateEnabled("RetryGenerateName");
}

// Services do in the releases that had initializers.
bool AlwaysWaits(const Operation& op) {
  return op.world.release->Has("ServiceCreatesAlwaysWait") &&
         op.group_resource() == api::GroupResource{"", "services"};
}

class Creation final : public Execution {
 public:
  Creation(Operation& op, json::Value object, WriteOptions options, const CreateMode& mode)
      : op_(op),
        options_(std::move(options)),
        mode_(mode),
        strategy_(StrategyOf(op)),
        object_(object) {}

  std::optional<PendingWrite> Advance() override {
    if (!begun_) {
      begun_ = true;
      base::Status failure = Prepare();
      if (!failure.ok()) outcome_.emplace(std::move(failure));
    }
    while (!outcome_) {
      auto next = Attempt();
      if (!next.ok()) {
        Fail(std::move(next).status());
      } else if (*next) {
        return *std::move(next);
      }
    }
    return std::nullopt;
  }

  void Committed(base::Result<store::ObjectPtr> stored) override {
    if (!stored.ok()) {
      base::Status failure = Collided(std::move(stored).status());
      if (!failure.ok()) Fail(std::move(failure));
      return;
    }
    Outcome written = Written();
    written.stored = *std::move(stored);
    TraceStored(op_, object_, *written.stored);
    if (op_.group_resource() == api::GroupResource{"", "namespaces"} &&
        op_.world.namespace_hook != nullptr) {
      op_.world.namespace_hook->OnCreated(std::string(written.stored->name()), op_.recorder);
    }
    outcome_.emplace(std::move(written));
  }

  base::Result<Outcome> TakeOutcome() override {
    auto outcome = Shown(op_, *std::move(outcome_));
    if (!outcome.ok() || !Waits()) return outcome;
    return AwaitInitialization(op_, *std::move(outcome));
  }

 private:
  // Everything that is done once: up to what strategies allocate.
  base::Status Prepare() {
    if (op_.resource->definition != nullptr && op_.resource->definition->terminating()) {
      return api::ForbiddenStatus(op_.group_resource(), object_["metadata"]["name"].AsString(),
                                  "create not allowed while custom resource definition is "
                                  "terminating");
    }
    TRY(Admit());
    uninitialized_ = IsBeingInitialized(op_, object_);
    if (Waits()) TRY(op_.recorder.CheckMayWait());
    TRY(Refuse(op_, "rbac", CheckGrant(op_, object_["metadata"]["name"].AsString(), object_, {})));
    facts_.generated = object_["metadata"]["name"].AsString().empty();
    if (mode_.by_update) TRY(ReadRequestedVersion(object_));
    facts_.has_version = HasVersion(object_) && !mode_.by_update;
    object_ = AssignIdentity(op_, object_);
    TraceStage(op_, kStrategy, "identity", object_);
    first_name_ = object_["metadata"]["name"].AsString();
    auto context = StrategyContext(op_, first_name_);
    std::vector<std::string> warnings;
    context.warnings = &warnings;
    object_ = Settle(op_, object_, strategy_.PrepareForCreate(context, object_));
    object_ = TRY(strategy_.Allocate(context, object_, {}));
    api::FieldErrors errors;
    const bool metadata_last = strategy_.ChecksMetadataLast();
    if (metadata_last) strategy_.Validate(context, object_, errors);
    if (errors.empty()) {
      registry::ValidateObjectMeta(context, object_, op_.resource->namespaced, strategy_, errors);
    }
    if (!metadata_last) strategy_.Validate(context, object_, errors);
    if (errors.empty()) registry::ValidateNames(object_, errors);
    if (uninitialized_) CheckInitialization(op_, object_, {}, errors);
    if (errors.empty()) strategy_.Warnings(context, object_, warnings);
    for (std::string& text : warnings) op_.recorder.Warn(std::move(text));
    if (!errors.empty()) {
      strategy_.Release(context, object_, {});
      return Refuse(op_, "validation", ResourceInvalid(op_, object_, errors));
    }
    object_ = strategy_.Canonicalize(context, object_);
    TraceStage(op_, kStrategy, "strategy", object_);
    return base::OkStatus();
  }

  // Whether the answer waits for initializers, which Advance() has asked to be allowed.
  bool Waits() const {
    if (!uninitialized_ || op_.dry_run || mode_.by_update) return false;
    return !options_.include_uninitialized || AlwaysWaits(op_);
  }

  // The metadata that clients may not set, the owners of fields, and the mutating phase.
  base::Status Admit() {
    if (mode_.by_update) {
      // The object comes from an update, which does not clear the fields that only the server sets.
      object_ = TRY(MatchNamespace(op_, object_));
    } else {
      object_ = TRY(PrepareMetadata(op_, object_));
      object_ = DeduplicateOwners(op_, object_, When::kBeforeAdmission);
    }
    if (mode_.track_fields) object_ = TrackFields(op_, {}, object_, options_.field_manager);
    TraceStage(op_, kPrepare, "metadata", object_);
    const json::Value before = object_;
    facts_.requested_name = object_["metadata"]["name"].AsString();
    object_ = TRY(RunMutating(op_, {.operation = admission::kCreate,
                                    .name = facts_.requested_name,
                                    .object = object_,
                                    .options = options_.as_create}));
    if (object_.IsSameAs(before) && !mode_.by_update) return base::OkStatus();
    // Only custom resources can have become such.
    if (const json::Value* metadata = object_.Find("metadata");
        metadata != nullptr && !metadata->is_object()) {
      return base::InternalError("system metadata was not initialized");
    }
    object_ = RestoreManagedFields(op_, object_, before);
    object_ = DeduplicateOwners(op_, object_, When::kAfterAdmission);
    object_ = TRY(MatchNamespace(op_, object_));
    return base::OkStatus();
  }

  // Up to the commit under the name that the object has now; nothing if there is none to make.
  base::Result<std::optional<PendingWrite>> Attempt() {
    // A PUT or an apply stores it under the name of the URL, whatever admission calls it.
    const bool named_by_url = mode_.by_update && !op_.name.empty();
    name_ = named_by_url ? op_.name : std::string(object_["metadata"]["name"].AsString());
    if (mode_.by_update) TRY(CheckMayCreate(op_, name_));
    TRY(RunValidating(op_, {.operation = admission::kCreate,
                            .name = facts_.requested_name.empty() ? name_ : facts_.requested_name,
                            .object = object_,
                            .options = options_.as_create,
                            .name_generated = facts_.requested_name.empty()}));
    // Validating webhooks still see unknown fields that webhooks have added, and empty lists as
    // such.
    if (op_.resource->custom) {
      object_ = PruneCustom(*op_.catalog, op_.arena, op_.resource->kind, object_);
    }
    object_ = TRY(WithDefaultsOfReads(op_, object_, DefaultedBody(op_), lacks_defaults_));
    object_ = strategy_.Complete(StrategyContext(op_, name_), object_);
    object_ = AsStored(*op_.catalog, op_.arena, op_.resource->kind, object_, op_.canonical);
    uninitialized_ = uninitialized_ && IsBeingInitialized(op_, object_);
    // A selfLink is never stored, and a dry run stores nothing.
    if (!op_.dry_run) object_ = json::RemovePath(op_.arena, object_, {"metadata", "selfLink"});
    if (op_.dry_run) {
      TRY(RunDry());
      return std::optional<PendingWrite>();
    }
    if (facts_.has_version) {
      return admission::PlainError("resourceVersion should not be set on objects to be created");
    }
    PendingWrite write;
    write.kind = PendingWrite::Kind::kCreate;
    write.ns = op_.ns;
    write.name = name_;
    write.encoded = TRY(EncodeWithin(op_, object_, !mode_.track_fields));
    if (lacks_defaults_) MarkLacksDefaults(write.encoded);
    return std::optional<PendingWrite>(std::move(write));
  }

  base::Status RunDry() {
    // One that cannot be read in this version is not found there; that this object cannot be
    // converted is told then.
    const store::ObjectPtr existing = op_.world.store->Get(KeyOf(op_, name_));
    if (existing != nullptr && FromStore(op_, existing).ok()) {
      return Collided(Exists(op_, name_, object_));
    }
    strategy_.Release(StrategyContext(op_, name_), object_, {});
    Outcome written = Written();
    written.object = TRY(ThroughStore(op_, object_));
    TraceEnd(op_, written.object);
    outcome_.emplace(std::move(written));
    return base::OkStatus();
  }

  Outcome Written() const {
    Outcome written;
    written.created = true;
    written.code = uninitialized_ && !mode_.by_update ? 202 : 201;
    written.object = object_;
    return written;
  }

  // Chooses another name if that helps; else the failure.
  base::Status Collided(base::Status failure) {
    if (failure.reason() != base::Reason::kAlreadyExists) return failure;
    if (!facts_.generated || ++attempts_ == kNameAttempts || !RetriesNames(op_)) {
      return Exists(op_, name_, object_);
    }
    const json::Value renamed = RegenerateName(op_, object_);
    if (op_.dry_run) {
      object_ = renamed;
      return base::OkStatus();
    }
    // Addresses and ports are released under the object's old name.
    strategy_.Release(StrategyContext(op_, name_), object_, {});
    object_ = {};
    const std::string next(renamed["metadata"]["name"].AsString());
    object_ = TRY(strategy_.Allocate(StrategyContext(op_, next), renamed, {}));
    return base::OkStatus();
  }

  // After Prepare(): what has been allocated is given back.
  void Fail(base::Status failure) {
    strategy_.Release(StrategyContext(op_, first_name_), object_, {});
    outcome_.emplace(std::move(failure));
  }

  Operation& op_;
  const WriteOptions options_;
  const CreateMode mode_;
  const registry::Strategy& strategy_;
  json::Value object_;
  CreateFacts facts_;
  std::string first_name_;
  std::string name_;
  int attempts_ = 0;
  bool begun_ = false;
  bool uninitialized_ = false;   // the object has initializers left
  bool lacks_defaults_ = false;  // kube-apiserver would store it so
  std::optional<base::Result<Outcome>> outcome_;
};

}  // namespace

std::unique_ptr<Execution> MakeCreation(Operation& op, json::Value object, WriteOptions options,
                                        const CreateMode& mode) {
  return std::make_unique<Creation>(op, object, std::move(options), mode);
}

}  // namespace portcullis::engine

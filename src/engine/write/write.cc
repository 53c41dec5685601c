#include "engine/write/write.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "admission/errors.h"
#include "admission/plugin.h"
#include "api/api_status.h"
#include "api/stored_size.h"
#include "api/view/metadata.h"
#include "authz/authorizer.h"
#include "authz/rbac/escalation.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/write/admit.h"
#include "engine/write/preconditions.h"
#include "engine/write/stages.h"
#include "engine/write/system_fields.h"
#include "json/writer.h"
#include "registry/validation/object_meta.h"

namespace portcullis::engine {
namespace {

constexpr int kNameAttempts = 8;
constexpr int kConflictRetries = 100;  // Kubernetes goes on until the request's time is over
constexpr std::string_view kModified =
    "the object has been modified; please apply your changes to the latest version and try again";

// Fields that Go always writes come back if a strategy has dropped a whole member.
json::Value Settle(Operation& op, json::Value before, json::Value after) {
  if (before.IsSameAs(after)) return after;
  if (before["status"].IsSameAs(after["status"])) return after;
  return Recanonicalize(*op.catalog, op.arena, op.resource->kind, after, before);
}

// The refusal by validation. A custom resource goes by the kind it says it is of.
base::Status ResourceInvalid(const Operation& op, json::Value object,
                             const api::FieldErrors& errors) {
  api::GroupKind kind = op.resource->kind.group_kind();
  if (op.resource->custom) {
    kind.kind = object["kind"].AsString();
    const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
    if (version.ok()) kind.group = version->group;
  }
  base::Status refusal = api::InvalidStatus(kind, object["metadata"]["name"].AsString(), errors);
  TraceRefusal(op, kStrategy, "validation", refusal);
  return refusal;
}

// RBAC escalation check: a user may not grant rights they do not hold.
base::Status CheckGrant(Operation& op, std::string_view name, json::Value object, json::Value old) {
  if (op.by_server || op.world.rbac == nullptr ||
      op.resource->resource.group != "rbac.authorization.k8s.io") {
    return base::OkStatus();
  }
  const authz::rbac::EscalationRequest request{
      op.user, op.resource->resource.resource, op.ns, name, op.name, object, old};
  return authz::rbac::CheckEscalation(request, *op.world.authorizer, *op.world.rbac);
}

// The object for the store. One that is too large is tried once more without managedFields, which
// can be large and which the next write makes anew; kube-apiserver does the same.
base::Result<store::Encoded> EncodeWithin(Operation& op, json::Value object, bool applied) {
  auto encoded = EncodeForStore(op, object);
  if (encoded.ok() || applied || !api::IsRequestTooLarge(encoded.status())) return encoded;
  return EncodeForStore(op, json::RemovePath(op.arena, object, {"metadata", "managedFields"}));
}

// What was not stored is shown with its fields in the order of stored objects.
base::Result<Outcome> Shown(Operation& op, base::Result<Outcome> outcome) {
  if (outcome.ok() && outcome->stored == nullptr) {
    outcome->object = Ordered(op.arena, outcome->object);
  }
  return outcome;
}

// What is particular about a create.
struct CreateMode {
  bool track_fields = true;  // false: managedFields are up to date (apply)
  bool by_update = false;    // a PUT or an apply found nothing to change: needs the right to create
};

// What a create knows of the object besides itself.
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

// A create, from the decoded object to the commit; with another name once more if one that was
// generated is taken.
class Creation final : public Execution {
 public:
  Creation(Operation& op, json::Value object, const WriteOptions& options, const CreateMode& mode)
      : op_(op), options_(options), mode_(mode), strategy_(StrategyOf(op)), object_(object) {}

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

  base::Result<Outcome> TakeOutcome() override { return Shown(op_, *std::move(outcome_)); }

 private:
  // Everything that is done once: up to what strategies allocate.
  base::Status Prepare() {
    if (op_.resource->definition != nullptr && op_.resource->definition->terminating()) {
      return api::ForbiddenStatus(op_.group_resource(), object_["metadata"]["name"].AsString(),
                                  "create not allowed while custom resource definition is "
                                  "terminating");
    }
    TRY(Admit());
    TRY(CheckGrant(op_, object_["metadata"]["name"].AsString(), object_, {}));
    facts_.generated = object_["metadata"]["name"].AsString().empty();
    facts_.has_version = HasVersion(object_) && !mode_.by_update;
    object_ = AssignIdentity(op_, object_);
    TraceStage(op_, kStrategy, "identity", object_);
    first_name_ = object_["metadata"]["name"].AsString();
    const auto context = StrategyContext(op_, first_name_);
    object_ = Settle(op_, object_, strategy_.PrepareForCreate(context, object_));
    api::FieldErrors errors;
    registry::ValidateObjectMeta(object_, op_.resource->namespaced, strategy_, errors);
    strategy_.Validate(context, object_, errors);
    if (!errors.empty()) return ResourceInvalid(op_, object_, errors);
    std::vector<std::string> warnings;
    strategy_.Warnings(context, object_, warnings);
    for (std::string& text : warnings) op_.recorder.Warn(std::move(text));
    object_ = strategy_.Canonicalize(context, object_);
    object_ = TRY(strategy_.Allocate(context, object_, {}));
    TraceStage(op_, kStrategy, "strategy", object_);
    return base::OkStatus();
  }

  // The metadata that clients may not set, the owners of fields, and the mutating phase.
  base::Status Admit() {
    object_ = TRY(PrepareMetadata(op_, object_));
    object_ = DeduplicateOwners(op_, object_, When::kBeforeAdmission);
    if (mode_.track_fields) object_ = TrackFields(op_, {}, object_, options_.field_manager);
    TraceStage(op_, kPrepare, "metadata", object_);
    const json::Value before = object_;
    facts_.requested_name = object_["metadata"]["name"].AsString();
    object_ = TRY(RunMutating(op_, {.operation = admission::kCreate,
                                    .name = facts_.requested_name,
                                    .object = object_,
                                    .options = options_.as_create}));
    if (object_.IsSameAs(before)) return base::OkStatus();
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
    name_ = object_["metadata"]["name"].AsString();
    if (mode_.by_update) TRY(CheckMayCreate(op_, name_));
    TRY(RunValidating(op_, {.operation = admission::kCreate,
                            .name = facts_.requested_name.empty() ? name_ : facts_.requested_name,
                            .object = object_,
                            .options = options_.as_create,
                            .name_generated = facts_.requested_name.empty()}));
    // Validating webhooks still see unknown fields that webhooks have added, and empty lists as
    // such.
    object_ = PruneCustom(*op_.catalog, op_.arena, op_.resource->kind, object_);
    // Reading from the store sets defaults, e.g. those of a status the strategy has emptied.
    object_ = TRY(ApplyDefaults(op_.world, *op_.catalog, op_.arena, op_.resource->kind, object_));
    object_ = strategy_.Complete(StrategyContext(op_, name_), object_);
    object_ = AsStored(*op_.catalog, op_.arena, op_.resource->kind, object_);
    // A selfLink is never stored.
    object_ = json::RemovePath(op_.arena, object_, {"metadata", "selfLink"});
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
    return std::optional<PendingWrite>(std::move(write));
  }

  base::Status RunDry() {
    if (op_.world.store->Get(KeyOf(op_, name_)) != nullptr) {
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
    written.code = 201;
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
    // What has been taken goes by the name.
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
  const WriteOptions& options_;
  const CreateMode mode_;
  const registry::Strategy& strategy_;
  json::Value object_;
  CreateFacts facts_;
  std::string first_name_;
  std::string name_;
  int attempts_ = 0;
  bool begun_ = false;
  std::optional<base::Result<Outcome>> outcome_;
};

// An object that is being deleted goes for good with its last finalizer.
bool ShouldDelete(const registry::Strategy& strategy, json::Value object, json::Value live) {
  const api::view::Metadata metadata(object);
  if (!metadata.is_being_deleted() || !metadata.finalizers().empty()) return false;
  if (strategy.HeldByOther(object)) return false;
  const json::Value grace = live["metadata"]["deletionGracePeriodSeconds"];
  return grace.is_null() || grace.AsInt() == 0;
}

bool SameContent(const store::Encoded& encoded, const store::ObjectPtr& current) {
  const std::string_view bytes = current->bytes();
  const std::string revision = std::to_string(current->revision());
  if (encoded.bytes.size() + revision.size() != bytes.size()) return false;
  if (encoded.revision_at != current->revision_at()) return false;
  return std::string_view(encoded.bytes).substr(0, encoded.revision_at) ==
             bytes.substr(0, encoded.revision_at) &&
         std::string_view(encoded.bytes).substr(encoded.revision_at) ==
             bytes.substr(encoded.revision_at + revision.size());
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
    if (spec_.replaces) TraceReplaced(op_, object);
    object = TRY(MatchNamespace(op_, object));
    TRY(MatchName(spec_.name, object));
    TRY(CheckUid(op_, spec_.name, object["metadata"]["uid"].AsString(), live_));
    object = DeduplicateOwners(op_, object, When::kBeforeAdmission);
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
    TRY(CheckGrant(op_, spec_.name, object, live_));
    object = TRY(MatchNamespace(op_, TRY(SettleVersion(object))));
    object = TRY(PrepareAndValidate(object));
    auto allocated = strategy_.Allocate(StrategyContext(op_, spec_.name), object, live_);
    if (!allocated.ok()) return std::move(allocated).status();
    allocated_ = *allocated;
    TraceStage(op_, kStrategy, "strategy", allocated_);
    auto write = PlanCommit();
    if (!write.ok() || !*write) Release(write.ok() && !op_.dry_run);
    return write;
  }

  // A conflict that may be tried again sets `retry`.
  base::Result<Outcome> Committed(base::Result<store::ObjectPtr> stored, bool& retry) {
    Release(stored.ok());
    if (!stored.ok()) return Failed(std::move(stored).status(), retry);
    if (removes_) return outcome_;
    outcome_.stored = *std::move(stored);
    TraceStored(op_, outcome_.object, *outcome_.stored);
    return outcome_;
  }

  const Outcome& outcome() const { return outcome_; }

 private:
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

  base::Result<json::Value> PrepareAndValidate(json::Value object) {
    auto context = StrategyContext(op_, spec_.name);
    std::vector<std::string> warnings;
    context.warnings = &warnings;
    object = KeepSystemFields(op_, object, live_);
    object = Settle(op_, object, strategy_.PrepareForUpdate(context, object, live_));
    api::FieldErrors errors;
    registry::ValidateObjectMetaUpdate(object, live_, errors);
    // Kubernetes checks the metadata twice, once for all kinds and once in each kind's own check.
    const std::size_t count = errors.size();
    for (std::size_t i = 0; i < count; ++i) errors.push_back(api::FieldError(errors[i]));
    strategy_.ValidateUpdate(context, object, live_, errors);
    if (errors.empty()) strategy_.UpdateWarnings(context, object, live_, warnings);
    for (std::string& text : warnings) op_.recorder.Warn(std::move(text));
    if (!errors.empty()) return ResourceInvalid(op_, object, errors);
    return strategy_.Canonicalize(context, object);
  }

  // What was allocated and is not used any more is given back. An update that takes the last
  // finalizer away removes the object.
  void Release(bool done) {
    const auto context = StrategyContext(op_, spec_.name);
    if (done) {
      strategy_.Release(context, live_, removes_ ? json::Value() : allocated_);
    } else {
      strategy_.Release(context, allocated_, live_);
    }
  }

  base::Result<std::optional<PendingWrite>> PlanCommit() {
    json::Value object = allocated_;
    TRY(RunValidating(op_, {.operation = admission::kUpdate,
                            .name = spec_.name,
                            .object = object,
                            .old_object = live_,
                            .options = options_.as_update}));
    object = PruneCustom(*op_.catalog, op_.arena, op_.resource->kind, object);
    object = TRY(ApplyDefaults(op_.world, *op_.catalog, op_.arena, op_.resource->kind, object));
    object = strategy_.Complete(StrategyContext(op_, spec_.name), object);
    object = AsStored(*op_.catalog, op_.arena, op_.resource->kind, object);
    outcome_.object = object;
    if (op_.dry_run) {
      outcome_.object = TRY(ThroughStore(op_, object));
      TraceEnd(op_, outcome_.object);
      return std::optional<PendingWrite>();
    }
    PendingWrite write;
    write.ns = op_.ns;
    write.name = spec_.name;
    write.expected = current_->revision();
    removes_ = ShouldDelete(strategy_, object, live_);
    if (removes_) {
      write.kind = PendingWrite::Kind::kDelete;
      return std::optional<PendingWrite>(std::move(write));
    }
    write.kind = PendingWrite::Kind::kUpdate;
    write.encoded = TRY(EncodeWithin(op_, object, !spec_.track_fields));
    if (SameContent(write.encoded, current_)) {
      outcome_.stored = current_;
      TraceEnd(op_, object);
      return std::optional<PendingWrite>();
    }
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
  json::Value allocated_;
  bool removes_ = false;
  Outcome outcome_;
};

// An update, or a create in its place if the object is not there; once more after each conflict.
class Change final : public Execution {
 public:
  Change(Operation& op, const UpdateSpec& spec, const WriteOptions& options)
      : op_(op), spec_(spec), options_(options) {}

  std::optional<PendingWrite> Advance() override {
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
    if (creation_) return creation_->Committed(std::move(stored));
    bool retry = false;
    auto result = attempt_->Committed(std::move(stored), retry);
    if (retry && tries_ < kConflictRetries) {
      ++tries_;
    } else {
      outcome_.emplace(std::move(result));
    }
  }

  base::Result<Outcome> TakeOutcome() override { return Shown(op_, *std::move(outcome_)); }

 private:
  base::Result<std::optional<PendingWrite>> TryOnce() {
    store::ObjectPtr current = op_.world.store->Get(KeyOf(op_, spec_.name));
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
    TRY(MatchName(spec_.name, object));
    TRY(CheckNoUid(op_, spec_, object));
    creation_.emplace(op_, object, options_, CreateMode{spec_.track_fields, true});
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
  const UpdateSpec& spec_;
  const WriteOptions& options_;
  std::optional<Creation> creation_;
  std::optional<Attempt> attempt_;
  int tries_ = 0;
  std::optional<base::Result<Outcome>> outcome_;
};

// The same with all that it refers to.
class OwnedCreation final : public Execution {
 public:
  OwnedCreation(Operation& op, json::Value object, WriteOptions options)
      : options_(std::move(options)), creation_(op, object, options_, {}) {}
  std::optional<PendingWrite> Advance() override { return creation_.Advance(); }
  void Committed(base::Result<store::ObjectPtr> stored) override {
    creation_.Committed(std::move(stored));
  }
  base::Result<Outcome> TakeOutcome() override { return creation_.TakeOutcome(); }

 private:
  const WriteOptions options_;
  Creation creation_;
};

class OwnedChange final : public Execution {
 public:
  OwnedChange(Operation& op, UpdateSpec spec, WriteOptions options)
      : spec_(std::move(spec)), options_(std::move(options)), change_(op, spec_, options_) {}
  std::optional<PendingWrite> Advance() override { return change_.Advance(); }
  void Committed(base::Result<store::ObjectPtr> stored) override {
    change_.Committed(std::move(stored));
  }
  base::Result<Outcome> TakeOutcome() override { return change_.TakeOutcome(); }

 private:
  const UpdateSpec spec_;
  const WriteOptions options_;
  Change change_;
};

}  // namespace

store::Key KeyOf(const Operation& op, std::string_view name) {
  return KeyOf(*op.resource, op.ns, name);
}

store::Key KeyOf(const api::catalog::ResourceInfo& resource, std::string_view ns,
                 std::string_view name) {
  return {resource.storage_kind.group, resource.resource.resource,
          resource.namespaced ? ns : std::string_view(), name};
}

base::Result<Outcome> CreateObject(Operation& op, json::Value object, const WriteOptions& options) {
  Creation creation(op, object, options, {});
  return Finish(op, creation);
}

base::Result<Outcome> UpdateObject(Operation& op, const UpdateSpec& spec,
                                   const WriteOptions& options) {
  Change change(op, spec, options);
  return Finish(op, change);
}

std::unique_ptr<Execution> BeginCreate(Operation& op, json::Value object, WriteOptions options) {
  return std::make_unique<OwnedCreation>(op, object, std::move(options));
}

std::unique_ptr<Execution> BeginUpdate(Operation& op, UpdateSpec spec, WriteOptions options) {
  return std::make_unique<OwnedChange>(op, std::move(spec), std::move(options));
}

base::Status MatchNameForUpdate(Operation& op, json::Value object) {
  TRY(MatchNamespace(op, object));
  return MatchName(op.name, object);
}

bool CreatesOnUpdate(const Operation& op) {
  if (!op.subresource_name().empty()) return false;
  return StrategyOf(op).AllowCreateOnUpdate();
}

}  // namespace portcullis::engine

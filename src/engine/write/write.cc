#include "engine/write/write.h"

#include <algorithm>
#include <iterator>

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
#include "engine/write/system_fields.h"
#include "json/writer.h"
#include "registry/object_meta.h"

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

// A custom resource goes by the kind it says it is of.
base::Status ResourceInvalid(const Operation& op, json::Value object,
                             const api::FieldErrors& errors) {
  api::GroupKind kind = op.resource->kind.group_kind();
  if (op.resource->custom) {
    kind.kind = object["kind"].AsString();
    const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
    if (version.ok()) kind.group = version->group;
  }
  return api::InvalidStatus(kind, object["metadata"]["name"].AsString(), errors);
}

// RBAC escalation check: a user may not grant rights they do not hold.
base::Status CheckGrant(Operation& op, std::string_view name, json::Value object, json::Value old) {
  if (op.world.rbac == nullptr || op.resource->resource.group != "rbac.authorization.k8s.io") {
    return base::OkStatus();
  }
  const authz::rbac::EscalationRequest request{
      op.user, op.resource->resource.resource, op.ns, name, object, old};
  return authz::rbac::CheckEscalation(request, *op.world.authorizer, *op.world.rbac);
}

// The object for the store. One that is too large is tried once more without managedFields, which
// can be large and which the next write makes anew; kube-apiserver does the same.
base::Result<store::Encoded> EncodeWithin(Operation& op, json::Value object, bool applied) {
  auto encoded = EncodeForStore(op, object);
  if (encoded.ok() || applied || !api::IsRequestTooLarge(encoded.status())) return encoded;
  return EncodeForStore(op, json::RemovePath(op.arena, object, {"metadata", "managedFields"}));
}

// What a create knows of the object besides itself.
struct CreateFacts {
  std::string requested_name;  // before admission; "" if the client left it open
  bool generated = false;      // the server chooses the name
  bool has_version = false;    // carries a resourceVersion, which no new object may
  bool by_update = false;      // asked for as an update
  bool applied = false;        // by server-side apply, whose result needs its managedFields
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
  return api::ForbiddenStatus(op.group_resource(), name, decision.reason);
}

// Whether the object names the version it wants to replace.
bool HasVersion(json::Value object) {
  const auto version = base::ParseInt(object["metadata"]["resourceVersion"].AsString());
  return version && *version != 0;
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
  return op.world.gates == nullptr || op.world.gates->Enabled("RetryGenerateName");
}

// Stores a new object; on a name collision of a generated name, with another one.
// `object` stays what has been allocated.
base::Result<Outcome> CommitCreate(Operation& op, json::Value& object, const WriteOptions& options,
                                   const CreateFacts& facts) {
  const registry::Strategy& strategy = StrategyOf(op);
  for (int attempt = 1;; ++attempt) {
    const std::string name(object["metadata"]["name"].AsString());
    if (facts.by_update) TRY(CheckMayCreate(op, name));
    TRY(RunValidating(op, {.operation = admission::kCreate,
                           .name = facts.requested_name.empty() ? name : facts.requested_name,
                           .object = object,
                           .options = options.as_create,
                           .name_generated = facts.requested_name.empty()}));
    // Validating webhooks still see unknown fields that webhooks have added, and empty lists as
    // such.
    object = PruneCustom(*op.catalog, op.arena, op.resource->kind, object);
    // Reading from the store sets defaults, e.g.
    // those of a status the strategy has emptied.
    object = TRY(ApplyDefaults(op.world, *op.catalog, op.arena, op.resource->kind, object));
    object = strategy.Complete(StrategyContext(op, name), object);
    object = AsStored(*op.catalog, op.arena, op.resource->kind, object);
    // selfLink is never stored.
    object = json::RemovePath(op.arena, object, {"metadata", "selfLink"});
    Outcome written;
    written.created = true;
    written.code = 201;
    written.object = object;
    base::Status failure;
    if (op.dry_run) {
      if (op.world.store->Get(KeyOf(op, name)) == nullptr) {
        strategy.Release(StrategyContext(op, name), object, {});
        written.object = TRY(ThroughStore(op, object));
        return written;
      }
      failure = Exists(op, name, object);
    } else if (facts.has_version) {
      return admission::PlainError("resourceVersion should not be set on objects to be created");
    } else {
      auto encoded = EncodeWithin(op, written.object, facts.applied);
      if (!encoded.ok()) return std::move(encoded).status();
      auto stored = op.world.store->Create(KeyOf(op, name), *std::move(encoded));
      if (stored.ok()) {
        written.stored = *std::move(stored);
        return written;
      }
      failure = std::move(stored).status();
    }
    if (failure.reason() != base::Reason::kAlreadyExists) return failure;
    if (!facts.generated || attempt == kNameAttempts || !RetriesNames(op)) {
      return Exists(op, name, object);
    }
    const json::Value renamed = RegenerateName(op, object);
    if (op.dry_run) {
      object = renamed;
      continue;
    }
    // What has been taken goes by the name.
    strategy.Release(StrategyContext(op, name), object, {});
    object = {};
    const std::string next(renamed["metadata"]["name"].AsString());
    object = TRY(strategy.Allocate(StrategyContext(op, next), renamed, {}));
  }
}

struct Version {
  bool given = false;
  std::int64_t number = 0;
};

base::Result<Version> RequestedVersion(json::Value object) {
  const std::string_view text = object["metadata"]["resourceVersion"].AsString();
  if (text.empty()) return Version{};
  const auto number = base::ParseInt(text);
  if (!number || *number < 0) {
    return base::Status(
        base::Reason::kUnknown,
        base::StrCat("strconv.ParseUint: parsing ", base::GoQuote(text), ": invalid syntax"));
  }
  return Version{*number != 0, *number};
}

// The key under which kube-apiserver keeps an object; part of one of its texts.
std::string RegistryKey(const Operation& op, std::string_view name) {
  std::string key = "/registry/";
  if (op.resource->custom) key += op.resource->resource.group + "/";
  key += op.resource->resource.resource + "/";
  if (op.resource->namespaced) key += op.ns + "/";
  return key.append(name);
}

// A uid is a precondition; it cannot hold when no object is stored.
base::Status CheckNoUid(const Operation& op, const UpdateSpec& spec, json::Value object) {
  const std::string_view uid = object["metadata"]["uid"].AsString();
  if (spec.track_fields || uid.empty()) return CheckUid(op, spec.name, uid, {});
  return api::ConflictStatus(op.group_resource(), spec.name,
                             base::StrCat("uid mismatch: the provided object specified uid ", uid,
                                          ", and no existing object was found"));
}

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

  base::Result<Outcome> Run(bool& retry) {
    live_ = TRY(FromStore(op_, current_));
    json::Value object = TRY(spec_.transform(live_));
    object = TRY(MatchNamespace(op_, object));
    TRY(MatchName(spec_.name, object));
    TRY(CheckUid(op_, spec_.name, object["metadata"]["uid"].AsString(), live_));
    object = DeduplicateOwners(op_, object, When::kBeforeAdmission);
    if (spec_.track_fields) {
      object = TrackFields(op_, live_, object, options_.field_manager);
    }
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
    auto result = Commit(*allocated, retry);
    const auto context = StrategyContext(op_, spec_.name);
    if (!result.ok() || op_.dry_run) {
      strategy_.Release(context, *allocated, live_);
    } else {
      // An update that takes the last finalizer away removes the object.
      const bool gone = result->stored == nullptr;
      strategy_.Release(context, live_, gone ? json::Value() : *allocated);
    }
    return result;
  }

 private:
  // resourceVersion of the new object: as given and checked, else the live one's.
  base::Result<json::Value> SettleVersion(json::Value object) {
    const Version version = TRY(RequestedVersion(object));
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

  base::Result<Outcome> Commit(json::Value object, bool& retry) {
    TRY(RunValidating(op_, {.operation = admission::kUpdate,
                            .name = spec_.name,
                            .object = object,
                            .old_object = live_,
                            .options = options_.as_update}));
    object = PruneCustom(*op_.catalog, op_.arena, op_.resource->kind, object);
    object = TRY(ApplyDefaults(op_.world, *op_.catalog, op_.arena, op_.resource->kind, object));
    object = strategy_.Complete(StrategyContext(op_, spec_.name), object);
    object = AsStored(*op_.catalog, op_.arena, op_.resource->kind, object);
    Outcome written;
    written.object = object;
    if (op_.dry_run) {
      written.object = TRY(ThroughStore(op_, object));
      return written;
    }
    const store::Key key = KeyOf(op_, spec_.name);
    store::Preconditions preconditions;
    preconditions.revision = current_->revision();
    if (ShouldDelete(strategy_, object, live_)) {
      auto gone = op_.world.store->Delete(key, preconditions);
      if (!gone.ok()) return Failed(std::move(gone).status(), retry);
      return written;
    }
    store::Encoded encoded = TRY(EncodeWithin(op_, object, !spec_.track_fields));
    if (SameContent(encoded, current_)) {
      written.stored = current_;
      return written;
    }
    auto stored = op_.world.store->Update(key, std::move(encoded), preconditions);
    if (!stored.ok()) return Failed(std::move(stored).status(), retry);
    written.stored = *std::move(stored);
    return written;
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

base::Result<Outcome> CreateObject(Operation& op, json::Value object, const WriteOptions& options,
                                   bool track_fields, bool by_update) {
  const registry::Strategy& strategy = StrategyOf(op);
  if (op.resource->definition != nullptr && op.resource->definition->terminating()) {
    return api::ForbiddenStatus(op.group_resource(), object["metadata"]["name"].AsString(),
                                "create not allowed while custom resource definition is "
                                "terminating");
  }
  object = TRY(PrepareMetadata(op, object));
  object = DeduplicateOwners(op, object, When::kBeforeAdmission);
  if (track_fields) object = TrackFields(op, {}, object, options.field_manager);
  const json::Value before = object;
  CreateFacts facts;
  facts.requested_name = object["metadata"]["name"].AsString();
  object = TRY(RunMutating(op, {.operation = admission::kCreate,
                                .name = facts.requested_name,
                                .object = object,
                                .options = options.as_create}));
  if (!object.IsSameAs(before)) {
    // Only custom resources can have become such.
    if (const json::Value* metadata = object.Find("metadata");
        metadata != nullptr && !metadata->is_object()) {
      return base::InternalError("system metadata was not initialized");
    }
    object = RestoreManagedFields(op, object, before);
    object = DeduplicateOwners(op, object, When::kAfterAdmission);
    object = TRY(MatchNamespace(op, object));
  }
  TRY(CheckGrant(op, object["metadata"]["name"].AsString(), object, {}));
  facts.generated = object["metadata"]["name"].AsString().empty();
  facts.has_version = HasVersion(object) && !by_update;
  facts.by_update = by_update;
  facts.applied = !track_fields;
  object = AssignIdentity(op, object);
  const std::string name(object["metadata"]["name"].AsString());
  const auto context = StrategyContext(op, name);
  object = Settle(op, object, strategy.PrepareForCreate(context, object));
  api::FieldErrors errors;
  registry::ValidateObjectMeta(object, op.resource->namespaced, strategy, errors);
  strategy.Validate(context, object, errors);
  if (!errors.empty()) return ResourceInvalid(op, object, errors);
  std::vector<std::string> warnings;
  strategy.Warnings(context, object, warnings);
  for (std::string& text : warnings) op.recorder.Warn(std::move(text));
  object = strategy.Canonicalize(context, object);
  object = TRY(strategy.Allocate(context, object, {}));
  auto written = CommitCreate(op, object, options, facts);
  if (!written.ok()) strategy.Release(context, object, {});
  const bool is_namespace = op.group_resource() == api::GroupResource{"", "namespaces"} &&
                            op.world.namespace_hook != nullptr;
  if (written.ok() && written->stored != nullptr && is_namespace) {
    op.world.namespace_hook->OnCreated(std::string(written->stored->name()), &op.recorder);
  }
  return written;
}

base::Result<Outcome> UpdateObject(Operation& op, const UpdateSpec& spec,
                                   const WriteOptions& options) {
  for (int attempt = 0;; ++attempt) {
    store::ObjectPtr current = op.world.store->Get(KeyOf(op, spec.name));
    if (current == nullptr) {
      if (!spec.create_if_absent) return api::NotFoundStatus(op.group_resource(), spec.name);
      json::Value object = TRY(spec.transform({}));
      TRY(MatchName(spec.name, object));
      TRY(CheckNoUid(op, spec, object));
      auto made = CreateObject(op, object, options, spec.track_fields, true);
      const bool overtaken = !made.ok() && made.status().reason() == base::Reason::kAlreadyExists &&
                             op.world.store->Get(KeyOf(op, spec.name)) != nullptr;
      if (!overtaken || attempt == kConflictRetries) return made;
      continue;
    }
    bool retry = false;
    auto written = Attempt(op, spec, options, std::move(current)).Run(retry);
    if (written.ok() || !retry || attempt == kConflictRetries ||
        written.status().reason() != base::Reason::kConflict) {
      return written;
    }
  }
}

base::Status CheckUid(const Operation& op, std::string_view name, std::string_view wanted,
                      json::Value live) {
  const std::string_view actual = live["metadata"]["uid"].AsString();
  if (wanted.empty() || wanted == actual) return base::OkStatus();
  return api::ConflictStatus(
      op.group_resource(), name,
      base::StrCat("StorageError: invalid object, Code: 4, Key: ", RegistryKey(op, name),
                   ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                   "precondition: ",
                   wanted, ", UID in object meta: ", actual));
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

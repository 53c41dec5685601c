#include "server/rest/write.h"

#include <algorithm>
#include <iterator>

#include "admission/errors.h"
#include "api/api_status.h"
#include "api/view/metadata.h"
#include "authz/authorizer.h"
#include "authz/rbac/escalation.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"
#include "registry/object_meta.h"
#include "server/codec.h"
#include "server/feature_gates.h"
#include "server/namespace_furnishing.h"
#include "server/rest/admit.h"
#include "server/rest/present.h"
#include "server/rest/system_fields.h"

namespace portcullis::server::rest {
namespace {

constexpr int kNameAttempts = 8;
constexpr int kConflictRetries = 100;  // Kubernetes goes on until the request's time is over
constexpr std::string_view kModified =
    "the object has been modified; please apply your changes to the latest version and try again";

// Fields that Go always writes come back if a strategy has dropped a whole member.
json::Value Settle(Call& call, json::Value before, json::Value after) {
  if (before.IsSameAs(after)) return after;
  if (before["status"].IsSameAs(after["status"])) return after;
  return Recanonicalize(*call.catalog, call.arena, call.resource->kind, after, before);
}

// A custom resource goes by the kind it says it is of.
base::Status ResourceInvalid(const Call& call, json::Value object, const api::FieldErrors& errors) {
  api::GroupKind kind = call.resource->kind.group_kind();
  if (call.resource->custom) {
    kind.kind = object["kind"].AsString();
    const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
    if (version.ok()) kind.group = version->group;
  }
  return api::InvalidStatus(kind, object["metadata"]["name"].AsString(), errors);
}

// Nobody grants by RBAC what they do not have.
base::Status CheckGrant(Call& call, std::string_view name, json::Value object, json::Value old) {
  if (call.env.rbac == nullptr || call.resource->resource.group != "rbac.authorization.k8s.io") {
    return base::OkStatus();
  }
  const authz::rbac::EscalationRequest request{
      call.user, call.resource->resource.resource, call.info.name_space, name, object, old};
  return authz::rbac::CheckEscalation(request, *call.env.authorizer, *call.env.rbac);
}

// What a create knows of the object besides itself.
struct CreateFacts {
  std::string requested_name;  // before admission; "" if the client left it open
  bool generated = false;      // the server chooses the name
  bool has_version = false;    // carries a resourceVersion, which no new object may
  bool by_update = false;      // asked for as an update
};

// An update that turns out to be a creation needs the right to create.
base::Status CheckMayCreate(Call& call, const std::string& name) {
  authz::Attributes attributes;
  attributes.user = &call.user;
  attributes.verb = "create";
  attributes.group = call.info.api_group;
  attributes.version = call.info.api_version;
  attributes.resource = call.info.resource;
  attributes.subresource = call.info.subresource;
  attributes.ns = call.info.name_space;
  attributes.name = name;
  attributes.path = call.info.path;
  const authz::Decision decision = call.env.authorizer->Authorize(attributes);
  if (decision.allowed()) return base::OkStatus();
  return api::ForbiddenStatus(call.group_resource(), name, decision.reason);
}

// Whether the object names the version it wants to replace.
bool HasVersion(json::Value object) {
  const auto version = base::ParseInt(object["metadata"]["resourceVersion"].AsString());
  return version && *version != 0;
}

// The name is taken, perhaps by an object that is about to go. With a generateName the name counts
// as generated, even if the client has given one.
base::Status Exists(Call& call, std::string_view name, json::Value object) {
  const bool generated = !object["metadata"]["generateName"].AsString().empty();
  const base::Status status = generated
                                  ? api::GenerateNameConflictStatus(call.group_resource(), name, 1)
                                  : api::AlreadyExistsStatus(call.group_resource(), name);
  const store::ObjectPtr existing = call.env.store->Get(KeyOf(call, name));
  const bool terminating =
      existing != nullptr && !existing->document()["metadata"]["deletionTimestamp"].is_null();
  return terminating ? status.Annotate("object is being deleted") : status;
}

// Whether another name is tried after a collision, as releases since v1.31 do.
bool RetriesNames(const Call& call) {
  return MakeFeatureGates(*call.env.options)->Enabled("RetryGenerateName");
}

// Stores a new object; on a name collision of a generated name, with another one.
// `object` stays what has been allocated.
base::Result<Written> CommitCreate(Call& call, json::Value& object, const WriteOptions& options,
                                   const CreateFacts& facts) {
  const registry::Strategy& strategy = StrategyOf(call);
  for (int attempt = 1;; ++attempt) {
    const std::string name(object["metadata"]["name"].AsString());
    if (facts.by_update) TRY(CheckMayCreate(call, name));
    TRY(RunValidating(call, {.operation = admission::kCreate,
                             .name = facts.requested_name.empty() ? name : facts.requested_name,
                             .object = object,
                             .options = options.as_create,
                             .name_generated = facts.requested_name.empty()}));
    // Validating webhooks still see unknown fields that webhooks have added, and empty lists as
    // such.
    object = PruneCustom(*call.catalog, call.arena, call.resource->kind, object);
    // Reading from the store sets defaults, e.g.
    // those of a status the strategy has emptied.
    object = ApplyDefaults(call.env, *call.catalog, call.arena, call.resource->kind, object);
    object = strategy.Complete(StrategyContext(call, name), object);
    object = AsStored(*call.catalog, call.arena, call.resource->kind, object);
    // Nothing is stored with a selfLink, whoever has set it.
    object = json::RemovePath(call.arena, object, {"metadata", "selfLink"});
    Written written;
    written.created = true;
    written.object = object;
    base::Status failure;
    if (call.dry_run) {
      if (call.env.store->Get(KeyOf(call, name)) == nullptr) {
        strategy.Release(StrategyContext(call, name), object, {});
        written.object = TRY(ThroughStore(call, object));
        return written;
      }
      failure = Exists(call, name, object);
    } else if (facts.has_version) {
      return admission::PlainError("resourceVersion should not be set on objects to be created");
    } else {
      auto encoded = EncodeForStore(call, written.object);
      if (!encoded.ok()) return std::move(encoded).status();
      auto stored = call.env.store->Create(KeyOf(call, name), *std::move(encoded));
      if (stored.ok()) {
        written.stored = *std::move(stored);
        return written;
      }
      failure = std::move(stored).status();
    }
    if (failure.reason() != base::Reason::kAlreadyExists) return failure;
    if (!facts.generated || attempt == kNameAttempts || !RetriesNames(call)) {
      return Exists(call, name, object);
    }
    const json::Value renamed = RegenerateName(call, object);
    if (call.dry_run) {
      object = renamed;
      continue;
    }
    // What has been taken goes by the name.
    strategy.Release(StrategyContext(call, name), object, {});
    object = {};
    const std::string next(renamed["metadata"]["name"].AsString());
    object = TRY(strategy.Allocate(StrategyContext(call, next), renamed, {}));
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
std::string RegistryKey(const Call& call, std::string_view name) {
  std::string key = "/registry/";
  if (call.resource->custom) key += call.resource->resource.group + "/";
  key += call.resource->resource.resource + "/";
  if (call.resource->namespaced) key += call.info.name_space + "/";
  return key.append(name);
}

// Whoever names a uid means an object that is there.
base::Status CheckNoUid(const Call& call, const UpdateSpec& spec, json::Value object) {
  const std::string_view uid = object["metadata"]["uid"].AsString();
  if (spec.track_fields || uid.empty()) return CheckUid(call, spec.name, uid, {});
  return api::ConflictStatus(call.group_resource(), spec.name,
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
  Attempt(Call& call, const UpdateSpec& spec, const WriteOptions& options, store::ObjectPtr current)
      : call_(call),
        spec_(spec),
        options_(options),
        current_(std::move(current)),
        strategy_(StrategyOf(call)) {}

  base::Result<Written> Run(bool& retry) {
    live_ = TRY(FromStore(call_, current_));
    json::Value object = TRY(spec_.transform(live_));
    object = TRY(MatchNamespace(call_, object));
    TRY(MatchName(spec_.name, object));
    TRY(CheckUid(call_, spec_.name, object["metadata"]["uid"].AsString(), live_));
    object = DeduplicateOwners(call_, object, When::kBeforeAdmission);
    if (spec_.track_fields) {
      object = TrackFields(call_, live_, object, FieldManager(call_, options_));
    }
    const json::Value before = object;
    object = TRY(RunMutating(call_, {.operation = admission::kUpdate,
                                     .name = spec_.name,
                                     .object = object,
                                     .old_object = live_,
                                     .options = options_.as_update}));
    if (!object.IsSameAs(before)) {
      object = RestoreManagedFields(call_, object, before);
    }
    object = DeduplicateOwners(call_, object, When::kAfterAdmission);
    TRY(CheckGrant(call_, spec_.name, object, live_));
    object = TRY(MatchNamespace(call_, TRY(SettleVersion(object))));
    object = TRY(PrepareAndValidate(object));
    auto allocated = strategy_.Allocate(StrategyContext(call_, spec_.name), object, live_);
    if (!allocated.ok()) return std::move(allocated).status();
    auto result = Commit(*allocated, retry);
    const auto context = StrategyContext(call_, spec_.name);
    if (!result.ok() || call_.dry_run) {
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
      return api::ConflictStatus(call_.group_resource(), spec_.name, kModified);
    }
    if (!version.given && !strategy_.AllowUnconditionalUpdate()) {
      const api::FieldErrors errors = {
          api::Invalid(api::FieldPath("metadata").Child("resourceVersion"), 0,
                       "must be specified for an update")};
      // Kubernetes puts the resource's name where the kind belongs.
      const auto& resource = call_.resource->resource;
      return api::InvalidStatus({resource.group, resource.resource}, spec_.name, errors);
    }
    return json::SetPath(call_.arena, object, {"metadata", "resourceVersion"},
                         json::String(call_.arena, std::to_string(live)));
  }

  base::Result<json::Value> PrepareAndValidate(json::Value object) {
    auto context = StrategyContext(call_, spec_.name);
    std::vector<std::string> warnings;
    context.warnings = &warnings;
    object = KeepSystemFields(call_, object, live_);
    object = Settle(call_, object, strategy_.PrepareForUpdate(context, object, live_));
    api::FieldErrors errors;
    registry::ValidateObjectMetaUpdate(object, live_, errors);
    // Kubernetes checks the metadata twice, once for all kinds and once in each kind's own check.
    const std::size_t count = errors.size();
    for (std::size_t i = 0; i < count; ++i) errors.push_back(api::FieldError(errors[i]));
    strategy_.ValidateUpdate(context, object, live_, errors);
    if (errors.empty()) strategy_.UpdateWarnings(context, object, live_, warnings);
    for (std::string& text : warnings) call_.recorder.Warn(std::move(text));
    if (!errors.empty()) return ResourceInvalid(call_, object, errors);
    return strategy_.Canonicalize(context, object);
  }

  base::Result<Written> Commit(json::Value object, bool& retry) {
    TRY(RunValidating(call_, {.operation = admission::kUpdate,
                              .name = spec_.name,
                              .object = object,
                              .old_object = live_,
                              .options = options_.as_update}));
    object = PruneCustom(*call_.catalog, call_.arena, call_.resource->kind, object);
    object = ApplyDefaults(call_.env, *call_.catalog, call_.arena, call_.resource->kind, object);
    object = strategy_.Complete(StrategyContext(call_, spec_.name), object);
    object = AsStored(*call_.catalog, call_.arena, call_.resource->kind, object);
    Written written;
    written.object = object;
    if (call_.dry_run) {
      written.object = TRY(ThroughStore(call_, object));
      return written;
    }
    const store::Key key = KeyOf(call_, spec_.name);
    store::Preconditions preconditions;
    preconditions.revision = current_->revision();
    if (ShouldDelete(strategy_, object, live_)) {
      auto gone = call_.env.store->Delete(key, preconditions);
      if (!gone.ok()) return Failed(std::move(gone).status(), retry);
      return written;
    }
    store::Encoded encoded = TRY(EncodeForStore(call_, object));
    if (SameContent(encoded, current_)) {
      written.stored = current_;
      return written;
    }
    auto stored = call_.env.store->Update(key, std::move(encoded), preconditions);
    if (!stored.ok()) return Failed(std::move(stored).status(), retry);
    written.stored = *std::move(stored);
    return written;
  }

  base::Status Failed(base::Status status, bool& retry) const {
    if (status.reason() == base::Reason::kConflict) {
      retry = true;
      return api::ConflictStatus(call_.group_resource(), spec_.name, kModified);
    }
    if (status.reason() == base::Reason::kNotFound) {
      return api::NotFoundStatus(call_.group_resource(), spec_.name);
    }
    return status;
  }

  Call& call_;
  const UpdateSpec& spec_;
  const WriteOptions& options_;
  const store::ObjectPtr current_;
  const registry::Strategy& strategy_;
  json::Value live_;
};

}  // namespace

store::Key KeyOf(const Call& call, std::string_view name) {
  return {call.resource->storage_kind.group, call.resource->resource.resource,
          call.resource->namespaced ? std::string_view(call.info.name_space) : std::string_view(),
          name};
}

base::Result<Written> CreateObject(Call& call, json::Value object, const WriteOptions& options,
                                   bool track_fields, bool by_update) {
  const registry::Strategy& strategy = StrategyOf(call);
  if (call.resource->definition != nullptr && call.resource->definition->terminating()) {
    return api::ForbiddenStatus(call.group_resource(), object["metadata"]["name"].AsString(),
                                "create not allowed while custom resource definition is "
                                "terminating");
  }
  object = TRY(PrepareMetadata(call, object));
  object = DeduplicateOwners(call, object, When::kBeforeAdmission);
  if (track_fields) object = TrackFields(call, {}, object, FieldManager(call, options));
  const json::Value before = object;
  CreateFacts facts;
  facts.requested_name = object["metadata"]["name"].AsString();
  object = TRY(RunMutating(call, {.operation = admission::kCreate,
                                  .name = facts.requested_name,
                                  .object = object,
                                  .options = options.as_create}));
  if (!object.IsSameAs(before)) {
    // Only custom resources can have become such.
    if (const json::Value* metadata = object.Find("metadata");
        metadata != nullptr && !metadata->is_object()) {
      return base::InternalError("system metadata was not initialized");
    }
    object = RestoreManagedFields(call, object, before);
    object = DeduplicateOwners(call, object, When::kAfterAdmission);
    object = TRY(MatchNamespace(call, object));
  }
  TRY(CheckGrant(call, object["metadata"]["name"].AsString(), object, {}));
  facts.generated = object["metadata"]["name"].AsString().empty();
  facts.has_version = HasVersion(object) && !by_update;
  facts.by_update = by_update;
  object = AssignIdentity(call, object);
  const std::string name(object["metadata"]["name"].AsString());
  const auto context = StrategyContext(call, name);
  object = Settle(call, object, strategy.PrepareForCreate(context, object));
  api::FieldErrors errors;
  registry::ValidateObjectMeta(object, call.resource->namespaced, strategy, errors);
  strategy.Validate(context, object, errors);
  if (!errors.empty()) return ResourceInvalid(call, object, errors);
  std::vector<std::string> warnings;
  strategy.Warnings(context, object, warnings);
  for (std::string& text : warnings) call.recorder.Warn(std::move(text));
  object = strategy.Canonicalize(context, object);
  object = TRY(strategy.Allocate(context, object, {}));
  auto written = CommitCreate(call, object, options, facts);
  if (!written.ok()) strategy.Release(context, object, {});
  const bool is_namespace = call.group_resource() == api::GroupResource{"", "namespaces"} &&
                            call.env.furnishing != nullptr;
  if (written.ok() && written->stored != nullptr && is_namespace) {
    call.env.furnishing->Await(std::string(written->stored->name()), call.recorder);
  }
  return written;
}

base::Result<Written> UpdateObject(Call& call, const UpdateSpec& spec,
                                   const WriteOptions& options) {
  for (int attempt = 0;; ++attempt) {
    store::ObjectPtr current = call.env.store->Get(KeyOf(call, spec.name));
    if (current == nullptr) {
      if (!spec.create_if_absent) return api::NotFoundStatus(call.group_resource(), spec.name);
      json::Value object = TRY(spec.transform({}));
      TRY(MatchName(spec.name, object));
      TRY(CheckNoUid(call, spec, object));
      auto made = CreateObject(call, object, options, spec.track_fields, true);
      const bool overtaken = !made.ok() && made.status().reason() == base::Reason::kAlreadyExists &&
                             call.env.store->Get(KeyOf(call, spec.name)) != nullptr;
      if (!overtaken || attempt == kConflictRetries) return made;
      continue;
    }
    bool retry = false;
    auto written = Attempt(call, spec, options, std::move(current)).Run(retry);
    if (written.ok() || !retry || attempt == kConflictRetries ||
        written.status().reason() != base::Reason::kConflict) {
      return written;
    }
  }
}

base::Status CheckUid(const Call& call, std::string_view name, std::string_view wanted,
                      json::Value live) {
  const std::string_view actual = live["metadata"]["uid"].AsString();
  if (wanted.empty() || wanted == actual) return base::OkStatus();
  return api::ConflictStatus(
      call.group_resource(), name,
      base::StrCat("StorageError: invalid object, Code: 4, Key: ", RegistryKey(call, name),
                   ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                   "precondition: ",
                   wanted, ", UID in object meta: ", actual));
}

base::Status MatchNameForUpdate(Call& call, json::Value object) {
  TRY(MatchNamespace(call, object));
  return MatchName(call.info.name, object);
}

bool CreatesOnUpdate(const Call& call) {
  if (!call.info.subresource.empty()) return false;
  return StrategyOf(call).AllowCreateOnUpdate();
}

base::Result<Reply> WrittenReply(Call& call, const Written& written) {
  const int status = written.created ? 201 : 200;
  if (written.stored != nullptr) return ObjectReply(call, status, written.stored);
  return PresentValue(call, status, Ordered(call.arena, written.object));
}

}  // namespace portcullis::server::rest

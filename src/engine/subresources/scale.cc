// SPDX-License-Identifier: Apache-2.0

// The scale subresource: a Scale object is a view of the number of replicas of another kind
// (Kubernetes docs: autoscaling/v1 Scale).

#include "api/api_status.h"
#include "api/conversion/conversion.h"
#include "api/patch/managed_fields.h"
#include "api/patch/scale_fields.h"
#include "api/selector/label_selector.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/patching.h"
#include "engine/write/preconditions.h"
#include "engine/write/steps.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "registry/validation/object_meta.h"
#include "store/readable.h"

namespace portcullis::engine {
namespace {

// What a custom resource without replicas is shown to have while it is being scaled.
constexpr std::int64_t kNoReplicas = -2147483648;
constexpr int kScaleRetries = 100;

// ".spec.replicas" as the names on the way.
std::vector<std::string_view> PathNames(std::string_view path) {
  if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  return base::Split(path, '.');
}

json::Value At(json::Value object, std::string_view path) {
  for (std::string_view name : PathNames(path)) object = object[name];
  return object;
}

std::string_view ReplicasPath(const api::catalog::ResourceInfo& resource) {
  return resource.scale ? std::string_view(resource.scale->spec_replicas)
                        : std::string_view(".spec.replicas");
}

std::string SelectorOf(const api::catalog::ResourceInfo& resource, json::Value object) {
  if (resource.scale) {
    return resource.scale->label_selector.empty()
               ? std::string()
               : std::string(At(object, resource.scale->label_selector).AsString());
  }
  const json::Value selector = object["spec"]["selector"];
  if (resource.resource.resource == "replicationcontrollers") {
    return api::LabelSelector::FromSet(selector).ToString();
  }
  const auto parsed = api::LabelSelector::FromJson(selector);
  return parsed.ok() ? parsed->ToString() : std::string();
}

// In the version of the endpoint.
base::Result<json::Value> ScaleOf(Operation& op, json::Value object) {
  json::Arena& arena = op.arena;
  const api::catalog::ResourceInfo& resource = *op.resource;
  json::ObjectBuilder metadata(arena);
  for (std::string_view name :
       {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const json::Value* value = object["metadata"].Find(name)) metadata.Set(name, *value);
  }
  const std::int64_t wanted = At(object, ReplicasPath(resource)).AsInt();
  json::ObjectBuilder spec(arena);
  if (wanted != 0) spec.Set("replicas", wanted);
  json::ObjectBuilder status(arena);
  status.Set("replicas",
             At(object, resource.scale ? std::string_view(resource.scale->status_replicas)
                                       : std::string_view(".status.replicas"))
                 .AsInt());
  const std::string selector = SelectorOf(resource, object);
  if (!selector.empty()) status.Set("selector", selector);
  const json::Value scale = json::ObjectBuilder(arena)
                                .Set("kind", "Scale")
                                .Set("apiVersion", "autoscaling/v1")
                                .Set("metadata", metadata.Build())
                                .Set("spec", spec.Build())
                                .Set("status", status.Build())
                                .Build();
  return api::Convert(arena, scale, op.kind());
}

// Where each version of the parent keeps the number of replicas.
api::patch::ReplicasPaths PathsOfVersions(const api::catalog::ResourceInfo& resource) {
  const auto steps = [](std::string_view path) {
    api::patch::FieldPathSteps out;
    for (std::string_view name : PathNames(path)) {
      out.push_back(api::patch::PathElement::Field(name));
    }
    return out;
  };
  api::patch::ReplicasPaths out;
  if (resource.definition == nullptr) {
    const std::string& stored_in = resource.storage_kind.group;
    for (std::string_view version : {"v1", "v1beta1", "v1beta2"}) {
      out[stored_in.empty() ? std::string(version) : base::StrCat(stored_in, "/", version)] =
          steps(".spec.replicas");
    }
    // Another group of the same objects (docs/legacy.md).
    if (stored_in == "apps" || stored_in.empty()) {
      out["extensions/v1beta1"] = steps(".spec.replicas");
    }
    return out;
  }
  for (const api::catalog::ResourceInfo& version : resource.definition->resources()) {
    out[version.resource.group_version().ToString()] =
        version.scale ? steps(version.scale->spec_replicas) : api::patch::FieldPathSteps();
  }
  return out;
}

json::Value WithManagedFields(json::Arena& arena, json::Value object, json::Value entries) {
  if (entries.is_null()) return json::RemovePath(arena, object, {"metadata", "managedFields"});
  return json::SetPath(arena, object, {"metadata", "managedFields"}, entries);
}

// A custom resource need not have the field that says how many it wants.
bool IsWithoutReplicas(const api::catalog::ResourceInfo& resource, json::Value object) {
  return resource.custom && At(object, ReplicasPath(resource)).is_null();
}

using ScaleChange = std::function<base::Result<json::Value>(json::Value live)>;

// What is asked of a scale.
struct ScaleSpec {
  ScaleChange transform;
  std::string_view uid;      // of the object that is meant, if the body of a PUT says so
  bool track_fields = true;  // false: `transform` has done it (apply)
};

class ScaleUpdate final : public Execution {
 public:
  ScaleUpdate(Operation& op, WriteOptions options, ScaleSpec spec)
      : op_(op),
        options_(std::move(options)),
        spec_(std::move(spec)),
        strategy_(StrategyOf(op)),
        paths_(PathsOfVersions(*op.resource)) {}

  std::optional<PendingWrite> Advance() override {
    if (scale_) return std::nullopt;
    auto next = Plan();
    if (next.ok()) return *std::move(next);
    scale_.emplace(std::move(next).status());
    return std::nullopt;
  }

  void Committed(base::Result<store::ObjectPtr> stored) override {
    if (stored.ok()) {
      scale_.emplace(Shown(*stored));
    } else if (stored.status().reason() != base::Reason::kConflict || tries_++ == kScaleRetries) {
      scale_.emplace(std::move(stored).status());
    }
  }

  base::Result<Outcome> TakeOutcome() override {
    Outcome outcome;
    outcome.object = TRY(*std::move(scale_));
    return outcome;
  }

 private:
  base::Result<std::optional<PendingWrite>> Plan() {
    const std::string& name = op_.name;
    const store::ObjectPtr current = TRY(store::GetReadable(*op_.world.store, KeyOf(op_, name)));
    if (current == nullptr) return api::NotFoundStatus(op_.group_resource(), name);
    const json::Value live = TRY(FromStore(op_, current));
    TRY(CheckUid(op_, name, spec_.uid, live));
    const json::Value scale = TRY(Changed(live));
    TRY(CheckScale(scale, live));
    const json::Value next = TRY(Scaled(live, scale, current->revision()));
    // Not the client's scale, which may lack much.
    TRY(RunValidating(op_, {.operation = admission::kUpdate,
                            .name = name,
                            .object = TRY(ScaleOf(op_, next)),
                            .old_object = TRY(ScaleOf(op_, live)),
                            .options = options_.as_update}));
    PendingWrite write;
    if (!op_.dry_run) write.encoded = TRY(EncodeForStore(op_, next));
    // A schema that has changed may have made another object of what is stored.
    if (op_.dry_run || (next == live && SameContent(write.encoded, *current))) {
      scale_.emplace(TRY(ScaleOf(op_, next)));
      return std::optional<PendingWrite>();
    }
    write.kind = PendingWrite::Kind::kUpdate;
    write.ns = op_.ns;
    write.name = name;
    write.expected = current->revision();
    return std::optional<PendingWrite>(std::move(write));
  }

  base::Result<json::Value> Shown(const store::ObjectPtr& stored) {
    return ScaleOf(op_, TRY(FromStore(op_, stored)));
  }

  // The scale as client and mutating admission want it.
  base::Result<json::Value> Changed(json::Value live) {
    json::Value old_scale = WithManagedFields(
        op_.arena, TRY(ScaleOf(op_, live)),
        TRY(api::patch::ScaleManagedFields(op_.arena, live["metadata"]["managedFields"], paths_)));
    if (IsWithoutReplicas(*op_.resource, live)) {
      old_scale =
          json::SetPath(op_.arena, old_scale, {"spec", "replicas"}, json::Value::Int(kNoReplicas));
    }
    json::Value scale = TRY(MatchNamespace(op_, TRY(spec_.transform(old_scale))));
    TRY(MatchName(op_.name, scale));
    if (spec_.track_fields) scale = Track(old_scale, scale);
    const json::Value before = scale;
    scale = TRY(RunMutating(op_, {.operation = admission::kUpdate,
                                  .name = op_.name,
                                  .object = scale,
                                  .old_object = old_scale,
                                  .options = options_.as_update}));
    if (!scale.IsSameAs(before)) scale = RestoreManagedFields(op_, scale, before);
    return DeduplicateOwners(op_, scale, When::kAfterAdmission);
  }

  json::Value Track(json::Value old_scale, json::Value scale) const {
    const api::schema::Schema* schema = op_.catalog->FindSchema(op_.kind());
    if (schema == nullptr) return scale;
    const std::string manager = options_.field_manager;
    const FieldWriter by(op_, manager, op_.kind());
    return api::patch::Track(op_.arena, *schema, old_scale, scale, by.writer());
  }

  base::Status CheckScale(json::Value scale, json::Value live) {
    const std::int64_t replicas = scale["spec"]["replicas"].AsInt();
    if (op_.resource->custom) {
      if (replicas != kNoReplicas) return base::OkStatus();  // it is checked as a whole
      return base::BadRequest(base::StrCat("the spec replicas field ",
                                           base::GoQuote(ReplicasPath(*op_.resource)),
                                           " cannot be empty"));
    }
    api::FieldErrors errors;
    registry::ValidateObjectMeta(StrategyContext(op_, op_.name), scale, op_.resource->namespaced,
                                 registry::Strategy(), errors);
    registry::CheckFinalizersQualified(scale, errors);
    if (replicas < 0) {
      errors.push_back(api::Invalid(api::FieldPath("spec", "replicas"), replicas,
                                    "must be greater than or equal to 0"));
    }
    if (!errors.empty()) return api::InvalidStatus({"autoscaling", "Scale"}, op_.name, errors);
    const std::string_view wanted = scale["metadata"]["uid"].AsString();
    const std::string_view actual = live["metadata"]["uid"].AsString();
    if (wanted.empty() || wanted == actual) return base::OkStatus();
    api::GroupResource resource = op_.group_resource();
    resource.resource += "/scale";
    return api::ConflictStatus(resource, op_.name,
                               base::StrCat("Precondition failed: UID in precondition: ", wanted,
                                            ", UID in object meta: ", actual));
  }

  base::Result<json::Value> Scaled(json::Value live, json::Value scale, std::int64_t revision) {
    const RequestedVersion version = TRY(ReadRequestedVersion(scale));
    if (version.given && version.number != revision) {
      return api::ConflictStatus(op_.group_resource(), op_.name,
                                 "the object has been modified; please apply your changes to the "
                                 "latest version and try again");
    }
    const auto names = PathNames(ReplicasPath(*op_.resource));
    json::Value next = json::SetPath(op_.arena, live, std::span(names),
                                     json::Value::Int(scale["spec"]["replicas"].AsInt()));
    next = WithManagedFields(
        op_.arena, next,
        TRY(api::patch::ParentManagedFields(op_.arena, live["metadata"]["managedFields"],
                                            scale["metadata"]["managedFields"], paths_,
                                            op_.resource->resource.group_version().ToString())));
    // To its strategy this is a write of the object itself.
    registry::Context context = StrategyContext(op_, op_.name);
    context.subresource = {};
    std::vector<std::string> warnings;
    context.warnings = &warnings;
    next = KeepTimes(op_, strategy_.PrepareForUpdate(context, next, live), live);
    api::FieldErrors errors;
    if (op_.resource->custom) strategy_.ValidateUpdate(context, next, live, errors);
    strategy_.UpdateWarnings(context, next, live, warnings);
    for (std::string& text : warnings) op_.recorder.Warn(std::move(text));
    if (!errors.empty()) {
      return api::InvalidStatus(op_.resource->kind.group_kind(), op_.name, errors);
    }
    return json::SetPath(op_.arena, next, {"metadata", "resourceVersion"},
                         json::String(op_.arena, std::to_string(revision)));
  }

  Operation& op_;
  const WriteOptions options_;
  const ScaleSpec spec_;
  const registry::Strategy& strategy_;
  const api::patch::ReplicasPaths paths_;
  int tries_ = 0;
  std::optional<base::Result<json::Value>> scale_;
};

base::Result<ScaleSpec> ReplacedBy(Operation& op, const Input& input) {
  json::Value scale = TRY(DecodeInput(op, input));
  TRY(MatchNameForUpdate(op, scale));
  scale = DeduplicateOwners(op, scale, When::kBeforeAdmission);
  ScaleSpec spec;
  spec.transform = [scale](json::Value) -> base::Result<json::Value> { return scale; };
  spec.uid = scale["metadata"]["uid"].AsString();
  return spec;
}

base::Result<ScaleSpec> PatchedBy(Operation& op, const Input& input) {
  ScaleSpec spec;
  spec.transform = MakePatch(op, input, PatchTargetOf(op));
  spec.track_fields = input.patch != PatchType::kApply;
  return spec;
}

std::unique_ptr<Execution> BeginScale(Operation& op, const Input& input,
                                      base::Result<ScaleSpec> spec) {
  if (!spec.ok()) return MakeFinished(std::move(spec).status());
  return std::make_unique<ScaleUpdate>(op, input.options, *std::move(spec));
}

}  // namespace

base::Result<Outcome> GetScale(Operation& op, const Input&) {
  const store::ObjectPtr object = TRY(store::GetReadable(*op.world.store, KeyOf(op, op.name)));
  if (object == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
  const json::Value value = TRY(FromStore(op, object));
  if (IsWithoutReplicas(*op.resource, value)) {
    return base::InternalError(base::StrCat(
        "the spec replicas field ", base::GoQuote(ReplicasPath(*op.resource)), " does not exist"));
  }
  Outcome outcome;
  outcome.object = TRY(ScaleOf(op, value));
  return outcome;
}

std::unique_ptr<Execution> UpdateScale(Operation& op, const Input& input) {
  return BeginScale(op, input, ReplacedBy(op, input));
}

std::unique_ptr<Execution> PatchScale(Operation& op, const Input& input) {
  return BeginScale(op, input, PatchedBy(op, input));
}

}  // namespace portcullis::engine

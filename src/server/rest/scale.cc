// The scale subresource: a Scale object is a view of the number of replicas of another kind
// (Kubernetes docs: autoscaling/v1 Scale).

#include "api/api_status.h"
#include "api/patch/managed_fields.h"
#include "api/patch/scale_fields.h"
#include "api/selector/label_selector.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/object_meta.h"
#include "server/codec.h"
#include "server/reply.h"
#include "server/rest/admit.h"
#include "server/rest/patching.h"
#include "server/rest/present.h"
#include "server/rest/system_fields.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"

namespace portcullis::server::rest {
namespace {

// What a custom resource without replicas is shown to have while it is being scaled.
constexpr std::int64_t kNoReplicas = -2147483648;
constexpr int kRetries = 100;

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

json::Value ScaleOf(Call& call, json::Value object) {
  json::Arena& arena = call.arena;
  const api::catalog::ResourceInfo& resource = *call.resource;
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
  return json::ObjectBuilder(arena)
      .Set("kind", "Scale")
      .Set("apiVersion", "autoscaling/v1")
      .Set("metadata", metadata.Build())
      .Set("spec", spec.Build())
      .Set("status", status.Build())
      .Build();
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
  const std::string& group = resource.resource.group;
  if (resource.definition == nullptr) {
    for (std::string_view version : {"v1", "v1beta1", "v1beta2"}) {
      out[group.empty() ? std::string(version) : base::StrCat(group, "/", version)] =
          steps(".spec.replicas");
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

using Transform = std::function<base::Result<json::Value>(json::Value live)>;

// What is asked of a scale.
struct ScaleSpec {
  Transform transform;
  std::string_view uid;      // of the object that is meant, if the body of a PUT says so
  bool track_fields = true;  // false: `transform` has done it (apply)
};

class ScaleUpdate {
 public:
  ScaleUpdate(Call& call, const WriteOptions& options, const ScaleSpec& spec)
      : call_(call),
        options_(options),
        spec_(spec),
        strategy_(StrategyOf(call)),
        paths_(PathsOfVersions(*call.resource)) {}

  base::Result<json::Value> Run() {
    for (int attempt = 0;; ++attempt) {
      retry_ = false;
      auto scale = RunOnce();
      if (scale.ok() || !retry_ || attempt == kRetries) return scale;
    }
  }

 private:
  base::Result<json::Value> RunOnce() {
    const std::string& name = call_.info.name;
    const store::ObjectPtr current = call_.env.store->Get(KeyOf(call_, name));
    if (current == nullptr) return api::NotFoundStatus(call_.group_resource(), name);
    const json::Value live = TRY(FromStore(call_, current));
    TRY(CheckUid(call_, name, spec_.uid, live));
    const json::Value scale = TRY(Changed(live));
    TRY(CheckScale(scale, live));
    const json::Value next = TRY(Scaled(live, scale, current->revision()));
    // Not the client's scale, which may lack much.
    TRY(RunValidating(call_, {.operation = admission::kUpdate,
                              .name = name,
                              .object = ScaleOf(call_, next),
                              .old_object = ScaleOf(call_, live),
                              .options = options_.as_update}));
    if (call_.dry_run || next == live) return ScaleOf(call_, next);
    store::Encoded encoded = TRY(EncodeForStore(call_, next));
    store::Preconditions preconditions;
    preconditions.revision = current->revision();
    auto stored = call_.env.store->Update(KeyOf(call_, name), std::move(encoded), preconditions);
    if (!stored.ok()) {
      retry_ = stored.status().reason() == base::Reason::kConflict;
      return std::move(stored).status();
    }
    return ScaleOf(call_, TRY(FromStore(call_, *stored)));
  }

  // The scale as client and mutating admission want it.
  base::Result<json::Value> Changed(json::Value live) {
    json::Value old_scale =
        WithManagedFields(call_.arena, ScaleOf(call_, live),
                          TRY(api::patch::ScaleManagedFields(
                              call_.arena, live["metadata"]["managedFields"], paths_)));
    if (IsWithoutReplicas(*call_.resource, live)) {
      old_scale = json::SetPath(call_.arena, old_scale, {"spec", "replicas"},
                                json::Value::Int(kNoReplicas));
    }
    json::Value scale = TRY(MatchNamespace(call_, TRY(spec_.transform(old_scale))));
    TRY(MatchName(call_.info.name, scale));
    if (spec_.track_fields) scale = Track(old_scale, scale);
    const json::Value before = scale;
    scale = TRY(RunMutating(call_, {.operation = admission::kUpdate,
                                    .name = call_.info.name,
                                    .object = scale,
                                    .old_object = old_scale,
                                    .options = options_.as_update}));
    return scale.IsSameAs(before) ? scale : RestoreManagedFields(call_, scale, before);
  }

  json::Value Track(json::Value old_scale, json::Value scale) const {
    const api::schema::Schema* schema = call_.catalog->FindSchema(call_.kind());
    if (schema == nullptr) return scale;
    const std::string manager = FieldManager(call_, options_);
    const FieldWriter by(call_, manager, call_.kind());
    return api::patch::Track(call_.arena, *schema, old_scale, scale, by.writer());
  }

  base::Status CheckScale(json::Value scale, json::Value live) const {
    const std::int64_t replicas = scale["spec"]["replicas"].AsInt();
    if (call_.resource->custom) {
      if (replicas != kNoReplicas) return base::OkStatus();  // it is checked as a whole
      return base::BadRequest(base::StrCat("the spec replicas field ",
                                           base::GoQuote(ReplicasPath(*call_.resource)),
                                           " cannot be empty"));
    }
    if (replicas < 0) {
      const api::FieldErrors errors = {api::Invalid(api::FieldPath("spec", "replicas"), replicas,
                                                    "must be greater than or equal to 0")};
      return api::InvalidStatus({"autoscaling", "Scale"}, call_.info.name, errors);
    }
    const std::string_view wanted = scale["metadata"]["uid"].AsString();
    const std::string_view actual = live["metadata"]["uid"].AsString();
    if (wanted.empty() || wanted == actual) return base::OkStatus();
    api::GroupResource resource = call_.group_resource();
    resource.resource += "/scale";
    return api::ConflictStatus(resource, call_.info.name,
                               base::StrCat("Precondition failed: UID in precondition: ", wanted,
                                            ", UID in object meta: ", actual));
  }

  base::Result<json::Value> Scaled(json::Value live, json::Value scale, std::int64_t revision) {
    const std::string_view version = scale["metadata"]["resourceVersion"].AsString();
    if (!version.empty() && version != "0" && version != std::to_string(revision)) {
      return api::ConflictStatus(call_.group_resource(), call_.info.name,
                                 "the object has been modified; please apply your changes to the "
                                 "latest version and try again");
    }
    const auto names = PathNames(ReplicasPath(*call_.resource));
    json::Value next = json::SetPath(call_.arena, live, std::span(names),
                                     json::Value::Int(scale["spec"]["replicas"].AsInt()));
    next = WithManagedFields(
        call_.arena, next,
        TRY(api::patch::ParentManagedFields(call_.arena, live["metadata"]["managedFields"],
                                            scale["metadata"]["managedFields"], paths_,
                                            call_.resource->resource.group_version().ToString())));
    // To its strategy this is a write of the object itself.
    const std::string subresource = std::move(call_.info.subresource);
    call_.info.subresource.clear();
    registry::Context context = StrategyContext(call_, call_.info.name);
    std::vector<std::string> warnings;
    context.warnings = &warnings;
    next = strategy_.PrepareForUpdate(context, next, live);
    api::FieldErrors errors;
    if (call_.resource->custom) strategy_.ValidateUpdate(context, next, live, errors);
    for (std::string& text : warnings) call_.recorder.Warn(std::move(text));
    call_.info.subresource = subresource;
    if (!errors.empty()) {
      return api::InvalidStatus(call_.resource->kind.group_kind(), call_.info.name, errors);
    }
    return json::SetPath(call_.arena, next, {"metadata", "resourceVersion"},
                         json::String(call_.arena, std::to_string(revision)));
  }

  Call& call_;
  const WriteOptions& options_;
  const ScaleSpec& spec_;
  const registry::Strategy& strategy_;
  const api::patch::ReplicasPaths paths_;
  bool retry_ = false;
};

}  // namespace

VerbResult GetScale(Call& call) {
  const store::ObjectPtr object = call.env.store->Get(KeyOf(call, call.info.name));
  if (object == nullptr) return api::NotFoundStatus(call.group_resource(), call.info.name);
  const json::Value value = TRY(FromStore(call, object));
  if (IsWithoutReplicas(*call.resource, value)) {
    return base::InternalError(base::StrCat("the spec replicas field ",
                                            base::GoQuote(ReplicasPath(*call.resource)),
                                            " does not exist"));
  }
  return PresentValue(call, 200, ScaleOf(call, value));
}

VerbResult UpdateScale(Call& call) {
  const bool patch = call.info.verb == "patch";
  PatchType type = PatchType::kMerge;
  const PatchTarget target{call.kind(), call.catalog->FindSchema(call.kind())};
  if (patch) type = TRY(ReadPatchType(call, target.schema != nullptr));
  const WriteOptions options =
      TRY(ReadWriteOptions(call, patch ? WriteKind::kPatch : WriteKind::kUpdate));
  ScaleSpec spec;
  if (patch) {
    spec.transform = TRY(MakePatch(call, type, target, options));
    spec.track_fields = type != PatchType::kApply;
  } else {
    const json::Value scale = TRY(DecodeRequest(call, options.validation));
    if (call.audit) call.audit->SetRequestObject(scale);
    TRY(MatchNameForUpdate(call, scale));
    spec.transform = [scale](json::Value) -> base::Result<json::Value> { return scale; };
    spec.uid = scale["metadata"]["uid"].AsString();
  }
  return PresentValue(call, 200, TRY(ScaleUpdate(call, options, spec).Run()));
}

}  // namespace portcullis::server::rest

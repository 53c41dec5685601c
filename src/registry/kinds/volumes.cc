// Volumes and claims on them (pkg/apis/core/validation).

#include <algorithm>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/pod_warnings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

// Sources in the order in which they are looked at.
constexpr std::string_view kVolumeSources[] = {"hostPath",
                                               "gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "glusterfs",
                                               "flocker",
                                               "nfs",
                                               "rbd",
                                               "quobyte",
                                               "cephfs",
                                               "iscsi",
                                               "cinder",
                                               "fc",
                                               "flexVolume",
                                               "azureFile",
                                               "vsphereVolume",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "azureDisk",
                                               "scaleIO",
                                               "local",
                                               "storageos",
                                               "csi"};
constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";

void CheckVolumeSources(json::Value spec, bool has_affinity, const FieldPath& path,
                        FieldErrors& errors) {
  bool found = false;
  for (const std::string_view source : kVolumeSources) {
    if (spec[source].is_null()) continue;
    if (found && source != "flexVolume") {
      errors.push_back(api::Forbidden(path.Child(source == "cephfs" ? "cephFS" : source),
                                      "may not specify more than 1 volume type"));
      continue;
    }
    found = true;
    const std::string_view place = source == "gcePersistentDisk" ? "persistentDisk" : source;
    CheckVolumeField(spec[source], source, path.Child(place), true, errors);
    if (source == "local" && !has_affinity) {
      errors.push_back(
          api::Required(path.Child("nodeAffinity"), "Local volume requires node affinity"));
    }
  }
  if (!found) errors.push_back(api::Required(path, "must specify a volume type"));
}

// A Go map in JSON: its keys in order.
std::string MapJson(json::Value map) {
  if (map.is_null()) return "null";
  std::string out = "{";
  for (const json::Member* member : SortedMembers(map)) {
    if (out.size() > 1) out += ",";
    out += base::StrCat(Quoted(member->name()), ":", Json(member->value));
  }
  return out + "}";
}

void CheckCapacity(json::Value capacity, const FieldPath& path, FieldErrors& errors) {
  if (capacity.empty()) errors.push_back(api::Required(path, ""));
  if (capacity["storage"].is_null() || capacity.size() > 1) {
    errors.push_back(api::NotSupported(path, api::BadValue::Raw(MapJson(capacity)), {"storage"}));
  }
  for (const json::Member* entry : SortedMembers(capacity)) {
    const api::Quantity amount = QuantityOf(entry->value);
    if (amount.Sign() <= 0) {
      errors.push_back(
          api::Invalid(path.Key(entry->name()), amount.ToString(), "must be greater than zero"));
    }
  }
}

// "" or the difference of two structs, as Kubernetes appends it to "… is immutable".
std::string Difference(const Context& ctx, std::string_view definition, json::Value before,
                       json::Value after) {
  if (ctx.catalog == nullptr) return "";
  const auto* schema = ctx.catalog->FindDefinition(definition);
  return schema == nullptr ? "" : "\n" + GoDiff(*schema, before, after);
}

// The sources of a volume alone.
json::Value SourcesOf(json::Arena& arena, json::Value spec) {
  json::ObjectBuilder out(arena);
  for (const std::string_view source : kVolumeSources) {
    if (!spec[source].is_null()) out.Set(source, spec[source]);
  }
  return out.Build();
}

void ValidatePersistentVolumeClaim(const Context&, json::Value object, FieldErrors& errors) {
  CheckClaimSpec(object["spec"], FieldPath("spec"), errors);
}

bool CheckNotNegative(const api::Quantity& amount, const FieldPath& path, FieldErrors& errors) {
  if (amount.Sign() >= 0) return true;
  errors.push_back(api::Invalid(path, amount.Value(), "must be a valid resource quantity"));
  return false;
}

// Of what a claim has amounts: storage, and whatever has a domain of its own.
bool CheckClaimResource(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const std::size_t before = errors.size();
  AddInvalid(path, name, api::IsQualifiedName(name), errors);
  if (errors.size() != before) return false;
  const std::size_t slash = name.find('/');
  const bool native =
      slash == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
  if (!native || name == "storage") return true;
  errors.push_back(api::NotSupported(path, name, {"storage"}));
  return false;
}

void CheckClaimStatus(json::Value status, FieldErrors& errors) {
  const FieldPath path("status");
  for (const json::Member* amount : SortedMembers(status["capacity"])) {
    CheckNotNegative(QuantityOf(amount->value), path.Child("capacity").Key(amount->name()), errors);
  }
  const FieldPath resizes = path.Child("allocatedResourceStatus");
  constexpr std::string_view kStates[] = {"ControllerResizeInProgress",
                                          "ControllerResizeInfeasible", "NodeResizeInProgress",
                                          "NodeResizeInfeasible", "NodeResizePending"};
  for (const json::Member* resize : SortedMembers(status["allocatedResourceStatuses"])) {
    CheckClaimResource(resize->name(), resizes, errors);
    const std::string_view state = resize->value.AsString();
    if (std::find(std::begin(kStates), std::end(kStates), state) != std::end(kStates)) continue;
    // The name is told, not the state.
    errors.push_back(
        api::NotSupported(resizes, resize->name(),
                          {"ControllerResizeInProgress", "ControllerResizeInfeasible",
                           "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"}));
  }
  const FieldPath allocated = path.Child("allocatedResources");
  for (const json::Member* amount : SortedMembers(status["allocatedResources"])) {
    if (!CheckClaimResource(amount->name(), allocated, errors)) continue;
    CheckNotNegative(QuantityOf(amount->value), allocated.Key(amount->name()), errors);
  }
}

void ValidatePersistentVolumeClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                                         FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckClaimStatus(object["status"], errors);
  ValidatePersistentVolumeClaim(ctx, object, errors);
  const FieldPath path("spec");
  const json::Value before = old["spec"];
  json::Value after = object["spec"];
  const auto take_old = [&](std::string_view field) {
    const json::Value* value = before.Find(field);
    after = value == nullptr ? json::Without(ctx.arena, after, field)
                             : json::With(ctx.arena, after, field, *value);
  };
  // A claim that has no volume, or no class, may be given one.
  if (before["volumeName"].AsString().empty()) take_old("volumeName");
  const std::string_view beta_class = old["metadata"]["annotations"][kBetaClass].AsString();
  const bool had_beta = old["metadata"]["annotations"].Has(kBetaClass);
  if (before["storageClassName"].is_null() && !after["storageClassName"].is_null() &&
      (!had_beta || after["storageClassName"].AsString() == beta_class)) {
    take_old("storageClassName");
  }
  if (!(object["metadata"]["annotations"][kBetaClass] ==
        old["metadata"]["annotations"][kBetaClass]) &&
      (!had_beta || object["metadata"]["annotations"].Has(kBetaClass))) {
    errors.push_back(api::Invalid(FieldPath("metadata", "annotations", kBetaClass),
                                  object["metadata"]["annotations"][kBetaClass].AsString(),
                                  "field is immutable"));
  }
  const bool bound = object["status"]["phase"].AsString() == "Bound";
  if (bound && !after["resources"]["requests"].is_null()) {
    after = json::SetPath(ctx.arena, after, {"resources", "requests", "storage"},
                          before["resources"]["requests"]["storage"]);
  }
  if (bound && !after["volumeAttributesClassName"].is_null()) take_old("volumeAttributesClassName");
  if (!(after == before)) {
    errors.push_back(api::Forbidden(
        path, base::StrCat(
                  "spec is immutable after creation except resources.requests and "
                  "volumeAttributesClassName for bound claims",
                  Difference(ctx, "io.k8s.api.core.v1.PersistentVolumeClaimSpec", before, after))));
  }
  const api::Quantity size = QuantityOf(object["spec"]["resources"]["requests"]["storage"]);
  if (size < QuantityOf(before["resources"]["requests"]["storage"]) &&
      size <= QuantityOf(old["status"]["capacity"]["storage"])) {
    errors.push_back(api::Forbidden(path.Child("resources", "requests", "storage"),
                                    "field can not be less than status.capacity"));
  }
  CheckImmutable(object["spec"]["volumeMode"], before["volumeMode"], FieldPath("volumeMode"),
                 errors);
  const json::Value attributes = object["spec"]["volumeAttributesClassName"];
  if (!before["volumeAttributesClassName"].is_null() && attributes.is_null()) {
    errors.push_back(api::Forbidden(path.Child("volumeAttributesClassName"),
                                    "update from non-nil value to nil is forbidden"));
  } else if (!before["volumeAttributesClassName"].is_null() && attributes.AsString().empty() &&
             !before["volumeAttributesClassName"].AsString().empty()) {
    errors.push_back(api::Forbidden(path.Child("volumeAttributesClassName"),
                                    "update from non-nil value to an empty string is forbidden"));
  }
}

void ValidatePersistentVolume(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (spec["accessModes"].empty()) errors.push_back(api::Required(path.Child("accessModes"), ""));
  CheckAccessModes(spec["accessModes"], path.Child("accessModes"), errors);
  CheckCapacity(spec["capacity"], path.Child("capacity"), errors);
  if (!spec["persistentVolumeReclaimPolicy"].AsString().empty()) {
    CheckOneOf(spec["persistentVolumeReclaimPolicy"], path.Child("persistentVolumeReclaimPolicy"),
               {"Delete", "Recycle", "Retain"}, errors);
  }
  const json::Value affinity = spec["nodeAffinity"];
  if (!affinity.is_null()) {
    const FieldPath required = path.Child("nodeAffinity", "required");
    if (affinity["required"].is_null()) {
      errors.push_back(api::Required(required, "must specify required node constraints"));
    } else {
      CheckNodeSelector(affinity["required"], required, errors);
    }
  }
  CheckVolumeSources(spec, !affinity.is_null(), path, errors);
  if (spec["hostPath"]["path"].AsString() == "/" &&
      spec["persistentVolumeReclaimPolicy"].AsString() == "Recycle") {
    errors.push_back(api::Forbidden(path.Child("persistentVolumeReclaimPolicy"),
                                    "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (const std::string_view name = spec["storageClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("storageClassName"), errors);
  }
  if (!spec["volumeMode"].is_null()) {
    CheckOneOf(spec["volumeMode"], path.Child("volumeMode"), {"Block", "Filesystem"}, errors);
  }
  const json::Value attributes = spec["volumeAttributesClassName"];
  if (attributes.is_null()) return;
  if (attributes.AsString().empty()) {
    errors.push_back(
        api::Required(path.Child("volumeAttributesClassName"), "an empty string is disallowed"));
  } else {
    CheckSubdomain(attributes.AsString(), path.Child("volumeAttributesClassName"), errors);
  }
  if (spec["csi"].is_null()) {
    errors.push_back(api::Required(path.Child("csi"),
                                   "has to be specified when using volumeAttributesClassName"));
  }
}

void ValidatePersistentVolumeUpdate(const Context& ctx, json::Value object, json::Value old,
                                    FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidatePersistentVolume(ctx, object, errors);
  const json::Value before = SourcesOf(ctx.arena, old["spec"]);
  json::Value after = SourcesOf(ctx.arena, object["spec"]);
  const bool expands = !before["csi"].is_null() && !before["csi"].Has("controllerExpandSecretRef");
  if (expands && !after["csi"].is_null()) {
    after = json::RemovePath(ctx.arena, after, {"csi", "controllerExpandSecretRef"});
  }
  if (!(before == after)) {
    errors.push_back(api::Forbidden(
        FieldPath("spec", "persistentvolumesource"),
        base::StrCat("spec.persistentvolumesource is immutable after creation",
                     Difference(ctx, "io.k8s.api.core.v1.PersistentVolumeSource", before, after))));
  }
  CheckImmutable(object["spec"]["volumeMode"], old["spec"]["volumeMode"], FieldPath("volumeMode"),
                 errors);
  const json::Value affinity = old["spec"]["nodeAffinity"];
  if (!affinity.is_null() && !(affinity == object["spec"]["nodeAffinity"])) {
    errors.push_back(api::Invalid(FieldPath("nodeAffinity"), object["spec"]["nodeAffinity"],
                                  "field is immutable, except for updating from beta label to GA"));
  }
}

constexpr DisabledField kForeignSource[] = {{"CrossNamespaceVolumeDataSource", "dataSourceRef"}};

json::Value Pending() { return json::Value::StringView("Pending"); }

// What a volume may be filled from by dataSource; dataSourceRef takes anything (KEP-1495).
bool IsClaimOrSnapshot(json::Value source) {
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

// dataSource and dataSourceRef say the same, unless the reference leads to another namespace.
json::Value NormalizeDataSources(json::Arena& arena, json::Value spec) {
  const json::Value reference = spec["dataSourceRef"];
  json::Value source = spec["dataSource"];
  if (source.is_object() && !reference.is_object() && !IsClaimOrSnapshot(source)) {
    spec = json::Without(arena, spec, "dataSource");
    source = json::Value();
  }
  if (source.is_object() && !reference.is_object()) {
    return json::With(arena, spec, "dataSourceRef", source);
  }
  if (reference.is_object() && !source.is_object() && reference["namespace"].AsString().empty()) {
    return json::With(arena, spec, "dataSource", json::Without(arena, reference, "namespace"));
  }
  return spec;
}

// A source in another namespace needs a gate that is off: the whole reference is passed over.
json::Value WithoutForeignSource(const Context& ctx, json::Value spec) {
  if (spec["dataSourceRef"]["namespace"].AsString().empty()) return spec;
  return WithoutDisabledFields(ctx, kForeignSource, {}, spec, {});
}

class Claims final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    const json::Value spec = WithoutForeignSource(ctx, object["spec"]);
    object = json::With(ctx.arena, object, "spec", NormalizeDataSources(ctx.arena, spec));
    return json::With(ctx.arena, object, "status",
                      json::MakeObject(ctx.arena, {json::Member("phase", Pending())}));
  }
};

class Volumes final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    const std::string now = base::FormatTime(ctx.clock.Now());
    return json::With(
        ctx.arena, object, "status",
        json::MakeObject(ctx.arena, {{"phase", Pending()},
                                     {"lastPhaseTransitionTime", json::String(ctx.arena, now)}}));
  }
};

void WarnOfBetaClass(json::Value object, std::vector<std::string>& warnings) {
  if (!object["metadata"]["annotations"].Has(kBetaClass)) return;
  warnings.push_back(
      base::StrCat("metadata.annotations[", kBetaClass,
                   "]: deprecated since v1.8; use \"storageClassName\" attribute instead"));
}

void WarnOfVolume(const Context&, json::Value object, json::Value,
                  std::vector<std::string>& warnings) {
  WarnOfBetaClass(object, warnings);
  const json::Value spec = object["spec"];
  if (spec["persistentVolumeReclaimPolicy"].AsString() == "Recycle") {
    warnings.emplace_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
        "the recommended approach is to use dynamic provisioning.");
  }
  const FieldPath terms("spec", "nodeAffinity", "required", "nodeSelectorTerms");
  std::size_t index = 0;
  for (const json::Value& term : spec["nodeAffinity"]["required"]["nodeSelectorTerms"].elements()) {
    NodeTermWarnings(term, false, terms.Index(index++), warnings);
  }
  for (const json::Member& field : spec.members()) {
    const std::string_view text = DeprecatedVolume(field.name());
    if (text.empty()) continue;
    const std::string_view place = field.name() == "storageos" ? "storageOS" : field.name();
    warnings.push_back(base::StrCat("spec.", place, ": ", text));
  }
}

void WarnOfClaim(const Context&, json::Value object, json::Value,
                 std::vector<std::string>& warnings) {
  WarnOfBetaClass(object, warnings);
  ClaimSpecWarnings(object["spec"], FieldPath("spec"), warnings);
}

}  // namespace

void AddVolumes(KindTable& table) {
  table.Add({.group = "",
             .resource = "persistentvolumeclaims",
             .validate = &ValidatePersistentVolumeClaim,
             .validate_update = &ValidatePersistentVolumeClaimUpdate,
             .warn = &WarnOfClaim,
             .traits = {.returns_deleted = true},
             .make = &Make<Claims>});
  table.Add({.group = "",
             .resource = "persistentvolumes",
             .validate = &ValidatePersistentVolume,
             .validate_update = &ValidatePersistentVolumeUpdate,
             .warn = &WarnOfVolume,
             .traits = {.returns_deleted = true},
             .make = &Make<Volumes>});
}

}  // namespace portcullis::registry

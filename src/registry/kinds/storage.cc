// The kinds of storage.k8s.io (pkg/apis/storage/validation).

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/pod_warnings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr DisabledField kDisabledOfDrivers[] = {
    {"VolumeLimitScaling", "spec.preventPodSchedulingIfMissing"}};

constexpr FieldRule kAttributesClassRules[] = {
    {"driverName", FieldRuleKind::kFrozen, "updates to driverName are forbidden."},
    {"parameters", FieldRuleKind::kFrozen, "updates to parameters are forbidden."},
};

constexpr FieldRule kCapacityRules[] = {
    {"nodeTopology", FieldRuleKind::kImmutable},
    {"storageClassName", FieldRuleKind::kImmutable},
};

constexpr FieldRule kStorageClassRules[] = {
    {"parameters", FieldRuleKind::kFrozen, "updates to parameters are forbidden."},
    {"provisioner", FieldRuleKind::kFrozen, "updates to provisioner are forbidden."},
    {"reclaimPolicy", FieldRuleKind::kFrozen, "updates to reclaimPolicy are forbidden."},
    {"volumeBindingMode", FieldRuleKind::kImmutable},
};

void CheckProvisioner(json::Value value, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = value.AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const std::string lower = base::ToLower(name);
  AddInvalid(path, lower, api::IsQualifiedName(lower), errors);
}

void CheckParameters(json::Value parameters, bool may_be_empty, const FieldPath& path,
                     FieldErrors& errors) {
  if (parameters.size() > 512) {
    errors.push_back(api::TooLong(path, 512));
    return;
  }
  std::size_t total = 0;
  for (const json::Member* parameter : SortedMembers(parameters)) {
    if (parameter->name().empty()) {
      errors.push_back(api::Invalid(path, parameter->name(), "field can not be empty."));
    }
    total += parameter->name().size() + parameter->value.AsString().size();
  }
  if (total > std::size_t{256} * 1024) errors.push_back(api::TooLong(path, 256 * 1024));
  if (!may_be_empty && parameters.empty()) {
    errors.push_back(api::Required(path, "must contain at least one key/value pair"));
  }
}

using Topology = std::map<std::string_view, std::set<std::string_view>>;

void CheckTopologies(json::Value terms, const FieldPath& path, FieldErrors& errors) {
  // Kubernetes starts with as many empty topologies as there are terms.
  std::vector<Topology> seen(terms.size());
  std::size_t index = 0;
  for (const json::Value& term : terms.elements()) {
    const FieldPath list = path.Index(index++).Child("matchLabelExpressions");
    std::set<std::string_view> keys;
    Topology topology;
    std::size_t expression_index = 0;
    for (const json::Value& expression : term["matchLabelExpressions"].elements()) {
      const FieldPath at = list.Index(expression_index++);
      if (expression["values"].empty()) errors.push_back(api::Required(at.Child("values"), ""));
      std::set<std::string_view> values;
      std::size_t value_index = 0;
      for (const json::Value& value : expression["values"].elements()) {
        const FieldPath value_path = at.Child("values").Index(value_index++);
        if (!values.insert(value.AsString()).second) {
          errors.push_back(api::Duplicate(value_path, value.AsString()));
        }
      }
      const std::string_view key = expression["key"].AsString();
      AddInvalid(at.Child("key"), key, api::IsQualifiedName(key), errors);
      if (!keys.insert(key).second) {
        errors.push_back(api::Duplicate(at.Child("key"), key));
      } else {
        topology[key] = std::move(values);
      }
    }
    for (const Topology& other : seen) {
      if (other == topology) errors.push_back(api::Duplicate(list, ""));
    }
    seen.push_back(std::move(topology));
  }
}

void CheckTokenRequests(json::Value requests, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> audiences;
  std::size_t index = 0;
  for (const json::Value& request : requests.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view audience = request["audience"].AsString();
    if (!audiences.insert(audience).second) {
      errors.push_back(api::Duplicate(at.Child("audience"), audience));
      continue;
    }
    const json::Value seconds = request["expirationSeconds"];
    if (seconds.is_null()) continue;
    if (seconds.AsInt() < 600) {
      errors.push_back(api::Invalid(at.Child("expirationSeconds"), seconds.AsInt(),
                                    "may not specify a duration less than 10 minutes"));
    }
    if (seconds.AsInt() > (std::int64_t{1} << 32)) {
      errors.push_back(api::Invalid(at.Child("expirationSeconds"), seconds.AsInt(),
                                    "may not specify a duration larger than 2^32 seconds"));
    }
  }
}

void ValidateStorageClass(const Context&, json::Value object, FieldErrors& errors) {
  CheckProvisioner(object["provisioner"], FieldPath("provisioner"), errors);
  CheckParameters(object["parameters"], true, FieldPath("parameters"), errors);
  CheckOneOf(object["reclaimPolicy"], FieldPath("reclaimPolicy"), {"Delete", "Retain"}, errors);
  CheckOneOf(object["volumeBindingMode"], FieldPath("volumeBindingMode"),
             {"Immediate", "WaitForFirstConsumer"}, errors);
  CheckTopologies(object["allowedTopologies"], FieldPath("allowedTopologies"), errors);
}

void ValidateCsiDriver(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (!spec["fsGroupPolicy"].is_null()) {
    CheckOneOf(spec["fsGroupPolicy"], path.Child("fsGroupPolicy"),
               {"File", "None", "ReadWriteOnceWithFSType"}, errors);
  }
  CheckTokenRequests(spec["tokenRequests"], path.Child("tokenRequests"), errors);
  for (const json::Value& mode : spec["volumeLifecycleModes"].elements()) {
    CheckOneOf(mode, path.Child("volumeLifecycleModes"), {"Persistent", "Ephemeral"}, errors);
  }
  constexpr std::string_view kPeriod = "nodeAllocatableUpdatePeriodSeconds";
  if (const json::Value period = spec[kPeriod]; !period.is_null() && period.AsInt() < 10) {
    errors.push_back(api::Invalid(path.Child(kPeriod), period.AsInt(),
                                  "must be greater than or equal to 10 seconds"));
  }
}

void ValidateCsiDriverUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  ValidateCsiDriver(ctx, object, errors);
  CheckImmutable(object["spec"]["attachRequired"], old["spec"]["attachRequired"],
                 FieldPath("spec", "attachedRequired"), errors);
  CheckImmutable(object["spec"]["volumeLifecycleModes"], old["spec"]["volumeLifecycleModes"],
                 FieldPath("spec", "volumeLifecycleModes"), errors);
}

void ValidateCsiNode(const Context&, json::Value object, FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& driver : object["spec"]["drivers"].elements()) {
    const FieldPath at = FieldPath("spec", "drivers").Index(index++);
    const std::string_view name = driver["name"].AsString();
    CheckCsiDriverName(name, at.Child("name"), errors);
    const std::string_view id = driver["nodeID"].AsString();
    if (id.empty()) errors.push_back(api::Required(at.Child("nodeID"), ""));
    if (id.size() > 192) {
      errors.push_back(api::Invalid(at.Child("nodeID"), id, "must be 192 characters or less"));
    }
    if (const json::Value count = driver["allocatable"]["count"]; count.is_int()) {
      CheckNonNegative(count, at.Child("allocatable", "count"), errors);
    }
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
    std::set<std::string_view> keys;
    for (const json::Value& key : driver["topologyKeys"].elements()) {
      if (key.AsString().empty()) errors.push_back(api::Required(at, ""));
      if (!keys.insert(key.AsString()).second) {
        errors.push_back(api::Duplicate(at, key.AsString()));
      }
      AddInvalid(at, key.AsString(), api::IsQualifiedName(key.AsString()), errors);
    }
  }
}

// What a driver has said of itself may not change, except how many volumes it takes.
void ValidateCsiNodeUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  ValidateCsiNode(ctx, object, errors);
  for (const json::Value& before : old["spec"]["drivers"].elements()) {
    for (const json::Value& driver : object["spec"]["drivers"].elements()) {
      if (!(before["name"] == driver["name"])) continue;
      const json::Value now = json::Without(ctx.arena, driver, "allocatable");
      if (now == json::Without(ctx.arena, before, "allocatable")) continue;
      errors.push_back(api::Invalid(FieldPath("spec", "drivers"),
                                    GoValue(ctx, "io.k8s.api.storage.v1.CSINodeDriver", now),
                                    "field is immutable"));
    }
  }
}

// How an attempt to attach or detach went wrong.
void CheckVolumeError(json::Value error, const FieldPath& path, FieldErrors& errors) {
  if (error["message"].AsString().size() > 1024) {
    // Kubernetes names another limit than the one it holds to.
    errors.push_back(api::TooLong(path.Child("message"), 256 * 1024));
  }
  if (const std::int64_t code = error["errorCode"].AsInt(); code < 0) {
    errors.push_back(
        api::Invalid(path.Child("errorCode"), code, "must be between 0 and 2147483647, inclusive"));
  }
}

void CheckAttachmentStatus(json::Value status, FieldErrors& errors) {
  const FieldPath path("status");
  std::size_t total = 0;
  for (const json::Member& entry : status["attachmentMetadata"].members()) {
    total += entry.name().size() + entry.value.AsString().size();
  }
  if (total > std::size_t{256} * 1024) {
    errors.push_back(api::TooLong(path.Child("attachmentMetadata"), 256 * 1024));
  }
  CheckVolumeError(status["attachError"], path.Child("attachError"), errors);
  CheckVolumeError(status["detachError"], path.Child("detachError"), errors);
}

void CheckAttachment(json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view attacher = spec["attacher"].AsString();
  if (attacher.empty()) errors.push_back(api::Required(path.Child("attacher"), ""));
  const json::Value source = spec["source"];
  const FieldPath source_path = path.Child("source");
  const json::Value volume = source["persistentVolumeName"];
  const bool inline_spec = !source["inlineVolumeSpec"].is_null();
  constexpr std::string_view kOne =
      "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (volume.is_null() && !inline_spec) {
    errors.push_back(api::Required(source_path, kOne));
  } else if (!volume.is_null() && inline_spec) {
    errors.push_back(api::Forbidden(source_path, kOne));
  } else if (!inline_spec && volume.AsString().empty()) {
    errors.push_back(api::Required(source_path.Child("persistentVolumeName"),
                                   "must specify non empty persistentVolumeName"));
  }
  CheckSubdomain(spec["nodeName"].AsString(), path.Child("nodeName"), errors);
  CheckAttachmentStatus(object["status"], errors);
}

// New ones are judged more strictly.
void ValidateVolumeAttachment(const Context&, json::Value object, FieldErrors& errors) {
  CheckAttachment(object, errors);
  const json::Value spec = object["spec"];
  CheckCsiDriverName(spec["attacher"].AsString(), FieldPath("spec.attacher"), errors);
  if (const json::Value volume = spec["source"]["persistentVolumeName"]; !volume.is_null()) {
    CheckSubdomain(volume.AsString(), FieldPath("spec.source.persistentVolumeName"), errors);
  }
}

void ValidateVolumeAttachmentUpdate(const Context& ctx, json::Value object, json::Value old,
                                    FieldErrors& errors) {
  CheckAttachment(object, errors);
  if (object["spec"] == old["spec"]) return;
  errors.push_back(api::Invalid(
      FieldPath("spec"), GoValue(ctx, "io.k8s.api.storage.v1.VolumeAttachmentSpec", object["spec"]),
      "field is immutable"));
}

void ValidateCsiStorageCapacity(const Context&, json::Value object, FieldErrors& errors) {
  CheckLabelSelector(object["nodeTopology"], FieldPath("nodeTopology"), errors);
  CheckSubdomain(object["storageClassName"].AsString(), FieldPath("storageClassName"), errors);
  if (const api::Quantity amount = QuantityOf(object["capacity"]); amount.Sign() < 0) {
    errors.push_back(api::Invalid(FieldPath("capacity"), amount.ToString(),
                                  "must be greater than or equal to 0"));
  }
}

void ValidateVolumeAttributesClass(const Context&, json::Value object, FieldErrors& errors) {
  CheckProvisioner(object["driverName"], FieldPath("driverName"), errors);
  CheckParameters(object["parameters"], false, FieldPath("parameters"), errors);
}

void WarnOfLabel(std::string_view key, const FieldPath& path, std::vector<std::string>& warnings) {
  const std::string text = DeprecatedNodeLabel(key);
  if (!text.empty()) warnings.push_back(base::StrCat(path.ToString(), ": ", text));
}

void WarnOfStorageClass(const Context&, json::Value object, json::Value,
                        std::vector<std::string>& warnings) {
  std::size_t index = 0;
  for (const json::Value& term : object["allowedTopologies"].elements()) {
    const FieldPath list =
        FieldPath("allowedTopologies").Index(index++).Child("matchLabelExpressions");
    std::size_t position = 0;
    for (const json::Value& expression : term["matchLabelExpressions"].elements()) {
      WarnOfLabel(expression["key"].AsString(), list.Index(position++).Child("key"), warnings);
    }
  }
}

void WarnOfCapacity(const Context&, json::Value object, json::Value,
                    std::vector<std::string>& warnings) {
  const json::Value topology = object["nodeTopology"];
  const FieldPath path("nodeTopology");
  std::size_t index = 0;
  for (const json::Value& expression : topology["matchExpressions"].elements()) {
    WarnOfLabel(expression["key"].AsString(),
                path.Child("matchExpressions").Index(index++).Child("key"), warnings);
  }
  for (const json::Member* label : SortedMembers(topology["matchLabels"])) {
    WarnOfLabel(label->name(), path.Child("matchLabels").Child(label->name()), warnings);
  }
}

}  // namespace

void AddStorage(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "csidrivers",
             .validate = &ValidateCsiDriver,
             .validate_update = &ValidateCsiDriverUpdate,
             .traits = {.returns_deleted = true, .needs_version = true},
             .disabled = kDisabledOfDrivers});
  table.Add({.group = "storage.k8s.io",
             .resource = "csinodes",
             .validate = &ValidateCsiNode,
             .validate_update = &ValidateCsiNodeUpdate,
             .traits = {.returns_deleted = true, .needs_version = true}});
  table.Add({.group = "storage.k8s.io",
             .resource = "csistoragecapacities",
             .validate = &ValidateCsiStorageCapacity,
             .rules = kCapacityRules,
             .warn = &WarnOfCapacity,
             .traits = {.needs_version = true}});
  table.Add({.group = "storage.k8s.io",
             .resource = "storageclasses",
             .validate = &ValidateStorageClass,
             .rules = kStorageClassRules,
             .warn = &WarnOfStorageClass,
             .traits = {.returns_deleted = true}});
  table.Add(
      {.group = "storage.k8s.io",
       .resource = "volumeattachments",
       .validate = &ValidateVolumeAttachment,
       .validate_update = &ValidateVolumeAttachmentUpdate,
       .traits = {.returns_deleted = true, .needs_version = true, .status_keeps_metadata = true}});
  table.Add({.group = "storage.k8s.io",
             .resource = "volumeattributesclasses",
             .validate = &ValidateVolumeAttributesClass,
             .rules = kAttributesClassRules,
             .traits = {.returns_deleted = true}});
}

}  // namespace portcullis::registry

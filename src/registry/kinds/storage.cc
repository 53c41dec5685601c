// The kinds of storage.k8s.io (pkg/apis/storage/validation).

#include <set>

#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/pod_warnings.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr DisabledField kDisabledOfDrivers[] = {
    {"VolumeLimitScaling", "spec.preventPodSchedulingIfMissing"}};

constexpr FieldRule kAttributesClassRules[] = {
    {"driverName", FieldRuleKind::kFrozen, "updates to driverName are forbidden."},
    {"parameters", FieldRuleKind::kFrozen, "updates to parameters are forbidden."},
};

constexpr FieldRule kAttachmentRules[] = {
    {"spec", FieldRuleKind::kImmutable},
};

constexpr FieldRule kCapacityRules[] = {
    {"nodeTopology", FieldRuleKind::kImmutable},
    {"storageClassName", FieldRuleKind::kImmutable},
};

constexpr FieldRule kStorageClassRules[] = {
    {"provisioner", FieldRuleKind::kFrozen, "updates to provisioner are forbidden."},
    {"parameters", FieldRuleKind::kFrozen, "updates to parameters are forbidden."},
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

void CheckTopologies(json::Value terms, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& term : terms.elements()) {
    const FieldPath list = path.Index(index++).Child("matchLabelExpressions");
    std::set<std::string_view> keys;
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
      if (!keys.insert(key).second) errors.push_back(api::Duplicate(at.Child("key"), key));
    }
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
  CheckCsiDriverName(object["metadata"]["name"].AsString(), FieldPath("name"), errors);
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckTokenRequests(spec["tokenRequests"], path.Child("tokenRequests"), errors);
  for (const json::Value& mode : spec["volumeLifecycleModes"].elements()) {
    CheckOneOf(mode, path.Child("volumeLifecycleModes"), {"Persistent", "Ephemeral"}, errors);
  }
  if (!spec["fsGroupPolicy"].is_null()) {
    CheckOneOf(spec["fsGroupPolicy"], path.Child("fsGroupPolicy"),
               {"File", "None", "ReadWriteOnceWithFSType"}, errors);
  }
}

void ValidateCsiDriverUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  CheckImmutable(object["spec"]["attachRequired"], old["spec"]["attachRequired"],
                 FieldPath("spec", "attachedRequired"), errors);
  CheckImmutable(object["spec"]["volumeLifecycleModes"], old["spec"]["volumeLifecycleModes"],
                 FieldPath("spec", "volumeLifecycleModes"), errors);
  ValidateCsiDriver(ctx, object, errors);
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
      CheckNonNegative(count, at.Child("allocatable"), errors);
    }
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
    std::set<std::string_view> keys;
    for (const json::Value& key : driver["topologyKeys"].elements()) {
      if (key.AsString().empty()) errors.push_back(api::Required(at, ""));
      if (!keys.insert(key.AsString()).second) {
        errors.push_back(api::Duplicate(at, key.AsString()));
      }
      for (const std::string& text : api::IsQualifiedName(key.AsString())) {
        errors.push_back(api::Invalid(at, driver["topologyKeys"], text));
      }
    }
  }
}

void ValidateVolumeAttachment(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
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
  if (!attacher.empty()) CheckCsiDriverName(attacher, path.Child("attacher"), errors);
}

void ValidateCsiStorageCapacity(const Context&, json::Value object, FieldErrors& errors) {
  CheckLabelSelector(object["nodeTopology"], FieldPath("nodeTopology"), errors);
  CheckSubdomain(object["storageClassName"].AsString(), FieldPath("storageClassName"), errors);
  for (const std::string_view field : {"capacity", "maximumVolumeSize"}) {
    const api::Quantity amount = QuantityOf(object[field]);
    if (amount.Sign() < 0) {
      errors.push_back(
          api::Invalid(FieldPath(field), amount.ToString(), "must be greater than or equal to 0"));
    }
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
             .traits = {.returns_deleted = true, .needs_version = true}});
  table.Add({.group = "storage.k8s.io",
             .resource = "csinodes",
             .validate = &ValidateCsiNode,
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
  table.Add({.group = "storage.k8s.io",
             .resource = "volumeattachments",
             .validate = &ValidateVolumeAttachment,
             .rules = kAttachmentRules,
             .traits = {.returns_deleted = true, .needs_version = true},
             .disabled = kDisabledOfDrivers});
  table.Add({.group = "storage.k8s.io",
             .resource = "volumeattributesclasses",
             .validate = &ValidateVolumeAttributesClass,
             .rules = kAttributesClassRules,
             .traits = {.returns_deleted = true}});
}

}  // namespace portcullis::registry

// Volumes and claims on them (pkg/apis/core/validation).

#include <algorithm>

#include "base/strings.h"
#include "registry/validation/kinds.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kVolumeSources[] = {"gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "hostPath",
                                               "glusterfs",
                                               "nfs",
                                               "rbd",
                                               "iscsi",
                                               "cinder",
                                               "cephfs",
                                               "fc",
                                               "flocker",
                                               "flexVolume",
                                               "azureFile",
                                               "vsphereVolume",
                                               "quobyte",
                                               "azureDisk",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "scaleIO",
                                               "local",
                                               "storageos",
                                               "csi"};

void CheckAccessModes(json::Value modes, const FieldPath& path, FieldErrors& errors) {
  if (modes.empty()) {
    errors.push_back(api::Required(path, "at least 1 access mode is required"));
  }
  for (const json::Value& mode : modes.elements()) {
    CheckOneOf(mode, path, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"},
               errors);
  }
}

}  // namespace

void ValidatePersistentVolumeClaim(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckAccessModes(spec["accessModes"], path.Child("accessModes"), errors);
  if (!spec["selector"].is_null()) {
    for (api::FieldError& error :
         api::ValidateLabelSelector(spec["selector"], path.Child("selector"))) {
      errors.push_back(std::move(error));
    }
  }
  const FieldPath storage_path = path.Child("resources").Key("storage");
  const json::Value storage = spec["resources"]["requests"]["storage"];
  if (storage.is_null()) {
    errors.push_back(api::Required(storage_path, ""));
  } else if (QuantityOf(storage).Sign() <= 0) {
    errors.push_back(api::Invalid(path.Child("resources", "requests").Key("storage"),
                                  QuantityOf(storage).ToString(), "must be greater than zero"));
  }
  if (const std::string_view name = spec["storageClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("storageClassName"), errors);
  }
  if (!spec["volumeMode"].is_null()) {
    CheckOneOf(spec["volumeMode"], path.Child("volumeMode"), {"Block", "Filesystem"}, errors);
  }
}

void ValidatePersistentVolumeClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                                         FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidatePersistentVolumeClaim(ctx, object, errors);
  const auto fixed = [&](json::Value spec) {
    spec = json::RemovePath(ctx.arena, spec, {"resources", "requests", "storage"});
    spec = json::Without(ctx.arena, spec, "volumeAttributesClassName");
    // A claim that has no volume yet may be given one.
    if (old["spec"]["volumeName"].AsString().empty()) {
      spec = json::Without(ctx.arena, spec, "volumeName");
    }
    if (old["spec"]["storageClassName"].is_null()) {
      spec = json::Without(ctx.arena, spec, "storageClassName");
    }
    return spec;
  };
  const FieldPath path("spec");
  if (!(fixed(object["spec"]) == fixed(old["spec"]))) {
    errors.push_back(
        api::Forbidden(path,
                       "spec is immutable after creation except resources.requests and "
                       "volumeAttributesClassName for bound claims"));
  }
  const api::Quantity now = QuantityOf(object["spec"]["resources"]["requests"]["storage"]);
  const api::Quantity before = QuantityOf(old["spec"]["resources"]["requests"]["storage"]);
  const bool bound = old["status"]["phase"].AsString() == "Bound";
  const FieldPath storage = path.Child("resources", "requests", "storage");
  if (now < before) {
    const api::Quantity capacity = QuantityOf(old["status"]["capacity"]["storage"]);
    if (!bound || now <= capacity) {
      errors.push_back(api::Forbidden(storage, "field can not be less than status.capacity"));
    }
  }
}

void ValidatePersistentVolume(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (spec["accessModes"].empty()) errors.push_back(api::Required(path.Child("accessModes"), ""));
  for (const json::Value& mode : spec["accessModes"].elements()) {
    CheckOneOf(mode, path.Child("accessModes"),
               {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}, errors);
  }
  if (spec["capacity"].empty()) errors.push_back(api::Required(path.Child("capacity"), ""));
  if (spec["capacity"]["storage"].is_null() || spec["capacity"].size() > 1) {
    errors.push_back(api::NotSupported(path.Child("capacity"), spec["capacity"], {"storage"}));
  }
  const std::size_t sources = static_cast<std::size_t>(
      std::count_if(std::begin(kVolumeSources), std::end(kVolumeSources),
                    [&](std::string_view source) { return !spec[source].is_null(); }));
  if (sources == 0) errors.push_back(api::Required(path, "must specify a volume type"));
  if (const std::string_view name = spec["storageClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("storageClassName"), errors);
  }
}

}  // namespace portcullis::registry

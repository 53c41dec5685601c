// Volumes and claims on them (pkg/apis/core/validation).

#include <algorithm>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "registry/validation/go_diff.h"
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

constexpr std::string_view kClaimSpec = "io.k8s.api.core.v1.PersistentVolumeClaimSpec";

// `to` with the member of `from`, or without it if that has none.
json::Value WithMemberOf(json::Arena& arena, json::Value to, json::Value from,
                         std::string_view name) {
  const json::Value* member = from.Find(name);
  return member == nullptr ? json::Without(arena, to, name) : json::With(arena, to, name, *member);
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
  const bool bound = old["status"]["phase"].AsString() == "Bound";
  // Both specs, with what may change made the same.
  json::Value after = object["spec"];
  json::Value before = old["spec"];
  if (before["volumeName"].AsString().empty()) {
    before = WithMemberOf(ctx.arena, before, after, "volumeName");
  }
  if (bound) {
    after = json::SetPath(ctx.arena, after, {"resources", "requests", "storage"},
                          before["resources"]["requests"]["storage"]);
    after = WithMemberOf(ctx.arena, after, before, "volumeAttributesClassName");
  }
  if (before["storageClassName"].is_null()) {
    after = WithMemberOf(ctx.arena, after, before, "storageClassName");
  }
  const FieldPath path("spec");
  if (!(after == before)) {
    std::string detail =
        "spec is immutable after creation except resources.requests and "
        "volumeAttributesClassName for bound claims";
    if (ctx.catalog != nullptr) {
      if (const auto* schema = ctx.catalog->FindDefinition(kClaimSpec)) {
        // Kubernetes shows the new one first.
        detail += "\n" + GoDiff(*schema, after, before);
      }
    }
    errors.push_back(api::Forbidden(path, detail));
  }
  const api::Quantity size = QuantityOf(object["spec"]["resources"]["requests"]["storage"]);
  const api::Quantity old_size = QuantityOf(old["spec"]["resources"]["requests"]["storage"]);
  const FieldPath storage = path.Child("resources", "requests", "storage");
  if (size < old_size) {
    const api::Quantity capacity = QuantityOf(old["status"]["capacity"]["storage"]);
    if (!bound || size <= capacity) {
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

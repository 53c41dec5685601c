// SPDX-License-Identifier: Apache-2.0

// VolumeAttachments (pkg/apis/storage/validation).

#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/storage/volume_checks.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

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
  CheckCsiDriverName(spec["attacher"].AsString(), path.Child("attacher"), errors);
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
  } else if (inline_spec) {
    CheckVolumeSpec(source["inlineVolumeSpec"], VolumeSpecOf::kAttachment,
                    source_path.Child("inlineVolumeSpec"), errors);
  }
  CheckSubdomain(spec["nodeName"].AsString(), path.Child("nodeName"), errors);
  CheckAttachmentStatus(object["status"], errors);
  if (!volume.is_null()) {
    CheckSubdomain(volume.AsString(), source_path.Child("persistentVolumeName"), errors);
  }
}

void ValidateVolumeAttachment(const Context&, json::Value object, FieldErrors& errors) {
  CheckAttachment(object, errors);
}

void ValidateVolumeAttachmentUpdate(const Context& ctx, json::Value object, json::Value old,
                                    FieldErrors& errors) {
  CheckAttachment(object, errors);
  if (object["spec"] == old["spec"]) return;
  errors.push_back(api::Invalid(
      FieldPath("spec"),
      GoValue(ctx, "io.k8s.api.storage.v1.VolumeAttachmentSpec", object["spec"], ctx.sent["spec"]),
      "field is immutable"));
}

constexpr DisabledField kDisabledOfAttachments[] = {
    {"MutableCSINodeAllocatableCount", "status.attachError.errorCode"},
    {"MutableCSINodeAllocatableCount", "status.detachError.errorCode"}};

}  // namespace

void AddVolumeAttachmentStrategy(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "volumeattachments",
             .validate = &ValidateVolumeAttachment,
             .validate_update = &ValidateVolumeAttachmentUpdate,
             .traits = {.returns_deleted = true,
                        .needs_version = true,
                        .status_keeps = StatusKeeps::kMetadata},
             .metadata = {.update = "F", .subresource = "F"},
             .disabled = kDisabledOfAttachments});
}

}  // namespace portcullis::registry

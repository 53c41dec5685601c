// SPDX-License-Identifier: Apache-2.0

// What volumes and the claims on them share (pkg/apis/core/validation). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// "" if the catalog is not known; else the difference of two structs of the type `definition`, as
// Kubernetes appends it to "… is immutable after creation". `sent` is `after` as it was sent
// (Context::sent).
std::string StructDifference(const Context& ctx, std::string_view definition, json::Value before,
                             json::Value after, json::Value sent = {});
// The names of the sources of a volume, in the order in which they are looked at.
std::span<const std::string_view> VolumeSources();
// An amount of storage; false if it is negative.
bool CheckNotNegative(const api::Quantity& amount, const FieldPath& path, FieldErrors& errors);
// The spec of a PersistentVolume, or the one that a VolumeAttachment has in place of a volume's name.
enum class VolumeSpecOf : std::uint8_t { kVolume, kAttachment };
void CheckVolumeSpec(json::Value spec, VolumeSpecOf of, const FieldPath& path, FieldErrors& errors);
// Of an update: without the gate VolumeAttributesClass spec.volumeAttributesClassName does not change.
void CheckAttributesClassStays(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors);
// The phase of a new object: "Pending".
json::Value PendingPhase();
// The annotation that was the storage class before v1.8.
inline constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";
void WarnOfBetaClass(json::Value object, std::vector<std::string>& warnings);

}  // namespace portcullis::registry

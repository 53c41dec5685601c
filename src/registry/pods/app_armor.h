// SPDX-License-Identifier: Apache-2.0

// AppArmor profiles of containers were annotations before they were fields: a new pod gets each
// from the other, so that old and new readers agree (Kubernetes docs, "Restrict a Container's
// Access to Resources with AppArmor").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::registry {

// With the name of a container behind it, the annotation that says the container's profile.
inline constexpr std::string_view kAppArmorAnnotation =
    "container.apparmor.security.beta.kubernetes.io/";

// Warns, where `warnings` is not null, of annotations that say what no field does: before validation,
// so that a pod that is refused has the warnings as well.
json::Value ReadAppArmorAnnotations(json::Arena& arena, json::Value pod,
                                    std::vector<std::string>* warnings);
// Whether the value of an annotation says what the field does. An unknown value says nothing.
bool SaysAppArmorProfile(std::string_view annotation, json::Value profile);
// "metadata.annotations[…]: deprecated since v1.30; …"; `annotation` is the path of the annotation.
std::string AppArmorAnnotationWarning(std::string_view annotation);

}  // namespace portcullis::registry

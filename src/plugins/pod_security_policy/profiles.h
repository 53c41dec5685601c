// SPDX-License-Identifier: Apache-2.0

// What both halves of a provider know: rules with ranges, and the annotations that name profiles.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::plugins::pod_security_policy {

inline constexpr std::string_view kMustRunAs = "MustRunAs";
inline constexpr std::string_view kLists[] = {"initContainers", "containers",
                                              "ephemeralContainers"};

inline constexpr std::string_view kSeccompDefault =
    "seccomp.security.alpha.kubernetes.io/defaultProfileName";
inline constexpr std::string_view kSeccompAllowed =
    "seccomp.security.alpha.kubernetes.io/allowedProfileNames";
inline constexpr std::string_view kSeccompOfPod = "seccomp.security.alpha.kubernetes.io/pod";
inline constexpr std::string_view kSeccompOfContainer =
    "container.seccomp.security.alpha.kubernetes.io/";
inline constexpr std::string_view kAppArmorDefault =
    "apparmor.security.beta.kubernetes.io/defaultProfileName";
inline constexpr std::string_view kAppArmorAllowed =
    "apparmor.security.beta.kubernetes.io/allowedProfileNames";
inline constexpr std::string_view kAppArmorOfContainer =
    "container.apparmor.security.beta.kubernetes.io/";

// A field of a container's security context, or the pod's if the container has none.
inline json::Value Effective(json::Value pod, json::Value container, std::string_view field) {
  const json::Value own = container["securityContext"][field];
  return own.is_null() ? pod["spec"]["securityContext"][field] : own;
}

// The field seccompProfile as annotations write it: "unconfined", "runtime/default"; "" for
// none.
std::string SeccompText(json::Value profile);

}  // namespace portcullis::plugins::pod_security_policy

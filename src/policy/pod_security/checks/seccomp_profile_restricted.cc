// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/seccomp_profile_restricted.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

bool IsValidType(json::Value profile) {
  std::string_view type = profile["type"].AsString();
  return type == "RuntimeDefault" || type == "Localhost";
}

CheckResult CheckProfiles(const PodView& pod) {
  Values types;
  Names set_badly;
  Names unset;
  const json::Value pod_profile = pod.spec["securityContext"]["seccompProfile"];
  const bool pod_is_good = IsValidType(pod_profile);
  const bool pod_is_bad = !pod_profile.is_null() && !pod_is_good;
  if (pod_is_bad) types.emplace(pod_profile["type"].AsString());
  VisitContainers(pod.spec, [&](json::Value container) {
    const json::Value profile = container["securityContext"]["seccompProfile"];
    if (profile.is_null()) {
      if (!pod_is_good) unset.push_back(container["name"].AsString());
    } else if (!IsValidType(profile)) {
      set_badly.push_back(container["name"].AsString());
      types.emplace(profile["type"].AsString());
    }
  });
  if (!types.empty()) {
    return Deny(
        "seccompProfile",
        base::StrCat(SettersText(pod_is_bad, set_badly),
                     " must not set securityContext.seccompProfile.type to ", JoinQuoted(types)));
  }
  if (unset.empty()) return Allow();
  return Deny("seccompProfile", base::StrCat("pod or ", ContainersText(unset),
                                             " must set securityContext.seccompProfile.type to "
                                             "\"RuntimeDefault\" or \"Localhost\""));
}

CheckResult CheckUnlessWindows(const PodView& pod) {
  return IsWindows(pod.spec) ? Allow() : CheckProfiles(pod);
}

constexpr std::string_view kOverrides[] = {"seccompProfile_baseline"};
constexpr CheckVersion kVersions[] = {{19, &CheckProfiles, kOverrides},
                                      {25, &CheckUnlessWindows, kOverrides}};

}  // namespace

constinit const Check kSeccompProfileRestricted = {"seccompProfile_restricted", Level::kRestricted,
                                                   kVersions};

}  // namespace portcullis::policy::pod_security

// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/run_as_non_root.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckUsers(const PodView& pod) {
  const json::Value pod_setting = pod.spec["securityContext"]["runAsNonRoot"];
  const bool pod_is_bad = !pod_setting.AsBool(true);
  Names set_badly;
  Names unset;
  VisitContainers(pod.spec, [&](json::Value container) {
    const json::Value setting = container["securityContext"]["runAsNonRoot"];
    if (!setting.AsBool(true)) {
      set_badly.push_back(container["name"].AsString());
    } else if (setting.is_null() && !pod_setting.AsBool()) {
      unset.push_back(container["name"].AsString());
    }
  });
  const std::string setters = SettersText(pod_is_bad, set_badly);
  if (!setters.empty()) {
    return Deny("runAsNonRoot != true",
                setters + " must not set securityContext.runAsNonRoot=false");
  }
  if (unset.empty()) return Allow();
  return Deny("runAsNonRoot != true", base::StrCat("pod or ", ContainersText(unset),
                                                   " must set securityContext.runAsNonRoot=true"));
}

CheckResult CheckUnlessUserNamespace(const PodView& pod) {
  return HasOwnUserNamespace(pod.spec) ? Allow() : CheckUsers(pod);
}

constexpr CheckVersion kVersions[] = {{0, &CheckUsers}, {35, &CheckUnlessUserNamespace}};

}  // namespace

constinit const Check kRunAsNonRoot = {"runAsNonRoot", Level::kRestricted, kVersions};

}  // namespace portcullis::policy::pod_security

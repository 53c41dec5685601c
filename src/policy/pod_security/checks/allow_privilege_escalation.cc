// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/allow_privilege_escalation.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckEscalation(const PodView& pod) {
  Names containers;
  VisitContainers(pod.spec, [&](json::Value container) {
    if (container["securityContext"]["allowPrivilegeEscalation"].AsBool(true)) {
      containers.push_back(container["name"].AsString());
    }
  });
  if (containers.empty()) return Allow();
  return Deny(
      "allowPrivilegeEscalation != false",
      ContainersText(containers) + " must set securityContext.allowPrivilegeEscalation=false");
}

CheckResult CheckUnlessWindows(const PodView& pod) {
  return IsWindows(pod.spec) ? Allow() : CheckEscalation(pod);
}

constexpr CheckVersion kVersions[] = {{8, &CheckEscalation}, {25, &CheckUnlessWindows}};

}  // namespace

constinit const Check kAllowPrivilegeEscalation = {"allowPrivilegeEscalation", Level::kRestricted,
                                                   kVersions};

}  // namespace portcullis::policy::pod_security

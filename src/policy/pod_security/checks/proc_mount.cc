// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/proc_mount.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {

CheckResult CheckProcMounts(const PodView& pod) {
  Names containers;
  Values types;
  VisitContainers(pod.spec, [&](json::Value container) {
    const json::Value type = container["securityContext"]["procMount"];
    if (!type.is_string() || type.AsString() == "Default") return;
    containers.push_back(container["name"].AsString());
    types.emplace(type.AsString());
  });
  if (containers.empty()) return Allow();
  return Deny("procMount",
              base::StrCat(ContainersText(containers),
                           " must not set securityContext.procMount to ", JoinQuoted(types)));
}

namespace {

CheckResult CheckUnlessUserNamespace(const PodView& pod) {
  return HasOwnUserNamespace(pod.spec) ? Allow() : CheckProcMounts(pod);
}

constexpr CheckVersion kVersions[] = {{0, &CheckProcMounts}, {35, &CheckUnlessUserNamespace}};

}  // namespace

constinit const Check kProcMount = {"procMount", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

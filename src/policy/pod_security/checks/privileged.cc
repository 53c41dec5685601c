// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/privileged.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckPrivileged(const PodView& pod) {
  Names containers;
  VisitContainers(pod.spec, [&](json::Value container) {
    if (container["securityContext"]["privileged"].AsBool()) {
      containers.push_back(container["name"].AsString());
    }
  });
  if (containers.empty()) return Allow();
  return Deny("privileged", base::StrCat(ContainersText(containers),
                                         " must not set securityContext.privileged=true"));
}

constexpr CheckVersion kVersions[] = {{0, &CheckPrivileged}};

}  // namespace

constinit const Check kPrivileged = {"privileged", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

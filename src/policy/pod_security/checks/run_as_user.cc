// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/run_as_user.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

bool IsRoot(json::Value security_context) {
  const json::Value user = security_context["runAsUser"];
  return user.is_int() && user.AsInt() == 0;
}

CheckResult CheckUser(const PodView& pod) {
  Names containers;
  VisitContainers(pod.spec, [&](json::Value container) {
    if (IsRoot(container["securityContext"])) containers.push_back(container["name"].AsString());
  });
  const std::string setters = SettersText(IsRoot(pod.spec["securityContext"]), containers);
  if (setters.empty()) return Allow();
  return Deny("runAsUser=0", setters + " must not set runAsUser=0");
}

CheckResult CheckUnlessUserNamespace(const PodView& pod) {
  return HasOwnUserNamespace(pod.spec) ? Allow() : CheckUser(pod);
}

constexpr CheckVersion kVersions[] = {{23, &CheckUser}, {35, &CheckUnlessUserNamespace}};

}  // namespace

constinit const Check kRunAsUser = {"runAsUser", Level::kRestricted, kVersions};

}  // namespace portcullis::policy::pod_security

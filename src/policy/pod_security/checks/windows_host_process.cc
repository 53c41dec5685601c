// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/windows_host_process.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

bool IsHostProcess(json::Value security_context) {
  return security_context["windowsOptions"]["hostProcess"].AsBool();
}

CheckResult CheckHostProcess(const PodView& pod) {
  Names containers;
  VisitContainers(pod.spec, [&](json::Value container) {
    if (IsHostProcess(container["securityContext"])) {
      containers.push_back(container["name"].AsString());
    }
  });
  const std::string setters = SettersText(IsHostProcess(pod.spec["securityContext"]), containers);
  if (setters.empty()) return Allow();
  return Deny("hostProcess",
              setters + " must not set securityContext.windowsOptions.hostProcess=true");
}

constexpr CheckVersion kVersions[] = {{0, &CheckHostProcess}};

}  // namespace

constinit const Check kWindowsHostProcess = {"windowsHostProcess", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/proc_mount_restricted.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckMounts(const PodView& pod) {
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

constexpr std::string_view kOverrides[] = {"procMount"};
constexpr CheckVersion kVersions[] = {{35, &CheckMounts, kOverrides}};

}  // namespace

constinit const Check kProcMountRestricted = {"procMount_restricted", Level::kRestricted,
                                              kVersions};

}  // namespace portcullis::policy::pod_security

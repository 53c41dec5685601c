// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/capabilities_baseline.h"

#include <algorithm>

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

// Kubernetes docs, "Pod Security Standards": Baseline, Capabilities.
constexpr std::string_view kAllowed[] = {
    "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",       "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT",
};

CheckResult CheckAdded(const PodView& pod) {
  Names containers;
  Values forbidden;
  VisitContainers(pod.spec, [&](json::Value container) {
    bool bad = false;
    for (const json::Value& added :
         container["securityContext"]["capabilities"]["add"].elements()) {
      std::string_view name = added.AsString();
      if (std::find(std::begin(kAllowed), std::end(kAllowed), name) != std::end(kAllowed)) continue;
      bad = true;
      forbidden.emplace(name);
    }
    if (bad) containers.push_back(container["name"].AsString());
  });
  if (containers.empty()) return Allow();
  return Deny("non-default capabilities",
              base::StrCat(ContainersText(containers), " must not include ", JoinQuoted(forbidden),
                           " in securityContext.capabilities.add"));
}

constexpr CheckVersion kVersions[] = {{0, &CheckAdded}};

}  // namespace

constinit const Check kCapabilitiesBaseline = {"capabilities_baseline", Level::kBaseline,
                                               kVersions};

}  // namespace portcullis::policy::pod_security

// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/capabilities_restricted.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

bool DropsAll(json::Value capabilities) {
  for (const json::Value& dropped : capabilities["drop"].elements()) {
    if (dropped.AsString() == "ALL") return true;
  }
  return false;
}

CheckResult CheckCapabilities(const PodView& pod) {
  Names keeping;
  Names adding;
  Values forbidden;
  VisitContainers(pod.spec, [&](json::Value container) {
    const json::Value capabilities = container["securityContext"]["capabilities"];
    std::string_view name = container["name"].AsString();
    if (!DropsAll(capabilities)) keeping.push_back(name);
    bool bad = false;
    for (const json::Value& added : capabilities["add"].elements()) {
      if (added.AsString() == "NET_BIND_SERVICE") continue;
      forbidden.emplace(added.AsString());
      bad = true;
    }
    if (bad) adding.push_back(name);
  });

  std::vector<std::string> parts;
  if (!keeping.empty()) {
    parts.push_back(ContainersText(keeping) +
                    " must set securityContext.capabilities.drop=[\"ALL\"]");
  }
  if (!adding.empty()) {
    parts.push_back(base::StrCat(ContainersText(adding), " must not include ",
                                 JoinQuoted(forbidden), " in securityContext.capabilities.add"));
  }
  if (parts.empty()) return Allow();
  return Deny("unrestricted capabilities", base::Join(parts, "; "));
}

CheckResult CheckUnlessWindows(const PodView& pod) {
  return IsWindows(pod.spec) ? Allow() : CheckCapabilities(pod);
}

constexpr std::string_view kOverrides[] = {"capabilities_baseline"};
constexpr CheckVersion kVersions[] = {{22, &CheckCapabilities, kOverrides},
                                      {25, &CheckUnlessWindows, kOverrides}};

}  // namespace

constinit const Check kCapabilitiesRestricted = {"capabilities_restricted", Level::kRestricted,
                                                 kVersions};

}  // namespace portcullis::policy::pod_security

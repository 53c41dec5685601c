// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/host_ports.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckPorts(const PodView& pod) {
  Names containers;
  Values ports;  // sorted as texts
  VisitContainers(pod.spec, [&](json::Value container) {
    bool bad = false;
    for (const json::Value& port : container["ports"].elements()) {
      const std::int64_t number = port["hostPort"].AsInt();
      if (number == 0) continue;
      bad = true;
      ports.insert(std::to_string(number));
    }
    if (bad) containers.push_back(container["name"].AsString());
  });
  if (containers.empty()) return Allow();
  return Deny(
      "hostPort",
      base::StrCat(ContainersText(containers), " ", Plural("uses", "use", containers.size()), " ",
                   Plural("hostPort", "hostPorts", ports.size()), " ", base::Join(ports, ", ")));
}

constexpr CheckVersion kVersions[] = {{0, &CheckPorts}};

}  // namespace

constinit const Check kHostPorts = {"hostPorts", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

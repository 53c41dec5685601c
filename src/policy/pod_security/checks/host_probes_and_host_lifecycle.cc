// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/host_probes_and_host_lifecycle.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

// Adds the hosts that a probe or lifecycle handler names; true if there were any.
bool AddHosts(json::Value handler, Values& hosts) {
  bool found = false;
  for (std::string_view action : {"httpGet", "tcpSocket"}) {
    std::string_view host = handler[action]["host"].AsString();
    if (host.empty()) continue;
    hosts.emplace(host);
    found = true;
  }
  return found;
}

CheckResult CheckHosts(const PodView& pod) {
  Values containers;
  Values hosts;
  VisitContainers(pod.spec, [&](json::Value container) {
    bool bad = false;
    for (std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
      bad |= AddHosts(container[probe], hosts);
    }
    for (std::string_view hook : {"postStart", "preStop"}) {
      bad |= AddHosts(container["lifecycle"][hook], hosts);
    }
    if (bad) containers.emplace(container["name"].AsString());
  });
  if (containers.empty()) return Allow();
  return Deny(
      "probe or lifecycle host",
      base::StrCat(Plural("container", "containers", containers.size()), " ",
                   JoinQuoted(containers), " ", Plural("uses", "use", containers.size()), " ",
                   Plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.size()), " ",
                   JoinQuoted(hosts)));
}

constexpr CheckVersion kVersions[] = {{34, &CheckHosts}};

}  // namespace

constinit const Check kHostProbesAndHostLifecycle = {"hostProbesAndHostLifecycle", Level::kBaseline,
                                                     kVersions};

}  // namespace portcullis::policy::pod_security

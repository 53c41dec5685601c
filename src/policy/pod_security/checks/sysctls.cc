// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/sysctls.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

struct SafeSysctl {
  std::string_view name;
  int since_minor;
};

// Kubernetes docs, "Pod Security Standards": Baseline, Sysctls.
constexpr SafeSysctl kSafe[] = {
    {"kernel.shm_rmid_forced", 0},
    {"net.ipv4.ip_local_port_range", 0},
    {"net.ipv4.tcp_syncookies", 0},
    {"net.ipv4.ping_group_range", 0},
    {"net.ipv4.ip_unprivileged_port_start", 0},
    {"net.ipv4.ip_local_reserved_ports", 27},
    {"net.ipv4.tcp_keepalive_time", 29},
    {"net.ipv4.tcp_fin_timeout", 29},
    {"net.ipv4.tcp_keepalive_intvl", 29},
    {"net.ipv4.tcp_keepalive_probes", 29},
    {"net.ipv4.tcp_rmem", 32},
    {"net.ipv4.tcp_wmem", 32},
    {"net.ipv4.tcp_slow_start_after_idle", 37},
    {"net.ipv4.tcp_notsent_lowat", 37},
};

bool IsSafe(std::string_view name, int minor) {
  for (const SafeSysctl& safe : kSafe) {
    if (safe.name == name) return safe.since_minor <= minor;
  }
  return false;
}

template <int minor>
CheckResult CheckNames(const PodView& pod) {
  Names forbidden;
  for (const json::Value& sysctl : pod.spec["securityContext"]["sysctls"].elements()) {
    std::string_view name = sysctl["name"].AsString();
    if (!IsSafe(name, minor)) forbidden.push_back(name);
  }
  if (forbidden.empty()) return Allow();
  return Deny("forbidden sysctls", base::Join(forbidden, ", "));
}

constexpr CheckVersion kVersions[] = {{0, &CheckNames<0>},
                                      {27, &CheckNames<27>},
                                      {29, &CheckNames<29>},
                                      {32, &CheckNames<32>},
                                      {37, &CheckNames<37>}};

}  // namespace

constinit const Check kSysctls = {"sysctls", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

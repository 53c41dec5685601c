// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/host_namespaces.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckShared(const PodView& pod) {
  std::vector<std::string> shared;
  for (std::string_view field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (pod.spec[field].AsBool()) shared.push_back(base::StrCat(field, "=true"));
  }
  if (shared.empty()) return Allow();
  return Deny("host namespaces", base::Join(shared, ", "));
}

constexpr CheckVersion kVersions[] = {{0, &CheckShared}};

}  // namespace

constinit const Check kHostNamespaces = {"hostNamespaces", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

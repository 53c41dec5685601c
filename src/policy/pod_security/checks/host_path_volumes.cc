// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/host_path_volumes.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

CheckResult CheckVolumes(const PodView& pod) {
  Names volumes;
  for (const json::Value& volume : pod.spec["volumes"].elements()) {
    if (!volume["hostPath"].is_null()) volumes.push_back(volume["name"].AsString());
  }
  if (volumes.empty()) return Allow();
  return Deny("hostPath volumes",
              base::StrCat(Plural("volume", "volumes", volumes.size()), " ", JoinQuoted(volumes)));
}

constexpr CheckVersion kVersions[] = {{0, &CheckVolumes}};

}  // namespace

constinit const Check kHostPathVolumes = {"hostPathVolumes", Level::kBaseline, kVersions};

}  // namespace portcullis::policy::pod_security

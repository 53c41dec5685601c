// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/proc_mount_restricted.h"

#include "policy/pod_security/checks/proc_mount.h"

namespace portcullis::policy::pod_security {
namespace {

constexpr std::string_view kOverrides[] = {"procMount"};
constexpr CheckVersion kVersions[] = {{35, &CheckProcMounts, kOverrides}};

}  // namespace

constinit const Check kProcMountRestricted = {"procMount_restricted", Level::kRestricted,
                                              kVersions};

}  // namespace portcullis::policy::pod_security

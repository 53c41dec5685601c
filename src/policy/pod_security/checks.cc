// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/check.h"
#include "policy/pod_security/checks/allow_privilege_escalation.h"
#include "policy/pod_security/checks/app_armor_profile.h"
#include "policy/pod_security/checks/capabilities_baseline.h"
#include "policy/pod_security/checks/capabilities_restricted.h"
#include "policy/pod_security/checks/host_namespaces.h"
#include "policy/pod_security/checks/host_path_volumes.h"
#include "policy/pod_security/checks/host_ports.h"
#include "policy/pod_security/checks/host_probes_and_host_lifecycle.h"
#include "policy/pod_security/checks/privileged.h"
#include "policy/pod_security/checks/proc_mount.h"
#include "policy/pod_security/checks/proc_mount_restricted.h"
#include "policy/pod_security/checks/restricted_volumes.h"
#include "policy/pod_security/checks/run_as_non_root.h"
#include "policy/pod_security/checks/run_as_user.h"
#include "policy/pod_security/checks/se_linux_options.h"
#include "policy/pod_security/checks/seccomp_profile_baseline.h"
#include "policy/pod_security/checks/seccomp_profile_restricted.h"
#include "policy/pod_security/checks/sysctls.h"
#include "policy/pod_security/checks/windows_host_process.h"

namespace portcullis::policy::pod_security {
namespace {

// The order in which failures are reported.
constexpr const Check* kChecks[] = {
    &kAppArmorProfile,
    &kCapabilitiesBaseline,
    &kHostNamespaces,
    &kHostPathVolumes,
    &kHostPorts,
    &kHostProbesAndHostLifecycle,
    &kPrivileged,
    &kProcMount,
    &kSeLinuxOptions,
    &kSeccompProfileBaseline,
    &kSysctls,
    &kWindowsHostProcess,
    &kAllowPrivilegeEscalation,
    &kCapabilitiesRestricted,
    &kProcMountRestricted,
    &kRestrictedVolumes,
    &kRunAsNonRoot,
    &kRunAsUser,
    &kSeccompProfileRestricted,
};

}  // namespace

std::span<const Check* const> AllChecks() { return kChecks; }

}  // namespace portcullis::policy::pod_security

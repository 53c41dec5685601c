// SPDX-License-Identifier: Apache-2.0

#include "cli/confinement.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/strings.h"

namespace portcullis::cli {
namespace {

base::Status Failed(std::string_view what) {
  return base::ConfigError(base::StrCat(what, ": ", std::strerror(errno)));
}

constexpr std::uint64_t Bit(int capability) { return std::uint64_t{1} << capability; }

// A program that is started gets none back: with no_new_privs neither files nor root give any, and
// the ambient set is emptied. The bounding set is left as it is: to change it takes a capability.
base::Status KeepCapabilities(std::uint64_t kept) {
  // Kernels without ambient capabilities have none to clear.
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return Failed("capget");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto mask = static_cast<std::uint32_t>(kept >> (32 * i));
    sets[i].effective &= mask;
    sets[i].permitted &= mask;
    sets[i].inheritable = 0;
  }
  if (syscall(SYS_capset, &header, sets.data()) != 0) return Failed("capset");
  return base::OkStatus();
}

base::Status ForbidCoreDumps() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return Failed("setrlimit RLIMIT_CORE");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return Failed("prctl PR_SET_DUMPABLE");
  return base::OkStatus();
}

}  // namespace

bool RunsAsRoot() { return geteuid() == 0; }

base::Status Confine(const ConfinementOptions& options) {
  umask(077);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("prctl PR_SET_NO_NEW_PRIVS");
  std::uint64_t kept = 0;
  if (options.binds_low_port) kept |= Bit(CAP_NET_BIND_SERVICE);
  if (RunsAsRoot()) kept |= Bit(CAP_DAC_OVERRIDE) | Bit(CAP_DAC_READ_SEARCH);
  TRY(KeepCapabilities(kept));
  if (!options.allow_core_dumps) return ForbidCoreDumps();
  // A process that changes its capabilities is no longer dumpable.
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return Failed("prctl PR_SET_DUMPABLE");
  return base::OkStatus();
}

}  // namespace portcullis::cli

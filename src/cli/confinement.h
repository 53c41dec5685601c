// SPDX-License-Identifier: Apache-2.0

// Confinement: `portcullis serve` gives up the rights that it does not need, so that a defect in
// it, or in a program that it starts (exec credential plugins), can do less.
//
//   umask 077                 files and folders it makes are its user's alone
//   RLIMIT_CORE 0             no core files, which would hold private keys
//   not dumpable              other processes of its user cannot read its memory (ptrace, /proc)
//   no_new_privs              no setuid program that it starts gains rights
//   capabilities              all are dropped but those that are still needed, see below
//
// There is no seccomp or Landlock filter: an exec credential plugin may be any program and inherits
// the filter, so it would have to allow nearly everything.
#pragma once

#include "base/status.h"

namespace portcullis::cli {

struct ConfinementOptions {
  // --allow-core-dumps: core files, debuggers and profilers work.
  bool allow_core_dumps = false;
  // A port below 1024 is going to be bound: CAP_NET_BIND_SERVICE is kept.
  bool binds_low_port = false;
};

// Confines the process. Before any thread is started: threads inherit it. A process of root keeps
// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, because its files may be another user's (a mounted
// folder); root owns the files of the machine even without them, so that nothing is won by dropping
// them. Run it as another user instead.
base::Status Confine(const ConfinementOptions& options);

// Whether the process runs as root.
bool RunsAsRoot();

}  // namespace portcullis::cli

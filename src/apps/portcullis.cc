// SPDX-License-Identifier: Apache-2.0

#include "base/stack_size.h"
#include "cli/command.h"
#include "net/tls_memory.h"

#if defined(PC_STATIC)
#include <nss.h>
#endif

int main(int argc, char** argv) {
#if defined(PC_STATIC)
  // glibc has the lookup in /etc/hosts and by DNS built in, but would load libraries of the machine,
  // perhaps of another glibc, for what else /etc/nsswitch.conf names.
  __nss_configure_lookup("hosts", "files dns");
#endif
  portcullis::base::RaiseStackSize();
  portcullis::net::KeepTlsBuffers();
  return portcullis::cli::RunProgram(argc, argv);
}

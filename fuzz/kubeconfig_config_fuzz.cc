// SPDX-License-Identifier: Apache-2.0

// Any text as a kubeconfig: reading never crashes, and what was read can be resolved. No
// file is opened.
#include "kubeconfig/config.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kubeconfig/client_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace kubeconfig = portcullis::kubeconfig;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = kubeconfig::Parse(text, "/nonexistent");
  if (!config.ok()) return 0;
  for (auto& [name, cluster] : config->clusters) cluster.certificate_authority.clear();
  for (auto& [name, user] : config->users) {
    user.client_certificate.clear();
    user.client_key.clear();
  }
  (void)kubeconfig::Resolve(*config);
  for (const auto& [name, context] : config->contexts) (void)kubeconfig::Resolve(*config, name);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0

// Any text as an EncryptionConfiguration: reading it never crashes, and with what was accepted every
// value that is written can be read.
#include <cstdlib>
#include <string>

#include "server/encryption/encryption_file.h"

namespace store = portcullis::store;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = portcullis::server::ParseEncryptionFile(text, "file", size % 2 == 0);
  if (!config.ok()) return 0;
  const auto encryption = store::Encryption::Make(*config);
  if (!encryption.ok()) std::abort();
  for (const store::Collection& collection :
       {store::Collection{"", "secrets"}, {"", "pods"}, {"apps", "deployments"}}) {
    constexpr std::string_view kPlain = R"({"kind":"Secret"})";
    const auto sealed = (*encryption)->ToStorage(collection, "/registry/x", kPlain);
    if (!sealed.ok()) std::abort();
    const auto opened = (*encryption)->FromStorage(collection, "/registry/x", sealed->bytes);
    if (!opened.ok() || opened->plain != kPlain || opened->seal != sealed->seal) std::abort();
    if ((*encryption)->IsStale(collection, sealed->seal)) std::abort();
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0

// PEM as Go's encoding/pem reads it.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::pki {

struct PemBlock {
  std::string type;
  bool has_headers = false;
  std::string bytes;
};
// The next block of `text`, which is moved past it; false if there is none. Text between blocks and
// malformed blocks are skipped. BEGIN and END stand at the start of a line each, and what Go skips
// is skipped here: a reader that found another block would judge another certificate. Linear.
bool NextPemBlock(std::string_view& text, PemBlock& block);

}  // namespace portcullis::pki

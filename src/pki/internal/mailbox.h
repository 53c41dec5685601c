// SPDX-License-Identifier: Apache-2.0

// A mailbox of an e-mail address in a certificate, as Go reads RFC 2821: quoted or not, escapes
// resolved.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace portcullis::pki {

struct Mailbox {
  std::string local;
  std::string domain;
};
std::optional<Mailbox> ParseMailbox(std::string_view text);

}  // namespace portcullis::pki

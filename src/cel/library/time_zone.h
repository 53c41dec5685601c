// SPDX-License-Identifier: Apache-2.0

// Offsets of named time zones, read from the system's zone files (TZif, RFC 8536).
#pragma once

#include <cstdint>
#include <string_view>

#include <memory>
#include <string>

#include "base/status.h"
#include "cel/library.h"

namespace portcullis::cel {

// Seconds east of UTC at an instant, for an IANA name ("", "UTC", "Europe/Berlin") or an offset
// `[+-]HH:MM`. Status: Go's texts, `unknown time zone Nowhere/City`.
base::Result<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds);

// A zone file that is in memory.
class ZoneFile final : public Prepared {
 public:
  explicit ZoneFile(std::string data) : data_(std::move(data)) {}
  base::Result<std::int64_t> Offset(std::int64_t seconds) const;

 private:
  std::string data_;
};

// For rows whose second argument names a zone: reads its file once. Null for anything but a known
// name; the call itself says what is wrong then.
base::Result<std::shared_ptr<const Prepared>> PrepareZone(std::span<const Value> args);

}  // namespace portcullis::cel

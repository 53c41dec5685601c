// Offsets of named time zones, read from the system's zone files (TZif, RFC 8536).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace portcullis::cel {

// Seconds east of UTC at an instant, for an IANA name ("", "UTC", "Europe/Berlin") or an offset
// `[+-]HH:MM`. Status: Go's texts, `unknown time zone Nowhere/City`.
base::Result<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds);

}  // namespace portcullis::cel

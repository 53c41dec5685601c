// The host of a URI in a certificate, as Go's url.Parse finds it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::net::internal {

// "a.example:1" of "https://user@a.example:1/path"; "" if the URI has none. Errors are those of
// Go's url.Parse: `parse "http://[::1": missing ']' in host`.
base::Result<std::string> HostOfUri(std::string_view uri);

}  // namespace portcullis::net::internal

// SPDX-License-Identifier: Apache-2.0

// Tells systemd that the server is ready (sd_notify(3), Type=notify).
#pragma once

#include <string_view>

namespace portcullis::cli {

// Sends "READY=1" or "STOPPING=1" to the socket that $NOTIFY_SOCKET names. Without one, or if it does
// not answer, nothing happens: the server serves all the same.
void NotifyServiceManager(std::string_view state);

}  // namespace portcullis::cli

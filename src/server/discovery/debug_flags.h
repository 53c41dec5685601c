// SPDX-License-Identifier: Apache-2.0

// /debug/flags: flags that are changed while the server runs. There is one, the verbosity of the log: `PUT
// /debug/flags/v` with a number. Texts are kube-apiserver's.
#pragma once

#include "server/call.h"

namespace portcullis::server {

inline constexpr std::string_view kDebugFlagsPath = "/debug/flags";

Reply ServeDebugFlags(const Call& call);

}  // namespace portcullis::server

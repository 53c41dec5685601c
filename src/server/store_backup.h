// SPDX-License-Identifier: Apache-2.0

// GET /debug/store/backup: a copy of the database, as it is at one moment, for `portcullis store
// backup`. Values that are encrypted at rest are encrypted in it, all others are plain: by default
// only system:masters may get this path (RBAC, non-resource URLs).
//
// The copy is made next to the database, where there must be room for it; its file has no name any
// more when it is sent, so that nothing is left behind however the request ends.
#pragma once

#include <string_view>

#include "server/call.h"

namespace portcullis::server {

inline constexpr std::string_view kStoreBackupPath = "/debug/store/backup";

// Blocks while the copy is made. A store without a database is a BadRequest.
Reply ServeStoreBackup(Call& call);

}  // namespace portcullis::server

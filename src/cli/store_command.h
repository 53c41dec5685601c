// SPDX-License-Identifier: Apache-2.0

// `portcullis store …`: work on the database of a data directory: check, backup, restore, compact,
// export, import, get. But for `backup` no server may use the directory meanwhile.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kStoreBackup;
extern const Command kStoreCheck;
extern const Command kStoreCompact;
extern const Command kStoreExport;
extern const Command kStoreGet;
extern const Command kStoreImport;
extern const Command kStoreRestore;

}  // namespace portcullis::cli

// SPDX-License-Identifier: Apache-2.0

// `portcullis store backup`: a copy of a database, taken from its file or from the server that has
// it open.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "base/status.h"
#include "cli/store_options.h"
#include "store/embedded/maintenance.h"

namespace portcullis::cli {

struct BackupResult {
  store::DatabaseReport report;  // of the copy, whose values have not been decrypted
  bool from_server = false;
};

// Makes `file`, which is complete and on the disk when it gets its name. Errors: it is there
// already, unless options.replace; neither the database nor its server can be reached.
base::Result<BackupResult> MakeBackup(const StoreOptions& options, const std::string& file);

// Under which name `file` is made.
std::string UnfinishedName(const std::string& file);

// `file` can be made: it is not there, or may be replaced.
base::Status CheckNew(const std::string& file, bool replace);
// Makes a file that its owner alone can read of what `write` writes. It gets its name when it is on
// the disk; on errors nothing is left behind.
base::Status WriteNewFile(const std::string& file, bool replace,
                          const std::function<base::Status(std::FILE*)>& write);

}  // namespace portcullis::cli

// SPDX-License-Identifier: Apache-2.0

// Work on database files that no server has open: what `portcullis store` does without one.
//
// Each call takes the file's lock and returns it. Errors (ConfigError) are those of OpenEmbedded():
// in use by another process, not a database, damaged pages. What is made is made under another name
// and renamed when it is complete and on the disk, so that a failure leaves what was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/cache/cache.h"
#include "store/encryption/transformer.h"

namespace portcullis::store {

struct DatabaseReport {
  std::int64_t format = 0;
  std::int64_t revision = 0;
  std::size_t objects = 0;    // that are in order
  std::size_t encrypted = 0;  // of these and of those no key decrypts
  std::size_t set_aside = 0;  // rows of the table `damaged`
  // What is wrong, in words: pages, rows that do not match their checksums, objects that are no
  // JSON or of another name.
  std::vector<std::string> damaged;
  // Objects that no key decrypts: storage key and error.
  std::vector<std::string> unreadable;
};

// Looks at everything in the file and changes nothing. `transformer` may be null.
base::Result<DatabaseReport> CheckDatabase(const std::string& path, const Transformer* transformer);

// Everything in the file, decrypted; what cannot be decrypted is in Content::unreadable. Damaged
// rows are an error.
base::Result<Content> ReadDatabase(const std::string& path, const Transformer* transformer);

// Makes a new database of `content`, with the revisions that the objects have. REQUIRES: no two
// objects have one revision or one key. Error: there is a database, unless `replace`.
base::Status WriteDatabase(const std::string& path, const Content& content,
                           const Transformer* transformer, bool replace);

// Copies the database at `from` to a new file, with what is in its log.
base::Status CopyDatabaseFile(const std::string& from, const std::string& to, bool replace);

// Writes the file anew without free pages, and empties the log: deleted content is gone then. Error: a
// newer format.
base::Status CompactDatabase(const std::string& path);

}  // namespace portcullis::store

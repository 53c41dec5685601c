// SPDX-License-Identifier: Apache-2.0

// The durable store of one server: SQLite 3 in one file, whole content in memory.
//
// The file format is described in docs/internals/store.md. The file is locked for as long as the
// store is open; a second server on the same file is refused.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/status.h"
#include "store/options.h"
#include "store/store.h"

namespace portcullis::store {

// Opens the database at `path`, making it if there is none (its folder must exist). Errors name the
// path, what is wrong with it and what to do: locked by another process, not a database, empty,
// damaged (with the objects whose checksum is wrong), written by a newer version, folder not
// writable, disk full.
//
// With options.skip_damaged objects whose checksum is wrong are logged and moved to the table
// `damaged` of the file, and the store opens without them; `set_aside` becomes the number of
// objects that have ever been moved there.
//
// With options.transformer values are encrypted before they are written, and what is deleted is
// overwritten. An object that no key decrypts is logged as an error and left in the file; reads and
// writes of it, and lists of its collection, fail (Reader::WhyUnreadable()). Where the server goes on
// without it is for the caller to judge.
base::Result<std::unique_ptr<Store>> OpenEmbedded(const std::string& path,
                                                  const Options& options = {},
                                                  std::size_t* set_aside = nullptr);

}  // namespace portcullis::store

// SPDX-License-Identifier: Apache-2.0

// ContentReader reads what a database file holds and holds every row against its checksum.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/cache/cache.h"
#include "store/embedded/checksum.h"
#include "store/embedded/sqlite_statement.h"
#include "store/encryption/transformer.h"

namespace portcullis::store {

class ContentReader {
 public:
  // Names of collections by their number in the file.
  using Names = std::map<std::int64_t, std::shared_ptr<const CollectionName>>;
  using Seals = std::unordered_map<std::int64_t, Seal>;

  // `db` is inside the transaction of OpenDatabaseFile() and must outlive the reader. `transformer`
  // decrypts; null: nothing is encrypted.
  ContentReader(sqlite3* db, const std::string& path, const Transformer* transformer)
      : db_(db), path_(path), transformer_(transformer) {}

  // Reads everything. A row that does not match its checksum is left out and noted; one that cannot
  // be decrypted becomes one of Content::unreadable.
  base::Status Read();
  // What was found damaged, each in words: `configmaps "default/a" of revision 17`.
  const std::vector<std::string>& damaged() const { return damaged_; }
  // Moves the damaged rows into the table `damaged` and makes good what else is needed, so that the
  // next Read() finds nothing.
  base::Status SetDamagedAside();
  // How many rows the table `damaged` holds from this and earlier times.
  base::Result<std::size_t> CountSetAside();

  const Names& names() const { return names_; }
  Content TakeContent() { return std::move(content_); }
  // The seals of encrypted objects, by revision.
  Seals TakeSeals() { return std::move(seals_); }

 private:
  base::Status ReadMeta();
  base::Status ReadNames();
  base::Status ReadObjects();
  base::Status ReadObject(const ObjectRow& row, std::int64_t checksum);
  base::Result<Opened> Decrypt(const ObjectRow& row, const CollectionName& name) const;
  std::string Describe(const ObjectRow& row) const;

  sqlite3* const db_;
  const std::string path_;
  const Transformer* const transformer_;
  Names names_;
  Content content_;
  Seals seals_;
  bool meta_is_damaged_ = false;
  std::vector<std::string> damaged_;
  std::vector<std::int64_t> damaged_objects_;      // their revisions
  std::vector<std::int64_t> damaged_collections_;  // their numbers
};

}  // namespace portcullis::store

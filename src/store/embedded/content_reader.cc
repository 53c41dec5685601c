// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/content_reader.h"

#include <algorithm>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "store/embedded/database_file.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

// How far the revision is moved on if the file no longer says how far it was: no deletion since the
// last write that left a row can have come so far.
constexpr std::int64_t kRevisionGap = 1'000'000;

constexpr const char* kDamagedTable =
    "CREATE TABLE IF NOT EXISTS damaged(revision INTEGER, collection INTEGER, namespace TEXT,"
    " name TEXT, revision_at INTEGER, bytes BLOB, checksum INTEGER)";

}  // namespace

base::Status ContentReader::Read() {
  names_.clear();
  content_ = {};
  seals_.clear();
  meta_is_damaged_ = false;
  damaged_.clear();
  damaged_objects_.clear();
  damaged_collections_.clear();
  TRY(ReadMeta());
  TRY(ReadNames());
  return ReadObjects();
}

base::Status ContentReader::ReadMeta() {
  int found = 0;
  Statement rows(db_, "SELECT name, value, checksum FROM meta WHERE name IN ('format','revision')");
  int code = rows.Step();
  for (; code == SQLITE_ROW; code = rows.Step(), ++found) {
    const std::string_view name = rows.Bytes(0);
    if (rows.Int(2) != ChecksumOfMeta(name, rows.Int(1))) {
      meta_is_damaged_ = true;
      damaged_.push_back(base::StrCat("the ", name, " in meta"));
    } else if (name == "revision") {
      content_.revision = rows.Int(1);
    }
  }
  if (code != SQLITE_DONE) return OpenError(db_, code, path_);
  if (found < 2 && !meta_is_damaged_) {
    meta_is_damaged_ = true;
    damaged_.emplace_back("a row of meta is missing");
  }
  return base::OkStatus();
}

base::Status ContentReader::ReadNames() {
  Statement rows(db_, "SELECT id, api_group, resource, checksum FROM collections");
  int code = rows.Step();
  for (; code == SQLITE_ROW; code = rows.Step()) {
    const std::int64_t id = rows.Int(0);
    const std::string_view group = rows.Bytes(1);
    const std::string_view resource = rows.Bytes(2);
    if (rows.Int(3) == ChecksumOfCollection(id, group, resource)) {
      names_[id] = std::make_shared<const CollectionName>(
          CollectionName{std::string(group), std::string(resource)});
    } else {
      damaged_collections_.push_back(id);
      damaged_.push_back(base::StrCat("the name of collection ", std::to_string(id), ", ",
                                      base::GoQuote(resource)));
    }
  }
  return code == SQLITE_DONE ? base::OkStatus() : OpenError(db_, code, path_);
}

base::Status ContentReader::ReadObjects() {
  Statement rows(db_,
                 "SELECT revision, collection, namespace, name, revision_at, bytes, checksum"
                 " FROM objects ORDER BY revision");
  int code = rows.Step();
  for (; code == SQLITE_ROW; code = rows.Step()) {
    TRY(ReadObject(
        {rows.Int(0), rows.Int(1), rows.Bytes(2), rows.Bytes(3), rows.Int(4), rows.Bytes(5)},
        rows.Int(6)));
  }
  return code == SQLITE_DONE ? base::OkStatus() : OpenError(db_, code, path_);
}

base::Status ContentReader::ReadObject(const ObjectRow& row, std::int64_t checksum) {
  const auto name = names_.find(row.collection);
  const std::size_t digits = std::to_string(row.revision).size();
  const auto at = static_cast<std::size_t>(row.revision_at);
  const auto damaged = [&] {
    damaged_objects_.push_back(row.revision);
    damaged_.push_back(Describe(row));
    return base::OkStatus();
  };
  if (name == names_.end() || checksum != ChecksumOf(row)) return damaged();
  std::string_view bytes = row.bytes;
  Opened opened;
  if (transformer_ != nullptr || bytes.starts_with(kEncryptedPrefix)) {
    auto decrypted = Decrypt(row, *name->second);
    if (!decrypted.ok()) {
      content_.revision = std::max(content_.revision, row.revision);
      content_.unreadable.push_back({name->second, std::string(row.ns), std::string(row.name),
                                     row.revision, decrypted.status().message()});
      return base::OkStatus();
    }
    opened = *std::move(decrypted);
    bytes = opened.plain;
  }
  if (at + digits > bytes.size()) return damaged();
  content_.revision = std::max(content_.revision, row.revision);
  auto object = Object::Make(name->second, row.ns, row.name, row.revision, bytes.substr(0, at),
                             bytes.substr(at + digits));
  content_.objects.push_back(std::move(object));
  if (opened.seal != kPlain) seals_.emplace(row.revision, opened.seal);
  return base::OkStatus();
}

base::Result<Opened> ContentReader::Decrypt(const ObjectRow& row,
                                            const CollectionName& name) const {
  if (transformer_ == nullptr) {
    TRY(CheckPlain(row.bytes));
    return Opened{std::string(row.bytes), kPlain};
  }
  const Key key{name.group, name.resource, row.ns, row.name};
  return transformer_->FromStorage(key.collection(), StorageKey(key), row.bytes);
}

std::string ContentReader::Describe(const ObjectRow& row) const {
  const auto name = names_.find(row.collection);
  std::string resource = base::StrCat("object of collection ", std::to_string(row.collection));
  if (name != names_.end()) {
    resource = name->second->resource;
    if (!name->second->group.empty()) resource += "." + name->second->group;
  }
  const std::string place =
      row.ns.empty() ? std::string(row.name) : base::StrCat(row.ns, "/", row.name);
  return base::StrCat(resource, " ", base::GoQuote(place), " of revision ",
                      std::to_string(row.revision));
}

base::Status ContentReader::SetDamagedAside() {
  TRY(Execute(db_, kDamagedTable, path_));
  Statement copy(db_, "INSERT INTO damaged SELECT * FROM objects WHERE revision=?");
  Statement remove(db_, "DELETE FROM objects WHERE revision=?");
  Statement remove_name(db_, "DELETE FROM collections WHERE id=?");
  for (const std::int64_t revision : damaged_objects_) {
    int code = copy.Bind(1, revision).Run();
    if (code == SQLITE_DONE) code = remove.Bind(1, revision).Run();
    if (code != SQLITE_DONE) return OpenError(db_, code, path_);
  }
  for (const std::int64_t id : damaged_collections_) {
    const int code = remove_name.Bind(1, id).Run();
    if (code != SQLITE_DONE) return OpenError(db_, code, path_);
  }
  if (!meta_is_damaged_) return base::OkStatus();
  TRY(SetMeta(db_, "format", kFormat, path_));
  return SetMeta(db_, "revision", content_.revision + kRevisionGap, path_);
}

base::Result<std::size_t> ContentReader::CountSetAside() {
  Statement exists(db_, "SELECT count(*) FROM sqlite_schema WHERE name='damaged'");
  if (const int code = exists.Step(); code != SQLITE_ROW) return OpenError(db_, code, path_);
  if (exists.Int(0) == 0) return std::size_t{0};
  Statement count(db_, "SELECT count(*) FROM damaged");
  if (const int code = count.Step(); code != SQLITE_ROW) return OpenError(db_, code, path_);
  return static_cast<std::size_t>(count.Int(0));
}

}  // namespace portcullis::store

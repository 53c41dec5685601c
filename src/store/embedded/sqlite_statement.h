// SPDX-License-Identifier: Apache-2.0

// RAII and short calls around SQLite's C interface. Confined to the thread that holds the journal.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace portcullis::store {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// A prepared statement. Bind from parameter 1 on, then Step; Reset before the next use. Texts and
// blobs are bound without a copy: they must live until Reset.
class Statement {
 public:
  Statement(sqlite3* db, std::string_view sql) {
    sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                       &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool ok() const { return statement_ != nullptr; }
  Statement& Bind(int index, std::int64_t value) {
    return Bound(sqlite3_bind_int64(statement_, index, value));
  }
  Statement& Bind(int index, std::string_view text) {
    return Bound(sqlite3_bind_text64(statement_, index, text.empty() ? "" : text.data(),
                                     text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  Statement& BindBlob(int index, std::string_view bytes) {
    return Bound(sqlite3_bind_blob64(statement_, index, bytes.data(), bytes.size(), SQLITE_STATIC));
  }
  // SQLITE_ROW, SQLITE_DONE or an error code, also that of a Bind.
  int Step() {
    if (!ok()) return SQLITE_ERROR;
    return bound_ == SQLITE_OK ? sqlite3_step(statement_) : bound_;
  }
  void Reset() {
    sqlite3_reset(statement_);
    bound_ = SQLITE_OK;
  }
  // Runs a statement without rows. SQLITE_DONE if it went well.
  int Run() {
    const int code = Step();
    Reset();
    return code;
  }

  int columns() const { return sqlite3_column_count(statement_); }
  std::int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  // Valid until the next Step or Reset.
  std::string_view Bytes(int column) const {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  }

 private:
  Statement& Bound(int code) {
    if (code != SQLITE_OK) bound_ = code;
    return *this;
  }

  sqlite3_stmt* statement_ = nullptr;
  int bound_ = SQLITE_OK;  // the error of a Bind
};

}  // namespace portcullis::store

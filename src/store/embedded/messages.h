// SPDX-License-Identifier: Apache-2.0

// What we say when the database file cannot be used. Each text names the file and what to do.
#pragma once

#include <string>
#include <string_view>

#include "base/strings.h"

namespace portcullis::store::messages {

inline std::string InUse(std::string_view path) {
  return base::StrCat("database ", path,
                      " is in use by another process; stop that server or choose another folder");
}
inline std::string NotADatabase(std::string_view path) {
  return base::StrCat("database ", path,
                      " is not a database; move the file away or choose another folder");
}
inline std::string NotThere(std::string_view path) {
  return base::StrCat("database ", path, " is not there");
}
inline std::string Empty(std::string_view path) {
  return base::StrCat("database ", path,
                      " has 0 bytes: it was cut short, for new ones are never so; restore it from "
                      "a copy, or remove it to start empty");
}
inline std::string LogWithoutDatabase(std::string_view path) {
  return base::StrCat("database ", path, " is missing, but its log ", path,
                      "-wal is there; restore both from a copy, or remove the log to start empty");
}
inline std::string Foreign(std::string_view path) {
  return base::StrCat("database ", path, " was made by another program; choose another folder");
}
inline std::string Corrupt(std::string_view path, std::string_view what) {
  return base::StrCat("database ", path, " is damaged (", what,
                      "); restore it from a copy, or move it away to start empty");
}
inline std::string DamagedRows(std::string_view path, std::string_view what) {
  return base::StrCat("database ", path, " is damaged (", what,
                      "); restore it from a copy, or start with --skip-damaged-objects to go on "
                      "without what is named here");
}
inline std::string Newer(std::string_view path, std::string_view found, std::string_view known) {
  return base::StrCat("database ", path, " has format ", found,
                      ", written by a newer version; this one knows formats up to ", known,
                      ": use the newer version, or another folder");
}
inline std::string CannotOpen(std::string_view path, std::string_view why) {
  return base::StrCat("cannot open database ", path, ": ", why,
                      "; the folder must exist and be writable for this user");
}
inline std::string DiskFull(std::string_view path) {
  return base::StrCat("cannot write database ", path,
                      ": no space left on device; free some space, then retry");
}
inline std::string CannotWrite(std::string_view path, std::string_view why) {
  return base::StrCat("cannot write database ", path, ": ", why);
}

}  // namespace portcullis::store::messages

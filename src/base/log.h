// SPDX-License-Identifier: Apache-2.0

// The log: one line per event, text or JSON, to standard error.
//
//   base::LogInfo("serving", {{"address", "127.0.0.1:6443"}});
//
// Thread-safe. Before Configure() text at level info is written.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace portcullis::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

struct LogField {
  std::string_view key;
  std::string value;
};

void ConfigureLog(LogFormat format, LogLevel lowest);
void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

inline void LogDebug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace portcullis::base

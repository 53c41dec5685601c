// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

// Debian has no static libraries of fmt and spdlog (portcullis-static).
#define FMT_HEADER_ONLY
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/gotext.h"
#include "base/log_level.h"

namespace portcullis::base {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto logger = std::make_shared<spdlog::logger>(
        "portcullis", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%v");
    logger->flush_on(spdlog::level::trace);
    return logger;
  }();
  return *kLogger;
}

spdlog::level::level_enum SpdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};

}  // namespace

void ConfigureLog(LogFormat format, LogLevel lowest) {
  log_format.store(format, std::memory_order_relaxed);
  SetLowestLogLevel(lowest);
}

void SetLowestLogLevel(LogLevel lowest) { Logger().set_level(SpdLevel(lowest)); }

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  spdlog::logger& logger = Logger();
  if (!logger.should_log(SpdLevel(level))) return;
  const std::string time = FormatMicroTime(SystemClock().Now());
  const std::string_view name = kNames[static_cast<int>(level)];
  std::string line;
  if (log_format.load(std::memory_order_relaxed) == LogFormat::kJson) {
    line = "{\"ts\":\"" + time + "\",\"level\":\"" + std::string(name) +
           "\",\"msg\":" + JsonQuote(message);
    for (const LogField& field : fields) {
      line += "," + JsonQuote(field.key) + ":" + JsonQuote(field.value);
    }
    line += "}";
  } else {
    line = time + " " + std::string(name) + " " + std::string(message);
    for (const LogField& field : fields) {
      const bool plain = field.value.find_first_of(" \"\n=") == std::string::npos;
      line += " " + std::string(field.key) + "=" +
              (plain && !field.value.empty() ? field.value : GoQuote(field.value));
    }
  }
  logger.log(SpdLevel(level), line);
}

}  // namespace portcullis::base

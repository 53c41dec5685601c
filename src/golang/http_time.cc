// SPDX-License-Identifier: Apache-2.0

#include "golang/http_time.h"

#include <ctime>
#include <string>

#include "base/strings.h"

namespace portcullis::golang {

std::optional<std::int64_t> ParseHttpTime(std::string_view text) {
  constexpr const char* kLayouts[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                      "%a %b %e %H:%M:%S %Y"};
  const std::string given(text);
  for (const char* const layout : kLayouts) {
    std::tm parts{};
    const char* const end = strptime(given.c_str(), layout, &parts);
    if (end == nullptr || *end != '\0') continue;
    // strptime() takes more than is meant.
    char meant[64];
    const std::size_t size = std::strftime(meant, sizeof(meant), layout, &parts);
    if (!base::EqualsIgnoreCase({meant, size}, given)) continue;
    const int day = parts.tm_mday;
    const std::time_t seconds = timegm(&parts);
    if (parts.tm_mday == day) return seconds;
  }
  return std::nullopt;
}

std::string FormatHttpTime(std::int64_t seconds, std::string_view zone) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  return base::StrCat(
      std::string_view(text, std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S ", &parts)),
      zone);
}

}  // namespace portcullis::golang

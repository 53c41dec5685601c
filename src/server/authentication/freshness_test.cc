// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/freshness.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/file.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"

namespace portcullis::server::authentication {
namespace {

std::string HttpTime(base::WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

// "{-60}" stands for the time a minute ago.
std::string Value(std::string_view text, base::WallTime now) {
  if (!text.starts_with('{')) return std::string(text);
  return HttpTime(now + std::chrono::seconds(std::atol(text.data() + 1)));
}

TEST(Freshness, IsWhatTheLibraryOfKubeApiserverSays) {
  const auto text =
      base::ReadFile(PC_SOURCE_DIR "/src/server/authentication/testdata/freshness.txt");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const base::WallTime now = base::FakeClock().Now();
  int count = 0;
  for (const std::string_view line : base::Split(*text, '\n')) {
    const auto row = base::Cut(line, "\t");
    if (!row) continue;
    net::Headers headers;
    for (const std::string_view field : base::Split(row->first, '|')) {
      const auto parts = base::Cut(field, ": ");
      if (parts) headers.Add(parts->first, Value(parts->second, now));
    }
    EXPECT_EQ(std::to_string(FreshFor(headers, now).count()), row->second) << row->first;
    ++count;
  }
  EXPECT_GT(count, 70);
}

}  // namespace
}  // namespace portcullis::server::authentication

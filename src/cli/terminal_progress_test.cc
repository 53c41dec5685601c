// SPDX-License-Identifier: Apache-2.0

#include "cli/terminal_progress.h"

#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"

namespace portcullis::cli {
namespace {

using namespace std::chrono_literals;

TEST(TerminalProgressTest, ShowsLongWorkAndClearsTheLineInTheEnd) {
  base::FakeClock clock;
  std::string written;
  TerminalProgress progress(clock, [&](std::string_view text) { written += text; });
  progress.Expect(3);
  clock.Advance(2s);
  progress.Done();
  EXPECT_EQ(written, "\r\x1b[Kjudged 1 of 3 requests");
  progress.Done();  // too soon for another line
  EXPECT_EQ(written, "\r\x1b[Kjudged 1 of 3 requests");
  progress.Done();
  EXPECT_EQ(written, "\r\x1b[Kjudged 1 of 3 requests\r\x1b[K");
}

TEST(TerminalProgressTest, ShowsNothingOfShortWork) {
  base::FakeClock clock;
  std::string written;
  {
    TerminalProgress progress(clock, [&](std::string_view text) { written += text; });
    progress.Expect(2);
    progress.Done();
  }
  EXPECT_EQ(written, "");
}

TEST(TerminalProgressTest, ClearsTheLineOfWorkThatEndsEarly) {
  base::FakeClock clock;
  std::string written;
  {
    TerminalProgress progress(clock, [&](std::string_view text) { written += text; });
    progress.Expect(9);
    clock.Advance(2s);
    progress.Done();
  }
  EXPECT_EQ(written, "\r\x1b[Kjudged 1 of 9 requests\r\x1b[K");
}

}  // namespace
}  // namespace portcullis::cli

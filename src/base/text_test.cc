// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/gotext.h"
#include "base/published.h"
#include "base/random.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"

namespace portcullis::base {
namespace {

using namespace std::chrono_literals;

TEST(StringsTest, SplitKeepsEmptyPieces) {
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
}

TEST(StringsTest, Base64GoesBothWaysForEveryLength) {
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Base64Decode(Base64Encode(bytes)), bytes);
    EXPECT_EQ(Base64UrlDecode(Base64UrlEncode(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 37));
  }
}

TEST(StringsTest, Base64NamesTheOffendingByteAsGoDoes) {
  struct Case {
    std::string_view text;
    std::size_t at;
  };
  for (const Case& c : {Case{"!!!!", 0}, Case{"AA!A", 2}, Case{"AAA", 0}, Case{"AAAAAA", 4},
                        Case{"AAA=A", 4}, Case{"A===", 1}}) {
    std::size_t at = 99;
    EXPECT_FALSE(Base64Decode(c.text, &at).has_value()) << c.text;
    EXPECT_EQ(at, c.at) << c.text;
  }
}

TEST(StringsTest, NearestFindsAMisspeltWord) {
  const std::string_view words[] = {"NamespaceLifecycle", "LimitRanger", "AlwaysDeny"};
  EXPECT_EQ(Nearest("LimitRager", words), "LimitRanger");
  EXPECT_EQ(Nearest("Completely", words), "");
}

TEST(GoTextTest, QuoteEscapesAsStrconvDoes) {
  EXPECT_EQ(GoQuote("a\"b\\\n\x01\x7f"), R"("a\"b\\\n\x01\x7f")");
  EXPECT_EQ(GoQuote("é漢😀"), "\"é漢😀\"");
  EXPECT_EQ(GoQuote("\xff\xc2\xa0"), R"("\xff\u00a0")");
}

TEST(GoTextTest, InvalidUtf8IsRecognised) {
  EXPECT_TRUE(IsValidUtf8("aé漢😀\xEF\xBF\xBD"));
  EXPECT_FALSE(IsValidUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsValidUtf8("\xc0\xaf"));
  EXPECT_FALSE(IsValidUtf8("\xf4\x90\x80\x80"));
}

TEST(ClockTest, DurationsReadAsGoPrintsThem) {
  EXPECT_EQ(FormatDuration(0s), "0s");
  EXPECT_EQ(FormatDuration(1500ms), "1.5s");
  EXPECT_EQ(FormatDuration(2min), "2m0s");
  EXPECT_EQ(FormatDuration(300ms), "300ms");
  EXPECT_EQ(FormatDuration(1h + 1s), "1h0m1s");
  EXPECT_EQ(FormatDuration(1100ns), "1.1µs");
  EXPECT_EQ(FormatDuration(-5ns), "-5ns");
}

TEST(ClockTest, TimesAreRfc3339InUtc) {
  FakeClock clock;
  clock.Advance(1s + 2us);
  EXPECT_EQ(FormatTime(clock.Now()), "2026-01-01T00:00:01Z");
  EXPECT_EQ(FormatMicroTime(clock.Now()), "2026-01-01T00:00:01.000002Z");
  const auto at = [](std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); };
  EXPECT_EQ(FormatTime(at(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(at(951'827'696)), "2000-02-29T12:34:56Z");
  EXPECT_EQ(FormatTime(at(4'102'444'799)), "2099-12-31T23:59:59Z");
  EXPECT_EQ(FormatMicroTime(at(0) - 1us), "1969-12-31T23:59:59.999999Z");
}

TEST(RandomTest, UuidsAreVersionFour) {
  const std::string uuid = Uuid();
  ASSERT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(uuid, Uuid());
}

TEST(PublishedTest, ReadersKeepTheSnapshotTheyTook) {
  Published<int> published(std::make_shared<int>(1));
  const auto taken = published.Get();
  published.Set(std::make_shared<int>(2));
  EXPECT_EQ(*taken, 1);
  EXPECT_EQ(*published.Get(), 2);
}

}  // namespace
}  // namespace portcullis::base

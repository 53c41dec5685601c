// SPDX-License-Identifier: Apache-2.0

#include "admission/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/asks_outside.h"
#include "base/fiber.h"

namespace portcullis::admission {
namespace {

using ::testing::ElementsAre;

TEST(RecorderTest, DropsWhatCannotBeAHeader) {
  Recorder recorder;
  for (const std::string text : {"", "a\nb", "a\tb", "\xff", "fine", "fine", " "}) {
    recorder.Warn(text);
  }
  EXPECT_THAT(recorder.warnings(), ElementsAre("fine", " "));
}

TEST(RecorderTest, SendsOneLongTextWhole) {
  Recorder recorder;
  recorder.Warn(std::string(4000, 'a'));
  EXPECT_THAT(recorder.warnings(), ElementsAre(std::string(4000, 'a')));
}

TEST(RecorderTest, CutsEverythingOverTheBudget) {
  Recorder recorder;
  recorder.Warn(std::string(4000, 'a'));
  recorder.Warn(std::string(300, 'b'));
  EXPECT_THAT(recorder.warnings(), ElementsAre(std::string(256, 'a'), std::string(256, 'b')));
}

TEST(RecorderTest, StopsOnceTheBudgetIsSpent) {
  Recorder recorder;
  for (int i = 0; i < 25; ++i) recorder.Warn(std::string(249, 'a') + static_cast<char>('a' + i));
  // 250 runes each: the seventeenth still fits because only the sum before it counts.
  EXPECT_EQ(recorder.warnings().size(), 17U);
}

TEST(RecorderTest, KeepsTheFirstValueOfAnAnnotation) {
  Recorder recorder;
  EXPECT_TRUE(recorder.Annotate("a.b/c", "1", AuditLevel::kMetadata).ok());
  EXPECT_TRUE(recorder.Annotate("a.b/c", "1", AuditLevel::kMetadata).ok());
  EXPECT_FALSE(recorder.Annotate("a.b/c", "2", AuditLevel::kMetadata).ok());
  ASSERT_EQ(recorder.annotations().size(), 1U);
  EXPECT_EQ(recorder.annotations()[0].value, "1");
}

TEST(RecorderTest, RefusesIllegalAnnotationKeys) {
  Recorder recorder;
  for (const std::string_view key : {"", "a", "a/b/c", "a/", "A B/c", "a/b!"}) {
    EXPECT_FALSE(recorder.Annotate(key, "", AuditLevel::kMetadata).ok()) << key;
  }
}

TEST(RecorderTest, RemembersThatARequestHadToWaitWhereItMayNot) {
  Recorder recorder;
  EXPECT_TRUE(recorder.CheckMayWait().ok());
  recorder.ForbidWaiting();
  EXPECT_FALSE(recorder.refused_to_wait());
  EXPECT_FALSE(recorder.CheckMayWait().ok());
  EXPECT_TRUE(recorder.refused_to_wait());
}

TEST(RecorderTest, AFiberMayWaitForCallsAndForNothingElse) {
  if (!base::Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
  base::FiberStacks stacks;
  Recorder recorder;
  EXPECT_TRUE(base::Fiber::Run(stacks, [&] {
    EXPECT_TRUE(CheckMayCall(recorder).ok());
    EXPECT_FALSE(recorder.refused_to_wait());
    EXPECT_FALSE(recorder.CheckMayWait().ok());
    EXPECT_TRUE(recorder.refused_to_wait());
  }));
  recorder.Clear();
  EXPECT_TRUE(CheckMayCall(recorder).ok());
  recorder.ForbidWaiting();
  EXPECT_FALSE(CheckMayCall(recorder).ok());
  EXPECT_TRUE(recorder.refused_to_wait());
}

TEST(RecorderTest, ForgetsWhatARequestHasRecordedBeforeItBeginsAnew) {
  Recorder recorder;
  recorder.ForbidWaiting();
  recorder.Warn("w");
  EXPECT_TRUE(recorder.Annotate("a.b/c", "1", AuditLevel::kMetadata).ok());
  EXPECT_FALSE(recorder.CheckMayWait().ok());
  recorder.Clear();
  EXPECT_TRUE(recorder.CheckMayWait().ok());
  EXPECT_FALSE(recorder.refused_to_wait());
  EXPECT_TRUE(recorder.annotations().empty());
  recorder.Warn("w");
  EXPECT_THAT(recorder.warnings(), ElementsAre("w"));
}

TEST(WarningHeaderTest, EscapesQuotes) {
  EXPECT_EQ(WarningHeader(R"(say "a\b")"), R"(299 - "say \"a\\b\"")");
}

}  // namespace
}  // namespace portcullis::admission

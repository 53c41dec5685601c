// SPDX-License-Identifier: Apache-2.0

#include "admission/fresh_times.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::admission {
namespace {

class FreshTimesTest : public ::testing::Test {
 protected:
  bool IsFresh(std::string_view now, std::string_view before, bool custom = false,
               bool through_json = false) {
    Attributes attributes;
    attributes.operation = kUpdate;
    attributes.custom = custom;
    attributes.object = *json::Parse(arena_, now);
    attributes.old_object = *json::Parse(arena_, before);
    Request request(std::move(attributes), arena_, recorder_);
    if (through_json) LoseFreshTimes(request);
    return HasFreshTimes(request);
  }

  json::Arena arena_;
  Recorder recorder_;
};

constexpr std::string_view kBefore =
    R"({"metadata":{"managedFields":[{"manager":"a","time":"2026-01-01T00:00:00Z"}]}})";
constexpr std::string_view kNow =
    R"({"metadata":{"managedFields":[{"manager":"a","time":"2026-01-01T00:00:05Z"}]}})";
constexpr std::string_view kNone = R"({"metadata":{}})";

TEST_F(FreshTimesTest, AnEntryThatTheRequestHasWrittenIsFresh) {
  EXPECT_TRUE(IsFresh(kNow, kBefore));
  EXPECT_TRUE(IsFresh(kNow, "null"));
  EXPECT_TRUE(IsFresh(kNow, kNone));
}

TEST_F(FreshTimesTest, EntriesFromTheStoreAreNot) {
  EXPECT_FALSE(IsFresh(kBefore, kBefore));
  EXPECT_FALSE(IsFresh(kNone, kBefore));
  EXPECT_FALSE(IsFresh(kNone, "null"));
}

TEST_F(FreshTimesTest, NorIsAnEntryThatHasOnlyLostFields) {
  constexpr std::string_view kMore =
      R"({"metadata":{"managedFields":[{"time":"t","fieldsV1":{"f:a":{"f:b":{},"f:c":{}},"f:d":{}}}]}})";
  constexpr std::string_view kLess =
      R"({"metadata":{"managedFields":[{"time":"t","fieldsV1":{"f:a":{"f:c":{}}}}]}})";
  EXPECT_FALSE(IsFresh(kLess, kMore));
  EXPECT_TRUE(IsFresh(kMore, kLess));
}

TEST_F(FreshTimesTest, NorIsWhatHasBeenThroughJson) {
  EXPECT_FALSE(IsFresh(kNow, kBefore, false, true));
  EXPECT_FALSE(IsFresh(kNow, kBefore, true));
}

}  // namespace
}  // namespace portcullis::admission

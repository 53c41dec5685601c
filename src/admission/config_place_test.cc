// SPDX-License-Identifier: Apache-2.0

#include "admission/config_place.h"

#include <gtest/gtest.h>

namespace portcullis::admission {
namespace {

constexpr std::string_view kLimits =
    "apiVersion: v1\n"
    "limits:\n"
    "- type: Server\n"
    "  burst: 0\n"
    "defaults:\n"
    "  enforce: foo\n";

std::string MistakePlace(std::string_view message) {
  return PlaceOfMistake("f.yaml", kLimits, message);
}

TEST(ConfigPlaceTest, PointsAtTheFieldThatIsWrong) {
  EXPECT_EQ(MistakePlace("limits[0].burst: Invalid value: 0: must be positive"), "f.yaml:4:3");
  EXPECT_EQ(MistakePlace("strict decoding error: unknown field \"limits[0].type\""), "f.yaml:3:3");
}

TEST(ConfigPlaceTest, PointsAtTheParentOfAFieldThatIsAbsent) {
  EXPECT_EQ(MistakePlace("limits[0].qps: Required value"), "f.yaml:3:3");
}

TEST(ConfigPlaceTest, PassesOverTheKindInFrontOfAPath) {
  EXPECT_EQ(MistakePlace("configuration.limits[0].burst: Invalid value"), "f.yaml:4:3");
}

TEST(ConfigPlaceTest, FindsAMemberThatIsNamedWithoutItsParents) {
  EXPECT_EQ(MistakePlace("PodSecurity configuration error: enforce: must be one of privileged"),
            "f.yaml:6:3");
}

TEST(ConfigPlaceTest, IsTheFileWhereNothingIsFound) {
  EXPECT_EQ(MistakePlace("no config specified"), "f.yaml");
  EXPECT_EQ(PlaceOfMistake("f.yaml", "a: [", "a: must be a list"), "f.yaml");
}

TEST(ConfigPlaceTest, LooksBelowTheRootThatIsGiven) {
  EXPECT_EQ(PlaceOfMistake("f.yaml", "plugins:\n- configuration:\n    limits: []\n",
                           "limits: must not be empty", {"plugins", "0", "configuration"}),
            "f.yaml:3:5");
}

}  // namespace
}  // namespace portcullis::admission

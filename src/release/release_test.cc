// SPDX-License-Identifier: Apache-2.0

#include "release/release.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace portcullis::release {
namespace {

using Texts = std::vector<std::string>;

Release Make(std::string_view version, GateSettings gates = {}) {
  return *Release::Open(version, std::move(gates));
}

TEST(Release, IsNamedByItsMinorWithOrWithoutPatch) {
  EXPECT_EQ(Make("1.30").minor(), 30);
  EXPECT_EQ(Make("v1.33").minor(), 33);
  EXPECT_EQ(Make("1.36.2").minor(), 36);
  EXPECT_EQ(Make("1.36.2").version(), "1.36");
  EXPECT_EQ(Release::Newest().minor(), kNewestMinor);
  EXPECT_EQ(Release::Open("1.99").status().message(),
            "invalid Kubernetes version \"1.99\": must be 1.7 to 1.36");
  EXPECT_FALSE(Release::Open("").ok());
  EXPECT_FALSE(Release::Open("2.30").ok());
}

// docs/legacy.md: only what Kubernetes has dropped since is of such a release.
TEST(Release, BeforeV129IsTheNewestWithLegacyMechanisms) {
  const Release old = Make("v1.8.4");
  EXPECT_EQ(old.minor(), kNewestMinor);
  EXPECT_EQ(old.legacy_minor(), 8);
  EXPECT_TRUE(old.IsWithin(7, 13));
  EXPECT_TRUE(old.Has("AdmissionHasOnePhase"));
  EXPECT_FALSE(Make("1.9").Has("AdmissionHasOnePhase"));
  EXPECT_FALSE(Make("1.36").Has("AdmissionHasOnePhase"));
  EXPECT_TRUE(old.Has("LimitRangerChecksResize"));
  EXPECT_FALSE(old.Has("RuntimeClassEmptyOverheadCounts"));
  EXPECT_TRUE(old.GateEnabled("MutatingAdmissionPolicy"));
  EXPECT_FALSE(Release::Open("1.6").ok());
}

TEST(Release, GatesOfLegacyMechanismsEndWithThem) {
  EXPECT_EQ(Make("1.7", {{"Initializers", true}}).Problems().size(), 1U);
  EXPECT_EQ(Make("1.13", {{"Initializers", true}}).Problems(), Texts{});
  EXPECT_FALSE(Make("1.13").GateEnabled("Initializers"));
  EXPECT_TRUE(Make("1.13", {{"AllAlpha", true}}).GateEnabled("Initializers"));
  EXPECT_EQ(Make("1.14", {{"Initializers", true}}).Problems(),
            Texts{"unrecognized feature gate: Initializers"});
}

TEST(Release, GatesHaveTheDefaultsOfTheRelease) {
  EXPECT_TRUE(Make("1.36").GateEnabled("MutatingAdmissionPolicy"));
  EXPECT_FALSE(Make("1.35").GateEnabled("MutatingAdmissionPolicy"));
  EXPECT_TRUE(Make("1.35", {{"AllBeta", true}}).GateEnabled("MutatingAdmissionPolicy"));
  EXPECT_FALSE(Make("1.36").GateEnabled("GenericWorkload"));
  EXPECT_TRUE(Make("1.36", {{"AllAlpha", true}}).GateEnabled("GenericWorkload"));
  EXPECT_FALSE(Make("1.36", {{"AllAlpha", true}, {"GenericWorkload", false}})
                   .GateEnabled("GenericWorkload"));
  EXPECT_FALSE(Make("1.36").GateEnabled("NoSuchGate"));
}

TEST(Release, EveryGateIsListedWithItsStage) {
  const auto find = [](const Release& release, std::string_view name) {
    for (const FeatureGate& gate : release.gates()) {
      if (gate.name == name) return base::StrCat(gate.stage, gate.is_enabled ? " on" : " off");
    }
    return std::string("unknown");
  };
  EXPECT_EQ(find(Make("1.36"), "MutatingAdmissionPolicy"), " on");
  EXPECT_EQ(find(Make("1.35"), "MutatingAdmissionPolicy"), "BETA off");
  EXPECT_EQ(find(Make("1.30"), "MutatingAdmissionPolicy"), "unknown");
  EXPECT_EQ(find(Make("1.36"), "ContainerStopSignals"), "ALPHA off");
  EXPECT_EQ(find(Make("1.36", {{"AllAlpha", true}}), "ContainerStopSignals"), "ALPHA on");
  EXPECT_EQ(find(Make("1.36"), "AllAlpha"), "ALPHA off");
  EXPECT_EQ(find(Make("1.36"), "WindowsHostNetwork"), "DEPRECATED off");
}

TEST(Release, RefusesGatesThatAreUnknownOrLocked) {
  EXPECT_EQ(Make("1.36", {{"AllAlpha", true}, {"GenericWorkload", true}}).Problems(), Texts{});
  EXPECT_EQ(Make("1.30", {{"GenericWorkload", true}}).Problems(),
            Texts{"unrecognized feature gate: GenericWorkload"});
  EXPECT_EQ(Make("1.36", {{"MutatingAdmissionPolicys", true}}).Problems(),
            Texts{"unrecognized feature gate: MutatingAdmissionPolicys (did you mean "
                  "MutatingAdmissionPolicy?)"});
  EXPECT_EQ(Make("1.36", {{"RetryGenerateName", false}}).Problems(),
            Texts{"cannot set feature gate RetryGenerateName to false, feature is locked to true"});
}

TEST(Release, FactsHoldFromTheirFirstReleaseToTheirLast) {
  EXPECT_FALSE(Make("1.32").Has("LimitRangerChecksResize"));
  EXPECT_TRUE(Make("1.33").Has("LimitRangerChecksResize"));
  EXPECT_TRUE(Make("1.30").Has("RuntimeClassEmptyOverheadCounts"));
  EXPECT_FALSE(Make("1.31").Has("RuntimeClassEmptyOverheadCounts"));
}

TEST(ReleaseDeathTest, AFactThatDoesNotExistIsAMistakeOfTheProgram) {
  EXPECT_DEATH(Release::Newest().Has("NoSuchFact"), "data/behavior.facts has no NoSuchFact");
}

TEST(Release, RangesAreOpenAtZero) {
  EXPECT_TRUE(Make("1.33").IsWithin(0, 0));
  EXPECT_TRUE(Make("1.33").IsWithin(33, 33));
  EXPECT_FALSE(Make("1.33").IsWithin(34, 0));
  EXPECT_FALSE(Make("1.33").IsWithin(0, 32));
}

}  // namespace
}  // namespace portcullis::release

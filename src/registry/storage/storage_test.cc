// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/strings.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class Storage : public testing::KindTest {
 protected:
  std::string Errors(std::string_view resource, std::string_view object,
                     std::string_view old = {}) {
    return KindTest::Errors("storage.k8s.io", resource, object, old);
  }
};

TEST_F(Storage, DriversAreJudgedInTheOrderOfKubernetes) {
  EXPECT_EQ(Errors("csidrivers", R"({"spec":{"fsGroupPolicy":"X","volumeLifecycleModes":["Y"],)"
                                 R"("tokenRequests":[{"audience":"a","expirationSeconds":1}],)"
                                 R"("nodeAllocatableUpdatePeriodSeconds":9}})"),
            "spec.fsGroupPolicy: Unsupported value: \"X\": supported values: \"File\", \"None\", "
            "\"ReadWriteOnceWithFSType\"\n"
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration "
            "less than 10 minutes\n"
            "spec.volumeLifecycleModes: Unsupported value: \"Y\": supported values: "
            "\"Persistent\", \"Ephemeral\"\n"
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or "
            "equal to 10 seconds\n");
}

TEST_F(Storage, OfANodesDriverOnlyTheCountChanges) {
  constexpr std::string_view kOld =
      R"({"spec":{"drivers":[{"name":"d","nodeID":"n","topologyKeys":null}]}})";
  EXPECT_EQ(Errors("csinodes",
                   R"({"spec":{"drivers":[{"name":"d","nodeID":"n","topologyKeys":null,)"
                   R"("allocatable":{"count":3}}]}})",
                   kOld),
            "");
  const std::string changed = Errors(
      "csinodes", R"({"spec":{"drivers":[{"name":"d","nodeID":"m","topologyKeys":null}]}})", kOld);
  EXPECT_TRUE(changed.starts_with("spec.drivers: Invalid value: ")) << changed;
  EXPECT_TRUE(changed.ends_with(": field is immutable\n")) << changed;
}

TEST_F(Storage, TopologiesAreDifferent) {
  EXPECT_EQ(Errors("storageclasses",
                   R"({"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate",)"
                   R"("allowedTopologies":[{"matchLabelExpressions":[{"key":"z","values":["a"]}]},)"
                   R"({"matchLabelExpressions":[{"key":"z","values":["a"]}]}]})"),
            "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"\n");
}

// Kubernetes has an error for each pair of equal terms, and as many empty ones to begin with.
TEST_F(Storage, EqualTopologiesAreRefusedPairByPairWithinABound) {
  const auto errors_of = [&](std::size_t terms) {
    std::string list;
    for (std::size_t i = 0; i < terms; ++i) list += i == 0 ? "{}" : ",{}";
    const std::string errors = Errors(
        "storageclasses",
        base::StrCat(R"({"provisioner":"p","reclaimPolicy":"Delete",)",
                     R"("volumeBindingMode":"Immediate","allowedTopologies":[)", list, "]}"));
    return std::count(errors.begin(), errors.end(), '\n');
  };
  EXPECT_EQ(errors_of(3), 3 + 4 + 5);
  EXPECT_LT(errors_of(10'000), 40'000);
}

}  // namespace
}  // namespace portcullis::registry

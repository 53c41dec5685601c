// SPDX-License-Identifier: Apache-2.0

#include "registry/disabled_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/names.h"
#include "base/clock.h"
#include "json/reader.h"
#include "json/writer.h"
#include "registry/kind_table.h"
#include "release/release.h"

namespace portcullis::registry {
namespace {

class DisabledFields : public testing::Test {
 protected:
  json::Value Parse(std::string_view text) {
    auto value = json::Parse(arena_, text);
    EXPECT_TRUE(value.ok()) << text;
    return value.ok() ? *value : json::Value();
  }

  // What a kind keeps of `object`, as JSON.
  std::string Created(std::string_view group, std::string_view resource, std::string_view object) {
    return Prepared(group, resource, object, {});
  }
  std::string Prepared(std::string_view group, std::string_view resource, std::string_view object,
                       std::string_view old) {
    const Kind* kind = KindTable::BuiltIn().Find(group, resource);
    EXPECT_NE(kind, nullptr);
    Kind row = *kind;
    row.traits = {};
    const DefaultStrategy strategy(row);
    Context context{arena_, resource_, kind_, "", "", "", user_, base::SystemClock()};
    const auto release = release::Release::Open("1.36", gates_);
    context.release = &*release;
    return json::ToString(old.empty()
                              ? strategy.PrepareForCreate(context, Parse(object))
                              : strategy.PrepareForUpdate(context, Parse(object), Parse(old)));
  }

  json::Arena arena_;
  api::GroupVersionResource resource_;
  api::GroupVersionKind kind_;
  api::UserInfo user_;

  release::GateSettings gates_;
};

constexpr std::string_view kProjected =
    R"({"spec":{"volumes":[{"projected":{"sources":[{"podCertificate":{}},{"clusterTrustBundle":{"path":"p"}}]}}]}})";

TEST_F(DisabledFields, SourcesOfProjectedVolumesAreEmptied) {
  EXPECT_EQ(Created("", "pods", kProjected),
            R"({"spec":{"volumes":[{"projected":{"sources":[{},{}]}}]}})");
}

TEST_F(DisabledFields, AGateThatIsTurnedOnKeepsItsField) {
  gates_ = {{"ClusterTrustBundleProjection", true}, {"PodCertificateRequest", false}};
  EXPECT_EQ(
      Created("", "pods", kProjected),
      R"({"spec":{"volumes":[{"projected":{"sources":[{},{"clusterTrustBundle":{"path":"p"}}]}}]}})");
}

TEST_F(DisabledFields, WhatIsStoredStays) {
  EXPECT_EQ(Prepared("", "pods", kProjected, kProjected), kProjected);
}

TEST_F(DisabledFields, ALifecycleWithNothingElseGoesWithItsStopSignal) {
  EXPECT_EQ(
      Created(
          "apps", "deployments",
          R"({"spec":{"template":{"spec":{"containers":[{"lifecycle":{"stopSignal":"SIGTERM"}}],)"
          R"("initContainers":[{"lifecycle":{"preStop":{},"stopSignal":"SIGTERM"}}]}}}})"),
      R"({"spec":{"template":{"spec":{"containers":[{}],"initContainers":[{"lifecycle":{"preStop":{}}}]}}}})");
}

TEST_F(DisabledFields, KindsHaveTheirOwn) {
  EXPECT_EQ(
      Created(
          "apps", "statefulsets",
          R"({"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":2,"partition":0}}}})"),
      R"({"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}})");
  EXPECT_EQ(Created("storage.k8s.io", "csidrivers",
                    R"({"spec":{"preventPodSchedulingIfMissing":true,"podInfoOnMount":true}})"),
            R"({"spec":{"podInfoOnMount":true}})");
}

}  // namespace
}  // namespace portcullis::registry

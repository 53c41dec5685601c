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

class DisabledFieldsTest : public testing::Test {
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
  std::string Status(std::string_view group, std::string_view resource, std::string_view object,
                     std::string_view old) {
    subresource_ = "status";
    return Prepared(group, resource, object, old);
  }
  std::string Prepared(std::string_view group, std::string_view resource, std::string_view object,
                       std::string_view old) {
    const Kind* kind = KindTable::BuiltIn().Find(group, resource);
    EXPECT_NE(kind, nullptr);
    Kind row = *kind;
    row.traits = {};
    const DefaultStrategy strategy(row);
    Context context{arena_, resource_, kind_, subresource_, "", "", user_, base::SystemClock()};
    const auto release = release::Release::Open(version_, gates_);
    context.release = &*release;
    return json::ToString(old.empty()
                              ? strategy.PrepareForCreate(context, Parse(object))
                              : strategy.PrepareForUpdate(context, Parse(object), Parse(old)));
  }

  json::Arena arena_;
  api::GroupVersionResource resource_;
  api::GroupVersionKind kind_;
  api::UserInfo user_;

  std::string subresource_;
  std::string version_ = "1.36";
  release::GateSettings gates_;
};

constexpr std::string_view kProjected =
    R"({"spec":{"volumes":[{"projected":{"sources":[{"podCertificate":{}},{"clusterTrustBundle":{"path":"p"}}]}}]}})";

TEST_F(DisabledFieldsTest, SourcesOfProjectedVolumesAreEmptied) {
  EXPECT_EQ(Created("", "pods", kProjected),
            R"({"spec":{"volumes":[{"projected":{"sources":[{},{}]}}]}})");
}

TEST_F(DisabledFieldsTest, SourcesThatAreNotThereStaySo) {
  EXPECT_EQ(Created("", "pods",
                    R"({"spec":{"volumes":[{"projected":{"sources":[{"clusterTrustBundle":{}}]}},)"
                    R"({"projected":{"sources":null}}]}})"),
            R"({"spec":{"volumes":[{"projected":{"sources":[{}]}},)"
            R"({"projected":{"sources":null}}]}})");
}

TEST_F(DisabledFieldsTest, AGateThatIsTurnedOnKeepsItsField) {
  gates_ = {{"ClusterTrustBundleProjection", true}, {"PodCertificateRequest", false}};
  EXPECT_EQ(
      Created("", "pods", kProjected),
      R"({"spec":{"volumes":[{"projected":{"sources":[{},{"clusterTrustBundle":{"path":"p"}}]}}]}})");
}

TEST_F(DisabledFieldsTest, WhatIsStoredStays) {
  EXPECT_EQ(Prepared("", "pods", kProjected, kProjected), kProjected);
}

TEST_F(DisabledFieldsTest, ALifecycleWithNothingElseGoesWithItsStopSignal) {
  EXPECT_EQ(
      Created(
          "apps", "deployments",
          R"({"spec":{"template":{"spec":{"containers":[{"lifecycle":{"stopSignal":"SIGTERM"}}],)"
          R"("initContainers":[{"lifecycle":{"preStop":{},"stopSignal":"SIGTERM"}},{"lifecycle":{}}]}}}})"),
      R"({"spec":{"template":{"spec":{"containers":[{}],)"
      R"("initContainers":[{"lifecycle":{"preStop":{}}},{"lifecycle":{}}]}}}})");
}

TEST_F(DisabledFieldsTest, AnOlderReleaseDropsWhatItsGatesDoNotKnow) {
  constexpr std::string_view kPod =
      R"({"spec":{"containers":[{"env":[{"valueFrom":{"fileKeyRef":{"key":"k"}}}],"name":"c",)"
      R"("restartPolicy":"Never","restartPolicyRules":[{"action":"Restart"}]}],)"
      R"("hostnameOverride":"h","resources":{"limits":{"cpu":"1"}}}})";
  EXPECT_EQ(Prepared("", "pods", kPod, kPod), kPod);
  version_ = "1.33";
  EXPECT_EQ(Prepared("", "pods", kPod, kPod), kPod);
  EXPECT_EQ(Prepared("", "pods", kPod, R"({"spec":{"containers":[]}})"),
            R"({"spec":{"containers":[{"env":[{"valueFrom":{}}],"name":"c"}]}})");
}

TEST_F(DisabledFieldsTest, AnInitContainerKeepsThePolicyThatMakesItASidecar) {
  version_ = "1.33";
  EXPECT_EQ(Created("apps", "deployments",
                    R"({"spec":{"template":{"spec":{"initContainers":[{"restartPolicy":"Always"},)"
                    R"({"restartPolicy":"Never"}]}}}})"),
            R"({"spec":{"template":{"spec":{"initContainers":[{"restartPolicy":"Always"},{}]}}}})");
}

TEST_F(DisabledFieldsTest, AnyStoredFieldOfTheGateKeepsThemAll) {
  version_ = "1.33";
  constexpr std::string_view kBoth = R"({"spec":{"containers":[{"restartPolicy":"Never"}],)"
                                     R"("initContainers":[{"restartPolicy":"OnFailure"}]}})";
  EXPECT_EQ(Prepared("", "pods", kBoth, R"({"spec":{"containers":[{"restartPolicy":"Never"}]}})"),
            kBoth);
}

TEST_F(DisabledFieldsTest, VolumesOfImagesGoWithTheirMounts) {
  version_ = "1.33";
  constexpr std::string_view kPod =
      R"({"spec":{"containers":[{"volumeMounts":[{"name":"i"}]},{"volumeMounts":[{"name":"i"},)"
      R"({"name":"e"}]}],"volumes":[{"name":"i","image":{}},{"name":"e","emptyDir":{}}]}})";
  EXPECT_EQ(Created("apps", "daemonsets", R"({"spec":{"template":)" + std::string(kPod) + "}}"),
            R"({"spec":{"template":{"spec":{"containers":[{},{"volumeMounts":[{"name":"e"}]}],)"
            R"("volumes":[{"name":"e","emptyDir":{}}]}}}})");
  EXPECT_EQ(Prepared("", "pods", kPod, kPod), kPod);
}

TEST_F(DisabledFieldsTest, StatusesFollowTheGates) {
  constexpr std::string_view kNew =
      R"({"status":{"replicas":1,"terminatingReplicas":1},"metadata":{}})";
  constexpr std::string_view kOld = R"({"status":{"replicas":1},"metadata":{}})";
  EXPECT_EQ(Status("apps", "replicasets", kNew, kOld), kNew);
  version_ = "1.34";
  EXPECT_EQ(Status("apps", "replicasets", kNew, kOld), kOld);
  EXPECT_EQ(Status("apps", "replicasets", kNew, kNew), kNew);
}

TEST_F(DisabledFieldsTest, DevicesFollowTheGates) {
  constexpr std::string_view kSlice =
      R"({"spec":{"devices":[{"name":"d","capacity":{"memory":{"value":"1","requestPolicy":{}}},)"
      R"("taints":[{"key":"k"}],"allNodes":true}],"perDeviceNodeSelection":true}})";
  EXPECT_EQ(Created("resource.k8s.io", "resourceslices", kSlice), kSlice);
  version_ = "1.35";
  EXPECT_EQ(Created("resource.k8s.io", "resourceslices", kSlice),
            R"({"spec":{"devices":[{"name":"d","capacity":{"memory":{"value":"1"}}}]}})");
}

TEST_F(DisabledFieldsTest, ClaimsOfDevicesFollowTheGates) {
  constexpr std::string_view kSpec =
      R"({"spec":{"devices":{"constraints":[{"distinctAttribute":"a"}],"requests":[)"
      R"({"exactly":{"count":1,"tolerations":[{}]}},{"firstAvailable":[{"capacity":{}}]}]}}})";
  constexpr std::string_view kLeft = R"({"spec":{"devices":{"constraints":[{}],"requests":[)"
                                     R"({"exactly":{"count":1}},{"firstAvailable":[{}]}]}}})";
  EXPECT_EQ(Created("resource.k8s.io", "resourceclaims", kSpec), kSpec);
  version_ = "1.35";
  EXPECT_EQ(Created("resource.k8s.io", "resourceclaims", kSpec), kLeft);
  EXPECT_EQ(Created("resource.k8s.io", "resourceclaimtemplates",
                    R"({"spec":)" + std::string(kSpec) + "}"),
            R"({"spec":)" + std::string(kLeft) + "}");
}

TEST_F(DisabledFieldsTest, StatusesOfClaimsFollowTheGates) {
  constexpr std::string_view kOld = R"({"status":{},"metadata":{}})";
  constexpr std::string_view kNew =
      R"({"status":{"allocation":{"devices":{"results":[{"request":"r","shareID":"s",)"
      R"("bindingConditions":["b"],"adminAccess":true}]}},"devices":[{"driver":"d","shareID":"s"}]},)"
      R"("metadata":{}})";
  EXPECT_EQ(Status("resource.k8s.io", "resourceclaims", kNew, kOld), kNew);
  version_ = "1.33";
  EXPECT_EQ(Status("resource.k8s.io", "resourceclaims", kNew, kOld),
            R"({"status":{"allocation":{"devices":{"results":[{"request":"r"}]}},)"
            R"("devices":[{"driver":"d"}]},"metadata":{}})");
  EXPECT_EQ(Status("resource.k8s.io", "resourceclaims", kNew, kNew), kNew);
}

TEST_F(DisabledFieldsTest, KindsHaveTheirOwn) {
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

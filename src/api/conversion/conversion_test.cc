// SPDX-License-Identifier: Apache-2.0

#include "api/conversion/conversion.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

class ConversionTest : public ::testing::Test {
 protected:
  json::Value To(json::Value object, const GroupVersionKind& kind) {
    const auto converted = Convert(arena_, object, kind);
    EXPECT_TRUE(converted.ok()) << converted.status().message();
    return converted.ok() ? *converted : json::Value();
  }
  json::Value Parse(std::string_view text) { return json::Parse(arena_, text).value(); }

  json::Arena arena_;
  const GroupVersionKind v1_{"autoscaling", "v1", "HorizontalPodAutoscaler"};
  const GroupVersionKind v2_{"autoscaling", "v2", "HorizontalPodAutoscaler"};
};

TEST_F(ConversionTest, EventsKeepTheirContentUnderOtherNames) {
  const json::Value core = Parse(R"({"apiVersion":"v1","kind":"Event","involvedObject":{"name":"p"},
      "message":"m","reason":"r","count":2,"reportingComponent":"c"})");
  const json::Value event = To(core, {"events.k8s.io", "v1", "Event"});
  EXPECT_EQ(event, Parse(R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
      "regarding":{"name":"p"},"note":"m","reason":"r","deprecatedCount":2,
      "reportingController":"c"})"));
  EXPECT_EQ(To(event, {"", "v1", "Event"}),
            json::With(arena_, core, "reportingInstance", json::Value::StringView("")));
}

TEST_F(ConversionTest, OnlyTheCoreGroupWritesThatAnEventHasNoReporter) {
  const json::Value core = Parse(R"({"apiVersion":"v1","kind":"Event",
      "reportingComponent":"","reportingInstance":""})");
  const json::Value event = To(core, {"events.k8s.io", "v1", "Event"});
  EXPECT_EQ(event, Parse(R"({"apiVersion":"events.k8s.io/v1","kind":"Event"})"));
  EXPECT_EQ(To(event, {"", "v1", "Event"}), core);
}

TEST_F(ConversionTest, AnAutoscalerOfV1HasACpuMetricInV2) {
  const json::Value old = Parse(R"({"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler",
      "metadata":{"name":"h"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}})");
  const json::Value now = To(old, v2_);
  EXPECT_EQ(json::ToString(now["spec"]["metrics"]),
            R"([{"type":"Resource","resource":{"name":"cpu","target":)"
            R"({"type":"Utilization","averageUtilization":50}}}])");
  EXPECT_EQ(To(now, v1_)["spec"], old["spec"]);
}

TEST_F(ConversionTest, OtherMetricsTravelInAnnotations) {
  const json::Value now = Parse(R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",
      "metadata":{"name":"h"},"spec":{"maxReplicas":3,"metrics":[{"type":"Pods","pods":{
      "metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1k"}}}],
      "behavior":{"scaleUp":{"selectPolicy":"Max"}}}})");
  const json::Value old = To(now, v1_);
  EXPECT_EQ(old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"].AsString(),
            R"([{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}])");
  EXPECT_FALSE(old["spec"].Has("metrics"));
  EXPECT_EQ(To(old, v2_)["spec"], now["spec"]);
}

TEST_F(ConversionTest, MetricsThatV1HasNoFieldForComeFirst) {
  const json::Value old = Parse(R"({"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler",
      "metadata":{"name":"h","annotations":{"autoscaling.alpha.kubernetes.io/metrics":
      "[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageUtilization\":7}}]"}},
      "spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}})");
  const json::Value metrics = To(old, v2_)["spec"]["metrics"];
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0]["resource"]["name"].AsString(), "memory");
  EXPECT_EQ(metrics[1]["resource"]["name"].AsString(), "cpu");
}

TEST_F(ConversionTest, TheBehaviorOfAnAutoscalerTravelsUnderGoNames) {
  const json::Value now = Parse(R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",
      "metadata":{"name":"h"},"spec":{"maxReplicas":3,"metrics":[],"behavior":{"scaleDown":{
      "selectPolicy":"Min","policies":[{"type":"Pods","value":4,"periodSeconds":15}]}}}})");
  const json::Value old = To(now, v1_);
  EXPECT_EQ(old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"].AsString(),
            R"({"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,)"
            R"("SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],)"
            R"("Tolerance":null}})");
  EXPECT_EQ(To(old, v2_)["spec"]["behavior"], now["spec"]["behavior"]);
}

TEST_F(ConversionTest, TheStatusOfAnAutoscalerGoesBothWays) {
  const json::Value old = Parse(R"({"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler",
      "metadata":{"name":"h"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50},
      "status":{"currentReplicas":0,"desiredReplicas":2,"currentCPUUtilizationPercentage":5}})");
  const json::Value now = To(old, v2_);
  EXPECT_EQ(
      json::ToString(now["status"]["currentMetrics"]),
      R"([{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":5}}}])");
  EXPECT_FALSE(now["status"].Has("currentReplicas"));
  const json::Value again = To(now, v1_);
  EXPECT_EQ(again["status"], old["status"]);
  EXPECT_EQ(again["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/current-metrics"]
                .AsString(),
            R"([{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":5,)"
            R"("currentAverageValue":"0"}}])");
}

TEST_F(ConversionTest, DeviceRequestsAreFlatInV1beta1) {
  const json::Value claim = Parse(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
      "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","count":1}}]}}})");
  const json::Value old = To(claim, {"resource.k8s.io", "v1beta1", "ResourceClaim"});
  EXPECT_EQ(json::ToString(old["spec"]["devices"]["requests"]),
            R"([{"name":"r","deviceClassName":"c","count":1}])");
  EXPECT_EQ(To(old, {"resource.k8s.io", "v1", "ResourceClaim"}), claim);
}

TEST_F(ConversionTest, OtherKindsAreRefused) {
  const auto refused =
      Convert(arena_, Parse(R"({"apiVersion":"v1","kind":"Pod"})"), {"apps", "v1", "Deployment"});
  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(IsConvertible({"", "v1", "Pod"}, {"apps", "v1", "Deployment"}));
}

}  // namespace
}  // namespace portcullis::api

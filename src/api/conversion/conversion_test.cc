// SPDX-License-Identifier: Apache-2.0

#include "api/conversion/conversion.h"

#include <gtest/gtest.h>

#include "base/strings.h"
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

TEST_F(ConversionTest, OnlyTheOtherGroupWritesThatAnEventWasNeverRepeated) {
  const json::Value core =
      Parse(R"({"apiVersion":"v1","kind":"Event","series":{"lastObservedTime":null},
      "reportingComponent":"","reportingInstance":""})");
  const json::Value event = To(core, {"events.k8s.io", "v1", "Event"});
  EXPECT_EQ(event, Parse(R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
      "series":{"count":0,"lastObservedTime":null}})"));
  EXPECT_EQ(To(event, {"", "v1", "Event"}), core);
}

TEST_F(ConversionTest, AnEmptySelectorOfADisruptionBudgetMeansTheOppositeInV1) {
  const GroupVersionKind v1{"policy", "v1", "PodDisruptionBudget"};
  const GroupVersionKind beta{"policy", "v1beta1", "PodDisruptionBudget"};
  const auto budget = [&](std::string_view version, std::string_view selector) {
    return Parse(base::StrCat(R"({"apiVersion":"policy/)", version,
                              R"(","kind":"PodDisruptionBudget","spec":{"selector":)", selector,
                              "}}"));
  };
  const auto marker = [](std::string_view op) {
    return base::StrCat(
        R"({"matchExpressions":[{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-)"
        R"(selector-match","operator":")",
        op, R"("}]})");
  };
  constexpr std::string_view kOther = R"({"matchLabels":{"a":"b"}})";
  EXPECT_EQ(To(budget("v1beta1", "{}"), v1), budget("v1", marker("Exists")));
  EXPECT_EQ(To(budget("v1", marker("Exists")), beta), budget("v1beta1", "{}"));
  EXPECT_EQ(To(budget("v1", "{}"), beta), budget("v1beta1", marker("DoesNotExist")));
  EXPECT_EQ(To(budget("v1beta1", marker("DoesNotExist")), v1), budget("v1", "{}"));
  EXPECT_EQ(To(budget("v1beta1", kOther), v1), budget("v1", kOther));
}

TEST_F(ConversionTest, EndpointsOfV1beta1HaveTheirZoneInTheTopology) {
  const json::Value slice =
      Parse(R"({"apiVersion":"discovery.k8s.io/v1beta1","kind":"EndpointSlice",
      "endpoints":[{"addresses":["10.0.0.1"],"nodeName":"n","topology":{"kubernetes.io/hostname":"n",
      "topology.kubernetes.io/zone":"z"}},{"addresses":["10.0.0.2"],"nodeName":"n",
      "topology":{"kubernetes.io/hostname":"m"}}]})");
  EXPECT_EQ(To(slice, {"discovery.k8s.io", "v1", "EndpointSlice"}),
            Parse(R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice",
      "endpoints":[{"addresses":["10.0.0.1"],"nodeName":"n","zone":"z"},{"addresses":["10.0.0.2"],
      "nodeName":"n","deprecatedTopology":{"kubernetes.io/hostname":"m"}}]})"));
}

TEST_F(ConversionTest, SharesThatAreNotGivenAreTheDefaultBeforeV1) {
  const GroupVersionKind v1{"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"};
  const auto level = [&](std::string_view version, std::string_view metadata,
                         std::string_view limited) {
    return Parse(base::StrCat(R"({"apiVersion":"flowcontrol.apiserver.k8s.io/)", version,
                              R"(","kind":"PriorityLevelConfiguration","metadata":)", metadata,
                              R"(,"spec":{"limited":)", limited, "}}"));
  };
  EXPECT_EQ(To(level("v1beta2", "{}", R"({"assuredConcurrencyShares":7})"), v1),
            level("v1", "{}", R"({"nominalConcurrencyShares":7})"));
  EXPECT_EQ(To(level("v1beta3", "{}", R"({"nominalConcurrencyShares":0})"), v1),
            level("v1", "{}", "{}"));
  EXPECT_EQ(
      To(level(
             "v1beta3",
             R"({"annotations":{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":""}})",
             R"({"nominalConcurrencyShares":0})"),
         v1),
      level("v1", "{}", R"({"nominalConcurrencyShares":0})"));
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

// docs/legacy.md: all four versions of one Deployment.
TEST_F(ConversionTest, LegacyDeploymentsSayInAFieldWhatLaterOnesAnnotate) {
  const json::Value extensions = Parse(R"({"apiVersion":"extensions/v1beta1","kind":"Deployment",
      "metadata":{"name":"d","annotations":{"a":"b"}},"spec":{"replicas":2,
      "rollbackTo":{"revision":3}}})");
  const json::Value apps = Parse(R"({"apiVersion":"apps/v1","kind":"Deployment",
      "metadata":{"name":"d","annotations":{"a":"b","deprecated.deployment.rollback.to":"3"}},
      "spec":{"replicas":2}})");
  const auto as = [&](json::Value object, std::string_view version) {
    return json::With(arena_, object, "apiVersion", json::String(arena_, version));
  };
  const std::pair<GroupVersionKind, json::Value> all[] = {
      {{"extensions", "v1beta1", "Deployment"}, extensions},
      {{"apps", "v1beta1", "Deployment"}, as(extensions, "apps/v1beta1")},
      {{"apps", "v1beta2", "Deployment"}, as(apps, "apps/v1beta2")},
      {{"apps", "v1", "Deployment"}, apps},
  };
  for (const auto& [from_kind, from] : all) {
    for (const auto& [kind, object] : all) {
      EXPECT_TRUE(IsConvertible(from_kind, kind));
      EXPECT_EQ(json::ToString(To(from, kind)), json::ToString(object));
    }
  }
}

TEST_F(ConversionTest, ARollbackToThePreviousRevisionIsAZero) {
  const json::Value old = Parse(R"({"apiVersion":"apps/v1beta1","kind":"Deployment",
      "metadata":{"name":"d"},"spec":{"rollbackTo":{}}})");
  const json::Value now = To(old, {"apps", "v1", "Deployment"});
  EXPECT_EQ(now["metadata"]["annotations"]["deprecated.deployment.rollback.to"].AsString(), "0");
  EXPECT_EQ(To(now, {"apps", "v1beta1", "Deployment"}), old);
  // Without the field an annotation of the same name goes, as in Kubernetes.
  const json::Value none = json::RemovePath(
      arena_, json::SetPath(arena_, now, {"apiVersion"}, json::String(arena_, "apps/v1beta1")),
      {"spec", "rollbackTo"});
  EXPECT_FALSE(To(none, {"apps", "v1", "Deployment"})["metadata"]["annotations"].Has(
      "deprecated.deployment.rollback.to"));
}

TEST_F(ConversionTest, AnAnnotationThatIsNoNumberIsNoRevision) {
  const auto with = [&](std::string_view kind, std::string_view key, std::string_view text) {
    return Parse(base::StrCat(R"({"apiVersion":"apps/v1","kind":")", kind,
                              R"(","metadata":{"annotations":{")", key, R"(":")", text, R"("}}})"));
  };
  constexpr std::string_view kRollback = "deprecated.deployment.rollback.to";
  const GroupVersionKind deployment{"apps", "v1", "Deployment"};
  const json::Value odd = with("Deployment", kRollback, "abc");
  constexpr std::string_view kText =
      "failed to parse annotation[deprecated.deployment.rollback.to]=abc as int64: "
      "strconv.ParseInt: parsing \"abc\": invalid syntax";
  EXPECT_EQ(Convert(arena_, odd, {"extensions", "v1beta1", "Deployment"}).status().message(),
            kText);
  EXPECT_EQ(ThroughInternal(arena_, odd, deployment).status().message(), kText);
  const auto kept = [&](std::string_view text) {
    return ThroughInternal(arena_, with("Deployment", kRollback, text), deployment)
        .value()["metadata"]["annotations"][kRollback];
  };
  EXPECT_EQ(kept("+03").AsString(), "3");
  EXPECT_TRUE(kept("").is_null());
  const json::Value daemons = with("DaemonSet", "deprecated.daemonset.template.generation", "x");
  EXPECT_EQ(Convert(arena_, daemons, {"extensions", "v1beta1", "DaemonSet"}).status().message(),
            "strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_FALSE(ThroughInternal(arena_, daemons, {"apps", "v1", "DaemonSet"}).ok());
}

TEST_F(ConversionTest, IngressesOfV1beta1NameServicesInPlace) {
  const json::Value old = Parse(R"({"apiVersion":"extensions/v1beta1","kind":"Ingress",
      "metadata":{"name":"i"},"spec":{"rules":[{"http":{"paths":[
      {"path":"/a","backend":{"serviceName":"s","servicePort":"http"}},
      {"path":"/b","backend":{"servicePort":0,"resource":{"kind":"K","name":"n"}}}]}}],
      "backend":{"serviceName":"f","servicePort":80}}})");
  const json::Value now = To(old, {"networking.k8s.io", "v1", "Ingress"});
  EXPECT_EQ(json::ToString(now["spec"]["defaultBackend"]),
            R"({"service":{"name":"f","port":{"number":80}}})");
  const json::Value paths = now["spec"]["rules"][std::size_t{0}]["http"]["paths"];
  EXPECT_EQ(json::ToString(paths[std::size_t{0}]["backend"]),
            R"({"service":{"name":"s","port":{"name":"http"}}})");
  EXPECT_EQ(json::ToString(paths[1]["backend"]), R"({"resource":{"kind":"K","name":"n"}})");
  EXPECT_EQ(To(now, {"extensions", "v1beta1", "Ingress"}), old);
  EXPECT_EQ(To(old, {"networking.k8s.io", "v1beta1", "Ingress"})["spec"], old["spec"]);
}

TEST_F(ConversionTest, OtherKindsAreRefused) {
  const auto refused =
      Convert(arena_, Parse(R"({"apiVersion":"v1","kind":"Pod"})"), {"apps", "v1", "Deployment"});
  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(IsConvertible({"", "v1", "Pod"}, {"apps", "v1", "Deployment"}));
}

}  // namespace
}  // namespace portcullis::api

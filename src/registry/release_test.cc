// SPDX-License-Identifier: Apache-2.0

// What strategies do otherwise in the releases before v1.36.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "json/writer.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class OlderReleases : public testing::KindTest {
 protected:
  Context ContextOf(std::string_view version) {
    SetRelease(version);
    return KindTest::ContextOf();
  }
  static std::unique_ptr<Strategy> StrategyOf(std::string_view group, std::string_view resource) {
    static Kind row;
    row = *KindTable::BuiltIn().Find(group, resource);
    row.traits.has_status = true;
    return row.make(row);
  }
  std::string Errors(std::string_view version, std::string_view group, std::string_view resource,
                     std::string_view object, std::string_view old = {}) {
    SetRelease(version);
    return KindTest::Errors(group, resource, object, old);
  }
};

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(OlderReleases, NamesOfServicesBeginWithALetter) {
  const auto services = StrategyOf("", "services");
  EXPECT_TRUE(services->CheckName(ContextOf("1.36"), "1a", false).empty());
  const auto texts = services->CheckName(ContextOf("1.35"), "1a", false);
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts[0].starts_with("a DNS-1035 label must consist of")) << texts[0];
}

TEST_F(OlderReleases, BackendsBeginWithALetterUnlessOneWasStored) {
  constexpr std::string_view kIngress =
      R"({"spec":{"defaultBackend":{"service":{"name":"1a","port":{"number":80}}}}})";
  constexpr std::string_view kOther =
      R"({"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":80}}}}})";
  EXPECT_EQ(Errors("1.36", "networking.k8s.io", "ingresses", kIngress), "");
  EXPECT_TRUE(Has(Errors("1.35", "networking.k8s.io", "ingresses", kIngress), "DNS-1035"));
  EXPECT_TRUE(Has(Errors("1.35", "networking.k8s.io", "ingresses", kIngress, kOther), "DNS-1035"));
  EXPECT_EQ(Errors("1.35", "networking.k8s.io", "ingresses", kIngress, kIngress), "");
}

TEST_F(OlderReleases, TrafficIsPreferredCloseOnly) {
  constexpr std::string_view kService = R"({"spec":{"trafficDistribution":"PreferSameNode"}})";
  EXPECT_FALSE(Has(Errors("1.34", "", "services", kService), "trafficDistribution"));
  EXPECT_TRUE(Has(Errors("1.33", "", "services", kService),
                  "spec.trafficDistribution: Unsupported value: \"PreferSameNode\": supported "
                  "values: \"PreferClose\"\n"));
}

TEST_F(OlderReleases, KeysOfSpreadConstraintsStayOutOfTheSelector) {
  constexpr std::string_view kPod =
      R"({"metadata":{"labels":{"k":"v"}},"spec":{"topologySpreadConstraints":[)"
      R"({"labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["k"]}]}})";
  const auto pods = StrategyOf("", "pods");
  const auto selector = [&](std::string_view version) {
    const json::Value pod = pods->PrepareForCreate(ContextOf(version), Parse(kPod));
    return json::ToString(
        pod["spec"]["topologySpreadConstraints"][std::size_t{0}]["labelSelector"]);
  };
  EXPECT_TRUE(Has(selector("1.34"), "matchExpressions"));
  EXPECT_EQ(selector("1.33"), R"({"matchLabels":{"a":"b"}})");
}

TEST_F(OlderReleases, ContainersRestartAllOthersSince136) {
  constexpr std::string_view kPod =
      R"({"spec":{"containers":[{"name":"c","restartPolicy":"Never","restartPolicyRules":[)"
      R"({"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[1]}}]}]}})";
  EXPECT_FALSE(Has(Errors("1.36", "", "pods", kPod), "action"));
  EXPECT_TRUE(Has(Errors("1.35", "", "pods", kPod),
                  "action: Unsupported value: \"RestartAllContainers\": supported values: "
                  "\"Restart\"\n"));
}

TEST_F(OlderReleases, SourcesOfVariablesHaveNoFiles) {
  constexpr std::string_view kPod =
      R"({"spec":{"containers":[{"name":"c","env":[{"name":"e","valueFrom":{}}]}]}})";
  EXPECT_TRUE(Has(Errors("1.36", "", "pods", kPod), "`secretKeyRef` or `fileKeyRef`"));
  EXPECT_TRUE(Has(Errors("1.34", "", "pods", kPod), "`configMapKeyRef` or `secretKeyRef`\n"));
}

TEST_F(OlderReleases, ClientsWriteTheStatusOfServiceCidrs) {
  constexpr std::string_view kCidr = R"({"spec":{},"status":{"conditions":[{"type":"t"}]}})";
  const auto cidrs = StrategyOf("networking.k8s.io", "servicecidrs");
  EXPECT_EQ(json::ToString(cidrs->PrepareForCreate(ContextOf("1.36"), Parse(kCidr))),
            R"({"spec":{},"status":{}})");
  EXPECT_EQ(cidrs->ResetFields(ContextOf("1.36")), std::vector<std::string_view>{"status"});
  EXPECT_EQ(json::ToString(cidrs->PrepareForCreate(ContextOf("1.35"), Parse(kCidr))), kCidr);
  EXPECT_TRUE(cidrs->ResetFields(ContextOf("1.35")).empty());
}

TEST_F(OlderReleases, ADriverOfANodeKeepsItsCount) {
  constexpr std::string_view kOld =
      R"({"spec":{"drivers":[{"name":"d","nodeID":"n","allocatable":{"count":1}}]}})";
  constexpr std::string_view kNew =
      R"({"spec":{"drivers":[{"name":"d","nodeID":"n","allocatable":{"count":2}}]}})";
  EXPECT_EQ(Errors("1.36", "storage.k8s.io", "csinodes", kNew, kOld), "");
  EXPECT_TRUE(Has(Errors("1.34", "storage.k8s.io", "csinodes", kNew, kOld), "field is immutable"));
  EXPECT_EQ(Errors("1.34", "storage.k8s.io", "csinodes", kOld, kOld), "");
}

TEST_F(OlderReleases, StatusesOfJobsAreChecked) {
  constexpr std::string_view kJob = R"({"spec":{"completionMode":"NonIndexed"}})";
  constexpr std::string_view kFailed =
      R"({"spec":{"completionMode":"NonIndexed"},"status":{"active":1,"conditions":[)"
      R"({"type":"Failed","status":"True"}]}})";
  const auto errors = [&](std::string_view version) {
    Context context = ContextOf(version);
    context.subresource = "status";
    api::FieldErrors found;
    StrategyOf("batch", "jobs")->ValidateUpdate(context, Parse(kFailed), Parse(kJob), found);
    return found.size();
  };
  EXPECT_EQ(errors("1.31"), 0U);  // no others than Kubernetes' controller write them
  EXPECT_EQ(errors("1.34"), 3U);
}

TEST_F(OlderReleases, ClassesOfAttributesStay) {
  constexpr std::string_view kOld = R"({"spec":{"volumeAttributesClassName":"a"}})";
  constexpr std::string_view kNew = R"({"spec":{"volumeAttributesClassName":"b"}})";
  constexpr std::string_view kText = "when the VolumeAttributesClass feature gate is disabled";
  for (const std::string_view resource : {"persistentvolumes", "persistentvolumeclaims"}) {
    EXPECT_TRUE(Has(Errors("1.33", "", resource, kNew, kOld), kText)) << resource;
    EXPECT_FALSE(Has(Errors("1.34", "", resource, kNew, kOld), kText)) << resource;
  }
}

}  // namespace
}  // namespace portcullis::registry

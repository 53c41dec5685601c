// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "json/writer.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class Networking : public testing::KindTest {
 protected:
  std::string Errors(std::string_view resource, std::string_view object,
                     std::string_view old = {}) {
    return KindTest::Errors("networking.k8s.io", resource, object, old);
  }
};

TEST_F(Networking, ABackendIsAServiceOrAResource) {
  EXPECT_EQ(Errors("ingresses", R"({"spec":{"defaultBackend":{}}})"),
            "spec.defaultBackend: Invalid value: \"\": resource or service backend is required\n");
}

TEST_F(Networking, AnEndBeforeThePortIsToldWithThePort) {
  EXPECT_EQ(
      Errors("networkpolicies",
             R"({"spec":{"podSelector":{},"egress":[{"ports":[{"port":80,"endPort":79}]}]}})"),
      "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to "
      "`port`\n");
}

TEST_F(Networking, ControllersOfClassesAreDomainPrefixedPaths) {
  EXPECT_EQ(Errors("ingressclasses", R"({"spec":{"controller":"acme.io/f o"}})"),
            "spec.controller: Invalid value: \"f o\": Invalid path (regex used for validation is "
            "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')\n");
  EXPECT_EQ(Errors("ingressclasses", R"({"spec":{"controller":"acme.io/"}})"),
            "spec.controller: Invalid value: \"acme.io/\": must be a domain-prefixed path (such as "
            "\"acme.io/foo\")\n");
}

TEST_F(Networking, NetworksOfOneFamilyAreRefused) {
  EXPECT_EQ(Errors("servicecidrs", R"({"spec":{"cidrs":["10.0.0.0/24","10.1.0.0/24"]}})"),
            "spec.cidrs: Invalid value: [\"10.0.0.0/24\",\"10.1.0.0/24\"]: may specify "
            "no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64\n");
}

TEST_F(Networking, NamesOfAddressesAreAddressesAndKeepTheirParent) {
  const Kind* kind = KindTable::BuiltIn().Find("networking.k8s.io", "ipaddresses");
  const auto strategy = kind->make(*kind);
  const Context context = ContextOf();
  EXPECT_TRUE(strategy->CheckName(context, "2001:db8::1", false).empty());
  EXPECT_EQ(strategy->CheckName(context, "2001:DB8::1", false),
            std::vector<std::string>{"must be in canonical form (\"2001:db8::1\")"});
  EXPECT_EQ(Errors("ipaddresses", R"({"spec":{"parentRef":{"resource":"services","name":"b"}}})",
                   R"({"spec":{"parentRef":{"resource":"services","name":"a"}}})"),
            "spec.parentRef: Invalid value: {\"Group\":\"\",\"Resource\":\"services\","
            "\"Namespace\":\"\",\"Name\":\"b\"}: field is immutable\n");
}

TEST_F(Networking, AutoscalersKeepNothingThatTheOtherVersionSaysInAnnotations) {
  const Kind* kind = KindTable::BuiltIn().Find("autoscaling", "horizontalpodautoscalers");
  const auto strategy = kind->make(*kind);
  const Context context = ContextOf();
  const json::Value stated = Parse(R"({"metadata":{"annotations":{
      "autoscaling.alpha.kubernetes.io/metrics":"[]","a":"b",
      "autoscaling.alpha.kubernetes.io/conditions":"[]"}},"spec":{}})");
  for (const json::Value written : {strategy->PrepareForCreate(context, stated),
                                    strategy->PrepareForUpdate(context, stated, Parse("{}"))}) {
    EXPECT_EQ(json::ToString(written["metadata"]["annotations"]), R"({"a":"b"})");
  }
}

TEST_F(Networking, UnknownMetricsAreToldTwice) {
  const std::string once =
      "spec.metrics[0].type: Unsupported value: \"X\": supported values: \"ContainerResource\", "
      "\"External\", \"Object\", \"Pods\", \"Resource\"\n";
  EXPECT_EQ(
      KindTest::Errors(
          "autoscaling", "horizontalpodautoscalers",
          R"({"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"a/v1","kind":"K","name":"n"},)"
          R"("metrics":[{"type":"X"}],"behavior":{"scaleUp":{"tolerance":"-1",)"
          R"("policies":[{"type":"Pods","value":1,"periodSeconds":1}]}}}})"),
      once + once +
          "spec.behavior.scaleUp.tolerance: Invalid value: \"-1\": must be greater than or "
          "equal to 0\n");
}

}  // namespace
}  // namespace portcullis::registry

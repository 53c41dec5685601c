// SPDX-License-Identifier: Apache-2.0

// What Kubernetes says of wrong statuses (pkg/apis/*/validation, Validate…StatusUpdate), and a few
// rules of kinds that have no test of their own.
#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "json/writer.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class KindChecks : public testing::KindTest {
 protected:
  // Of an object that had nothing before.
  std::string OfStatus(std::string_view group, std::string_view resource, std::string_view status) {
    return Errors(group, resource, base::StrCat(R"({"status":)", status, "}"), "{}", "status");
  }
};

// What of the metadata a write of the status changes.
TEST_F(KindChecks, MetadataInWritesOfTheStatus) {
  const auto written = [&](std::string_view group, std::string_view resource) {
    Kind row = *KindTable::BuiltIn().Find(group, resource);
    row.traits.has_status = true;
    const DefaultStrategy strategy(row);
    const Context context = ContextOf("status");
    const json::Value result = strategy.PrepareForUpdate(
        context,
        Parse(R"({"metadata":{"labels":{"l":"2"},"annotations":{"a":"2"},"finalizers":["x/y"]},
                  "spec":{"s":2},"status":{"t":2}})"),
        Parse(R"({"metadata":{"labels":{"l":"1"},"annotations":{"a":"1"}},
                  "spec":{"s":1},"status":{"t":1}})"));
    return json::ToString(result, {.sort_keys = true});
  };
  EXPECT_EQ(written("apps", "replicasets"),
            R"({"metadata":{"annotations":{"a":"2"},"finalizers":["x/y"],"labels":{"l":"2"}},)"
            R"("spec":{"s":1},"status":{"t":2}})");
  EXPECT_EQ(written("apps", "deployments"),
            R"({"metadata":{"annotations":{"a":"2"},"finalizers":["x/y"],"labels":{"l":"1"}},)"
            R"("spec":{"s":1},"status":{"t":2}})");
  EXPECT_EQ(written("flowcontrol.apiserver.k8s.io", "flowschemas"),
            R"({"metadata":{"annotations":{"a":"1"},"labels":{"l":"1"}},"spec":{"s":1},)"
            R"("status":{"t":2}})");
}

TEST_F(KindChecks, StatusesOfNodes) {
  EXPECT_EQ(OfStatus("", "nodes", R"({"capacity":{"pods":"110","cpu":"500m"}})"), "");
  EXPECT_EQ(OfStatus("", "nodes", R"({"capacity":{"cpu":"-1"},"allocatable":{"pods":"500m"}})"),
            "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0\n"
            "status.allocatable.pods: Invalid value: \"500m\": must be an integer\n");
  EXPECT_EQ(OfStatus("", "nodes",
                     R"({"addresses":[{"type":"Hostname","address":"n"},
                                      {"type":"InternalIP","address":"n"},
                                      {"type":"Hostname","address":"n"}]})"),
            "status.addresses[2]: Duplicate value: {\"Type\":\"Hostname\",\"Address\":\"n\"}\n");
}

TEST_F(KindChecks, NodesHaveOneNetworkOfEachFamily) {
  EXPECT_EQ(Errors("", "nodes", R"({"spec":{"podCIDRs":["10.0.0.0/24","10.0.0.0/24"]}})"),
            "spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.0.0.0/24\"]: may specify no more "
            "than one CIDR for each IP family\n");
  EXPECT_EQ(Errors("", "nodes", R"({"spec":{"podCIDRs":["10.0.0.0/24","fd00::/64"]}})"), "");
}

TEST_F(KindChecks, StatusesOfClaims) {
  EXPECT_EQ(OfStatus("", "persistentvolumeclaims", R"({"capacity":{"storage":"1Gi"}})"), "");
  EXPECT_EQ(OfStatus("", "persistentvolumeclaims", R"({"capacity":{"storage":"-1"}})"),
            "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity\n");
  EXPECT_EQ(OfStatus("", "persistentvolumeclaims",
                     R"({"allocatedResources":{"cpu":"1"},
                         "allocatedResourceStatuses":{"storage":"Odd"}})"),
            "status.allocatedResourceStatuses: Unsupported value: \"storage\": supported values: "
            "\"ControllerResizeInProgress\", \"ControllerResizeInfeasible\", "
            "\"NodeResizeInProgress\", \"NodeResizeInfeasible\", \"NodeResizePending\"\n"
            "status.allocatedResources: Unsupported value: \"cpu\": supported values: "
            "\"storage\"\n");
}

TEST_F(KindChecks, StatusesOfOtherKinds) {
  EXPECT_EQ(OfStatus("autoscaling", "horizontalpodautoscalers",
                     R"({"currentReplicas":-1,"desiredReplicas":2})"),
            "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0\n");
  EXPECT_EQ(OfStatus("flowcontrol.apiserver.k8s.io", "flowschemas",
                     R"({"conditions":[{"type":"A"},{"type":"A"},{"type":""}]})"),
            "status.conditions[1].type: Duplicate value: \"A\"\n"
            "status.conditions[2].type: Required value\n");
  EXPECT_EQ(OfStatus("apiregistration.k8s.io", "apiservices",
                     R"({"conditions":[{"type":"Available","status":"Yes"}]})"),
            "status.conditions[0].status: Unsupported value: \"Yes\": supported values: \"True\", "
            "\"False\", \"Unknown\"\n");
  EXPECT_EQ(OfStatus("networking.k8s.io", "ingresses",
                     R"({"loadBalancer":{"ingress":[{"ip":"1.2.3"},{"hostname":"1.2.3.4"}]}})"),
            "status.loadBalancer.ingress[0].ip: Invalid value: \"1.2.3\": must be a valid IP "
            "address, (e.g. 10.9.8.7 or 2001:db8::ffff)\n"
            "status.loadBalancer.ingress[1].hostname: Invalid value: \"1.2.3.4\": must be a DNS "
            "name, not an IP address\n");
}

TEST_F(KindChecks, Leases) {
  const auto of = [&](std::string_view spec) {
    return Errors("coordination.k8s.io", "leases", base::StrCat(R"({"spec":)", spec, "}"));
  };
  EXPECT_EQ(of(R"({"strategy":"OldestEmulationVersion","preferredHolder":"a"})"), "");
  EXPECT_EQ(of(R"({"strategy":"example.com/mine"})"), "");
  EXPECT_EQ(of(R"({"strategy":"Newest"})"),
            "spec.strategy.strategy: Unsupported value: \"Newest\": supported values: "
            "\"OldestEmulationVersion\"\n");
  EXPECT_EQ(of(R"({"preferredHolder":"a"})"),
            "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined\n");
}

TEST_F(KindChecks, PodTemplates) {
  EXPECT_EQ(Errors("", "podtemplates",
                   R"({"template":{"spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst",
                       "terminationGracePeriodSeconds":30,"containers":[]}}})"),
            "template.spec.containers: Required value\n");
}

TEST_F(KindChecks, AttributesOfClaimsStay) {
  const auto of = [&](std::string_view attributes) {
    const auto claim = [](std::string_view members) {
      return base::StrCat(
          R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{)",
          R"("storage":"1Gi"}})", members,
          R"(},"status":{"phase":"Bound","currentVolumeAttributesClassName":"gold"}})");
    };
    return Errors("", "persistentvolumeclaims", claim(attributes),
                  claim(R"(,"volumeAttributesClassName":"gold")"));
  };
  EXPECT_EQ(of(R"(,"volumeAttributesClassName":"silver")"), "");
  EXPECT_EQ(of(R"(,"volumeAttributesClassName":"")"),
            "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when "
            "status.currentVolumeAttributesClassName is not nil\n");
}

TEST_F(KindChecks, FamiliesOfServicesStay) {
  const auto service = [](std::string_view members) {
    return base::StrCat(R"({"spec":{"type":"ClusterIP","sessionAffinity":"None",)",
                        R"("internalTrafficPolicy":"Cluster","ports":[{"port":80,)",
                        R"("protocol":"TCP","targetPort":80}],)", members, "}}");
  };
  const std::string before = service(
      R"("clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],
         "ipFamilyPolicy":"SingleStack")");
  EXPECT_EQ(Errors("", "services", before, before), "");
  EXPECT_EQ(Errors("", "services", service(R"("clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"],
                              "ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack")"),
                   before),
            "spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set\n");
  // Families are sought before anything else is looked at.
  EXPECT_EQ(Errors("", "services", service(R"("clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],
                              "ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack")"),
                   before),
            "spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as "
            "indicated by `ipFamilies[0]`\n");
}

TEST_F(KindChecks, ClaimTemplatesAndServicesOfStatefulSets) {
  const auto set = [](std::string_view members) {
    return base::StrCat(
        R"({"spec":{"podManagementPolicy":"OrderedReady","updateStrategy":{"type":"OnDelete"},)",
        R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)",
        R"("spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst","containers":[{"name":"c",)",
        R"("image":"i","imagePullPolicy":"Always","terminationMessagePolicy":"File"}],)",
        R"("terminationGracePeriodSeconds":30}},)", members, "}}");
  };
  const std::string wrong =
      set(R"("serviceName":"a.b","volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{
             "resources":{"requests":{"storage":"1Gi"}}}}])");
  EXPECT_EQ(Errors("apps", "statefulsets", wrong),
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode "
            "is required\n"
            "spec.serviceName: Invalid value: \"a.b\": must not contain dots\n");
  EXPECT_EQ(Errors("apps", "statefulsets", wrong, wrong), "");
}

TEST_F(KindChecks, TheTemplateOfAStatefulSetThatIsNotValidAnyMoreIsSkipped) {
  const auto set = [](int replicas, std::string_view image, std::string_view label) {
    return base::StrCat(
        R"({"spec":{"podManagementPolicy":"OrderedReady","updateStrategy":{"type":"OnDelete"},)",
        R"("selector":{"matchLabels":{"a":"b"}},"replicas":)", std::to_string(replicas),
        R"(,"template":{"metadata":{"labels":{"a":"b","c":")", label, R"("}},"spec":{)",
        R"("restartPolicy":"Always","dnsPolicy":"ClusterFirst","terminationGracePeriodSeconds":30,)",
        R"("containers":[{"name":"c","image":")", image, R"(","imagePullPolicy":"Always",)",
        R"("terminationMessagePolicy":"File"}]}}}})");
  };
  const std::string_view no_image = "spec.template.spec.containers[0].image: Required value\n";
  EXPECT_EQ(Errors("apps", "statefulsets", set(1, "", "d"), set(1, "i", "d")), no_image);
  EXPECT_EQ(Errors("apps", "statefulsets", set(1, "", "d"), set(1, "", "d")), "");
  EXPECT_EQ(Errors("apps", "statefulsets", set(1, "", "d"), set(-1, "i", "d")), "");
  // Its labels are looked at once more in any case.
  const std::string labels = Errors("apps", "statefulsets", set(1, "", "-"), set(-1, "i", "d"));
  EXPECT_TRUE(labels.starts_with("spec.template.labels: Invalid value: \"-\"")) << labels;
  EXPECT_EQ(labels.find("image"), std::string::npos);
}

TEST_F(KindChecks, RequestPoliciesOfCapacities) {
  const auto of = [&](std::string_view policy) {
    std::string errors = Errors(
        "resource.k8s.io", "resourceslices",
        base::StrCat(R"({"spec":{"driver":"d.example.com","nodeName":"n","pool":{"name":"p",)",
                     R"("resourceSliceCount":1},"devices":[{"name":"x",)",
                     R"("allowMultipleAllocations":true,"capacity":{"m":{"value":"10Gi",)",
                     R"("requestPolicy":)", policy, "}}}]}}"));
    return base::ReplaceAll(errors, "spec.devices[0].capacity[m].requestPolicy", "P");
  };
  const std::pair<std::string_view, std::string_view> facts[] = {
      {"{}", ""},
      {R"({"default":"1Gi","validValues":["1Gi","2Gi"]})", ""},
      {R"({"default":"1Gi","validRange":{"min":"1Gi","step":"1Gi"}})", ""},
      {R"({"validValues":["1Gi"]})",
       "P.default: Required value: required when validValues is defined\n"},
      {R"({"default":"1Gi","validRange":{}})",
       "P.validRange.min: Required value: required when validRange is defined\n"},
      {R"({"default":"1Gi","validValues":["1Gi"],"validRange":{"min":"1Gi"}})",
       "P: Forbidden: exactly one policy can be specified, cannot specify \"validValues\" and "
       "\"validRange\" at the same time\n"},
      {R"({"default":"1Gi","validValues":["20Gi"]})",
       "P.validValues[0]: Invalid value: \"20Gi\": option is larger than capacity value: 10Gi\n"
       "P.validValues: Invalid value: \"1Gi\": default value is not valid according to the "
       "requestPolicy\n"},
      {R"({"default":"1Gi","validValues":["1Gi","1073741824"]})",
       "P.validValues[1]: Duplicate value: \"1073741824\"\n"},
      {R"({"default":"1Gi","validValues":["2Gi","1Gi"]})",
       "P.validValues[1]: Invalid value: \"1Gi\": values must be sorted in ascending order\n"},
      {R"({"default":"2Gi","validRange":{"min":"20Gi","max":"1Gi"}})",
       "P.validRange.min: Invalid value: \"20Gi\": min is larger than capacity value: 10Gi\n"
       "P.validRange.default: Invalid value: \"2Gi\": default is less than min: 20Gi\n"
       "P.validRange.max: Invalid value: \"20Gi\": min is larger than max: 1Gi\n"
       "P.validRange.default: Invalid value: \"2Gi\": default is more than max: 1Gi\n"},
      {R"({"default":"2Gi","validRange":{"min":"1Gi","max":"10Gi","step":"2Gi"}})",
       "P.validRange.step: Invalid value: \"2Gi\": value is not a multiple of a given step (2Gi) "
       "from (1Gi)\n"
       "P.validRange.step: Invalid value: \"10Gi\": value is not a multiple of a given step (2Gi) "
       "from (1Gi)\n"},
      {R"({"default":"1Gi","validRange":{"min":"1Gi","step":"10Gi"}})",
       "P.validRange.step: Invalid value: \"10Gi\": one step 11Gi is larger than capacity value: "
       "10Gi\n"},
  };
  for (const auto& [policy, errors] : facts) EXPECT_EQ(of(policy), errors) << policy;
}

TEST_F(KindChecks, SelectorsOfDevicesCannotCostTooMuch) {
  const auto of = [&](std::string_view expression) {
    return Errors(
        "resource.k8s.io", "deviceclasses",
        base::StrCat(R"({"spec":{"selectors":[{"cel":{"expression":")", expression, R"("}}]}})"));
  };
  EXPECT_EQ(of("device.driver == 'a' && device.attributes['a'].b > 1"), "");
  EXPECT_EQ(of("device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, "
               "device.attributes.all(d, a + b + c + d != ''))))"),
            "spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit\n");
}

TEST_F(KindChecks, WhatWasDecidedOfARequestStays) {
  constexpr std::string_view kApproved =
      R"({"status":{"conditions":[{"type":"Approved","status":"True"}]}})";
  const auto of = [&](std::string_view object, std::string_view subresource) {
    return Errors("certificates.k8s.io", "certificatesigningrequests", object, kApproved,
                  subresource);
  };
  EXPECT_EQ(of(R"({"status":{"conditions":[{"type":"Approved","status":"False"},
                   {"type":"Denied","status":"True"},{"type":"X","status":"Y"}]}})",
               "approval"),
            "status.conditions[0].status: Unsupported value: \"False\": supported values: "
            "\"True\"\n"
            "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are "
            "mutually exclusive\n"
            "status.conditions[2].status: Unsupported value: \"Y\": supported values: \"False\", "
            "\"True\", \"Unknown\"\n");
  EXPECT_EQ(of(R"({"status":{"conditions":[{"type":"Denied","status":"True"}]}})", "status"),
            "status.conditions: Forbidden: updates may not remove a condition of type "
            "\"Approved\"\n"
            "status.conditions: Forbidden: updates may not add a condition of type \"Denied\"\n");
  EXPECT_EQ(Errors("certificates.k8s.io", "certificatesigningrequests", "{}",
                   R"({"status":{"certificate":"Zm9v"}})", "status"),
            "status.certificate: Forbidden: updates may not modify existing certificate content\n");
}

TEST_F(KindChecks, FinalizersOfNamespacesAreQualifiedOrStandard) {
  constexpr std::string_view kWrong =
      R"({"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes","bad"]}})";
  EXPECT_EQ(
      Errors("", "namespaces", kWrong),
      "spec.finalizers: Invalid value: \"bad\": name is neither a standard finalizer name nor "
      "is it fully qualified\n");
  EXPECT_EQ(Errors("", "namespaces", kWrong, kWrong, "finalize"),
            "spec.finalizers[1]: Invalid value: \"bad\": name is neither a standard finalizer name "
            "nor is it fully qualified\n");
}

TEST_F(KindChecks, WhatEventsAreAboutIsShownAsGoDoes) {
  resource_.group = "events.k8s.io";
  const auto about = [](std::string_view name) {
    return base::StrCat(
        R"({"metadata":{"namespace":"default","resourceVersion":"1"},"type":"Normal",
        "regarding":{"kind":"Pod","name":")",
        name, R"("}})");
  };
  EXPECT_EQ(Errors("", "events", about("b"), about("a")),
            "involvedObject: Invalid value: {\"Kind\":\"Pod\",\"Namespace\":\"\",\"Name\":\"b\","
            "\"UID\":\"\",\"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field "
            "is immutable\n");
}

}  // namespace
}  // namespace portcullis::registry

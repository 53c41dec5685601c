// SPDX-License-Identifier: Apache-2.0

// What is wrong with pods, in Kubernetes' words (pkg/apis/core/validation).
#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "base/testing/fake_clock.h"
#include "json/reader.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

using Texts = std::vector<std::string>;

class PodValidationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    catalog_ = new auto(api::catalog::Catalog::BuiltIn({}).value());
    defaulter_ = new auto(api::schema::Defaulter::BuiltIn().value());
  }
  static void TearDownTestSuite() {
    delete catalog_;
    delete defaulter_;
  }

  json::Value Read(std::string_view text) {
    const auto input = json::Parse(arena_, text);
    EXPECT_TRUE(input.ok()) << text;
    const auto decoded = api::schema::Decode(arena_, *(*catalog_)->FindSchema(kKind), *input);
    EXPECT_TRUE(decoded.ok()) << text;
    return (*defaulter_)->Apply(arena_, kKind, *decoded);
  }

  Context MakeContext(std::string_view subresource = {}) {
    return {.arena = arena_,
            .resource = kResource,
            .kind = kKind,
            .subresource = subresource,
            .name = "p",
            .name_space = "n",
            .user = user_,
            .clock = clock_,
            .catalog = catalog_->get()};
  }

  static DefaultStrategy Pods() { return DefaultStrategy(*KindTable::BuiltIn().Find("", "pods")); }

  static Texts ToTexts(const api::FieldErrors& errors) {
    Texts texts;
    for (const api::FieldError& error : errors) texts.push_back(error.ToString());
    return texts;
  }

  // A pod whose spec has these members besides one good container.
  Texts Spec(const std::string& members) {
    api::FieldErrors errors;
    Pods().Validate(MakeContext(), Read(Pod(members)), errors);
    return ToTexts(errors);
  }
  // A pod whose only container has these members besides name and image.
  Texts Container(const std::string& members, const std::string& spec = "\"nodeName\":\"n\"") {
    api::FieldErrors errors;
    Pods().Validate(MakeContext(),
                    Read(R"({"metadata":{"name":"p","namespace":"n"},"spec":{)" + spec +
                         R"(,"containers":[{"name":"c","image":"i",)" + members + "}]}}"),
                    errors);
    return ToTexts(errors);
  }
  // What --allow-privileged=false makes of a pod.
  Texts Unprivileged(const std::string& pod) {
    api::FieldErrors errors;
    Context context = MakeContext();
    context.allow_privileged = false;
    Pods().Validate(context, Read(pod), errors);
    return ToTexts(errors);
  }
  Texts Update(const std::string& before, const std::string& after) {
    api::FieldErrors errors;
    Pods().ValidateUpdate(MakeContext(), Read(Pod(after)), Read(Pod(before)), errors);
    return ToTexts(errors);
  }

  static std::string Pod(const std::string& members) {
    return R"({"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}])" +
           (members.empty() ? "" : "," + members) + "}}";
  }

  static inline const api::GroupVersionKind kKind{"", "v1", "Pod"};
  static inline const api::GroupVersionResource kResource{"", "v1", "pods"};
  static std::shared_ptr<const api::catalog::Catalog>* catalog_;
  static std::shared_ptr<const api::schema::Defaulter>* defaulter_;
  json::Arena arena_;
  api::UserInfo user_;
  base::FakeClock clock_;
};
std::shared_ptr<const api::catalog::Catalog>* PodValidationTest::catalog_ = nullptr;
std::shared_ptr<const api::schema::Defaulter>* PodValidationTest::defaulter_ = nullptr;

TEST_F(PodValidationTest, RefusesPrivilegedContainersWhereTheFlagSaysSo) {
  const std::string metadata = R"({"metadata":{"name":"p","namespace":"n"},"spec":{)";
  const std::string privileged =
      R"([{"name":"c","image":"i","securityContext":{"privileged":true}}])";
  EXPECT_EQ(
      Unprivileged(metadata + R"("containers":)" + privileged + R"(,"initContainers":)" +
                   R"([{"name":"d","image":"i","securityContext":{"privileged":true}}]}})"),
      (Texts{"spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster "
             "policy",
             "spec.initContainers[0].securityContext.privileged: Forbidden: disallowed by "
             "cluster policy"}));
  EXPECT_EQ(Unprivileged(metadata + R"("hostNetwork":true,"securityContext":{"windowsOptions":)" +
                         R"({"hostProcess":true}},"containers":[{"name":"c","image":"i"}]}})"),
            (Texts{"spec: Forbidden: hostProcess containers are disallowed by cluster policy"}));
  EXPECT_EQ(Unprivileged(metadata + R"("containers":[{"name":"c","image":"i",)" +
                         R"("securityContext":{"privileged":false}}]}})"),
            Texts{});
}

TEST_F(PodValidationTest, AGoodPodHasNoErrors) { EXPECT_EQ(Spec(""), Texts{}); }

TEST_F(PodValidationTest, Volumes) {
  EXPECT_EQ(
      Spec(R"("volumes":[{"name":"v","hostPath":{"path":"/a/../b","type":"Odd"}}])"),
      (Texts{"spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
             "spec.volumes[0].hostPath.type: Unsupported value: \"Odd\": supported values: "
             "\"\", \"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", "
             "\"File\", \"FileOrCreate\", \"Socket\""}));
  EXPECT_EQ(Spec(R"("volumes":[{"name":"v","emptyDir":{},"secret":{"secretName":"s"}}])"),
            Texts{"spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type"});
  EXPECT_EQ(Spec(R"("volumes":[{"name":"v","configMap":{"name":"m","defaultMode":999,
                     "items":[{"key":"","path":"/x"}]}},{"name":"v","emptyDir":{}}])"),
            (Texts{"spec.volumes[0].configMap.defaultMode: Invalid value: 999: must be a number "
                   "between 0 and 0777 (octal), both inclusive",
                   "spec.volumes[0].configMap.items[0].key: Required value",
                   "spec.volumes[0].configMap.items[0].path: Invalid value: \"/x\": must be a "
                   "relative path"}));
  EXPECT_EQ(Spec(R"("volumes":[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{}}])"),
            Texts{"spec.volumes[1].name: Duplicate value: \"v\""});
  EXPECT_EQ(Spec(R"("volumes":[{"name":"v","downwardAPI":{"items":[{"path":"p","fieldRef":
                     {"fieldPath":"spec.nodeName"}}]}}])"),
            Texts{"spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "
                  "\"spec.nodeName\": supported values: \"metadata.annotations\", "
                  "\"metadata.labels\", \"metadata.name\", \"metadata.namespace\", "
                  "\"metadata.uid\""});
}

TEST_F(PodValidationTest, Mounts) {
  EXPECT_EQ(Container(R"("volumeMounts":[{"name":"none","mountPath":"/a","subPath":"../x"}])"),
            (Texts{"spec.containers[0].volumeMounts[0].name: Not found: \"none\"",
                   "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not "
                   "contain '..'"}));
  EXPECT_EQ(
      Container(
          R"("volumeMounts":[{"name":"v","mountPath":"/a","mountPropagation":"Bidirectional"}])",
          R"("volumes":[{"name":"v"}])"),
      Texts{"spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount "
            "propagation is available only to privileged containers"});
}

TEST_F(PodValidationTest, Environment) {
  EXPECT_EQ(Container(R"("env":[{"name":"A=B"},{"name":"C","valueFrom":{}},
                         {"name":"D","valueFrom":{"fieldRef":{"fieldPath":"spec.nothing"}}}])"),
            (Texts{"spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment "
                   "variable name must consist only of printable ASCII characters other than '='",
                   "spec.containers[0].env[1].valueFrom: Invalid value: \"\": must specify one of: "
                   "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                   "`fileKeyRef`",
                   "spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: Invalid value: "
                   "\"spec.nothing\": error converting fieldPath: field label not supported: "
                   "spec.nothing"}));
  EXPECT_EQ(Container(R"("envFrom":[{"secretRef":{}}])"),
            Texts{"spec.containers[0].envFrom[0].secretRef.name: Required value"});
}

TEST_F(PodValidationTest, ProbesAndHooks) {
  EXPECT_EQ(Container(R"("livenessProbe":{"successThreshold":2},
                         "readinessProbe":{"tcpSocket":{"port":99999}},
                         "lifecycle":{"preStop":{"sleep":{"seconds":60}}})"),
            (Texts{"spec.containers[0].lifecycle.preStop.sleep: Invalid value: 60: must be "
                   "non-negative and less than terminationGracePeriodSeconds (30)",
                   "spec.containers[0].livenessProbe: Required value: must specify a handler type",
                   "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
                   "spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: 99999: must "
                   "be between 1 and 65535, inclusive"}));
}

TEST_F(PodValidationTest, Resources) {
  EXPECT_EQ(Container(R"("resources":{"limits":{"cpu":"1","foo":"1"},"requests":{"cpu":"2"}})"),
            (Texts{"spec.containers[0].resources.limits[foo]: Invalid value: \"foo\": must be a "
                   "standard resource type or fully qualified",
                   "spec.containers[0].resources.limits[foo]: Invalid value: \"foo\": must be a "
                   "standard resource for containers",
                   "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than "
                   "or equal to cpu limit of 1",
                   "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a "
                   "standard resource type or fully qualified",
                   "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a "
                   "standard resource for containers"}));
  EXPECT_EQ(Container(R"("resources":{"limits":{"hugepages-2Mi":"3Mi"}})"),
            (Texts{"spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": "
                   "3Mi is not positive integer multiple of hugepages-2Mi",
                   "spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": "
                   "3Mi is not positive integer multiple of hugepages-2Mi",
                   "spec.containers[0].resources: Forbidden: HugePages require cpu or memory"}));
}

TEST_F(PodValidationTest, SecurityContexts) {
  EXPECT_EQ(Container(R"("securityContext":{"privileged":true,"allowPrivilegeEscalation":false})"),
            Texts{"spec.containers[0].securityContext: Invalid value: "
                  "{\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,"
                  "\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,"
                  "\"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,"
                  "\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\"SeccompProfile\":null,"
                  "\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and "
                  "`privileged` to true"});
  EXPECT_EQ(Spec(R"("securityContext":{"fsGroup":-1,"seccompProfile":{"type":"Localhost"}})"),
            (Texts{"spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and "
                   "2147483647, inclusive",
                   "spec.securityContext.seccompProfile.localhostProfile: Required value: must be "
                   "set when seccomp type is Localhost"}));
}

TEST_F(PodValidationTest, Scheduling) {
  EXPECT_EQ(Spec(R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                     {"nodeSelectorTerms":[]}},"podAffinity":
                     {"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":0,
                      "podAffinityTerm":{"topologyKey":"t"}}]}},
                     "tolerations":[{"key":"a","operator":"Exists","value":"x"}])"),
            (Texts{"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                   "nodeSelectorTerms: Required value: must have at least one node selector term",
                   "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
                   "weight: Invalid value: 0: must be in the range 1-100",
                   "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when "
                   "`operator` is 'Exists'"}));
}

TEST_F(PodValidationTest, PoliciesInTheOrderOfTheirLists) {
  EXPECT_EQ(Spec(R"("dnsPolicy":"Odd","restartPolicy":"Odd","preemptionPolicy":"Odd")"),
            (Texts{"spec.restartPolicy: Unsupported value: \"Odd\": supported values: \"Always\", "
                   "\"OnFailure\", \"Never\"",
                   "spec.dnsPolicy: Unsupported value: \"Odd\": supported values: "
                   "\"ClusterFirstWithHostNet\", \"ClusterFirst\", \"Default\", \"None\"",
                   "spec.preemptionPolicy: Unsupported value: \"Odd\": supported values: "
                   "\"PreemptLowerPriority\", \"Never\""}));
}

TEST_F(PodValidationTest, UpdatesOfTolerationsAndGates) {
  EXPECT_EQ(Update(R"("tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute"}])",
                   R"("tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute",
                                      "tolerationSeconds":5}])"),
            Texts{});
  EXPECT_EQ(Update(R"("schedulingGates":[{"name":"a"}])", R"("schedulingGates":[{"name":"b"}])"),
            Texts{"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found "
                  "new scheduling gate 'b'"});
  EXPECT_EQ(Update(R"("schedulingGates":[{"name":"a"}],"nodeSelector":{"x":"y"})",
                   R"("nodeSelector":{"x":"z"})"),
            Texts{"spec.nodeSelector: Invalid value: {\"x\":\"z\"}: only additions to "
                  "spec.nodeSelector are allowed (no mutations or deletions)"});
}

// Before and after a resize: containers' resources, then members of the spec.
TEST_F(PodValidationTest, ResizeChangesCpuAndMemoryOnly) {
  const auto pod = [](const std::string& resources, const std::string& more = "") {
    return R"({"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i",
               "resources":)" +
           resources + "}]" + more + R"(},"status":{"qosClass":"Burstable"}})";
  };
  const auto resize = [&](const std::string& before, const std::string& after) {
    api::FieldErrors errors;
    Pods().ValidateUpdate(MakeContext("resize"), Read(after), Read(before), errors);
    return ToTexts(errors);
  };
  const std::string small = pod(R"({"requests":{"cpu":"1"}})");
  EXPECT_EQ(resize(small, pod(R"({"requests":{"cpu":"2"},"limits":{"cpu":"3"}})")), Texts{});
  EXPECT_EQ(resize(small, pod(R"({"requests":{"cpu":"2","memory":"1Gi"},
                                   "limits":{"cpu":"2","memory":"1Gi"}})")),
            Texts{"spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of "
                  "resizing"});
  EXPECT_EQ(resize(small, pod(R"({"requests":{"memory":"1Gi"}})")),
            Texts{"spec.containers[0].resources.requests: Forbidden: resource requests cannot be "
                  "removed"});
  EXPECT_EQ(resize(small, pod(R"({"requests":{"cpu":"1","ephemeral-storage":"1Gi"}})")),
            Texts{"spec: Forbidden: only cpu and memory resources are mutable"});
  EXPECT_EQ(resize(small, pod(R"({"requests":{"cpu":"1"}})", R"(,"hostname":"h")")),
            Texts{"spec: Forbidden: only cpu and memory resources are mutable"});
  EXPECT_EQ(resize(pod(R"({"requests":{"cpu":"1"}})", R"(,"os":{"name":"windows"})"), small),
            Texts{"[]: Forbidden: windows pods cannot be resized"});
}

}  // namespace
}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "release/release.h"

namespace portcullis::api::schema {
namespace {

class DefaultingTest : public ::testing::Test {
 protected:
  static std::string Default(std::string_view text) {
    json::Arena arena;
    const json::Value input = json::Parse(arena, text).value();
    const GroupVersion gv = ParseGroupVersion(input["apiVersion"].AsString()).value();
    const GroupVersionKind kind{gv.group, gv.version, std::string(input["kind"].AsString())};
    static const auto kCatalog = catalog::Catalog::BuiltIn({}).value();
    static const auto kDefaulter = Defaulter::BuiltIn().value();
    const Schema* schema = kCatalog->FindSchema(kind);
    if (schema == nullptr) return "no schema";
    const auto decoded = Decode(arena, *schema, input);
    if (!decoded.ok()) return decoded.status().message();
    const json::Value once = kDefaulter->Apply(arena, kind, *decoded);
    EXPECT_EQ(json::ToString(once), json::ToString(kDefaulter->Apply(arena, kind, once)));
    return json::ToString(once);
  }
};

TEST_F(DefaultingTest, FillsAWebhookConfiguration) {
  EXPECT_EQ(Default(R"({"apiVersion":"admissionregistration.k8s.io/v1",
      "kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},
      "webhooks":[{"name":"a.example","clientConfig":{"service":{"name":"s","namespace":"n"}},
      "rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],
      "resources":["pods"]}],"sideEffects":"None","admissionReviewVersions":["v1"]}]})"),
            R"({"kind":"ValidatingWebhookConfiguration",)"
            R"("apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"w"},)"
            R"("webhooks":[{"name":"a.example","clientConfig":{"service":{"namespace":"n",)"
            R"("name":"s","port":443}},"rules":[{"operations":["CREATE"],"apiGroups":[""],)"
            R"("apiVersions":["v1"],"resources":["pods"],"scope":"*"}],"sideEffects":"None",)"
            R"("admissionReviewVersions":["v1"],"failurePolicy":"Fail",)"
            R"("matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},)"
            R"("timeoutSeconds":10}]})");
}

// Objects without their defaults stand for the earlier state here, so that what is not looked at shows.
TEST(KnownDefaultsTest, OnlyWhatHasChangedIsLookedAt) {
  const auto defaulter = Defaulter::BuiltIn().value();
  json::Arena arena;
  const json::Value known = *json::Parse(arena, R"({"spec":{"containers":[
      {"name":"a","image":"i:1","readinessProbe":{"httpGet":{"port":1}},"ports":[{"containerPort":1}]},
      {"name":"b","image":"i:1"}]}})");
  const GroupVersionKind pod{"", "v1", "Pod"};
  EXPECT_TRUE(defaulter->Apply(arena, pod, known, known).IsSameAs(known));

  const json::Value containers = known["spec"]["containers"];
  const json::Value changed = json::With(arena, containers[0U], "stdin", json::Value::Bool(true));
  const json::Value object = json::SetPath(arena, known, {"spec", "containers"},
                                           json::MakeArray(arena, {changed, containers[1U]}));
  const json::Value after = defaulter->Apply(arena, pod, object, known)["spec"];

  EXPECT_EQ(after["restartPolicy"].AsString(), "Always");
  const json::Value first = after["containers"][0U];
  EXPECT_EQ(first["imagePullPolicy"].AsString(), "IfNotPresent");
  EXPECT_TRUE(first["readinessProbe"].IsSameAs(containers[0U]["readinessProbe"]));
  EXPECT_TRUE(first["ports"].IsSameAs(containers[0U]["ports"]));
  EXPECT_TRUE(after["containers"][1U].IsSameAs(containers[1U]));
}

// `value` with one thing changed, at any depth: a member gone, or another value, some of which rules ask for.
void ForEachChange(json::Arena& arena, json::Value value,
                   const std::function<void(json::Value)>& visit) {
  for (const json::Member& member : value.members()) {
    visit(json::Without(arena, value, member.name()));
    if (member.value.is_bool()) {
      visit(json::With(arena, value, member.name(), json::Value::Bool(!member.value.AsBool())));
    }
    for (const std::string_view other : {"Other", "User", "LoadBalancer", "RollingUpdate"}) {
      if (!member.value.is_string()) break;
      visit(json::With(arena, value, member.name(), json::Value::StringView(other)));
    }
    ForEachChange(arena, member.value, [&](json::Value changed) {
      visit(json::With(arena, value, member.name(), changed));
    });
  }
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    ForEachChange(arena, value[i],
                  [&](json::Value changed) { visit(json::WithElement(arena, value, i, changed)); });
  }
}

TEST(KnownDefaultsTest, AnyChangeGetsTheSameDefaults) {
  const auto defaulter = Defaulter::BuiltIn().value();
  struct Case {
    GroupVersionKind kind;
    std::string_view object;
  };
  const Case cases[] = {
      {{"", "v1", "Pod"},
       R"({"spec":{"hostNetwork":true,"serviceAccountName":"a","securityContext":{},"volumes":[
             {"name":"v","secret":{"secretName":"s"}},{"name":"w"},{"name":"x","projected":{"sources":[
             {"serviceAccountToken":{"path":"p"}}]}}],"containers":[{"name":"a","image":"i","ports":[
             {"containerPort":1}],"readinessProbe":{"httpGet":{"port":1}},"resources":{"limits":
             {"cpu":"1"}},"env":[{"name":"e","valueFrom":{"fieldRef":{"fieldPath":"f"}}}]}]},
           "status":{"podIP":"10.0.0.1"}})"},
      {{"", "v1", "Service"},
       R"({"spec":{"type":"ClusterIP","ports":[{"port":80},{"port":81,"targetPort":8}],
             "clusterIP":"10.0.0.2","sessionAffinity":"ClientIP"},
           "status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.3"}]}}})"},
      {{"rbac.authorization.k8s.io", "v1", "RoleBinding"},
       R"({"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"ServiceAccount","name":"a"}]})"},
      {{"apps", "v1", "Deployment"},
       R"({"spec":{"strategy":{"type":"RollingUpdate"},"template":{"spec":{"containers":[
             {"name":"a","image":"i:1"}]}}}})"},
      {{"batch", "v1", "Job"}, R"({"spec":{"parallelism":2,"template":{"spec":{}}}})"},
  };
  for (const Case& c : cases) {
    json::Arena arena;
    const json::Value known = defaulter->Apply(arena, c.kind, *json::Parse(arena, c.object));
    std::size_t changes = 0;
    ForEachChange(arena, known, [&](json::Value object) {
      ++changes;
      EXPECT_EQ(json::ToString(defaulter->Apply(arena, c.kind, object, known)),
                json::ToString(defaulter->Apply(arena, c.kind, object)))
          << c.kind.kind << ": " << json::ToString(object);
    });
    EXPECT_GT(changes, 10U);
  }
}

std::size_t BytesOfDefaulting(std::size_t ports) {
  static const auto kDefaulter = Defaulter::BuiltIn().value();
  json::Arena arena;
  json::ArrayBuilder list(arena);
  for (std::size_t i = 0; i < ports; ++i) {
    list.Add(json::MakeObject(arena, {{"containerPort", json::Value::Int(1)}}));
  }
  const json::Value container = json::MakeObject(arena, {{"ports", list.Build()}});
  const json::Value spec =
      json::MakeObject(arena, {{"containers", json::MakeArray(arena, {container})},
                               {"hostNetwork", json::Value::Bool(true)}});
  const json::Value pod = json::MakeObject(arena, {{"spec", spec}});
  const std::size_t before = arena.bytes_used();
  const json::Value defaulted = kDefaulter->Apply(arena, {"", "v1", "Pod"}, pod);
  const json::Value last = defaulted["spec"]["containers"][0U]["ports"][ports - 1];
  EXPECT_EQ(json::ToString(last), R"({"containerPort":1,"hostPort":1,"protocol":"TCP"})");
  return arena.bytes_used() - before;
}

TEST(DefaultingGrowthTest, MemoryGrowsWithTheList) {
  EXPECT_LT(BytesOfDefaulting(2000), 3 * BytesOfDefaulting(1000));
}

std::size_t BytesOfSchemaDefaults(std::size_t fields) {
  Schema text;
  text.kind = Kind::kString;
  FieldDetails details;
  details.default_value = json::Value::StringView("x");
  Schema schema;
  schema.kind = Kind::kStruct;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields; ++i) names.push_back("field" + std::to_string(i));
  for (const std::string& name : names) {
    Field field;
    field.name = name;
    field.hash = json::HashKey(name);
    field.schema = &text;
    field.details = &details;
    schema.fields.push_back(field);
  }
  json::Arena arena;
  const json::Value filled =
      ApplySchemaDefaults(arena, schema, json::MakeObject(arena, {})).value();
  EXPECT_EQ(filled.size(), fields);
  return arena.bytes_used();
}

TEST(DefaultingGrowthTest, MemoryGrowsWithTheFieldsOfASchema) {
  EXPECT_LT(BytesOfSchemaDefaults(2000), 3 * BytesOfSchemaDefaults(1000));
}

TEST_F(DefaultingTest, KeepsAnExplicitZeroOfAPointer) {
  const std::string text = Default(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},
          "spec":{"replicas":0,"strategy":{"type":"Recreate"}}})");
  EXPECT_NE(text.find(R"("replicas":0)"), std::string::npos) << text;
  EXPECT_EQ(text.find("rollingUpdate"), std::string::npos) << text;
}

TEST_F(DefaultingTest, RequestsFollowLimitsInPodsOnly) {
  const std::string spec =
      R"({"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]})";
  const std::string pod =
      Default(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":)" + spec + "}");
  EXPECT_NE(pod.find(R"("limits":{"cpu":"1"},"requests":{"cpu":"1"})"), std::string::npos) << pod;
  const std::string job = Default(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":)" +
      spec + "}}}");
  EXPECT_EQ(job.find("requests"), std::string::npos) << job;
}

TEST_F(DefaultingTest, PullPolicyFollowsTheTag) {
  const auto policy = [](const std::string& image) {
    const std::string pod =
        Default(R"({"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","image":")" +
                image + R"("}]}})");
    return pod.find(R"("imagePullPolicy":"Always")") != std::string::npos;
  };
  EXPECT_TRUE(policy("a"));
  EXPECT_TRUE(policy("host:5000/a"));
  EXPECT_TRUE(policy("host:5000/a:latest"));
  EXPECT_FALSE(policy("a:1"));
  EXPECT_FALSE(policy("a@sha256:0000"));
  EXPECT_FALSE(policy("host:5000/a:1"));
}

TEST_F(DefaultingTest, PodLevelResourcesFollowTheContainers) {
  const std::string pod = Default(R"({"apiVersion":"v1","kind":"Pod","spec":{
      "resources":{"limits":{"cpu":"2","memory":"1Gi"}},
      "containers":[{"name":"a","image":"i:1","resources":{"requests":{"cpu":"100m"}}},
                    {"name":"b","image":"i:1","resources":{"requests":{"cpu":"200m"}}}]}})");
  EXPECT_NE(pod.find(R"("requests":{"cpu":"300m","memory":"1Gi"})"), std::string::npos) << pod;
}

TEST_F(DefaultingTest, StringDataBecomesData) {
  EXPECT_EQ(Default(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},
                        "data":{"a":"eA=="},"stringData":{"a":"y","b":"z"}})"),
            R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},)"
            R"("data":{"a":"eQ==","b":"eg=="},"type":"Opaque"})");
}

TEST_F(DefaultingTest, QuantitiesAreRoundedUpToThousandths) {
  const std::string quota = Default(
      R"({"apiVersion":"v1","kind":"ResourceQuota","spec":{"hard":{"cpu":"0.0001","pods":"1"}}})");
  EXPECT_NE(quota.find(R"("hard":{"cpu":"1m","pods":"1"})"), std::string::npos) << quota;
}

TEST_F(DefaultingTest, ThePodIpIsTheFirstOfItsList) {
  const std::string pod =
      Default(R"({"apiVersion":"v1","kind":"Pod","status":{"podIP":"10.0.0.1"}})");
  EXPECT_NE(pod.find(R"("podIPs":[{"ip":"10.0.0.1"}])"), std::string::npos) << pod;
  const std::string node =
      Default(R"({"apiVersion":"v1","kind":"Node","spec":{"podCIDRs":["10.1.0.0/24","fd::/64"]}})");
  EXPECT_NE(node.find(R"("podCIDR":"10.1.0.0/24")"), std::string::npos) << node;
}

TEST(RulesTest, MistakesNameTheirLine) {
  EXPECT_EQ(Defaulter::Parse("kind v1 Pod\n  spec.x ~ 1\n").status().message(),
            "line 2: unknown operator ~");
  EXPECT_EQ(Defaulter::Parse("  a = 1\n").status().message(),
            "line 1: a statement before the first block");
  EXPECT_EQ(Defaulter::Parse("kind v1 Pod\n  use Nothing at spec\n").status().message(),
            "no define Nothing");
  EXPECT_EQ(Defaulter::Parse("kind v1 Pod\n  call nothing at spec\n").status().message(),
            "no function nothing");
  EXPECT_EQ(Defaulter::Parse("kind v1 Pod\n  a = 1 when . present\n").status().message(),
            "line 2: a condition needs a field");
  EXPECT_EQ(Defaulter::Parse("kind v1 Pod\n  a = 1 since 1.x\n").status().message(),
            "line 2: want: since 1.<minor>");
}

TEST(RulesTest, AStatementMayBeginWithARelease) {
  const auto defaulted = [](int minor) {
    json::Arena arena;
    const auto release = release::Release::Open(base::StrCat("1.", std::to_string(minor)));
    const auto rules =
        Defaulter::Parse("kind v1 Pod\n  a = 1 when b absent since 1.13\n  b = 2\n", *release);
    return json::ToString((*rules)->Apply(arena, {"", "v1", "Pod"}, json::MakeObject(arena, {})));
  };
  EXPECT_EQ(defaulted(12), R"({"b":2})");
  EXPECT_EQ(defaulted(13), R"({"a":1,"b":2})");
  EXPECT_EQ(defaulted(36), R"({"a":1,"b":2})");
}

TEST(RulesTest, AStatementMayStandBehindAGate) {
  const auto defaulted = [](std::string_view gate, bool is_enabled, std::string_view object) {
    json::Arena arena;
    const auto release = release::Release::Open("1.36", {{std::string(gate), is_enabled}});
    const json::Value parsed = *json::Parse(arena, object);
    const std::string_view version = parsed["apiVersion"].AsString();
    const api::GroupVersionKind kind{std::string(version.substr(0, version.find('/'))), "v1",
                                     std::string(parsed["kind"].AsString())};
    return json::ToString((*Defaulter::BuiltIn(*release))->Apply(arena, kind, parsed)["spec"]);
  };
  struct Case {
    std::string_view gate, object, made;
  };
  constexpr Case kCases[] = {
      {"VolumeLimitScaling", R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","spec":{}})",
       R"("preventPodSchedulingIfMissing":false)"},
      {"MaxUnavailableStatefulSet", R"({"apiVersion":"apps/v1","kind":"StatefulSet",
       "spec":{"updateStrategy":{}}})",
       R"("maxUnavailable":1)"}};
  for (const Case& c : kCases) {
    EXPECT_NE(defaulted(c.gate, true, c.object).find(c.made), std::string::npos) << c.gate;
    EXPECT_EQ(defaulted(c.gate, false, c.object).find(c.made), std::string::npos) << c.gate;
  }
}

}  // namespace
}  // namespace portcullis::api::schema

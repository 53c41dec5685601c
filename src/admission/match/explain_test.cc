// SPDX-License-Identifier: Apache-2.0

#include "admission/match/explain.h"

#include <gtest/gtest.h>

#include <random>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::admission::match {
namespace {

// A create, update, … of what is named "group/version/resource[/subresource]".
class ExplainTest : public ::testing::Test {
 protected:
  Request MakeRequest(std::string_view what, Operation operation = kCreate,
                      std::string_view ns = "team", std::string_view name = "web") {
    const auto parts = base::Split(what, '/');
    Attributes attributes;
    attributes.operation = operation;
    attributes.resource = {std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
    if (parts.size() > 3) attributes.subresource = parts[3];
    attributes.namespace_name = ns;
    attributes.name = name;
    return Request(std::move(attributes), arena_, recorder_);
  }

  static Rule MakeRule(Operations operations, std::vector<std::string> groups,
                       std::vector<std::string> versions, std::vector<std::string> resources,
                       Scope scope = Scope::kAll, std::vector<std::string> names = {}) {
    return {operations, std::move(groups), std::move(versions), std::move(resources),
            scope,      std::move(names)};
  }

  json::Arena arena_;
  Recorder recorder_;
};

TEST_F(ExplainTest, SaysWhatARuleLacks) {
  const struct {
    Rule rule;
    std::string_view what;
    std::string_view ns;
    std::string_view message;
  } facts[] = {
      {MakeRule(kUpdate | kDelete, {""}, {"v1"}, {"pods"}), "/v1/pods", "team",
       "rules[0]: operations [UPDATE,DELETE] do not include CREATE"},
      {MakeRule(kCreate, {"apps"}, {"v1"}, {"pods"}), "/v1/pods", "team",
       "rules[0]: apiGroups [apps] do not include \"\""},
      {MakeRule(kCreate, {"", "batch"}, {"v1"}, {"*"}), "apps/v1/deployments", "team",
       "rules[0]: apiGroups [\"\",batch] do not include apps"},
      {MakeRule(kCreate, {"*"}, {"v1beta1"}, {"pods"}), "/v1/pods", "team",
       "rules[0]: apiVersions [v1beta1] do not include v1"},
      {MakeRule(kCreate, {""}, {"*"}, {"services", "pods/status"}), "/v1/pods", "team",
       "rules[0]: resources [services,pods/status] do not include pods"},
      {MakeRule(kCreate, {""}, {"v1"}, {"pods"}), "/v1/pods/eviction", "team",
       "rules[0]: resources [pods] do not include pods/eviction"},
      {MakeRule(kCreate, {""}, {"v1"}, {"pods"}, Scope::kCluster), "/v1/pods", "team",
       "rules[0]: scope is Cluster"},
      {MakeRule(kCreate, {"*"}, {"*"}, {"*"}, Scope::kNamespaced), "/v1/nodes", "",
       "rules[0]: scope is Namespaced"},
      {MakeRule(kCreate, {""}, {"v1"}, {"pods"}, Scope::kAll, {"db", "cache"}), "/v1/pods", "team",
       "rules[0]: resourceNames [db,cache] do not include web"},
      {MakeRule(kCreate, {""}, {"v1"}, {"pods"}, Scope::kNone), "/v1/pods", "team",
       "rules[0]: scope is none that is known"},
  };
  for (const auto& fact : facts) {
    const Request request = MakeRequest(fact.what, kCreate, fact.ns);
    const Mismatch mismatch = ExplainRules({&fact.rule, 1}, MatchPolicy::kExact, request, {});
    EXPECT_EQ(mismatch.reason, TraceReason::kRules);
    EXPECT_EQ(mismatch.message, fact.message);
  }
}

TEST_F(ExplainTest, SaysItOfEachRule) {
  const Rule pods = MakeRule(kUpdate, {""}, {"v1"}, {"pods"});
  const Rule jobs = MakeRule(kCreate, {"batch"}, {"v1"}, {"jobs"});
  const Request request = MakeRequest("/v1/pods");
  EXPECT_EQ(ExplainRules(std::vector<Rule>{pods, jobs}, MatchPolicy::kExact, request, {}).message,
            "rules[0]: operations [UPDATE] do not include CREATE; "
            "rules[1]: apiGroups [batch] do not include \"\"");
  const std::vector<Rule> many(10, pods);
  EXPECT_TRUE(ExplainRules(many, MatchPolicy::kExact, request, {})
                  .message.ends_with("CREATE; and 2 more rules"));
  EXPECT_EQ(ExplainRules({}, MatchPolicy::kExact, request, {}).message, "there are no rules");
}

TEST_F(ExplainTest, NamesTheVersionThatMatchPolicyExactLeavesOut) {
  const Rule rule = MakeRule(kCreate, {"autoscaling"}, {"v1"}, {"horizontalpodautoscalers"});
  const Request request = MakeRequest("autoscaling/v2/horizontalpodautoscalers");
  const std::vector<api::GroupVersionResource> equivalents = {
      request.resource(), {"autoscaling", "v1", "horizontalpodautoscalers"}};
  const Mismatch exact = ExplainRules({&rule, 1}, MatchPolicy::kExact, request, equivalents);
  EXPECT_EQ(exact.reason, TraceReason::kMatchPolicy);
  EXPECT_EQ(exact.message,
            "the rules match these objects as autoscaling/v1, Resource=horizontalpodautoscalers, "
            "but matchPolicy is Exact and the request is about autoscaling/v2, "
            "Resource=horizontalpodautoscalers");
  EXPECT_EQ(ExplainRules({&rule, 1}, MatchPolicy::kEquivalent, request, equivalents).reason,
            TraceReason::kNone);
}

// Any of the values, or "*".
std::vector<std::string> Some(std::mt19937& random, std::vector<std::string> values) {
  values.emplace_back("*");
  std::vector<std::string> chosen;
  for (const std::string& value : values) {
    if (random() % 3 == 0) chosen.push_back(value);
  }
  return chosen;
}

TEST_F(ExplainTest, AgreesWithTheIndex) {
  std::mt19937 random(3);
  int matched = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<Rule> rules;
    for (auto left = random() % 3 + 1; left > 0; --left) {
      rules.push_back(MakeRule(
          random() % 16, Some(random, {"", "apps"}), Some(random, {"v1", "v2"}),
          Some(random, {"pods", "pods/*", "*/status", "namespaces"}),
          static_cast<Scope>(random() % 4),
          random() % 4 == 0 ? std::vector<std::string>{"web"} : std::vector<std::string>{}));
    }
    const auto policy = random() % 2 == 0 ? MatchPolicy::kExact : MatchPolicy::kEquivalent;
    constexpr std::string_view kResources[] = {"/v1/pods", "/v1/pods/status", "apps/v2/pods",
                                               "/v1/namespaces", "/v1/nodes"};
    const Request request =
        MakeRequest(kResources[random() % 5], random() % 2 == 0 ? kCreate : kUpdate,
                    random() % 2 == 0 ? "team" : "", random() % 2 == 0 ? "web" : "db");
    const std::vector<api::GroupVersionResource> equivalents = {
        request.resource(), {"apps", "v1", request.resource().resource}};
    RuleIndex::Builder builder;
    builder.Add(0, rules, policy);
    const bool found =
        !builder.Build()
             ->Find(request,
                    [&] { return std::span<const api::GroupVersionResource>(equivalents); })
             .empty();
    matched += found ? 1 : 0;
    const Mismatch mismatch = ExplainRules(rules, policy, request, equivalents);
    ASSERT_EQ(mismatch.reason == TraceReason::kNone, found) << mismatch.message;
  }
  EXPECT_GT(matched, 100);
}

TEST_F(ExplainTest, ShowsTheLabelsThatASelectorLeavesOut) {
  const auto parse = [&](std::string_view text) { return json::Parse(arena_, text).value(); };
  const auto selector = [&](std::string_view text) {
    return api::LabelSelector::FromJson(parse(text)).value();
  };
  EXPECT_EQ(NamespaceMismatch(selector(R"({"matchLabels":{"env":"prod"}})"), "team",
                              parse(R"({"env":"test","a":"b"})"))
                .message,
            "namespaceSelector \"env=prod\" does not select namespace team (labels env=test,a=b)");
  EXPECT_EQ(NamespaceMismatch(api::LabelSelector::Nothing(), "team", {}).message,
            "namespaceSelector that selects nothing does not select namespace team (no labels)");
  Attributes attributes;
  attributes.object = parse(R"({"metadata":{"labels":{"a":"1"}}})");
  const Request create(attributes, arena_, recorder_);
  const auto wanted = selector(R"({"matchExpressions":[{"key":"b","operator":"Exists"}]})");
  EXPECT_EQ(ObjectMismatch(wanted, create, create.object()).message,
            "objectSelector \"b\" does not select the object (labels a=1)");
  attributes.old_object = parse(R"({"metadata":{}})");
  const Request update(attributes, arena_, recorder_);
  EXPECT_EQ(ObjectMismatch(wanted, update, update.object()).message,
            "objectSelector \"b\" does not select the object (labels a=1) nor the old object (no "
            "labels)");
}

}  // namespace
}  // namespace portcullis::admission::match

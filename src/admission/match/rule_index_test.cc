// SPDX-License-Identifier: Apache-2.0

#include "admission/match/rule_index.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace portcullis::admission::match {
namespace {

Rule MakeRule(std::vector<std::string> groups, std::vector<std::string> versions,
              std::vector<std::string> resources, Operations operations = kAllOperations,
              Scope scope = Scope::kAll) {
  Rule rule;
  rule.operations = operations;
  rule.groups = std::move(groups);
  rule.versions = std::move(versions);
  rule.resources = std::move(resources);
  rule.scope = scope;
  return rule;
}

class RuleIndexTest : public ::testing::Test {
 protected:
  void Add(std::vector<Rule> rules, MatchPolicy policy = MatchPolicy::kExact) {
    builder_.Add(next_++, rules, policy);
  }

  // The hits as "target.rule[=equivalent]".
  std::string Find(std::string_view resource, Operation operation = kCreate,
                   std::string_view ns = "default", std::string_view version = "v1",
                   std::string_view group = "") {
    std::string out;
    Ask(resource, operation, ns, version, group, [&](const Request& request) {
      for (const Hit& hit : index_->Find(request, [&] {
             ++equivalents_asked_;
             return std::span<const api::GroupVersionResource>(equivalents_);
           })) {
        if (!out.empty()) out.push_back(' ');
        out += base::StrCat(std::to_string(hit.target), ".", std::to_string(hit.rule));
        if (hit.equivalent >= 0) out += base::StrCat("=", std::to_string(hit.equivalent));
      }
    });
    return out;
  }

  bool Concerns(std::string_view resource, Operation operation = kCreate) {
    bool concerns = false;
    Ask(resource, operation, "default", "v1", "",
        [&](const Request& request) { concerns = index_->Concerns(request); });
    return concerns;
  }

  std::vector<api::GroupVersionResource> equivalents_;
  int equivalents_asked_ = 0;

 private:
  void Ask(std::string_view resource, Operation operation, std::string_view ns,
           std::string_view version, std::string_view group,
           const std::function<void(const Request&)>& ask) {
    if (index_ == nullptr) index_ = builder_.Build();
    Attributes attributes;
    attributes.operation = operation;
    if (const auto cut = base::Cut(resource, "/")) {
      attributes.subresource = cut->second;
      resource = cut->first;
    }
    attributes.resource = {std::string(group), std::string(version), std::string(resource)};
    attributes.namespace_name = ns;
    json::Arena arena;
    Recorder recorder;
    ask(Request(std::move(attributes), arena, recorder));
  }

  RuleIndex::Builder builder_;
  std::shared_ptr<const RuleIndex> index_;
  std::uint32_t next_ = 0;
};

TEST_F(RuleIndexTest, FindsWildcardsOfEveryKind) {
  Add({MakeRule({"*"}, {"*"}, {"*/*"})});
  Add({MakeRule({""}, {"v1"}, {"pods"})});
  Add({MakeRule({"apps"}, {"v1"}, {"pods"})});
  Add({MakeRule({""}, {"*"}, {"pods/*"})});
  Add({MakeRule({""}, {"v1"}, {"*/status"})});
  Add({MakeRule({""}, {"v1"}, {"*"})});

  EXPECT_EQ(Find("pods"), "0.0 1.0 3.0 5.0");
  EXPECT_EQ(Find("pods/status", kUpdate), "0.0 3.0 4.0");
  EXPECT_EQ(Find("services"), "0.0 5.0");
  EXPECT_EQ(Find("pods", kCreate, "default", "v2"), "0.0 3.0");
}

TEST_F(RuleIndexTest, LooksAtTheOperation) {
  Add({MakeRule({""}, {"v1"}, {"pods"}, kCreate | kDelete)});
  EXPECT_EQ(Find("pods", kCreate), "0.0");
  EXPECT_EQ(Find("pods", kUpdate), "");
  EXPECT_EQ(Find("pods", kDelete), "0.0");
}

TEST_F(RuleIndexTest, ScopeTakesNamespacesForClusterScoped) {
  Add({MakeRule({""}, {"v1"}, {"*/*"}, kAllOperations, Scope::kCluster)});
  Add({MakeRule({""}, {"v1"}, {"*/*"}, kAllOperations, Scope::kNamespaced)});
  EXPECT_EQ(Find("pods"), "1.0");
  EXPECT_EQ(Find("nodes", kCreate, ""), "0.0");
  EXPECT_EQ(Find("namespaces", kCreate, "a"), "0.0");
  EXPECT_EQ(Find("namespaces/finalize", kUpdate, "a"), "0.0");
}

TEST_F(RuleIndexTest, NamesTheFirstMatchingRule) {
  Add({MakeRule({""}, {"v1"}, {"services"}), MakeRule({""}, {"v1"}, {"pods"}),
       MakeRule({"*"}, {"*"}, {"*"})});
  EXPECT_EQ(Find("pods"), "0.1");
  EXPECT_EQ(Find("nodes"), "0.2");
}

TEST_F(RuleIndexTest, PrefersTheRequestsOwnResourceToEquivalents) {
  equivalents_ = {{"extensions", "v1beta1", "deployments"},
                  {"apps", "v1beta1", "deployments"},
                  {"apps", "v1", "deployments"}};
  Add({MakeRule({"extensions"}, {"v1beta1"}, {"deployments"}),
       MakeRule({"apps"}, {"v1"}, {"deployments"})},
      MatchPolicy::kEquivalent);
  Add({MakeRule({"apps"}, {"v1beta1"}, {"deployments"}),
       MakeRule({"extensions"}, {"v1beta1"}, {"deployments"})},
      MatchPolicy::kEquivalent);
  Add({MakeRule({"extensions"}, {"v1beta1"}, {"deployments"})});
  EXPECT_EQ(Find("deployments", kCreate, "default", "v1", "apps"), "0.1 1.0=1");
}

TEST_F(RuleIndexTest, AsksForEquivalentsOnlyIfSomebodyWantsThem) {
  Add({MakeRule({""}, {"v1"}, {"pods"})});
  Add({MakeRule({""}, {"v1"}, {"pods"}, kDelete)}, MatchPolicy::kEquivalent);
  Find("pods", kCreate);
  EXPECT_EQ(equivalents_asked_, 0);
  Find("pods", kDelete);
  EXPECT_EQ(equivalents_asked_, 1);
}

TEST_F(RuleIndexTest, ConcernsOnlyWhatSomeRuleNames) {
  Add({MakeRule({"apps"}, {"v1"}, {"pods", "nodes/status"}, kCreate | kDelete)});
  EXPECT_TRUE(Concerns("pods"));
  EXPECT_TRUE(Concerns("nodes"));
  EXPECT_FALSE(Concerns("pods", kUpdate));
  EXPECT_FALSE(Concerns("services"));
}

TEST_F(RuleIndexTest, EverythingConcernsWildcards) {
  Add({MakeRule({""}, {"v1"}, {"*/scale"}, kUpdate)});
  EXPECT_TRUE(Concerns("services", kUpdate));
  EXPECT_FALSE(Concerns("services", kCreate));
}

TEST_F(RuleIndexTest, EmptyRulesNeverMatch) {
  Add({});
  EXPECT_EQ(Find("pods"), "");
}

TEST(ParseRuleTest, ReadsScopeAndOperations) {
  json::Arena arena;
  const json::Value value = json::MakeObject(
      arena, {{"operations", json::MakeArray(arena, {json::Value::StringView("CREATE"),
                                                     json::Value::StringView("CONNECT")})},
              {"scope", json::Value::StringView("Elsewhere")}});
  const Rule rule = ParseRule(value);
  EXPECT_EQ(rule.operations, kCreate | kConnect);
  EXPECT_EQ(rule.scope, Scope::kNone);
}

}  // namespace
}  // namespace portcullis::admission::match

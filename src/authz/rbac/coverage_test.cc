// SPDX-License-Identifier: Apache-2.0

#include "authz/rbac/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace portcullis::authz::rbac {
namespace {

using Strings = std::vector<std::string>;

Strings Numbered(std::string_view prefix, int count) {
  Strings out;
  for (int i = 0; i < count; ++i) out.push_back(std::string(prefix) + std::to_string(i));
  return out;
}

// A rule as Kubernetes' documentation says what it allows, asked for one permission.
bool Contains(const PolicyRule& owner, const PolicyRule& wanted) {
  const auto has = [](const Strings& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  if (!has(owner.verbs, "*") && !has(owner.verbs, wanted.verbs[0])) return false;
  if (!wanted.non_resource_urls.empty()) {
    return HasUrl(owner.non_resource_urls, wanted.non_resource_urls[0]);
  }
  if (!has(owner.api_groups, "*") && !has(owner.api_groups, wanted.api_groups[0])) return false;
  const std::string& resource = wanted.resources[0];
  const std::size_t slash = resource.find('/');
  const bool of_resource =
      has(owner.resources, "*") || has(owner.resources, resource) ||
      (slash != std::string::npos && has(owner.resources, "*" + resource.substr(slash)));
  if (!of_resource) return false;
  if (owner.resource_names.empty()) return true;
  return !wanted.resource_names.empty() && has(owner.resource_names, wanted.resource_names[0]);
}

class RandomRules {
 public:
  explicit RandomRules(unsigned seed) : random_(seed) {}

  std::vector<PolicyRule> Rules(int most) {
    std::vector<PolicyRule> rules(random_() % static_cast<unsigned>(most + 1));
    for (PolicyRule& rule : rules) {
      rule.verbs = Some({"get", "list", "update", "*"}, 1);
      if (random_() % 6 == 0) {
        rule.non_resource_urls = Some({"/a", "/a/*", "/b", "*", "/b/c"}, 1);
        continue;
      }
      rule.api_groups = Some({"", "apps", "batch", "*"}, 1);
      rule.resources = Some({"pods", "pods/log", "jobs/log", "*/log", "*", "jobs"}, 1);
      if (random_() % 3 == 0) rule.resource_names = Some({"x", "y", "z"}, 1);
    }
    return rules;
  }

 private:
  Strings Some(Strings from, std::size_t least) {
    std::shuffle(from.begin(), from.end(), random_);
    from.resize(least + random_() % (from.size() - least));
    return from;
  }
  std::mt19937 random_;
};

TEST(Coverage, IsThatOfEveryPermissionComparedWithEveryRule) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomRules random(seed);
    const auto owned = random.Rules(4);
    const auto wanted = random.Rules(3);
    // Of a user who has nothing all is missing: the permissions one by one.
    const auto all = Uncovered({}, wanted);
    ASSERT_TRUE(all.ok());
    std::vector<PolicyRule> expected;
    for (const PolicyRule& single : *all) {
      if (std::none_of(owned.begin(), owned.end(),
                       [&](const PolicyRule& owner) { return Contains(owner, single); })) {
        expected.push_back(single);
      }
    }
    const auto missing = Uncovered(owned, wanted);
    ASSERT_TRUE(missing.ok());
    EXPECT_EQ(*missing, expected) << "seed " << seed;
  }
}

TEST(Coverage, BreaksARuleDownToSinglePermissions) {
  const PolicyRule rule{{"get", "list"}, {""}, {"pods"}, {"a", "b"}, {}};
  const auto missing = Uncovered({}, std::vector<PolicyRule>{rule});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(*missing, (std::vector<PolicyRule>{{{"get"}, {""}, {"pods"}, {"a"}, {}},
                                               {{"get"}, {""}, {"pods"}, {"b"}, {}},
                                               {{"list"}, {""}, {"pods"}, {"a"}, {}},
                                               {{"list"}, {""}, {"pods"}, {"b"}, {}}}));
}

// A few KB of lists are billions of permissions.
TEST(Coverage, NamesOnlyTheFirstOfVeryManyMissingPermissions) {
  const PolicyRule rule{Numbered("v", 300), Numbered("g", 300), Numbered("r", 300), {}, {}};
  const auto missing = Uncovered({}, std::vector<PolicyRule>{rule});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->size(), kMostMissing);
}

TEST(Coverage, RefusesMorePermissionsThanCanBeCompared) {
  const PolicyRule rule{Numbered("v", 300), Numbered("g", 300), Numbered("r", 300), {}, {}};
  const auto missing = Uncovered(std::vector<PolicyRule>{rule}, std::vector<PolicyRule>{rule});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().message(),
            "the rules have too many single permissions to compare them with those of the user; "
            "divide them among several roles");
}

TEST(Coverage, ManyRulesAreFoundByWhatTheyName) {
  std::vector<PolicyRule> rules;
  for (const std::string& name : Numbered("r", 50'000)) {
    rules.push_back({{"get"}, {"g"}, {name}, {}, {}});
  }
  const auto missing = Uncovered(rules, rules);
  ASSERT_TRUE(missing.ok()) << missing.status().message();
  EXPECT_TRUE(missing->empty());
}

TEST(Compact, JoinsVerbsInTheOrderTheyCome) {
  EXPECT_EQ(Compact({{{"list"}, {""}, {"pods"}, {}, {}},
                     {{"get"}, {}, {}, {}, {"/a"}},
                     {{"get"}, {""}, {"pods"}, {}, {}},
                     {{"list"}, {""}, {"pods"}, {}, {}},
                     {{"list"}, {}, {}, {}, {"/a"}}}),
            (std::vector<PolicyRule>{{{"list", "get"}, {""}, {"pods"}, {}, {}},
                                     {{"get"}, {}, {}, {}, {"/a"}},
                                     {{"list"}, {}, {}, {}, {"/a"}}}));
}

}  // namespace
}  // namespace portcullis::authz::rbac

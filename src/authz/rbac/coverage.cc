// SPDX-License-Identifier: Apache-2.0

#include "authz/rbac/coverage.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"

namespace portcullis::authz::rbac {
namespace {

using Strings = std::vector<std::string>;

// One permission. A rule without resource names has one of no name.
struct Permission {
  std::string_view verb, group, resource, name, url;

  PolicyRule AsRule() const {
    PolicyRule rule;
    rule.verbs = {std::string(verb)};
    if (!url.empty()) {
      rule.non_resource_urls = {std::string(url)};
      return rule;
    }
    rule.api_groups = {std::string(group)};
    rule.resources = {std::string(resource)};
    if (!name.empty()) rule.resource_names = {std::string(name)};
    return rule;
  }
};

// A list that is asked often what it has.
class Names {
 public:
  explicit Names(const Strings& list) : list_(list) {
    constexpr std::size_t kShort = 8;
    if (list.size() > kShort) set_.insert(list.begin(), list.end());
    all_ = Find("*");
  }
  bool Has(std::string_view item) const { return all_ || Find(item); }
  // Also by "*/log" if the item is "pods/log".
  bool HasResource(std::string_view item, std::string_view any) const {
    return Has(item) || (!any.empty() && Find(any));
  }
  // Without a wildcard; an empty list has every name.
  bool HasName(std::string_view name) const {
    return list_.empty() || (!name.empty() && Find(name));
  }

 private:
  bool Find(std::string_view item) const {
    if (!set_.empty()) return set_.contains(item);
    return std::find(list_.begin(), list_.end(), item) != list_.end();
  }

  const Strings& list_;
  std::unordered_set<std::string_view> set_;
  bool all_ = false;
};

// "*/log" for "pods/log", else "".
std::string AnyWithSubresource(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  return slash == std::string_view::npos ? "" : base::StrCat("*", resource.substr(slash));
}

// The rules that a user has, found by what they name.
class Owned {
 public:
  explicit Owned(std::span<const PolicyRule> rules) {
    rules_.reserve(rules.size());
    for (const PolicyRule& rule : rules) {
      const std::size_t index = rules_.size();
      rules_.push_back({rule, Names(rule.verbs), Names(rule.api_groups), Names(rule.resources),
                        Names(rule.resource_names)});
      Enter(verbs_, rule.verbs, index);
      Enter(groups_, rule.api_groups, index);
      Enter(resources_, rule.resources, index);
    }
  }

  bool Has(const Permission& wanted, std::size_t& comparisons) const {
    const std::string any = AnyWithSubresource(wanted.resource);
    for (const std::vector<std::size_t>* list : Candidates(wanted, any)) {
      if (list == nullptr) continue;
      for (const std::size_t index : *list) {
        ++comparisons;
        if (Covers(rules_[index], wanted, any, comparisons)) return true;
      }
    }
    return false;
  }

 private:
  struct Rule {
    const PolicyRule& rule;
    Names verbs, groups, resources, names;
  };
  using Index = std::unordered_map<std::string_view, std::vector<std::size_t>>;
  using Lists = std::vector<const std::vector<std::size_t>*>;

  static void Enter(Index& index, const Strings& names, std::size_t rule) {
    for (const std::string& name : names) {
      std::vector<std::size_t>& list = index[name];
      if (list.empty() || list.back() != rule) list.push_back(rule);
    }
  }

  static Lists Named(const Index& index, std::initializer_list<std::string_view> names) {
    Lists lists;
    for (const std::string_view name : names) {
      const auto found = index.find(name);
      if (found != index.end() && !name.empty()) lists.push_back(&found->second);
    }
    return lists;
  }

  // The shortest lists of rules in which one that has the permission must be.
  Lists Candidates(const Permission& wanted, std::string_view any) const {
    Lists best = Named(verbs_, {wanted.verb, "*"});
    if (!wanted.url.empty()) return best;
    const auto length = [](const Lists& lists) {
      std::size_t sum = 0;
      for (const auto* list : lists) sum += list->size();
      return sum;
    };
    Lists of_group = Named(groups_, {"*"});
    if (const auto found = groups_.find(wanted.group); found != groups_.end()) {
      of_group.push_back(&found->second);  // the group may be ""
    }
    for (Lists& other :
         std::vector<Lists>{std::move(of_group), Named(resources_, {wanted.resource, "*", any})}) {
      if (length(other) < length(best)) best = std::move(other);
    }
    return best;
  }

  static bool Covers(const Rule& owner, const Permission& wanted, std::string_view any,
                     std::size_t& comparisons) {
    if (!owner.verbs.Has(wanted.verb)) return false;
    if (!wanted.url.empty()) {
      comparisons += owner.rule.non_resource_urls.size();
      return HasUrl(owner.rule.non_resource_urls, wanted.url);
    }
    return owner.groups.Has(wanted.group) && owner.resources.HasResource(wanted.resource, any) &&
           owner.names.HasName(wanted.name);
  }

  std::vector<Rule> rules_;
  Index verbs_, groups_, resources_;
};

// Calls `visit` with each permission of a rule until it returns false.
template <typename Visit>
bool ForEachPermission(const PolicyRule& rule, Visit visit) {
  const Strings no_name = {""};
  const Strings& names = rule.resource_names.empty() ? no_name : rule.resource_names;
  for (const std::string& group : rule.api_groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        for (const std::string& name : names) {
          if (!visit(Permission{verb, group, resource, name, {}})) return false;
        }
      }
    }
  }
  for (const std::string& url : rule.non_resource_urls) {
    for (const std::string& verb : rule.verbs) {
      if (!visit(Permission{verb, {}, {}, {}, url})) return false;
    }
  }
  return true;
}

}  // namespace

base::Result<std::vector<PolicyRule>> Uncovered(std::span<const PolicyRule> owned,
                                                std::span<const PolicyRule> wanted) {
  const Owned owners(owned);
  std::vector<PolicyRule> missing;
  std::size_t comparisons = 0;
  for (const PolicyRule& rule : wanted) {
    const bool ended = ForEachPermission(rule, [&](const Permission& permission) {
      ++comparisons;
      if (!owners.Has(permission, comparisons)) missing.push_back(permission.AsRule());
      return missing.size() < kMostMissing && comparisons <= kMostComparisons;
    });
    if (missing.size() == kMostMissing) break;
    if (!ended) {
      return base::Status(base::Reason::kForbidden,
                          "the rules have too many single permissions to compare them with those "
                          "of the user; divide them among several roles");
    }
  }
  return missing;
}

std::vector<PolicyRule> Compact(const std::vector<PolicyRule>& rules) {
  std::vector<PolicyRule> compact;
  std::map<std::tuple<Strings, Strings, Strings>, std::size_t> places;
  std::vector<std::unordered_set<std::string>> verbs;  // of each of `compact`
  for (const PolicyRule& rule : rules) {
    if (rule.non_resource_urls.empty()) {
      const auto [place, is_new] = places.try_emplace(
          {rule.api_groups, rule.resources, rule.resource_names}, compact.size());
      if (!is_new) {
        for (const std::string& verb : rule.verbs) {
          if (verbs[place->second].insert(verb).second) {
            compact[place->second].verbs.push_back(verb);
          }
        }
        continue;
      }
    }
    compact.push_back(rule);
    verbs.emplace_back(rule.verbs.begin(), rule.verbs.end());
  }
  return compact;
}

}  // namespace portcullis::authz::rbac

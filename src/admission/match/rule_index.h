// SPDX-License-Identifier: Apache-2.0

// RuleIndex: finds the webhooks or policies whose rules apply to a request without looking at the
// others. Rules are filed under (group, version, resource, subresource), each exact or "*"; a
// request looks into the at most sixteen places it can match.
//
// Immutable after construction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admission/request.h"
#include "api/names.h"
#include "json/value.h"

namespace portcullis::admission {
class ObjectInterfaces;
}

namespace portcullis::admission::match {

enum class Scope : std::uint8_t { kAll, kCluster, kNamespaced, kNone };

// A rule of a webhook or of a policy's matchConstraints.
struct Rule {
  Operations operations = 0;
  std::vector<std::string> groups;
  std::vector<std::string> versions;
  std::vector<std::string> resources;  // "pods", "pods/log", "*/scale", "*/*"
  Scope scope = Scope::kAll;
  std::vector<std::string> resource_names;  // policies only; empty: any
};

// Reads a RuleWithOperations (or NamedRuleWithOperations) as stored.
Rule ParseRule(json::Value rule);

enum class MatchPolicy : std::uint8_t { kExact, kEquivalent };

// What a matched target is called with.
struct Hit {
  std::uint32_t target = 0;
  std::uint32_t rule = 0;
  // Index into the equivalents asked about; -1: the request's own resource.
  std::int32_t equivalent = -1;
};

class RuleIndex {
 public:
  class Builder;

  // The targets whose rules match, ascending, each once, with its first matching rule: the
  // request's own resource first, then (for MatchPolicy::kEquivalent) each rule with each of
  // `equivalents`, which have the same name in other groups and versions. `equivalents` is called
  // at most once and only if some target may need it.
  std::vector<Hit> Find(
      const Request& request,
      const std::function<std::span<const api::GroupVersionResource>()>& equivalents) const;

  // False if no rule can match: most requests of most servers. Costs next to nothing.
  bool Concerns(const Request& request) const;

 private:
  struct Entry {
    std::uint32_t target;
    std::uint32_t rule;
    Operations operations;
    Scope scope;
    bool equivalent;
    std::int32_t names;  // index into names_; -1: any
  };
  struct Bucket {
    Operations operations = 0;
    bool any_equivalent = false;
    std::vector<Entry> entries;
  };
  // What those rules want that name a resource, in whatever group and version.
  struct Interest {
    Operations operations = 0;
    Operations equivalent = 0;  // of targets that accept equivalent resources
    void Add(const Interest& other) {
      operations |= other.operations;
      equivalent |= other.equivalent;
    }
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  Interest InterestIn(const Request& request) const;
  template <typename Visit>
  void Look(const Request& request, const api::GroupVersionResource& resource, Visit visit) const;

  Interest in_any_;  // of rules for "*"
  std::unordered_map<std::string, Interest, NameHash, std::equal_to<>> interests_;  // by resource
  std::unordered_map<std::string, Bucket> buckets_;
  // Which combinations of "*" occur: bit g<<3|v<<2|r<<1|s.
  std::uint32_t shapes_ = 0;
  std::vector<std::vector<std::string>> names_;
};

class RuleIndex::Builder {
 public:
  // Targets are numbered by the caller.
  void Add(std::uint32_t target, std::span<const Rule> rules, MatchPolicy policy);
  std::shared_ptr<const RuleIndex> Build();

 private:
  std::shared_ptr<RuleIndex> index_ = std::make_shared<RuleIndex>();
};

}  // namespace portcullis::admission::match

// SPDX-License-Identifier: Apache-2.0

// Classifier finds the FlowSchema of a request: of those that match, the one with the lowest
// matchingPrecedence, then the first by name (k8s.io/apiserver/pkg/util/flowcontrol, rule.go).
//
// The schemas are compiled into an index by subject and resource, so that a request looks at the
// few that may concern it, however many there are. Immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/user_info.h"
#include "flow_control/configuration.h"

namespace portcullis::flow_control {

// What a request is classified by; views of what the caller keeps.
struct RequestFacts {
  const api::UserInfo* user = nullptr;
  bool is_resource = false;
  std::string_view verb;
  std::string_view api_group;
  std::string_view resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
  std::string_view path;
};

class Classifier {
 public:
  // `schemas` in the order of precedence; outlive it.
  explicit Classifier(const std::vector<SchemaSpec>& schemas);

  // The index of the first that matches, or schemas.size().
  std::size_t Find(const RequestFacts& facts) const;

 private:
  // A rule of the schema at `order`; one of the two is set.
  struct Entry {
    std::size_t order = 0;
    const ResourceRule* resource = nullptr;
    const PathRule* path = nullptr;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <typename T>
  using Table = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

  // The rules that concern one subject; each list in the order of precedence.
  struct SubjectRules {
    Table<std::vector<Entry>> by_resource;
    std::vector<Entry> all_resources;
    std::vector<Entry> paths;
  };

  SubjectRules& RulesOf(const Subject& subject);
  static void AddRules(const PolicyRule& rule, std::size_t order, SubjectRules& out);
  static void Look(const SubjectRules& rules, const RequestFacts& facts, std::string_view resource,
                   std::size_t& best);
  static void Look(const std::vector<Entry>& entries, const RequestFacts& facts, std::size_t& best);

  std::size_t count_ = 0;
  SubjectRules everybody_;
  Table<SubjectRules> users_;
  Table<SubjectRules> groups_;
  Table<SubjectRules> namespaces_;  // all service accounts of one
};

}  // namespace portcullis::flow_control

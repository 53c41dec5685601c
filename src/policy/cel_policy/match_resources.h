// SPDX-License-Identifier: Apache-2.0

// MatchResources of policies and bindings: selectors and rules
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "admission/match/rule_index.h"
#include "admission/object_interfaces.h"
#include "admission/request.h"
#include "admission/trace/trace.h"
#include "api/selector/label_selector.h"
#include "base/mutex.h"
#include "policy/cel_policy/request_inputs.h"

namespace portcullis::policy {

// A selector shared by all that have the same one. Immutable.
struct Selector {
  api::LabelSelector labels;
  base::Status error;  // why it is no selector
};

// One Selector per distinct text for as long as somebody holds it. Thread-safe.
class SelectorPool {
 public:
  std::shared_ptr<const Selector> Get(json::Value selector);

 private:
  base::Mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Selector>> selectors_ PC_GUARDED_BY(mutex_);
  // Expired entries are erased when the map has grown to this size.
  std::size_t next_sweep_ PC_GUARDED_BY(mutex_) = 1024;
};

struct MatchResources {
  std::shared_ptr<const Selector> namespace_selector;
  std::shared_ptr<const Selector> object_selector;
  std::vector<admission::match::Rule> rules;
  std::vector<admission::match::Rule> excludes;
  admission::match::MatchPolicy policy = admission::match::MatchPolicy::kEquivalent;
};

MatchResources ParseMatchResources(json::Value value, SelectorPool& selectors);

// Matches one request against many MatchResources; judges each distinct selector once. Confined to
// one thread.
class RequestMatcher {
 public:
  // All of them outlive the matcher.
  RequestMatcher(RequestInputs& inputs, const store::Reader* reader,
                 const admission::ObjectInterfaces* objects);

  struct Match {
    bool matches = false;
    // Set if a rule matched: which one, in which of the request's equivalents (-1: as sent).
    std::optional<std::int32_t> equivalent;
  };

  // Everything but the rules, which the shared index has judged already. An error is one of
  // configuration.
  base::Result<bool> SelectorsMatch(const MatchResources& resources);
  // The same with the rules.
  base::Result<Match> Matches(const MatchResources& resources);
  // Why SelectorsMatch() is false, for traces.
  admission::Mismatch ExplainSelectors(const MatchResources& resources);
  // Why the rules do not match.
  admission::Mismatch ExplainRules(const MatchResources& resources);

  std::span<const api::GroupVersionResource> equivalents();
  const api::GroupVersionResource& Equivalent(std::int32_t index);

 private:
  base::Result<bool> NamespaceMatches(const Selector& selector);
  base::Result<json::Value> NamespaceLabels();
  base::Result<bool> ObjectMatches(const Selector& selector);
  std::optional<std::int32_t> FindRule(const std::vector<admission::match::Rule>& rules,
                                       admission::match::MatchPolicy policy);
  bool RuleMatches(const admission::match::Rule& rule, const api::GroupVersionResource& resource);

  RequestInputs& inputs_;
  const store::Reader* reader_;
  const admission::ObjectInterfaces* objects_;
  std::optional<std::vector<api::GroupVersionResource>> equivalents_;
  std::unordered_map<const Selector*, bool> namespace_verdicts_;
  std::unordered_map<const Selector*, bool> object_verdicts_;
  store::ObjectPtr namespace_;
};

}  // namespace portcullis::policy

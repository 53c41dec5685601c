// SPDX-License-Identifier: Apache-2.0

// The policies in force with their bindings: one immutable snapshot, and the source that follows
// the store.
//
// A change is taken in before the write that made it is acknowledged; the snapshot is made when the
// next request asks for it. A policy without bindings is not in force.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/match/rule_index.h"
#include "admission/plugin.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/sorted_blocks.h"
#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"
#include "policy/cel_policy/match_resources.h"
#include "policy/cel_policy/params.h"

namespace portcullis::policy {

using ExpressionPtr = std::shared_ptr<const kube_cel::Expression>;

struct Validation {
  ExpressionPtr expression;
  ExpressionPtr message_expression;  // null if there is none
  std::string message;               // trimmed
  std::string reason;
};

struct AuditAnnotation {
  std::string key;
  ExpressionPtr expression;
};

struct Mutation {
  bool is_json_patch = false;
  ExpressionPtr expression;
};

// A policy of either kind, compiled. Immutable.
struct Policy {
  std::string name;
  bool ignore_failures = false;
  std::string unknown_failure_policy;  // a value that is neither Fail nor Ignore
  bool reinvoke_if_needed = false;
  std::optional<ParamKind> param_kind;
  bool has_constraints = false;
  MatchResources constraints;
  std::vector<kube_cel::NamedExpression> variables;
  std::vector<kube_cel::NamedExpression> conditions;
  std::vector<Validation> validations;
  std::vector<AuditAnnotation> audit_annotations;
  std::vector<Mutation> mutations;
  std::uint8_t inputs = 0;  // those that any of its expressions mentions, a bit for each
  bool Uses(kube_cel::Input input) const {
    return (inputs >> static_cast<unsigned>(input) & 1) != 0;
  }
};

// Immutable. There may be hundreds of thousands: kept small.
struct Binding {
  enum Action : std::uint8_t { kNone, kDeny, kWarn, kAudit };

  std::string name;
  std::unique_ptr<const ParamRef> param_ref;        // null if there is none
  std::unique_ptr<const MatchResources> resources;  // likewise
  std::array<Action, 3> actions{};                  // as the binding lists them

  bool Has(Action action) const {
    return actions[0] == action || actions[1] == action || actions[2] == action;
  }
  // `["Deny","Audit"]`
  std::string ActionsJson() const;
};

using Bindings = std::vector<std::shared_ptr<const Binding>>;  // by name

struct ActivePolicy {
  std::shared_ptr<const Policy> policy;
  std::shared_ptr<const Bindings> bindings;  // at least one
};

struct PolicySet {
  std::vector<ActivePolicy> policies;  // those of files, then those of the API; each by name
  std::shared_ptr<const admission::match::RuleIndex> index;
  // Policies of the API without bindings, which traces name. By name.
  std::vector<std::shared_ptr<const Policy>> unbound;
};

std::shared_ptr<const PolicySet> MakePolicySet(
    std::vector<ActivePolicy> policies, std::vector<std::shared_ptr<const Policy>> unbound = {});

enum class PolicyType : std::uint8_t { kValidating, kMutating };

// `object` in v1 form.
std::shared_ptr<const Policy> CompilePolicy(kube_cel::Compiler& compiler, SelectorPool& selectors,
                                            PolicyType type, json::Value object);
std::shared_ptr<const Binding> CompileBinding(SelectorPool& selectors, json::Value object);

// Thread-safe.
class PolicySource {
 public:
  // All of them outlive the source.
  PolicySource(admission::ObjectFeed& feed, PolicyType type, kube_cel::Compiler& compiler,
               SelectorPool& selectors);

  // Those of the API behind `files` (may be null).
  std::shared_ptr<const PolicySet> Get(const std::shared_ptr<const PolicySet>& files) const;

 private:
  std::shared_ptr<const PolicySet> Build(const PolicySet* files) const PC_REQUIRES(mutex_);

  using Changes = std::vector<admission::ObjectFeed::Change>;
  void TakePolicies(const Changes& changes);
  void TakeBindings(const Changes& changes);

  // What there is of one name: a policy, bindings that name it, or both.
  struct Group {
    std::shared_ptr<const Policy> policy;
    std::shared_ptr<Bindings> bindings;
    mutable bool published = false;  // a snapshot holds these bindings: they may not be changed
  };
  using Groups = std::map<std::string, Group, std::less<>>;
  // Where a binding is: its group owns it.
  struct Place {
    const Binding* binding;
    Groups::iterator group;
  };
  struct NameOf {
    std::string_view operator()(const Place& place) const { return place.binding->name; }
  };
  static Bindings& Changeable(Group& group);
  void AddBinding(const std::string& policy, std::shared_ptr<const Binding> binding)
      PC_REQUIRES(mutex_);
  void RemoveBinding(std::string_view name) PC_REQUIRES(mutex_);
  void DropIfEmpty(Groups::iterator group) PC_REQUIRES(mutex_);

  // What was put together last, and with which files.
  struct Combined {
    std::shared_ptr<const PolicySet> files;
    std::shared_ptr<const PolicySet> all;
  };

  const PolicyType type_;
  kube_cel::Compiler& compiler_;
  SelectorPool& selectors_;
  mutable std::atomic<bool> stale_{true};
  mutable base::Published<Combined> published_;
  mutable base::Mutex mutex_;
  Groups groups_ PC_GUARDED_BY(mutex_);  // by the policy's name
  base::SortedBlocks<Place, NameOf> places_ PC_GUARDED_BY(mutex_);
  // Last: their callbacks use everything above.
  std::shared_ptr<void> policy_watch_;
  std::shared_ptr<void> binding_watch_;
};

// True for the reviews that no policy sees.
bool IsExempt(const admission::Request& request);
// True for policies and bindings themselves, which only policies of files may judge.
bool IsPolicyResource(const admission::Request& request);

}  // namespace portcullis::policy

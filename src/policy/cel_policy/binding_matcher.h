// SPDX-License-Identifier: Apache-2.0

// The steps that policies of both kinds have in common before anything is evaluated: which policies
// and bindings a request meets, and with which parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "policy/cel_policy/policy_set.h"
#include "policy/cel_policy/validating.h"

namespace portcullis::policy {

// A binding that applies, with its parameters.
struct BoundPolicy {
  const Binding* binding = nullptr;
  std::span<const Param> params;  // valid during the callback
};

// Something is wrong with how a policy or binding is set up.
struct ConfigurationError {
  const Policy* policy = nullptr;
  const Binding* binding = nullptr;  // null: the policy itself
  std::string message;               // `failed to configure binding: …`
};

// Where a policy's rules have matched, and what follows from it.
struct PolicyMatch {
  const Policy* policy = nullptr;
  std::int32_t equivalent = -1;  // as in Hit; kind and resource follow from it
  api::GroupVersionKind kind;
  api::GroupVersionResource resource;
};

// What happens to a policy in the order of its bindings. `on_error` is called only if the policy
// does not ignore failures. `keep_param_type`: see CollectParams().
class BindingMatcher {
 public:
  BindingMatcher(const PolicyServices& services, RequestInputs& inputs, bool keep_param_type)
      : services_(services),
        inputs_(inputs),
        matcher_(inputs, services.reader, services.objects),
        trace_(inputs.request().recorder().trace()),
        keep_param_type_(keep_param_type) {}

  using OnMatch = std::function<base::Status(const PolicyMatch& match, const BoundPolicy& bound)>;
  using OnError = std::function<void(const ConfigurationError& error)>;

  // Calls back for all policies of the set that the request meets; ends with the first error of
  // `on_match`.
  base::Status ForEach(const PolicySet& policies, const OnMatch& on_match, const OnError& on_error);

 private:
  base::Status VisitPolicy(const ActivePolicy& active, const admission::match::Hit& hit,
                           const OnMatch& on_match, const OnError& on_error);
  // Null if the policy does not apply, which has been reported; else valid until the next call.
  const PolicyMatch* MatchPolicy(const Policy& policy, const admission::match::Hit& hit,
                                 const OnError& on_error);
  bool MatchesBinding(const Policy& policy, const Binding& binding, const OnError& on_error);
  // Steps of a trace for policies, or a binding, that do not apply. REQUIRES: trace_ != nullptr.
  void ExplainUpTo(const PolicySet& policies, std::size_t end);
  void ExplainUnbound(const PolicySet& policies);
  void Skip(const Policy& policy, const Binding* binding, admission::Mismatch why);
  void Report(const OnError& on_error, const Policy& policy, const Binding* binding,
              std::string_view message);
  void BeginStep();

  const PolicyServices& services_;
  RequestInputs& inputs_;
  RequestMatcher matcher_;
  admission::Trace* const trace_;  // null if the request is not traced
  std::size_t explained_ = 0;      // policies that have their steps
  std::size_t matched_ = 0;        // policies and bindings so far
  // Of the policy under way; none yet. Most policies match the same resource: its names are copied when it changes.
  std::optional<PolicyMatch> match_;
  const bool keep_param_type_;
};

// The actor of a trace's step: a policy, with a binding or null for the policy as a whole.
admission::TraceActor ActorOf(const Policy& policy, const Binding* binding,
                              std::string_view param = {});

// Objects of a request as another kind; each conversion is made once.
class MatchedObjects {
 public:
  MatchedObjects(const admission::Request& request, const admission::ObjectInterfaces* objects)
      : request_(request), objects_(objects) {}
  // The error is one of configuration: `failed to convert object version: …`.
  // Valid as long as this.
  base::Result<const Matched*> As(const PolicyMatch& match);

 private:
  const admission::Request& request_;
  const admission::ObjectInterfaces* objects_;
  std::map<std::int32_t, Matched> known_;  // by PolicyMatch::equivalent
};

}  // namespace portcullis::policy

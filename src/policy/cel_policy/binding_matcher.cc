// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/binding_matcher.h"

#include "admission/object_conversion.h"
#include "base/strings.h"

namespace portcullis::policy {

using admission::TraceReason;

admission::TraceActor ActorOf(const Policy& policy, const Binding* binding,
                              std::string_view param) {
  return {admission::TraceActor::Kind::kPolicy, policy.name,
          binding == nullptr ? std::string() : binding->name, std::string(param)};
}

void BindingMatcher::BeginStep() {
  constexpr std::size_t kSteps = 64;  // each is much shorter than reading the clock is worth
  if (++matched_ % kSteps == 0) services_.BeginStep();
}

void BindingMatcher::Report(const OnError& on_error, const Policy& policy, const Binding* binding,
                            std::string_view message) {
  if (trace_ != nullptr) {
    using Outcome = admission::TraceOutcome;
    trace_->Begin(ActorOf(policy, binding));
    trace_->SetReason(TraceReason::kFailurePolicy);
    trace_->End(policy.ignore_failures ? Outcome::kFailedOpen : Outcome::kFailed,
                std::string(message));
  }
  if (policy.ignore_failures) return;
  if (!policy.unknown_failure_policy.empty()) {
    on_error({&policy, binding,
              base::StrCat("unrecognized failure policy: '", policy.unknown_failure_policy, "'")});
    return;
  }
  on_error({&policy, binding,
            base::StrCat("failed to configure ", binding == nullptr ? "policy" : "binding", ": ",
                         message)});
}

base::Status BindingMatcher::ForEach(const PolicySet& policies, const OnMatch& on_match,
                                     const OnError& on_error) {
  const auto hits = policies.index->Find(inputs_.request(), [&] { return matcher_.equivalents(); });
  for (const admission::match::Hit& hit : hits) {
    BeginStep();
    if (trace_ != nullptr) ExplainUpTo(policies, hit.target);
    TRY(VisitPolicy(policies.policies[hit.target], hit, on_match, on_error));
  }
  if (trace_ != nullptr) {
    ExplainUpTo(policies, policies.policies.size());
    ExplainUnbound(policies);
  }
  return base::OkStatus();
}

// The policies before `end` that have no step yet are those whose rules do not match.
void BindingMatcher::ExplainUpTo(const PolicySet& policies, std::size_t end) {
  for (; explained_ < end; ++explained_) {
    const Policy& policy = *policies.policies[explained_].policy;
    Skip(policy, nullptr, matcher_.ExplainRules(policy.constraints));
  }
  explained_ = end + 1;
}

void BindingMatcher::ExplainUnbound(const PolicySet& policies) {
  for (const auto& policy : policies.unbound) {
    Skip(*policy, nullptr, {TraceReason::kNoBindings, "no binding names this policy"});
  }
}

void BindingMatcher::Skip(const Policy& policy, const Binding* binding, admission::Mismatch why) {
  trace_->Begin(ActorOf(policy, binding));
  trace_->Skip(why.reason, std::move(why.message));
}

const PolicyMatch* BindingMatcher::MatchPolicy(const Policy& policy,
                                               const admission::match::Hit& hit,
                                               const OnError& on_error) {
  const auto selected = matcher_.SelectorsMatch(policy.constraints);
  if (!selected.ok()) {
    Report(on_error, policy, nullptr, selected.status().message());
    return nullptr;
  }
  if (!*selected) {
    if (trace_ != nullptr) Skip(policy, nullptr, matcher_.ExplainSelectors(policy.constraints));
    return nullptr;
  }
  if (!match_ || match_->equivalent != hit.equivalent) {
    match_.emplace();
    match_->equivalent = hit.equivalent;
    match_->resource = matcher_.Equivalent(hit.equivalent);
    match_->kind = hit.equivalent < 0 ? inputs_.request().kind()
                                      : services_.objects->KindFor(match_->resource,
                                                                   inputs_.request().subresource());
  }
  if (hit.equivalent >= 0 && match_->kind.empty()) {
    Report(on_error, policy, nullptr,
           base::StrCat("unable to convert to ", match_->resource.ToString(), ": unknown kind"));
    return nullptr;
  }
  match_->policy = &policy;
  return &*match_;
}

bool BindingMatcher::MatchesBinding(const Policy& policy, const Binding& binding,
                                    const OnError& on_error) {
  if (!binding.resources) return true;
  const auto met = matcher_.Matches(*binding.resources);
  if (!met.ok()) {
    Report(on_error, policy, &binding, met.status().message());
    return false;
  }
  if (!met->matches && trace_ != nullptr) {
    const bool by_rules = !met->equivalent && !binding.resources->rules.empty();
    Skip(policy, &binding,
         by_rules ? matcher_.ExplainRules(*binding.resources)
                  : matcher_.ExplainSelectors(*binding.resources));
  }
  return met->matches;
}

base::Status BindingMatcher::VisitPolicy(const ActivePolicy& active,
                                         const admission::match::Hit& hit, const OnMatch& on_match,
                                         const OnError& on_error) {
  const Policy& policy = *active.policy;
  const PolicyMatch* const match = MatchPolicy(policy, hit, on_error);
  if (match == nullptr) return base::OkStatus();
  std::optional<ParamSource> source;
  if (policy.param_kind) {
    auto found = FindParamSource(services_.objects, *policy.param_kind);
    if (!found.ok()) {
      Report(on_error, policy, nullptr, found.status().message());
      return base::OkStatus();
    }
    source = *std::move(found);
  }
  static const Param kNone{};
  std::vector<Param> found;
  for (const auto& binding : *active.bindings) {
    BeginStep();
    if (!MatchesBinding(policy, *binding, on_error)) continue;
    BoundPolicy bound;
    bound.binding = binding.get();
    if (source && binding->param_ref) {
      auto params = CollectParams(*source, *binding->param_ref, inputs_.request(), services_.reader,
                                  services_.objects, keep_param_type_);
      if (!params.ok()) {
        Report(on_error, policy, binding.get(), params.status().message());
        continue;
      }
      found = *std::move(params);
      bound.params = found;
      if (found.empty() && trace_ != nullptr) {
        Skip(policy, binding.get(),
             {TraceReason::kParameterNotFound,
              "no parameter is found, and parameterNotFoundAction is Allow"});
      }
    } else {
      bound.params = std::span<const Param>(&kNone, 1);
    }
    TRY(on_match(*match, bound));
  }
  return base::OkStatus();
}

base::Result<const Matched*> MatchedObjects::As(const PolicyMatch& match) {
  const auto known = known_.find(match.equivalent);
  if (known != known_.end()) return &known->second;
  Matched matched{match.kind, match.resource, request_.object(), request_.old_object()};
  if (match.kind != request_.kind() && objects_ != nullptr) {
    for (json::Value* object : {&matched.object, &matched.old_object}) {
      if (object->is_null()) continue;
      auto converted = admission::ConvertFor(request_, *objects_, *object, match.kind);
      if (!converted.ok()) {
        return base::Invalid(
            base::StrCat("failed to convert object version: ", converted.status().message()));
      }
      *object = *converted;
    }
  }
  return &known_.emplace(match.equivalent, std::move(matched)).first->second;
}

}  // namespace portcullis::policy

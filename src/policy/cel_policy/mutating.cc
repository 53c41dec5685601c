// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/mutating.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "admission/errors.h"
#include "admission/object_conversion.h"
#include "admission/survey.h"
#include "api/schema/schema.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/verbatim.h"
#include "policy/cel_policy/binding_matcher.h"
#include "policy/cel_policy/conditions.h"

namespace portcullis::policy {
namespace {

using admission::TraceReason;
using kube_cel::Input;

constexpr std::string_view kPlugin = "MutatingAdmissionPolicy";
// So much objects may take that later mutations have replaced.
constexpr std::size_t kRoom = 1 << 20;

// One policy with one binding and one parameter.
using Key = std::tuple<std::string, std::string, std::string>;

struct Memory final : admission::Reinvocation::State {
  json::Value last_output;
  std::set<Key> previously_invoked;
  std::set<Key> reinvoke;

  void ReinvokePrevious() {
    reinvoke.merge(previously_invoked);
    previously_invoked.clear();
  }
};

struct Invocation {
  PolicyMatch match;
  const Binding* binding = nullptr;
  Param param;
  Key key;
};

std::string_view ErrorTypeOf(std::string_view message) {
  if (message.empty()) return "no_error";
  if (message.starts_with("compilation")) return "compile_error";
  if (message.starts_with("validation failed due to running out of cost budget")) {
    return "out_of_budget";
  }
  return "invalid_error";
}

class Dispatcher {
 public:
  Dispatcher(const PolicyServices& services, admission::Request& request)
      : services_(services),
        request_(request),
        trace_(request.recorder().trace()),
        memory_(request.reinvocation().StateOf<Memory>(kPlugin)),
        object_(request.object()),
        kind_(request.kind()),
        arena_(&request.arena()),
        room_(arena_->bytes_used() + kRoom) {}

  base::Status Run(const PolicySet& policies) {
    if (request_.reinvocation().is_reinvoke() &&
        !SemanticallyEqual(memory_.last_output, request_.object())) {
      memory_.ReinvokePrevious();
    }
    base::Status status = Collect(policies);
    for (std::size_t i = 0; i < invocations_.size() && status.ok(); ++i) {
      status = Invoke(invocations_[i]);
    }
    TRY(status);
    TRY(SwitchTo(request_.kind()));
    if (changed_) {
      request_.arena().Retain(own_arena_);
      request_.set_object(object_);
      request_.MarkReencoded();
      // Policies that ran before the last change run again, and so does the whole chain.
      memory_.ReinvokePrevious();
      request_.reinvocation().RequestReinvocation();
    }
    memory_.last_output = request_.object();
    if (refusal_.ok()) return refusal_;
    // Named after the object as mutations have left it.
    const base::Status named = admission::Forbidden(request_, "");
    base::StatusDetails details = named.details() ? *named.details() : base::StatusDetails();
    details.causes = causes_;
    return refusal_.WithDetails(std::move(details));
  }

 private:
  bool SemanticallyEqual(json::Value a, json::Value b) const {
    if (services_.objects == nullptr) return a == b;
    return services_.objects->SemanticallyEqual(a, b, request_.kind());
  }

  // All of this is decided on the object as it has come in.
  base::Status Collect(const PolicySet& policies) {
    RequestInputs inputs(request_, services_.authorizer, services_.reader);
    BindingMatcher matcher(services_, inputs, /*keep_param_type=*/false);
    return matcher.ForEach(
        policies,
        [&](const PolicyMatch& match, const BoundPolicy& bound) {
          for (const Param& param : bound.params) {
            invocations_.push_back({match,
                                    bound.binding,
                                    param,
                                    {match.policy->name, bound.binding->name, param.key}});
          }
          return base::OkStatus();
        },
        [&](const ConfigurationError& error) {
          const std::string who = error.binding == nullptr
                                      ? base::StrCat("policy \"", error.policy->name, "\"")
                                      : base::StrCat("policy '", error.policy->name,
                                                     "' with binding '", error.binding->name, "'");
          Refuse(*error.policy, error.binding,
                 base::StrCat(who, " denied request: ", error.message), "Forbidden", -1);
        });
  }

  base::Status SwitchTo(const api::GroupVersionKind& kind) {
    if (kind == kind_ || object_.is_null() || services_.objects == nullptr) return base::OkStatus();
    auto converted = admission::ConvertFor(request_, *services_.objects, object_, kind);
    if (!converted.ok()) return base::InternalError(converted.status().message());
    object_ = *converted;
    has_defaults_ = false;
    kind_ = kind;
    return base::OkStatus();
  }

  base::Status Invoke(const Invocation& invocation) {
    if (trace_ != nullptr) {
      trace_->Begin(ActorOf(*invocation.match.policy, invocation.binding, invocation.param.key));
    }
    if (!IsInvoked(invocation)) return base::OkStatus();
    TRY(SwitchTo(invocation.match.kind));
    const json::Value before = object_;
    TRY(Judge(invocation));
    if (trace_ != nullptr) EndStep(invocation, before);
    return base::OkStatus();
  }

  bool IsInvoked(const Invocation& invocation) {
    const bool again = request_.reinvocation().is_reinvoke();
    if (again && memory_.reinvoke.count(invocation.key) == 0) {
      if (trace_ != nullptr) {
        trace_->Skip(TraceReason::kReinvocationPolicy,
                     invocation.match.policy->reinvoke_if_needed
                         ? "the object has not changed since this policy was applied"
                         : "reinvocationPolicy is Never");
      }
      return false;
    }
    if (!object_.is_null()) return true;
    if (trace_ != nullptr) {
      trace_->Skip(TraceReason::kNoObject, "the request has no object to mutate");
    }
    return false;
  }

  // REQUIRES: object_ is of the kind that the policy has matched.
  base::Status Judge(const Invocation& invocation) {
    const Policy& policy = *invocation.match.policy;
    RequestInputs inputs(request_, services_.authorizer, services_.reader);
    TRY(inputs.FetchNamespace());
    Matched matched{invocation.match.kind, invocation.match.resource, object_,
                    request_.old_object()};
    if (kind_ != request_.kind() && !matched.old_object.is_null() && services_.objects != nullptr) {
      auto converted =
          admission::ConvertFor(request_, *services_.objects, matched.old_object, kind_);
      if (converted.ok()) matched.old_object = *converted;
    }
    if (!ConditionsMet(invocation, inputs, matched)) return base::OkStatus();
    for (const Mutation& mutation : policy.mutations) {
      MakeRoom();
      matched.object = object_;
      TRY(Mutate(invocation, mutation, inputs, matched));
    }
    if (policy.reinvoke_if_needed) memory_.previously_invoked.insert(invocation.key);
    return base::OkStatus();
  }

  // Ends the step of a trace, if the conditions have not.
  void EndStep(const Invocation& invocation, json::Value before) {
    using admission::TraceOutcome;
    const std::string failures = std::exchange(failures_, {});
    const bool changed = !SemanticallyEqual(before, object_);
    trace_->SetObjects(before, object_, kind_ == request_.kind());
    if (failures.empty()) {
      return trace_->End(changed ? TraceOutcome::kChanged : TraceOutcome::kAllowed);
    }
    trace_->SetReason(TraceReason::kFailurePolicy);
    trace_->End(invocation.match.policy->ignore_failures ? TraceOutcome::kFailedOpen
                                                         : TraceOutcome::kFailed,
                failures);
  }

  bool ConditionsMet(const Invocation& invocation, RequestInputs& inputs, const Matched& matched) {
    const Policy& policy = *invocation.match.policy;
    if (policy.conditions.empty()) return true;
    Matched original = matched;
    original.resource = request_.resource();
    kube_cel::Inputs values = inputs.For(kPlugin, policy, original, false);
    values.Set(Input::kParams, cel::MakeFromJson(request_.arena(), invocation.param.object));
    const auto start = services_.BeginStep();
    const auto outcome = EvaluateConditions(policy.conditions, values, policy.variables);
    using Outcome = admission::match::ConditionOutcome::Verdict;
    if (trace_ != nullptr) trace_->AddCost(outcome.cost);
    if (outcome.verdict == Outcome::kMatch) return true;
    CountConditions(services_.condition_metrics, policy.name, request_.operation(), outcome,
                    services_.clock->Steady() - start);
    if (outcome.verdict == Outcome::kError) Fail(invocation, outcome.error, -1);
    if (trace_ != nullptr && outcome.verdict != Outcome::kError) {
      trace_->Skip(TraceReason::kMatchConditions,
                   base::StrCat(base::GoQuote(outcome.failed_condition), " is false"));
    }
    return false;
  }

  // Gives up the objects before object_, if they take much. A trace refers to all of them.
  void MakeRoom() {
    if (arena_->bytes_used() < room_ || trace_ != nullptr) return;
    auto fresh = std::make_shared<json::Arena>();
    object_ = json::CopyVerbatim(*fresh, object_);
    own_arena_ = std::move(fresh);
    arena_ = own_arena_.get();
    room_ = kRoom + 2 * arena_->bytes_used();
  }

  base::Status Mutate(const Invocation& invocation, const Mutation& mutation, RequestInputs& inputs,
                      const Matched& matched) {
    json::Arena& arena = *arena_;
    const auto start = services_.BeginStep();
    kube_cel::Inputs values = inputs.For(kPlugin, *invocation.match.policy, matched, true);
    values.Set(Input::kParams, cel::MakeFromJson(arena, invocation.param.object));
    const kube_cel::Expression& expression = *mutation.expression;
    std::string error;
    Patched patched;
    json::Arena scratch;  // as for validations: see evaluate_policy.cc
    kube_cel::Evaluation evaluation(scratch, values, invocation.match.policy->variables);
    if (!expression.ok()) {
      error = expression.error();
    } else {
      kube_cel::Budget budget(kube_cel::kPolicyBudget);
      const kube_cel::Evaluated result = evaluation.Evaluate(expression, budget);
      if (trace_ != nullptr) trace_->AddCost(kube_cel::kPolicyBudget - budget.left());
      if (result.out_of_budget) {
        error = kube_cel::kOutOfBudget;
      } else if (!result.error.empty()) {
        error = EvaluationErrorText(expression, result.error);
      } else {
        const Patching patching{arena, scratch, services_.objects, kind_, object_};
        patched = mutation.is_json_patch ? ApplyJsonPatch(patching, result.value)
                                         : ApplyConfiguration(patching, result.value);
        if (!patched.error.ok()) error = patched.error.message();
      }
    }
    if (error.empty() && !patched.fatal) error = NotInKindOfRequest();
    Count(invocation, ErrorTypeOf(error), services_.clock->Steady() - start);
    const auto index =
        static_cast<std::int32_t>(&mutation - invocation.match.policy->mutations.data());
    if (patched.fatal) {
      AddToSurvey({ActorOf(*invocation.match.policy, invocation.binding), index, patched.error});
      return patched.error;
    }
    if (!error.empty()) {
      Fail(invocation, error, index);
      return base::OkStatus();
    }
    json::Value next = patched.object;
    if (services_.objects != nullptr) {
      const json::Value before = has_defaults_ ? object_ : json::Value();
      next = TRY(services_.objects->Default(arena, next, kind_, before));
      if (trace_ != nullptr && kind_ == request_.kind()) trace_->AddPatched(patched.object, next);
    }
    if (!SemanticallyEqual(object_, next)) memory_.ReinvokePrevious();
    object_ = next;
    has_defaults_ = true;
    changed_ = true;
    return base::OkStatus();
  }

  // kube-apiserver converts what a patch has made of a built-in kind into the group and version of the
  // request without its internal type between: why that fails, or "".
  std::string NotInKindOfRequest() const {
    if (services_.objects == nullptr) return "";
    const api::GroupVersionKind& wanted = request_.kind();
    const std::string version = wanted.group_version().ToString();
    if (request_.subresource() == "scale" &&
        IsCustom(services_.objects->KindFor(request_.resource(), ""))) {
      return base::StrCat("request to convert CR to an invalid group/version: ", version);
    }
    if (kind_.group_version() == wanted.group_version() || IsCustom(kind_)) return "";
    const std::string type = base::StrCat(kind_.version, ".", kind_.kind);
    if (kind_.group != wanted.group) {
      return base::StrCat(type, " is not suitable for converting to ", base::GoQuote(version),
                          " in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"");
    }
    return base::StrCat("converting (", type, ") to (", wanted.version, ".", wanted.kind,
                        "): unknown conversion");
  }

  bool IsCustom(const api::GroupVersionKind& kind) const {
    const auto schema = services_.objects->SchemaOf(kind);
    return schema != nullptr && schema->constraints != nullptr;
  }

  void Count(const Invocation& invocation, std::string_view error_type,
             base::Duration elapsed) const {
    if (services_.metrics == nullptr) return;
    const std::string& policy = invocation.match.policy->name;
    services_.metrics->mutating_checks.With({error_type, policy, invocation.binding->name})
        .Increment();
    services_.metrics->mutating_check_duration.With({error_type, policy, invocation.binding->name})
        .Observe(std::chrono::duration<double>(elapsed).count());
  }

  void Fail(const Invocation& invocation, std::string_view error, std::int32_t index) {
    if (trace_ != nullptr) failures_ += base::StrCat(failures_.empty() ? "" : "; ", error);
    if (invocation.match.policy->ignore_failures) return;
    Refuse(*invocation.match.policy, invocation.binding,
           base::StrCat("policy '", invocation.match.policy->name, "' with binding '",
                        invocation.binding->name, "' denied request: ", error),
           "Invalid", index);
  }

  // The first error gives message and reason; each is a cause.
  void Refuse(const Policy& policy, const Binding* binding, std::string text,
              std::string_view reason, std::int32_t index) {
    causes_.push_back({"", text, ""});
    const base::Status refusal = base::Status::Custom(403, std::string(reason), std::move(text));
    AddToSurvey({ActorOf(policy, binding), index, refusal});
    if (refusal_.ok()) refusal_ = refusal;
  }

  void AddToSurvey(admission::Refusal refusal) const {
    admission::Survey* const survey = request_.recorder().survey();
    if (survey != nullptr) survey->AddPart(std::move(refusal));
  }

  const PolicyServices& services_;
  admission::Request& request_;
  admission::Trace* const trace_;  // null if the request is not traced
  std::string failures_;           // of the step under way, for the trace
  Memory& memory_;
  std::vector<Invocation> invocations_;
  bool has_defaults_ = false;  // object_ got them after a mutation
  // The object as it goes from mutation to mutation, of kind_.
  json::Value object_;
  api::GroupVersionKind kind_;
  json::Arena* arena_;  // where mutations make their objects: the request's, or, if they take much,
  std::shared_ptr<json::Arena> own_arena_;
  std::size_t room_;  // of arena_, until MakeRoom()
  bool changed_ = false;
  base::Status refusal_;
  std::vector<base::Cause> causes_;
};

}  // namespace

base::Status DispatchMutating(const PolicyServices& services, const PolicySet& policies,
                              admission::Request& request) {
  if (policies.policies.empty() && policies.unbound.empty()) return base::OkStatus();
  return Dispatcher(services, request).Run(policies);
}

}  // namespace portcullis::policy

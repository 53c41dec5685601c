// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/validating.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admission/errors.h"
#include "admission/survey.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/writer.h"
#include "policy/cel_policy/binding_matcher.h"

namespace portcullis::policy {
namespace {

constexpr std::string_view kFailureKey = "validation.policy.admission.k8s.io/validation_failure";

std::string_view ErrorTypeOf(std::string_view message) {
  if (message.starts_with("compilation")) return "compile_error";
  if (message.starts_with("validation failed due to running out of cost budget")) {
    return "out_of_budget";
  }
  return "invalid_error";
}

base::Reason ReasonOf(std::string_view reason) {
  if (reason == "Forbidden") return base::Reason::kForbidden;
  if (reason == "Unauthorized") return base::Reason::kUnauthorized;
  if (reason == "RequestEntityTooLarge") return base::Reason::kRequestEntityTooLarge;
  return base::Reason::kInvalid;
}

// Ends the step of a trace as the binding makes of the verdict.
void EndStep(const Policy& policy, const Binding& binding, const Verdict& verdict,
             admission::Trace& trace) {
  using admission::TraceOutcome;
  using admission::TraceReason;
  if (!verdict.applies) {
    return trace.Skip(
        TraceReason::kMatchConditions,
        verdict.unmet_error.empty()
            ? base::StrCat(base::GoQuote(verdict.unmet_condition), " is false")
            : base::StrCat(verdict.unmet_error, " (failurePolicy Ignore passes over it)"));
  }
  TraceOutcome outcome = TraceOutcome::kAllowed;
  TraceReason reason = TraceReason::kNone;
  std::string messages;
  const auto note = [&](TraceOutcome one, TraceReason why, std::string_view message) {
    messages += base::StrCat(messages.empty() ? "" : "; ", message);
    const bool is_refusal = outcome == TraceOutcome::kDenied || outcome == TraceOutcome::kFailed;
    if (is_refusal || (outcome == TraceOutcome::kNotEnforced && one == TraceOutcome::kFailedOpen)) {
      return;
    }
    outcome = one;
    reason = why;
  };
  const auto fails = [&](std::string_view message) {
    note(policy.ignore_failures ? TraceOutcome::kFailedOpen : TraceOutcome::kFailed,
         TraceReason::kFailurePolicy, message);
  };
  for (const Decision& decision : verdict.decisions) {
    if (decision.kind == Decision::Kind::kAdmit) {
      if (decision.is_error) fails(decision.message);
    } else if (!binding.Has(Binding::kDeny)) {
      note(TraceOutcome::kNotEnforced, TraceReason::kValidationActions,
           base::StrCat("validationActions ", binding.ActionsJson(), ": ", decision.message));
    } else if (decision.is_error) {
      fails(decision.message);
    } else {
      note(TraceOutcome::kDenied, TraceReason::kNone, decision.message);
    }
  }
  for (const Verdict::AuditValue& value : verdict.audit_values) {
    if (!value.error.empty()) fails(value.error);
  }
  trace.SetReason(reason);
  trace.End(outcome, std::move(messages));
}

class Dispatcher {
 public:
  Dispatcher(const PolicyServices& services, const admission::Request& request)
      : services_(services),
        request_(request),
        inputs_(request, services.authorizer, services.reader),
        objects_(request, services.objects) {}

  base::Status Run(const PolicySet& policies) {
    BindingMatcher matcher(services_, inputs_, /*keep_param_type=*/true);
    TRY(matcher.ForEach(
        policies,
        [&](const PolicyMatch& match, const BoundPolicy& bound) { return Apply(match, bound); },
        [&](const ConfigurationError& error) {
          Refuse(*error.policy, error.binding, error.message, "", -1);
        }));
    FinishPolicy();
    return refusal_;
  }

 private:
  base::Status Apply(const PolicyMatch& match, const BoundPolicy& bound) {
    if (match.policy != policy_) {
      FinishPolicy();
      policy_ = match.policy;
    }
    auto matched = objects_.As(match);
    if (!matched.ok()) {
      if (admission::Trace* trace = request_.recorder().trace()) {
        trace->Begin(ActorOf(*policy_, bound.binding));
        trace->SetReason(admission::TraceReason::kFailurePolicy);
        trace->End(policy_->ignore_failures ? admission::TraceOutcome::kFailedOpen
                                            : admission::TraceOutcome::kFailed,
                   matched.status().message());
      }
      if (!policy_->ignore_failures) {
        Refuse(*policy_, bound.binding,
               base::StrCat("failed to configure binding: ", matched.status().message()), "", -1);
      }
      return base::OkStatus();
    }
    TRY(inputs_.FetchNamespace());
    for (const Param& param : bound.params) Judge(*bound.binding, **matched, param);
    return base::OkStatus();
  }

  void Judge(const Binding& binding, const Matched& matched, const Param& param) {
    admission::Trace* const trace = request_.recorder().trace();
    if (trace != nullptr) trace->Begin(ActorOf(*policy_, &binding, param.key));
    const Verdict& verdict = VerdictFor(matched, param);
    Take(binding, verdict);
    if (trace != nullptr) EndStep(*policy_, binding, verdict, *trace);
  }

  // Bindings with equal inputs share the evaluation.
  const Verdict& VerdictFor(const Matched& matched, const Param& param) {
    // Mostly there is no parameter, and no map to make.
    std::optional<Verdict>& verdict = param.key.empty() ? without_parameter_ : verdicts_[param.key];
    if (verdict) return *verdict;
    verdict = EvaluatePolicy(services_, *policy_, inputs_, matched, param.object);
    if (admission::Trace* trace = request_.recorder().trace()) trace->AddCost(verdict->cost);
    return *verdict;
  }

  void Take(const Binding& binding, const Verdict& verdict) {
    if (!verdict.applies) return;
    for (const Decision& decision : verdict.decisions) TakeDecision(binding, decision);
    for (const Verdict::AuditValue& value : verdict.audit_values) {
      if (value.error.empty()) {
        if (!value.value.empty()) AddAuditValue(value.key, value.value);
      } else if (!policy_->ignore_failures) {
        Count(binding, "deny", ErrorTypeOf(value.error), {});
        Refuse(*policy_, &binding, value.error, "Invalid", -1);
      }
    }
  }

  void TakeDecision(const Binding& binding, const Decision& decision) {
    if (decision.kind == Decision::Kind::kAdmit) {
      if (decision.is_error) {
        Count(binding, "allow", ErrorTypeOf(decision.message), decision.elapsed);
      }
      return;
    }
    const std::string_view error_type = ErrorTypeOf(decision.message);
    if (binding.Has(Binding::kDeny)) {
      Refuse(*policy_, &binding, decision.message, decision.reason,
             static_cast<std::int32_t>(decision.index));
      Count(binding, "deny", error_type, decision.elapsed);
    }
    if (binding.Has(Binding::kAudit)) {
      Publish(binding, decision);
      Count(binding, "audit", error_type, decision.elapsed);
    }
    if (binding.Has(Binding::kWarn)) {
      request_.Warn(base::StrCat("Validation failed for ValidatingAdmissionPolicy '", policy_->name,
                                 "' with binding '", binding.name, "': ", decision.message));
      Count(binding, "warn", error_type, decision.elapsed);
    }
  }

  void Count(const Binding& binding, std::string_view action, std::string_view error_type,
             base::Duration elapsed) const {
    if (services_.metrics == nullptr) return;
    services_.metrics->validating_checks.With({action, error_type, policy_->name, binding.name})
        .Increment();
    services_.metrics->validating_check_duration
        .With({action, error_type, policy_->name, binding.name})
        .Observe(std::chrono::duration<double>(elapsed).count());
  }

  void Publish(const Binding& binding, const Decision& decision) const {
    std::string value = "[{\"message\":";
    json::WriteString(decision.message, value);
    value += ",\"policy\":";
    json::WriteString(policy_->name, value);
    value += ",\"binding\":";
    json::WriteString(binding.name, value);
    value += base::StrCat(",\"expressionIndex\":", std::to_string(decision.index),
                          ",\"validationActions\":", binding.ActionsJson(), "}]");
    if (const base::Status status = request_.Annotate(kFailureKey, value); !status.ok()) {
      base::LogWarning("failed to set admission audit annotation",
                       {{"policy", policy_->name}, {"error", status.message()}});
    }
  }

  void AddAuditValue(const std::string& key, const std::string& value) {
    auto& values = audit_values_[key];
    for (const std::string& known : values) {
      if (known == value) return;
    }
    values.push_back(value);
  }

  // What all bindings of the policy together have to publish.
  void FinishPolicy() {
    if (policy_ != nullptr) {
      for (const auto& [key, values] : audit_values_) {
        (void)request_.Annotate(base::StrCat(policy_->name, "/", key), base::Join(values, ", "));
      }
    }
    audit_values_.clear();
    verdicts_.clear();
    without_parameter_.reset();
  }

  // The first refusal stays; a survey gets every one, with the index of its validation.
  void Refuse(const Policy& policy, const Binding* binding, std::string_view message,
              std::string_view reason, std::int32_t index) {
    admission::Survey* const survey = request_.recorder().survey();
    if (!refusal_.ok() && survey == nullptr) return;
    const std::string with =
        binding == nullptr ? "" : base::StrCat(" with binding '", binding->name, "'");
    const std::string text = base::StrCat("ValidatingAdmissionPolicy '", policy.name, "'", with,
                                          " denied request: ", message);
    const base::Status plain = admission::Forbidden(request_, text);
    base::StatusDetails details = plain.details() ? *plain.details() : base::StatusDetails();
    details.causes = {{"", text, ""}};
    base::Status refusal(ReasonOf(reason), plain.message(), std::move(details));
    if (survey != nullptr) survey->AddPart({ActorOf(policy, binding), index, refusal});
    if (refusal_.ok()) refusal_ = std::move(refusal);
  }

  const PolicyServices& services_;
  const admission::Request& request_;
  RequestInputs inputs_;
  MatchedObjects objects_;
  base::Status refusal_;
  // Of the policy under way.
  const Policy* policy_ = nullptr;
  std::map<std::string, std::optional<Verdict>> verdicts_;  // by parameter
  std::optional<Verdict> without_parameter_;
  std::map<std::string, std::vector<std::string>> audit_values_;
};

}  // namespace

base::Status DispatchValidating(const PolicyServices& services, const PolicySet& policies,
                                const admission::Request& request) {
  if (policies.policies.empty() && policies.unbound.empty()) return base::OkStatus();
  return Dispatcher(services, request).Run(policies);
}

}  // namespace portcullis::policy

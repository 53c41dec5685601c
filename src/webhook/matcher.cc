// SPDX-License-Identifier: Apache-2.0

#include "webhook/matcher.h"

#include "admission/errors.h"
#include "api/api_status.h"
#include "base/fiber.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::webhook {
namespace {

bool LabelsMatch(const api::LabelSelector& selector, json::Value object) {
  // Objects without metadata (options of exec, proxy, …) match no selector at all.
  const json::Value metadata = object["metadata"];
  return metadata.is_object() && selector.Matches(metadata["labels"]);
}

std::vector<api::GroupVersionResource> EquivalentsOf(const admission::Request& request,
                                                     const Services& services) {
  if (services.objects == nullptr) return {};
  return services.objects->Equivalents(request.resource(), request.subresource());
}

base::Status UnknownKind(const api::GroupVersionResource& resource) {
  return base::InternalError(base::StrCat("unable to convert to ", resource.group, "/",
                                          resource.version, ", Resource=", resource.resource,
                                          ": unknown kind"));
}

}  // namespace

Matcher::Matcher(const HookSet& hooks, const admission::Request& request, const Services& services)
    : request_(request), services_(services) {
  std::vector<api::GroupVersionResource> equivalents;
  const auto hits = hooks.index->Find(request, [&] {
    equivalents = EquivalentsOf(request, services);
    return std::span<const api::GroupVersionResource>(equivalents);
  });
  candidates_.reserve(hits.size());
  for (const admission::match::Hit& hit : hits) {
    Candidate& candidate = candidates_.emplace_back();
    candidate.hook = hooks.hooks[hit.target].get();
    candidate.index = hit.target;
    if (hit.equivalent < 0) {
      candidate.invocation.kind = request.kind();
      candidate.invocation.resource = request.resource();
    } else {
      candidate.invocation.resource = equivalents[static_cast<std::size_t>(hit.equivalent)];
      candidate.invocation.kind =
          services.objects->KindFor(candidate.invocation.resource, request.subresource());
      if (candidate.invocation.kind.empty()) {
        candidate.error = UnknownKind(candidate.invocation.resource);
      }
    }
  }
}

base::Result<bool> Matcher::IsSelected(const Candidate& candidate, json::Value object) {
  // An object that is not selected is passed over even if the namespace cannot be judged.
  auto in_namespace = NamespaceMatches(*candidate.hook->namespace_selector, object);
  if (in_namespace.ok() && !*in_namespace) return false;
  auto selected = ObjectMatches(*candidate.hook->object_selector, object);
  if (selected.ok() && !*selected) return false;
  if (!candidate.error.ok()) return candidate.error;
  TRY(in_namespace.status());
  TRY(selected.status());
  return true;
}

base::Result<bool> Matcher::NamespaceMatches(const SharedSelector& selector, json::Value object) {
  const bool about_namespaces = request_.resource().resource == "namespaces";
  if (request_.namespace_name().empty() && !about_namespaces) return true;
  if (!selector.error.ok()) return base::InternalError(selector.error.message());
  if (selector.selector.is_everything()) return true;

  const bool by_object =
      about_namespaces && request_.subresource().empty() &&
      (request_.operation() == admission::kCreate || request_.operation() == admission::kUpdate);
  if (by_object) return selector.selector.Matches(object["metadata"]["labels"]);

  const auto known = namespace_verdicts_.find(&selector);
  if (known != namespace_verdicts_.end()) return known->second;
  const bool verdict = selector.selector.Matches(TRY(NamespaceLabels()));
  namespace_verdicts_[&selector] = verdict;
  return verdict;
}

base::Result<json::Value> Matcher::NamespaceLabels() {
  if (namespace_ == nullptr && services_.reader != nullptr) {
    namespace_ = services_.reader->Get({"", "namespaces", "", request_.namespace_name()});
  }
  if (namespace_ == nullptr) {
    return admission::NotFound("", "namespaces", request_.namespace_name());
  }
  return namespace_->document()["metadata"]["labels"];
}

base::Result<bool> Matcher::ObjectMatches(const SharedSelector& selector, json::Value object) {
  if (!selector.error.ok()) return base::InternalError(selector.error.message());
  if (selector.selector.is_everything()) return true;
  if (!judged_object_.IsSameAs(object)) {
    object_verdicts_.clear();
    judged_object_ = object;
  }
  const auto known = object_verdicts_.find(&selector);
  if (known != object_verdicts_.end()) return known->second;
  const bool verdict = LabelsMatch(selector.selector, object) ||
                       LabelsMatch(selector.selector, request_.old_object());
  object_verdicts_[&selector] = verdict;
  return verdict;
}

namespace {

void TraceConditions(const Hook& hook, const admission::match::ConditionOutcome& outcome,
                     admission::Trace& trace) {
  using Verdict = admission::match::ConditionOutcome::Verdict;
  constexpr auto kReason = admission::TraceReason::kMatchConditions;
  trace.AddCost(outcome.cost);
  switch (outcome.verdict) {
    case Verdict::kMatch:
      return;
    case Verdict::kNoMatch:
      return trace.Skip(kReason,
                        base::StrCat(base::GoQuote(outcome.failed_condition), " is false"));
    case Verdict::kError:
      if (!hook.ignore_failures) return trace.SetReason(kReason);
      return trace.Skip(kReason,
                        base::StrCat(outcome.error, " (failurePolicy Ignore passes over it)"));
  }
}

}  // namespace

base::Result<bool> Matcher::MeetsConditions(const Candidate& candidate, json::Value object,
                                            json::Value old_object) const {
  using Verdict = admission::match::ConditionOutcome::Verdict;
  const Hook& hook = *candidate.hook;
  if (!hook.has_conditions) return true;
  const admission::Operation operation = request_.operation();
  auto start = services_.clock->Steady();
  if (base::Fiber::BeginStep(start)) start = services_.clock->Steady();
  admission::match::ConditionOutcome outcome;
  if (hook.conditions != nullptr) {
    outcome = hook.conditions->Evaluate({&request_, candidate.invocation.kind, object, old_object});
  } else {
    outcome.verdict = Verdict::kError;
    outcome.error = "this server evaluates no match conditions";
  }
  if (admission::Trace* trace = request_.recorder().trace()) {
    TraceConditions(hook, outcome, *trace);
  }
  if (outcome.verdict == Verdict::kMatch) return true;
  if (services_.metrics != nullptr) {
    services_.metrics->ObserveConditions(hook.name, operation, services_.clock->Steady() - start);
    services_.metrics->CountConditionErrors(hook.name, operation, outcome.erroring_expressions);
  }
  if (outcome.verdict == Verdict::kError && !hook.ignore_failures) {
    return api::ForbiddenStatus(request_.resource().group_resource(), request_.name(),
                                outcome.error);
  }
  if (services_.metrics != nullptr) {
    services_.metrics->CountConditionExclusion(hook.name, operation);
  }
  return false;
}

bool IsExempt(const admission::Request& request) {
  if (request.kind().group != "admissionregistration.k8s.io") return false;
  for (const std::string_view kind :
       {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding"}) {
    if (request.kind().kind == kind) return true;
  }
  return false;
}

}  // namespace portcullis::webhook

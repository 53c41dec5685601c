// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_security/pod_security.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/errors.h"
#include "api/api_status.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/view/pod.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/state.h"
#include "plugins/pod_security/pod_security_config.h"
#include "plugins/pod_security/pod_security_metrics.h"
#include "policy/pod_security/evaluator.h"
#include "policy/pod_security/existing_pods.h"
#include "policy/pod_security/level.h"
#include "policy/pod_security/updates.h"

namespace portcullis::plugins::pod_security {
namespace {

using policy::pod_security::Level;
using policy::pod_security::LevelVersion;
using policy::pod_security::LevelVersionText;
using policy::pod_security::PodView;
using policy::pod_security::Policy;
using policy::pod_security::ResolvedPolicy;
using policy::pod_security::ResolvePolicy;
using policy::pod_security::Verdict;

constexpr std::string_view kIgnoredSubresources[] = {"exec", "attach",      "binding", "eviction",
                                                     "log",  "portforward", "proxy",   "status"};
constexpr std::chrono::milliseconds kNamespaceTime{1000};

bool IsIgnored(std::string_view subresource) {
  return std::find(std::begin(kIgnoredSubresources), std::end(kIgnoredSubresources), subresource) !=
         std::end(kIgnoredSubresources);
}

void Annotate(const admission::Request& request, std::string_view name, std::string_view value) {
  // A key that is taken already keeps its first value.
  static_cast<void>(request.Annotate(base::StrCat("pod-security.kubernetes.io/", name), value));
}

// Evaluates a policy once, however many modes ask for it.
class Verdicts {
 public:
  Verdicts(const policy::pod_security::Evaluator& evaluator, const PodView& pod)
      : evaluator_(evaluator), pod_(pod) {}
  const Verdict& Of(const LevelVersion& policy) {
    for (const auto& [known, verdict] : known_) {
      if (known == policy) return *verdict;
    }
    known_.emplace_back(policy, std::make_unique<Verdict>(evaluator_.Evaluate(policy, pod_)));
    return *known_.back().second;
  }

 private:
  const policy::pod_security::Evaluator& evaluator_;
  PodView pod_;
  std::vector<std::pair<LevelVersion, std::unique_ptr<Verdict>>> known_;
};

class PodSecurity final : public admission::Plugin {
 public:
  PodSecurity(const admission::PluginContext& context, PodSecurityConfig config)
      : reader_(context.reader),
        clock_(context.clock != nullptr ? *context.clock : base::SystemClock()),
        config_(std::move(config)),
        // Each release knows the standards of the one before it.
        evaluator_(context.release->minor() - 1) {
    if (context.metrics != nullptr) {
      metrics_ = std::make_unique<PodSecurityMetrics>(*context.metrics, *context.release);
    }
  }

  base::Status Validate(const admission::Request& request) const override {
    const api::GroupVersionResource& resource = request.resource();
    if (resource.group.empty() && resource.resource == "namespaces") {
      return request.subresource().empty() ? ValidateNamespace(request) : base::OkStatus();
    }
    if (resource.group.empty() && resource.resource == "pods") return ValidatePod(request);
    if (!api::view::PodTemplatePath(request.kind().group_kind()).empty() &&
        request.subresource().empty()) {
      WarnAboutWorkload(request);
    }
    return base::OkStatus();
  }

 private:
  // Which exemption the request falls under before its namespace is looked at, or "".
  std::string_view ExemptionOf(const admission::Request& request) const {
    if (Contains(config_.exempt_namespaces, request.namespace_name())) return "namespace";
    if (Contains(config_.exempt_usernames, request.user().name)) return "user";
    return {};
  }

  static bool Contains(const std::vector<std::string>& list, std::string_view name) {
    return !name.empty() && std::find(list.begin(), list.end(), name) != list.end();
  }

  bool Exempt(const admission::Request& request, std::string_view exemption) const {
    if (exemption.empty()) return false;
    Annotate(request, "exempt", exemption);
    if (metrics_ != nullptr) metrics_->CountExemption(request);
    return true;
  }

  static std::string NoNamespace(const admission::Request& request) {
    return base::StrCat("namespaces ", base::GoQuote(request.namespace_name()), " not found");
  }

  void CountError(const admission::Request& request, bool fatal) const {
    if (metrics_ != nullptr) metrics_->CountError(request, fatal);
  }

  base::Status ValidatePod(const admission::Request& request) const {
    if (IsIgnored(request.subresource()) || Exempt(request, ExemptionOf(request))) {
      return base::OkStatus();
    }
    const store::ObjectPtr ns = common::FindNamespace(reader_, request.namespace_name());
    if (ns == nullptr) {
      CountError(request, true);
      const base::Status failure = base::InternalError(
          base::StrCat("failed to lookup namespace ", base::GoQuote(request.namespace_name())));
      Annotate(request, "error", base::StrCat(failure.message(), ": ", NoNamespace(request)));
      return failure;
    }
    const ResolvedPolicy resolved =
        ResolvePolicy(ns->document()["metadata"]["labels"], config_.defaults);
    if (resolved.errors.empty() && resolved.policy.fully_privileged()) {
      Annotate(request, "enforce-policy", "privileged:latest");
      Count(request, resolved.policy.enforce, "enforce", true);
      return base::OkStatus();
    }
    const json::Value pod = request.object();
    if (!pod.is_object()) {
      CountError(request, true);
      return base::BadRequest("failed to decode pod");
    }
    if (request.operation() == admission::kUpdate &&
        !policy::pod_security::IsSignificantUpdate(request.old_object()["spec"], pod["spec"])) {
      return base::OkStatus();
    }
    return Evaluate(request, resolved, {pod["metadata"], pod["spec"]}, /*enforce=*/true);
  }

  // Workloads are never refused: their pods will be, one by one.
  void WarnAboutWorkload(const admission::Request& request) const {
    if (Exempt(request, ExemptionOf(request))) return;
    const store::ObjectPtr ns = common::FindNamespace(reader_, request.namespace_name());
    if (ns == nullptr) {
      CountError(request, true);
      Annotate(request, "error",
               base::StrCat("failed to lookup namespace ", base::GoQuote(request.namespace_name()),
                            ": ", NoNamespace(request)));
      return;
    }
    const ResolvedPolicy resolved =
        ResolvePolicy(ns->document()["metadata"]["labels"], config_.defaults);
    if (resolved.errors.empty() && resolved.policy.warn.level == Level::kPrivileged &&
        resolved.policy.audit.level == Level::kPrivileged) {
      return;
    }
    json::Value pod_template = request.object();
    for (std::string_view step : api::view::PodTemplatePath(request.kind().group_kind())) {
      pod_template = pod_template[step];
    }
    if (pod_template.is_null()) return;
    static_cast<void>(Evaluate(request, resolved, {pod_template["metadata"], pod_template["spec"]},
                               /*enforce=*/false));
  }

  base::Status Evaluate(const admission::Request& request, const ResolvedPolicy& resolved,
                        const PodView& pod, bool enforce) const {
    if (Contains(config_.exempt_runtime_classes, pod.spec["runtimeClassName"].AsString())) {
      static_cast<void>(Exempt(request, "runtimeClass"));
      return base::OkStatus();
    }
    if (!resolved.errors.empty()) {
      Annotate(request, "error",
               base::StrCat("Failed to parse policy: ",
                            policy::pod_security::LabelErrorsText(resolved.errors)));
      CountError(request, false);
    }
    Verdicts verdicts(evaluator_, pod);
    const Policy& policy = resolved.policy;
    base::Status outcome;
    if (enforce) {
      const std::string level = LevelVersionText(policy.enforce);
      Annotate(request, "enforce-policy", level);
      const Verdict& verdict = verdicts.Of(policy.enforce);
      if (!verdict.allowed()) {
        outcome = admission::Forbidden(
            request, base::StrCat("violates PodSecurity \"", level, "\": ", verdict.Detail()));
      }
      Count(request, policy.enforce, "enforce", verdict.allowed());
    }
    if (const Verdict& verdict = verdicts.Of(policy.audit); !verdict.allowed()) {
      Annotate(request, "audit-violations", WouldViolate(policy.audit, verdict));
      Count(request, policy.audit, "audit", false);
    }
    if (!outcome.ok()) return outcome;
    if (const Verdict& verdict = verdicts.Of(policy.warn); !verdict.allowed()) {
      request.Warn(WouldViolate(policy.warn, verdict));
      Count(request, policy.warn, "warn", false);
    }
    return outcome;
  }

  static std::string WouldViolate(const LevelVersion& policy, const Verdict& verdict) {
    return base::StrCat("would violate PodSecurity \"", LevelVersionText(policy),
                        "\": ", verdict.Detail());
  }

  void Count(const admission::Request& request, const LevelVersion& policy, std::string_view mode,
             bool allowed) const {
    if (metrics_ != nullptr) metrics_->CountEvaluation(request, policy, mode, allowed);
  }

  base::Status ValidateNamespace(const admission::Request& request) const {
    const json::Value labels = request.object()["metadata"]["labels"];
    const ResolvedPolicy after = ResolvePolicy(labels, config_.defaults);
    if (request.operation() == admission::kCreate) {
      if (!after.errors.empty()) return InvalidLabels(request, after);
      if (Contains(config_.exempt_namespaces, request.name())) WarnThatExempt(request, after);
      return base::OkStatus();
    }
    const ResolvedPolicy before =
        ResolvePolicy(request.old_object()["metadata"]["labels"], config_.defaults);
    // Errors that were there before do not stand in the way of other changes.
    if (!after.errors.empty() && before.errors != after.errors) {
      return InvalidLabels(request, after);
    }
    const LevelVersion& enforce = after.policy.enforce;
    if (enforce == before.policy.enforce || enforce.level == Level::kPrivileged ||
        (enforce.version == before.policy.enforce.version &&
         enforce.level <= before.policy.enforce.level)) {
      return base::OkStatus();
    }
    if (Contains(config_.exempt_namespaces, request.name())) {
      WarnThatExempt(request, after);
      return base::OkStatus();
    }
    WarnAboutPods(request, enforce);
    return base::OkStatus();
  }

  static base::Status InvalidLabels(const admission::Request& request,
                                    const ResolvedPolicy& resolved) {
    api::FieldErrors errors;
    for (const policy::pod_security::LabelError& error : resolved.errors) {
      errors.push_back(api::Invalid(api::FieldPath("metadata", "labels").Key(error.label),
                                    error.value, error.problem));
    }
    return api::InvalidStatus({"", "Namespace"}, request.name(), errors);
  }

  void WarnThatExempt(const admission::Request& request, const ResolvedPolicy& resolved) const {
    const Policy& policy = resolved.policy;
    const Policy& defaults = config_.defaults;
    if (policy.fully_privileged() ||
        (Equivalent(policy.enforce, defaults.enforce) && Equivalent(policy.audit, defaults.audit) &&
         Equivalent(policy.warn, defaults.warn))) {
      return;
    }
    const json::Value labels = request.object()["metadata"]["labels"];
    std::vector<std::string> modes;
    auto add = [&](std::string_view mode, const LevelVersion& value) {
      const std::string label = base::StrCat("pod-security.kubernetes.io/", mode);
      if (value.level == Level::kPrivileged) return;
      if (!labels.Has(label) && !labels.Has(label + "-version")) return;
      modes.push_back(base::StrCat(mode, "=", LevelVersionText(value)));
    };
    add("enforce", policy.enforce);
    add("audit", policy.audit);
    add("warn", policy.warn);
    request.Warn(base::StrCat("namespace ", base::GoQuote(request.name()),
                              " is exempt from Pod Security, and the policy (",
                              base::Join(modes, ", "), ") will be ignored"));
  }

  void WarnAboutPods(const admission::Request& request, const LevelVersion& enforce) const {
    std::vector<json::Value> pods;
    for (const store::ObjectPtr& object : common::List(reader_, "", "pods", request.name())) {
      const json::Value pod = common::RootOf(request.arena(), object);
      if (Contains(config_.exempt_runtime_classes, pod["spec"]["runtimeClassName"].AsString())) {
        continue;
      }
      pods.push_back(pod);
    }
    const base::SteadyTime now = clock_.Steady();
    base::SteadyTime deadline = now + kNamespaceTime;
    if (request.deadline()) deadline = std::min(deadline, now + (*request.deadline() - now) / 2);
    policy::pod_security::ExistingPodsLimits limits;
    limits.expired = [&] { return clock_.Steady() > deadline; };
    for (std::string& warning : policy::pod_security::WarnAboutExistingPods(
             evaluator_, enforce, request.name(), std::move(pods), limits)) {
      request.Warn(std::move(warning));
    }
  }

  const store::Reader* reader_;
  const base::Clock& clock_;
  const PodSecurityConfig config_;
  const policy::pod_security::Evaluator evaluator_;
  std::unique_ptr<PodSecurityMetrics> metrics_;  // null: not counted
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  PodSecurityConfig config = TRY(ParseConfig(context));
  return std::unique_ptr<admission::Plugin>(
      std::make_unique<PodSecurity>(context, std::move(config)));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodSecurity",
    .summary = "enforces the Pod Security Standards by namespace labels",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources =
        "cronjobs.batch daemonsets.apps deployments.apps jobs.batch namespaces pods "
        "pods/ephemeralcontainers pods/resize podtemplates replicasets.apps "
        "replicationcontrollers statefulsets.apps",
    .reads = "namespaces pods",
    .by_default = admission::Default::kOn,
    .create = &Create,
    .configuration =
        "pod-security.admission.config.k8s.io/v1 PodSecurityConfiguration: defaults, exemptions",
    .since_minor = 22,
};

}  // namespace portcullis::plugins::pod_security

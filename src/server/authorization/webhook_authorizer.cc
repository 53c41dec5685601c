// SPDX-License-Identifier: Apache-2.0

#include "server/authorization/webhook_authorizer.h"

#include <utility>

#include "base/expiring_cache.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/writer.h"
#include "kubeconfig/client.h"
#include "kubeconfig/rest.h"
#include "server/authorization/access_review.h"

namespace portcullis::server::authorization {
namespace {

constexpr std::string_view kGroup = "authorization.k8s.io/";
constexpr std::string_view kKind = "SubjectAccessReview";
constexpr std::string_view kReviewTypes = R"(
v1.SubjectAccessReview: kind string, apiVersion string, metadata any, spec any, status v1.SubjectAccessReviewStatus
v1.SubjectAccessReviewStatus: allowed bool, denied bool, reason string, evaluationError string)";
// A question that its asker has made longer than this is not remembered.
constexpr std::size_t kMaxControlled = 10000;
constexpr std::size_t kMaxAnswers = 8192;

struct Answer {
  bool allowed = false;
  bool denied = false;
  std::string reason;
};

// v1beta1 calls the groups "group".
json::Value InVersion(json::Arena& arena, json::Value spec, std::string_view version) {
  if (version != "v1beta1") return spec;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : spec.members()) {
    out.Set(member.name() == "groups" ? "group" : member.name(), member.value);
  }
  return out.Build();
}

bool IsShort(const authz::Attributes& a) {
  return a.ns.size() + a.verb.size() + a.group.size() + a.version.size() + a.resource.size() +
             a.subresource.size() + a.name.size() + a.path.size() <
         kMaxControlled;
}

base::Result<Answer> ReadAnswer(const std::string& version, const net::Response& response) {
  json::Arena arena;
  const std::string api_version = base::StrCat(kGroup, version);
  const json::Value review =
      TRY(kubeconfig::ParseReview(arena, response, {api_version, kKind, kReviewTypes}));
  const json::Value status = review["status"];
  Answer answer;
  answer.allowed = status["allowed"].AsBool();
  answer.denied = status["denied"].AsBool();
  answer.reason = status["reason"].AsString();
  return answer;
}

class WebhookAuthorizer final : public authz::Authorizer {
 public:
  WebhookAuthorizer(std::string name, std::shared_ptr<const WebhookSettings> settings,
                    kubeconfig::Client client, const base::Clock& clock,
                    const WebhookMetrics& metrics)
      : name_(std::move(name)),
        settings_(std::move(settings)),
        client_(std::move(client)),
        clock_(clock),
        metrics_(metrics) {}

  authz::Decision Authorize(const authz::Attributes& attributes) const override {
    json::Arena arena;
    const json::Value spec = ReviewSpec(arena, attributes);
    const base::SteadyTime start = clock_.Steady();
    const base::Result<bool> matches = Match(settings_->conditions, arena, spec);
    if (!settings_->conditions.empty()) {
      metrics_.condition_duration.With({"Webhook", name_})
          .Observe(std::chrono::duration<double>(clock_.Steady() - start).count());
    }
    if (!matches.ok()) {
      metrics_.condition_errors.With({"Webhook", name_}).Increment();
      return Failed(matches.status().message());
    }
    if (!*matches) {
      metrics_.condition_exclusions.With({"Webhook", name_}).Increment();
      return {};
    }
    const std::string key = json::ToString(spec);
    if (const auto known = cache_.Find(key, clock_.Steady())) return DecisionOf(*known);
    const base::Result<Answer> answer = Ask(arena, spec);
    if (!answer.ok()) {
      base::LogError("Failed to make webhook authorizer request",
                     {{"webhook", name_}, {"error", answer.status().message()}});
      if (!settings_->denies_on_error) metrics_.fail_open.With({"error", name_}).Increment();
      return Failed(answer.status().message());
    }
    const base::Duration ttl =
        answer->allowed ? settings_->authorized_ttl : settings_->unauthorized_ttl;
    if (ttl.count() > 0 && IsShort(attributes)) cache_.Put(key, *answer, clock_.Steady() + ttl);
    return DecisionOf(*answer);
  }

  authz::Rules RulesFor(const api::UserInfo&, std::string_view) const override {
    authz::Rules rules;
    rules.incomplete = true;
    rules.error = "webhook authorizer does not support user rule resolution";
    return rules;
  }

 private:
  authz::Decision Failed(const std::string& error) const {
    return {settings_->denies_on_error ? authz::Verdict::kDenied : authz::Verdict::kNoOpinion, "",
            error};
  }

  static authz::Decision DecisionOf(const Answer& answer) {
    if (answer.denied && answer.allowed) {
      return {authz::Verdict::kDenied, answer.reason,
              "webhook subject access review returned both allow and deny response"};
    }
    if (answer.denied) return {authz::Verdict::kDenied, answer.reason, ""};
    return {answer.allowed ? authz::Verdict::kAllowed : authz::Verdict::kNoOpinion, answer.reason,
            ""};
  }

  base::Result<Answer> Ask(json::Arena& arena, json::Value spec) const {
    const json::Value review =
        json::ObjectBuilder(arena)
            .Set("kind", kKind)
            .Set("apiVersion", std::string_view(base::StrCat(kGroup, settings_->review_version)))
            .Set("metadata", json::MakeObject(arena, {}))
            .Set("spec", InVersion(arena, spec, settings_->review_version))
            .Set("status", json::ObjectBuilder(arena).Set("allowed", false).Build())
            .Build();
    const base::SteadyTime start = clock_.Steady();
    Answer answer;
    const base::Status status =
        client_.Post(std::make_shared<const std::string>(json::ToString(review)),
                     [&](const net::Response& response) -> base::Status {
                       answer = TRY(ReadAnswer(settings_->review_version, response));
                       return base::OkStatus();
                     });
    const bool late = status.message().find("context deadline exceeded") != std::string::npos;
    const std::string result = status.ok() ? "success" : late ? "timeout" : "error";
    metrics_.evaluations.With({result, name_}).Increment();
    metrics_.duration.With({result, name_})
        .Observe(std::chrono::duration<double>(clock_.Steady() - start).count());
    if (!status.ok()) return status;
    return answer;
  }

  const std::string name_;
  const std::shared_ptr<const WebhookSettings> settings_;
  const kubeconfig::Client client_;
  const base::Clock& clock_;
  const WebhookMetrics& metrics_;
  mutable base::ExpiringCache<Answer> cache_{kMaxAnswers};
};

}  // namespace

WebhookMetrics::WebhookMetrics(metrics::Registry& registry)
    : evaluations(registry.AddCounter({"apiserver_authorization_webhook_evaluations_total",
                                       "Round-trips to authorization webhooks."},
                                      {"result", "name"})),
      duration(registry.AddHistogram(
          {"apiserver_authorization_webhook_duration_seconds", "Request latency in seconds."},
          {"result", "name"}, {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10})),
      fail_open(registry.AddCounter({"apiserver_authorization_webhook_evaluations_fail_open_total",
                                     "NoOpinion results due to webhook timeout or error."},
                                    {"result", "name"})),
      condition_errors(
          registry.AddCounter({"apiserver_authorization_match_condition_evaluation_errors_total",
                               "Total number of errors when an authorization webhook encounters a "
                               "match condition error "
                               "split by authorizer type and name."},
                              {"type", "name"})),
      condition_exclusions(registry.AddCounter(
          {"apiserver_authorization_match_condition_exclusions_total",
           "Total number of exclusions when an authorization webhook is skipped because match "
           "conditions exclude it."},
          {"type", "name"})),
      condition_duration(registry.AddHistogram(
          {"apiserver_authorization_match_condition_evaluation_seconds",
           "Authorization match condition evaluation time in seconds, split by authorizer type and "
           "name."},
          {"type", "name"}, {0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25})) {}

base::Result<std::unique_ptr<authz::Authorizer>> MakeWebhookAuthorizer(
    const std::string& name, std::shared_ptr<const WebhookSettings> settings,
    net::HttpsClient& https, const base::Clock& clock, const WebhookMetrics& metrics) {
  if (settings->kubeconfig.empty()) {
    return base::ConfigError(base::StrCat(
        "authorizer ", name, ": connectionInfo.type InClusterConfig is not supported"));
  }
  kubeconfig::ClientOptions options;
  options.timeout = settings->timeout;
  auto client = TRY(kubeconfig::Client::Load(settings->kubeconfig, options, &https));
  return MakeWebhookAuthorizer(name, std::move(settings), std::move(client), clock, metrics);
}

std::unique_ptr<authz::Authorizer> MakeWebhookAuthorizer(
    const std::string& name, std::shared_ptr<const WebhookSettings> settings,
    kubeconfig::Client client, const base::Clock& clock, const WebhookMetrics& metrics) {
  return std::make_unique<WebhookAuthorizer>(name, std::move(settings), std::move(client), clock,
                                             metrics);
}

}  // namespace portcullis::server::authorization

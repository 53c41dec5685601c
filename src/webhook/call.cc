// SPDX-License-Identifier: Apache-2.0

#include "webhook/call.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "json/writer.h"
#include "kubeconfig/rest.h"
#include "net/url.h"
#include "webhook/endpoint.h"
#include "webhook/review_v1alpha1.h"

namespace portcullis::webhook {
namespace {

constexpr int kMaxRetries = 10;
constexpr std::chrono::seconds kClientTimeout{30};

// The remaining time, rounded up.
std::chrono::seconds TimeoutOf(base::SteadyTime deadline, base::SteadyTime now) {
  const base::Duration left = deadline - now;
  if (left <= base::Duration::zero()) return kClientTimeout;
  return std::chrono::ceil<std::chrono::seconds>(left);
}

// client-go takes 101 for no error and goes on to what there is of a body.
bool IsSuccess(int status) { return status == 101 || (status >= 200 && status <= 206); }

std::optional<int> RetryAfterHeader(const net::Response& response) {
  const int status = response.status;
  if (status != 429 && status < 500) return std::nullopt;
  const auto seconds = base::ParseInt(response.headers.Get("Retry-After"));
  if (!seconds || *seconds < 0 || *seconds > 86400) return std::nullopt;
  return static_cast<int>(*seconds);
}

constexpr std::string_view kNoResponse = "webhook response was absent";

CallError FailedToCall(std::string_view error, int code) {
  return {"failed to call webhook", std::string(error), code, false};
}

CallError UnknownReviewVersion() {
  return {"could not create admission objects",
          "webhook does not accept known AdmissionReview versions (v1, v1beta1)", 400, false};
}

CallError TransportError(HookType type, const PreparedCall& call, const net::CallResult& result,
                         HookMetrics* metrics) {
  const std::string message =
      LogTransportFailure(type == HookType::kMutating ? "mutating" : "validating", call.hook->name,
                          call.hook->configuration, result);
  if (metrics != nullptr) metrics->CountFailurePhase(call.hook->name, result.failure->phase);
  CallError error = FailedToCall(message, 503);
  error.cancelled = result.failure->cancelled;
  return error;
}

}  // namespace

std::string LogTransportFailure(std::string_view type, std::string_view webhook,
                                std::string_view configuration, const net::CallResult& result) {
  const net::CallFailure& failure = *result.failure;
  base::LogWarning("webhook call failed", {{"webhook", std::string(webhook)},
                                           {"configuration", std::string(configuration)},
                                           {"type", std::string(type)},
                                           {"phase", std::string(net::PhaseName(failure.phase))},
                                           {"address", result.address},
                                           {"after", base::FormatDuration(result.elapsed)},
                                           {"error", failure.cause}});
  // An answer that is too large will be no smaller the next time: the client is not told to retry.
  const bool in_body =
      failure.phase == net::CallPhase::kRead || failure.phase == net::CallPhase::kDecode;
  if (!in_body || failure.too_large) return failure.message;
  return base::StrCat("unexpected error when reading response body. Please retry. Original error: ",
                      failure.message);
}

base::Status HttpError(const net::Response& response) {
  if (IsSuccess(response.status)) return base::OkStatus();
  return kubeconfig::ErrorOfAnswer(response.status, response.headers.Get("Content-Type"),
                                   response.content(), RetryAfterHeader(response));
}

CallError NoClientError() {
  return {"could not get REST client", "this process has no client for calls", 500, false};
}

void LogCallError(const Hook& hook, std::string_view text) {
  base::LogWarning(hook.ignore_failures ? "failed calling webhook, failing open"
                                        : "failed calling webhook, failing closed",
                   {{"webhook", hook.name},
                    {"configuration", hook.configuration},
                    {"error", std::string(text)}});
}

std::string CallErrorText(const Hook& hook, const CallError& error, const Dialect& dialect) {
  const bool is_external = IsExternalHook(hook);
  const bool says_admission = is_external || dialect.says_admission_webhook;
  std::string out =
      base::StrCat(says_admission ? "failed calling admission webhook " : "failed calling webhook ",
                   base::GoQuote(hook.name), ": ");
  const bool has_step = !error.step.empty() && !is_external && !dialect.names_no_step;
  if (has_step) out.append(error.step).append(": ");
  out.append(error.reason);
  if (dialect.has_capital_absence && error.reason == kNoResponse) {
    out[out.size() - error.reason.size()] = 'W';
  }
  return out;
}

ReviewForm FormFor(const Dialect& dialect, const Hook& hook) {
  return hook.review_version == ReviewVersion::kV1beta1 ? dialect.v1beta1_reviews : ReviewForm();
}

std::variant<PreparedCall, CallError> PrepareCall(
    const Hook& hook, const std::shared_ptr<const std::string>& shared,
    const std::optional<base::SteadyTime>& request_deadline, base::SteadyTime now) {
  if (!hook.review_version) {
    return UnknownReviewVersion();
  }
  PreparedCall call;
  call.hook = &hook;
  call.uid = base::Uuid();
  call.version = *hook.review_version;
  const auto own_timeout =
      hook.timeout_seconds > 0 ? std::chrono::seconds(hook.timeout_seconds) : kClientTimeout;
  call.deadline = now + std::min(own_timeout, kClientTimeout);
  if (request_deadline) call.deadline = std::min(call.deadline, *request_deadline);

  // The releases that had external hooks sent no timeout.
  std::optional<std::chrono::seconds> timeout;
  if (!IsExternalHook(hook)) timeout = TimeoutOf(call.deadline, now);
  auto request = hook.endpoint->RequestFor(hook.name, timeout);
  if (!request.ok() && request.status().reason() == base::Reason::kServiceUnavailable) {
    return FailedToCall(request.status().message(), 503);
  }
  if (!request.ok()) {
    return CallError{"could not get REST client", std::string(request.status().message()), 500,
                     false};
  }
  call.request = std::move(request).value();
  call.body.rest = shared;
  if (!IsExternalHook(hook)) call.body.front = EncodeReviewFront(call.version, call.uid);
  return call;
}

std::optional<std::chrono::seconds> RetryDelay(const PreparedCall& call,
                                               const net::CallResult& result) {
  return RetryDelay(result, call.attempts);
}

std::optional<std::chrono::seconds> RetryDelay(const net::CallResult& result, int attempts) {
  if (!result.ok() || attempts >= kMaxRetries) return std::nullopt;
  const std::optional<int> seconds = RetryAfterHeader(result.response);
  if (!seconds) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

std::optional<CallError> CheckDryRun(const Hook& hook, bool dry_run, base::Status& refusal) {
  if (!dry_run) return std::nullopt;
  switch (hook.side_effects) {
    case SideEffects::kNone:
    case SideEffects::kNoneOnDryRun:
      return std::nullopt;
    case SideEffects::kAbsent:
      return CallError{"", "Webhook SideEffects is nil", 400, false};
    case SideEffects::kSome:
    case SideEffects::kUnknown:
      break;
  }
  refusal = base::BadRequest(
      base::StrCat("admission webhook ", base::GoQuote(hook.name), " does not support dry run"));
  return std::nullopt;
}

namespace {

// An answer of status 200 to 206.
struct Answered {
  int http_status = 200;
  std::string_view content_type;
  std::string_view body;
};

std::variant<ReviewAnswer, CallError> ReadAnswer(json::Arena& arena, HookType type,
                                                 ReviewVersion version, std::string_view uid,
                                                 const Answered& answered) {
  if (version == ReviewVersion::kV1alpha1) {
    auto answer =
        DecodeReviewV1alpha1(arena, answered.http_status, answered.content_type, answered.body);
    if (!answer.ok()) return FailedToCall(answer.status().message(), 500);
    return *std::move(answer);
  }
  auto review =
      DecodeReview(arena, version, answered.http_status, answered.content_type, answered.body);
  if (!review.ok()) {
    const bool internal = review.status().reason() == base::Reason::kInternalError;
    return FailedToCall(review.status().message(), internal ? 500 : 503);
  }
  auto answer = VerifyReview(*review, version, type, uid);
  if (!answer.ok()) {
    return CallError{"received invalid webhook response", std::string(answer.status().message()),
                     503, false};
  }
  return std::move(answer).value();
}

}  // namespace

std::variant<ReviewAnswer, CallError> JudgeCall(json::Arena& arena, HookType type,
                                                const PreparedCall& call,
                                                const net::CallResult& result,
                                                HookMetrics* metrics) {
  if (!result.ok()) return TransportError(type, call, result, metrics);
  if (const base::Status error = HttpError(result.response); !error.ok()) {
    if (result.response.status == 401) call.hook->endpoint->CredentialsRefused();
    return FailedToCall(error.message(), error.http_code());
  }
  return ReadAnswer(arena, type, call.version, call.uid,
                    {result.response.status, result.response.headers.Get("Content-Type"),
                     result.response.content()});
}

std::optional<admission::WebhookAnswer> StandInFor(const admission::Request& request,
                                                   const Hook& hook) {
  admission::Survey* const survey = request.recorder().survey();
  if (survey == nullptr) return std::nullopt;
  return survey->AnswerFor(hook.configuration, hook.name);
}

std::variant<ReviewAnswer, CallError> JudgeStandIn(json::Arena& arena, HookType type,
                                                   const Hook& hook, json::Value response) {
  if (!hook.review_version) return UnknownReviewVersion();
  constexpr std::string_view kUid = "00000000-0000-0000-0000-000000000000";
  const json::Value answer = json::With(arena, response, "uid", json::Value::StringView(kUid));
  const std::string body = base::StrCat(
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/)",
      ReviewVersionText(*hook.review_version), R"(","response":)", json::ToString(answer), "}");
  return ReadAnswer(arena, type, *hook.review_version, kUid, {200, "application/json", body});
}

void RecordAnswer(const admission::Request& request, const Hook& hook, const ReviewAnswer& answer) {
  for (const auto& [key, value] : answer.audit_annotations) {
    const base::Status outcome = request.Annotate(base::StrCat(hook.name, "/", key), value);
    if (outcome.ok()) continue;
    base::LogWarning("failed to set audit annotation of a webhook",
                     {{"webhook", hook.name}, {"key", key}, {"error", outcome.message()}});
  }
  for (const std::string& warning : answer.warnings) request.Warn(warning);
}

void RecordCertificateProblems(const admission::Request& request, const PreparedCall& call,
                               const net::CallResult& result, HookMetrics* metrics) {
  if (!result.certificate_without_san && !result.certificate_with_sha1) return;
  const auto url = net::ParseUrl(call.request->url);
  const std::string host = url.ok() ? url->host : std::string();
  if (result.certificate_without_san) {
    if (metrics != nullptr) metrics->CountMissingSan();
    (void)request.Annotate(
        base::StrCat("missing-san.invalid-cert.kubernetes.io/", host),
        "relies on a legacy Common Name field instead of the SAN extension for subject validation");
  }
  if (result.certificate_with_sha1) {
    if (metrics != nullptr) metrics->CountInsecureSha1();
    (void)request.Annotate(base::StrCat("insecure-sha1.invalid-cert.kubernetes.io/", host),
                           "uses an insecure SHA-1 signature");
  }
}

}  // namespace portcullis::webhook

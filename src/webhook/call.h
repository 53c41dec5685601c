// SPDX-License-Identifier: Apache-2.0

// One call of a webhook: making the HTTP request, deciding whether to send it again, and turning
// what came back into an answer or a call error.
//
// A call error is a failure to get a usable answer: to it, and only to it, failurePolicy applies.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "admission/request.h"
#include "admission/survey.h"
#include "base/clock.h"
#include "net/client.h"
#include "webhook/configuration.h"
#include "webhook/hook_metrics.h"
#include "webhook/review.h"

namespace portcullis::webhook {

struct CallError {
  std::string_view step;   // the step that failed, a literal: "failed to call webhook"
  std::string reason;      // what is wrong
  int code = 500;          // for metrics
  bool cancelled = false;  // the client has gone: not counted
};

// The text of a call error: `failed calling webhook "<name>": <step>: <reason>`. External hooks, and
// some releases, leave out the step.
std::string CallErrorText(const Hook& hook, const CallError& error, const Dialect& dialect);

// Logs what a call error means for the request, with this text of it.
void LogCallError(const Hook& hook, std::string_view text);

// Why no webhook can be called by a process that was given no HTTPS client.
CallError NoClientError();

// A request ready to be sent, and sent again.
struct PreparedCall {
  const Hook* hook = nullptr;
  std::string uid;
  ReviewVersion version = ReviewVersion::kV1;
  net::SharedRequest request;  // without its body
  net::RequestBody body;
  base::SteadyTime deadline;
  int attempts = 0;
};

// `shared` is EncodeSharedPart()'s text for the hook's invocation.
std::variant<PreparedCall, CallError> PrepareCall(
    const Hook& hook, const std::shared_ptr<const std::string>& shared,
    const std::optional<base::SteadyTime>& request_deadline, base::SteadyTime now);

// How long to wait before sending the same request again, if the answer asks for that (429 or 5xx
// with Retry-After, at most ten times).
std::optional<std::chrono::seconds> RetryDelay(const PreparedCall& call,
                                               const net::CallResult& result);

// The same of any call.
std::optional<std::chrono::seconds> RetryDelay(const net::CallResult& result, int attempts);

// Whether a dry run may reach the hook. `refusal` is set if the request is to be refused whatever
// the failure policy says.
std::optional<CallError> CheckDryRun(const Hook& hook, bool dry_run, base::Status& refusal);

// Of the reviews that the hook is sent.
ReviewForm FormFor(const Dialect& dialect, const Hook& hook);

// What came back, judged. Failures of the connection are logged and counted with their phase.
std::variant<ReviewAnswer, CallError> JudgeCall(json::Arena& arena, HookType type,
                                                const PreparedCall& call,
                                                const net::CallResult& result,
                                                HookMetrics* metrics);

// Where, in which phase and how a connection failed, for the log and for the caller: the text
// that client-go has for it. `type` is "mutating", "validating" or "conversion".
std::string LogTransportFailure(std::string_view type, std::string_view webhook,
                                std::string_view configuration, const net::CallResult& result);
// The error of an answer that is no success; OK else.
base::Status HttpError(const net::Response& response);

// What stands in for the webhook in this request; nothing: it is called.
std::optional<admission::WebhookAnswer> StandInFor(const admission::Request& request,
                                                   const Hook& hook);
// The `response` of an AdmissionReview, judged as if the webhook had sent it.
std::variant<ReviewAnswer, CallError> JudgeStandIn(json::Arena& arena, HookType type,
                                                   const Hook& hook, json::Value response);

// Records what every usable answer brings along: audit annotations, then warnings.
void RecordAnswer(const admission::Request& request, const Hook& hook, const ReviewAnswer& answer);

// Annotations and counters about certificates that will not be accepted much longer.
void RecordCertificateProblems(const admission::Request& request, const PreparedCall& call,
                               const net::CallResult& result, HookMetrics* metrics);

}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

#include "webhook/hook_metrics.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "net/url.h"
#include "webhook/configuration.h"

namespace portcullis::webhook {
namespace {

// client-go's bounds.
std::vector<double> LatencyBounds() {
  return {0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};
}
std::vector<double> SizeBounds() {
  return {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
}

// What `slot` points to, looked up the first time.
template <typename Metric, typename LookUp>
Metric& Kept(std::atomic<Metric*>& slot, const LookUp& look_up) {
  if (Metric* const known = slot.load(std::memory_order_acquire)) return *known;
  Metric& found = look_up();
  slot.store(&found, std::memory_order_release);
  return found;
}

std::string CodeText(int code) { return std::to_string(std::min(code, 600)); }

double Seconds(std::chrono::nanoseconds took) {
  return std::chrono::duration<double>(took).count();
}

std::string_view ErrorTypeText(ErrorType error) {
  switch (error) {
    case ErrorType::kCallingWebhook:
      return "calling_webhook_error";
    case ErrorType::kApiServerInternal:
      return "apiserver_internal_error";
    case ErrorType::kNone:
      return "no_error";
  }
  return "";
}

}  // namespace

HookMetrics::HookMetrics(metrics::Registry& registry, HookType type)
    : type_(type),
      metrics_(registry),
      failure_phases_(registry.AddCounter(
          {"portcullis_admission_webhook_call_failures_total",
           "Failed calls of admission webhooks by the phase in which they failed.",
           metrics::Stability::kNone},
          {"name", "type", "phase"})),
      http_requests_(registry.AddCounter(
          {"rest_client_requests_total",
           "Number of HTTP requests, partitioned by status code, method, and host."},
          {"code", "host", "method"})),
      http_latency_(registry.AddHistogram({"rest_client_request_duration_seconds",
                                           "Request latency in seconds. Broken down by verb, and "
                                           "host."},
                                          {"host", "verb"}, LatencyBounds())),
      http_request_size_(registry.AddHistogram({"rest_client_request_size_bytes",
                                                "Request size in bytes. Broken down by verb and "
                                                "host."},
                                               {"host", "verb"}, SizeBounds())),
      http_response_size_(registry.AddHistogram({"rest_client_response_size_bytes",
                                                 "Response size in bytes. Broken down by verb and "
                                                 "host."},
                                                {"host", "verb"}, SizeBounds())) {}

std::string_view HookMetrics::TypeText() const {
  return type_ == HookType::kMutating ? "admit" : "validating";
}

void HookMetrics::ObserveCall(const Hook& hook, admission::Operation operation, bool rejected,
                              int code, std::chrono::nanoseconds took) {
  const std::string_view operation_text = admission::OperationText(operation);
  const std::string_view rejected_text = rejected ? "true" : "false";
  const auto duration = [&]() -> metrics::Histogram& {
    return metrics_.webhook_duration.With({hook.name, TypeText(), operation_text, rejected_text});
  };
  const auto requests = [&]() -> metrics::Counter& {
    return metrics_.webhook_requests.With(
        {hook.name, TypeText(), operation_text, CodeText(code), rejected_text});
  };
  if (rejected || code != 200) {
    duration().Observe(Seconds(took));
    requests().Increment();
    return;
  }
  auto& allowed =
      hook.series->allowed[static_cast<std::size_t>(std::countr_zero(unsigned{operation}))];
  Kept(allowed.duration, duration).Observe(Seconds(took));
  Kept(allowed.requests, requests).Increment();
}

void HookMetrics::CountRejection(std::string_view hook, admission::Operation operation,
                                 ErrorType error, int code) {
  metrics_.webhook_rejections
      .With({hook, TypeText(), admission::OperationText(operation), ErrorTypeText(error),
             CodeText(code)})
      .Increment();
}

void HookMetrics::CountFailOpen(std::string_view hook) {
  metrics_.webhook_fail_open.With({hook, TypeText()}).Increment();
}

void HookMetrics::CountFailurePhase(std::string_view hook, net::CallPhase phase) {
  failure_phases_.With({hook, TypeText(), net::PhaseName(phase)}).Increment();
}

void HookMetrics::ObserveHttp(const Hook& hook, const net::ClientRequest& request,
                              std::size_t body_size, const net::CallResult& result) {
  HookSeries& series = *hook.series;
  const auto host = [&request] {
    const auto url = net::ParseUrl(request.url);
    return url.ok() ? url->Authority() : "none";
  };
  const auto of = [&](metrics::Family<metrics::Histogram>& family) {
    return [&]() -> metrics::Histogram& { return family.With({host(), request.method}); };
  };
  const std::string code = result.ok() ? std::to_string(result.response.status) : "<error>";
  const auto requests = [&]() -> metrics::Counter& {
    return http_requests_.With({code, host(), request.method});
  };
  const bool is_200 = result.ok() && result.response.status == 200;
  (is_200 ? Kept(series.http_200, requests) : requests()).Increment();
  Kept(series.http_latency, of(http_latency_)).Observe(Seconds(result.elapsed));
  Kept(series.http_request_size, of(http_request_size_)).Observe(static_cast<double>(body_size));
  if (!result.ok()) return;
  Kept(series.http_response_size, of(http_response_size_))
      .Observe(static_cast<double>(result.response.content().size()));
}

void HookMetrics::CountConditionErrors(std::string_view hook, admission::Operation operation,
                                       int errors) {
  if (errors <= 0) return;
  metrics_.match_condition_errors
      .With({hook, "webhook", TypeText(), admission::OperationText(operation)})
      .Increment(static_cast<std::uint64_t>(errors));
}

void HookMetrics::CountConditionExclusion(std::string_view hook, admission::Operation operation) {
  // This one metric says "validate" where the others say "validating".
  const std::string_view type = type_ == HookType::kMutating ? "admit" : "validate";
  metrics_.match_condition_exclusions
      .With({hook, "webhook", type, admission::OperationText(operation)})
      .Increment();
}

void HookMetrics::ObserveConditions(std::string_view hook, admission::Operation operation,
                                    std::chrono::nanoseconds took) {
  metrics_.match_condition_duration
      .With({hook, "webhook", TypeText(), admission::OperationText(operation)})
      .Observe(Seconds(took));
}

void HookMetrics::CountMissingSan() {
  metrics_.x509_missing_san.With(std::initializer_list<std::string_view>{}).Increment();
}

void HookMetrics::CountInsecureSha1() {
  metrics_.x509_insecure_sha1.With(std::initializer_list<std::string_view>{}).Increment();
}

}  // namespace portcullis::webhook

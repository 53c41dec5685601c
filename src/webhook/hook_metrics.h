// SPDX-License-Identifier: Apache-2.0

// The metrics of webhook calls (apiserver_admission_webhook_* and match_condition_*), and one of
// our own that tells in which phase failed calls failed. Thread-safe.
#pragma once

#include <chrono>
#include <string_view>

#include "admission/request.h"
#include "metrics/apiserver_metrics.h"
#include "net/client.h"
#include "webhook/review.h"

namespace portcullis::webhook {

struct Hook;

// Why a request was rejected, as the label error_type has it.
enum class ErrorType : std::uint8_t { kCallingWebhook, kApiServerInternal, kNone };

class HookMetrics {
 public:
  HookMetrics(metrics::Registry& registry, HookType type);

  // One attempted call. `code` over 600 is reported as 600.
  void ObserveCall(const Hook& hook, admission::Operation operation, bool rejected, int code,
                   std::chrono::nanoseconds took);
  void CountRejection(std::string_view hook, admission::Operation operation, ErrorType error,
                      int code);
  void CountFailOpen(std::string_view hook);
  void CountFailurePhase(std::string_view hook, net::CallPhase phase);
  // One HTTP request, sent again or not, in the metrics client-go has of every client.
  void ObserveHttp(const Hook& hook, const net::ClientRequest& request, std::size_t body_size,
                   const net::CallResult& result);
  void CountConditionErrors(std::string_view hook, admission::Operation operation, int errors);
  void CountConditionExclusion(std::string_view hook, admission::Operation operation);
  void ObserveConditions(std::string_view hook, admission::Operation operation,
                         std::chrono::nanoseconds took);
  void CountMissingSan();
  void CountInsecureSha1();

 private:
  std::string_view TypeText() const;

  const HookType type_;
  metrics::AdmissionMetrics metrics_;
  metrics::Family<metrics::Counter>& failure_phases_;
  metrics::Family<metrics::Counter>& http_requests_;
  metrics::Family<metrics::Histogram>& http_latency_;
  metrics::Family<metrics::Histogram>& http_request_size_;
  metrics::Family<metrics::Histogram>& http_response_size_;
};

}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

#include "webhook/conversion.h"

#include <utility>

#include "admission/errors.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "webhook/call.h"
#include "webhook/configuration.h"
#include "webhook/conversion_review.h"

namespace portcullis::webhook {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr std::size_t kGrowth = 4;  // see conversion.h

double InSeconds(base::Duration took) { return std::chrono::duration<double>(took).count(); }

// As Kubernetes' smoke tests make them: nothing to convert.
bool IsBare(json::Value object) {
  return object.size() == 2 && object.Has("kind") && object.Has("apiVersion");
}

std::vector<double> DurationBounds() {
  std::vector<double> bounds;
  for (double bound = 0.001; bounds.size() < 15; bound *= 2) bounds.push_back(bound);
  return bounds;
}

}  // namespace

struct ConversionWebhooks::Counters {
  explicit Counters(metrics::Registry& registry)
      : durations(registry.AddHistogram({"apiserver_crd_conversion_webhook_duration_seconds",
                                         "CRD webhook conversion duration in seconds"},
                                        {"crd_name", "from_version", "to_version", "succeeded"},
                                        DurationBounds())),
        requests(registry.AddCounter(
            {"apiserver_conversion_webhook_request_total",
             "Counter for conversion webhook requests with success/failure and failure error type"},
            {"result", "failure_type"})),
        latencies(registry.AddHistogram(
            {"apiserver_conversion_webhook_duration_seconds", "Conversion webhook request latency"},
            {"result", "failure_type"},
            {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60})) {}

  metrics::Family<metrics::Histogram>& durations;
  metrics::Family<metrics::Counter>& requests;
  metrics::Family<metrics::Histogram>& latencies;
};

// Of one state of one definition.
class ConversionWebhooks::Converter final : public api::CustomConverter {
 public:
  Converter(ConversionWebhooks& owner, std::string name, json::Value webhook)
      : owner_(owner),
        name_(std::move(name)),
        endpoint_(owner.endpoints_.Get(ParseClientConfig(webhook["clientConfig"]))),
        version_(FirstKnownVersion(webhook["conversionReviewVersions"])) {}

  bool blocks() const override { return true; }

  base::Result<std::vector<json::Value>> Convert(json::Arena& arena,
                                                 std::span<const json::Value> objects,
                                                 const api::GroupVersion& to) const override {
    const std::string version = to.ToString();
    std::vector<json::Value> out(objects.begin(), objects.end());
    std::vector<json::Value> sent;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i]["apiVersion"].AsString() == version) continue;
      if (IsBare(out[i])) {
        out[i] = json::With(arena, out[i], "apiVersion", json::String(arena, version));
        continue;
      }
      sent.push_back(out[i]);
      places.push_back(i);
    }
    if (sent.empty()) return out;
    const auto converted = TRY(Observed(arena, sent, to));
    for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = converted[i];
    return out;
  }

 private:
  base::Result<std::vector<json::Value>> Observed(json::Arena& arena,
                                                  std::span<const json::Value> objects,
                                                  const api::GroupVersion& to) const {
    const base::SteadyTime start = owner_.clock_.Steady();
    ConversionFailure failure = ConversionFailure::kNone;
    auto converted = Called(arena, objects, to, failure);
    if (owner_.counters_ == nullptr) return converted;
    const double took = InSeconds(owner_.clock_.Steady() - start);
    const std::string_view result = converted.ok() ? "success" : "failure";
    const std::string_view type = ConversionFailureText(failure);
    const auto from = api::ParseGroupVersion(objects.front()["apiVersion"].AsString());
    owner_.counters_->requests.With({result, type}).Increment();
    owner_.counters_->latencies.With({result, type}).Observe(took);
    owner_.counters_->durations
        .With({name_, from.ok() ? from->version : std::string(), to.version,
               converted.ok() ? "true" : "false"})
        .Observe(took);
    return converted;
  }

  base::Result<std::vector<json::Value>> Called(json::Arena& arena,
                                                std::span<const json::Value> objects,
                                                const api::GroupVersion& to,
                                                ConversionFailure& failure) const {
    failure = ConversionFailure::kCall;
    if (!version_) return admission::PlainError("no supported conversion review versions");
    const std::string uid = base::Uuid();
    auto prepared = endpoint_->RequestFor(name_, kTimeout);
    if (!prepared.ok()) {
      base::LogWarning("conversion webhook cannot be called",
                       {{"definition", name_}, {"error", prepared.status().message()}});
      return base::InternalError("error resolving resource");
    }
    net::ClientRequest request = **prepared;
    request.body =
        std::make_shared<const std::string>(EncodeConversionReview(*version_, uid, objects, to));
    if (owner_.max_response_bytes_ != 0) {
      request.max_response_bytes = owner_.max_response_bytes_ + kGrowth * request.body->size();
    }
    const net::CallResult result =
        Send(std::make_shared<const net::ClientRequest>(std::move(request)));
    auto answered = Judge(arena, uid, result, failure);
    if (!answered.ok()) {
      return admission::PlainError(base::StrCat("conversion webhook for ",
                                                GvkTextOf(objects.front()),
                                                " failed: ", answered.status().message()));
    }
    return CheckConverted(arena, objects, *answered, to, failure);
  }

  base::Result<std::vector<json::Value>> Judge(json::Arena& arena, std::string_view uid,
                                               const net::CallResult& result,
                                               ConversionFailure& failure) const {
    if (!result.ok()) {
      return admission::PlainError(LogTransportFailure(
          "conversion", base::StrCat("conversion_webhook_for_", name_), name_, result));
    }
    TRY(HttpError(result.response));
    failure = ConversionFailure::kMalformedResponse;
    return DecodeConversionReview(arena, *version_, uid, result.response.status,
                                  result.response.headers.Get("Content-Type"),
                                  result.response.content());
  }

  net::CallResult Send(const net::SharedRequest& request) const {
    const base::SteadyTime deadline = owner_.clock_.Steady() + kTimeout;
    const auto calls = owner_.https_.NewSet();
    for (int attempts = 0;; ++attempts) {
      calls->Start(0, request, deadline);
      net::CallResult result = std::move(calls->Next()->result);
      const auto delay = RetryDelay(result, attempts);
      const base::SteadyTime again =
          owner_.clock_.Steady() + delay.value_or(std::chrono::seconds(0));
      if (!delay || again >= deadline) return result;
      (void)calls->Next(again);
    }
  }

  ConversionWebhooks& owner_;
  const std::string name_;
  const std::shared_ptr<const Endpoint> endpoint_;
  const std::optional<ReviewVersion> version_;
};

ConversionWebhooks::ConversionWebhooks(net::HttpsClient& https,
                                       const admission::ServiceResolver* services,
                                       const base::Clock& clock, metrics::Registry* metrics,
                                       std::size_t max_response_bytes)
    : https_(https),
      clock_(clock),
      max_response_bytes_(max_response_bytes),
      endpoints_({nullptr, services}),
      counters_(metrics != nullptr ? std::make_unique<Counters>(*metrics) : nullptr) {}

ConversionWebhooks::~ConversionWebhooks() = default;

std::shared_ptr<const api::CustomConverter> ConversionWebhooks::For(json::Value definition) {
  const json::Value conversion = definition["spec"]["conversion"];
  if (conversion["strategy"].AsString() != "Webhook") return nullptr;
  return std::make_shared<Converter>(*this, std::string(definition["metadata"]["name"].AsString()),
                                     conversion["webhook"]);
}

}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

// ConversionWebhooks: converters of custom resources whose definition says `strategy: Webhook`
// (Kubernetes documentation, "Versions in CustomResourceDefinitions", "Webhook conversion").
//
// All objects of one conversion go in one call; objects that are of the wanted version already do
// not go at all. A call has 30 s, and is repeated if the answer asks for it (Retry-After). Its answer may
// be as large as that of any webhook, and besides four times as large as what was sent: converted
// objects are about as large as they were, but their text may be indented or have more escapes.
#pragma once

#include <cstddef>
#include <memory>

#include "admission/service_resolver.h"
#include "api/conversion/custom_converter.h"
#include "base/clock.h"
#include "json/value.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "webhook/endpoint.h"

namespace portcullis::webhook {

// Outlives the converters it has made. Thread-safe.
class ConversionWebhooks {
 public:
  // `services` may be null: service references cannot be called then. `metrics` may be null. What
  // is given outlives this. `max_response_bytes`: of an answer to which nothing was sent; 0: no limit.
  ConversionWebhooks(net::HttpsClient& https, const admission::ServiceResolver* services,
                     const base::Clock& clock, metrics::Registry* metrics,
                     std::size_t max_response_bytes);
  ~ConversionWebhooks();

  // What a CustomResourceDefinition's spec.conversion asks for; null for strategy None.
  std::shared_ptr<const api::CustomConverter> For(json::Value definition);

 private:
  struct Counters;
  class Converter;

  net::HttpsClient& https_;
  const base::Clock& clock_;
  const std::size_t max_response_bytes_;
  EndpointCache endpoints_;
  const std::unique_ptr<Counters> counters_;  // null without metrics
};

}  // namespace portcullis::webhook

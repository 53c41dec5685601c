// SPDX-License-Identifier: Apache-2.0

// WebhookAuthorizer asks a server of others: it posts a SubjectAccessReview and does what the
// answer's status says. Answers are remembered for a while
// (k8s.io/apiserver/plugin/pkg/authorizer/webhook).
#pragma once

#include <memory>
#include <string>

#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/status.h"
#include "kubeconfig/client.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "server/authorization/configuration.h"

namespace portcullis::server::authorization {

// Of all authorization webhooks of a server, by name.
struct WebhookMetrics {
  explicit WebhookMetrics(metrics::Registry& registry);

  metrics::Family<metrics::Counter>& evaluations;           // result, name
  metrics::Family<metrics::Histogram>& duration;            // result, name
  metrics::Family<metrics::Counter>& fail_open;             // result, name
  metrics::Family<metrics::Counter>& condition_errors;      // type, name
  metrics::Family<metrics::Counter>& condition_exclusions;  // type, name
  metrics::Family<metrics::Histogram>& condition_duration;  // type, name
};

// Errors are about the kubeconfig. What is given by reference outlives the authorizer.
base::Result<std::unique_ptr<authz::Authorizer>> MakeWebhookAuthorizer(
    const std::string& name, std::shared_ptr<const WebhookSettings> settings,
    net::HttpsClient& https, const base::Clock& clock, const WebhookMetrics& metrics);
// The same of a client that is there, whose URL takes the reviews.
std::unique_ptr<authz::Authorizer> MakeWebhookAuthorizer(
    const std::string& name, std::shared_ptr<const WebhookSettings> settings,
    kubeconfig::Client client, const base::Clock& clock, const WebhookMetrics& metrics);

}  // namespace portcullis::server::authorization

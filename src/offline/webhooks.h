// SPDX-License-Identifier: Apache-2.0

// Which webhooks an offline command calls, and what it takes for the answers of others.
//
//   answers:                         # of webhooks that are not called
//   - webhook: policy.example.com
//     response: {allowed: false, status: {message: no}}
//   services:                        # where webhooks of Services are reached
//     default/hook:443: 127.0.0.1:8443
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "admission/survey.h"
#include "base/status.h"

namespace portcullis::offline {

struct WebhookPlan {
  bool calls = false;                                         // some are called: a client is needed
  std::unique_ptr<const admission::WebhookStandIn> stand_in;  // null: all are called
  std::map<std::string, std::string> services;                // "namespace/name:port" -> address
};

// `choice` is "skip", "call" or the path of a file as above. Errors name the file and the line.
base::Result<WebhookPlan> PlanWebhooks(std::string_view choice);
// The plan of a file's text.
base::Result<WebhookPlan> ReadWebhookPlan(const std::string& path, std::string_view text);

}  // namespace portcullis::offline

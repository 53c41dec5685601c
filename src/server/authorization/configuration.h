// SPDX-License-Identifier: Apache-2.0

// The file of --authorization-config: AuthorizationConfiguration of apiserver.config.k8s.io, read
// strictly and checked with Kubernetes' texts
// (https://kubernetes.io/docs/reference/access-authn-authz/authorization/
// #using-configuration-file-for-authorization).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/authorization/match_conditions.h"

namespace portcullis::server::authorization {

struct WebhookSettings {
  std::string kubeconfig;
  std::string review_version = "v1";  // or v1beta1
  base::Duration timeout = std::chrono::seconds(30);
  base::Duration authorized_ttl = std::chrono::minutes(5);  // 0: not remembered
  base::Duration unauthorized_ttl = std::chrono::seconds(30);
  bool denies_on_error = false;
  std::vector<MatchCondition> conditions;
};

struct Member {
  std::string type;  // AlwaysAllow, AlwaysDeny, ABAC, Node, RBAC, Webhook
  std::string name;
  std::shared_ptr<const WebhookSettings> webhook;  // of type Webhook
};

// The members in their order. Errors: what the decoder or the validation says.
base::Result<std::vector<Member>> ParseConfiguration(std::string text);

}  // namespace portcullis::server::authorization

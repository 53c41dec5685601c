// SPDX-License-Identifier: Apache-2.0

// A token authenticator that asks another server: it posts a TokenReview and takes the user of the
// answer's status (k8s.io/apiserver/plugin/pkg/authenticator/token/webhook).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"
#include "base/status.h"
#include "net/client.h"

namespace portcullis::server::authentication {

struct TokenWebhookOptions {
  std::string kubeconfig;
  std::string version;                     // of the TokenReviews: v1 or v1beta1
  std::vector<std::string> api_audiences;  // for which tokens count unless the answer says more
};

// Errors are about the kubeconfig and the version. The client outlives the authenticator.
base::Result<std::shared_ptr<const authn::TokenAuthenticator>> MakeTokenWebhook(
    const TokenWebhookOptions& options, net::HttpsClient& https);

}  // namespace portcullis::server::authentication

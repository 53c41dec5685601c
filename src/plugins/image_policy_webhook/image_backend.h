// SPDX-License-Identifier: Apache-2.0

// The service that judges images, reached as a kubeconfig file says.
#pragma once

#include <utility>

#include "admission/plugin.h"
#include "base/status.h"
#include "json/value.h"
#include "kubeconfig/client.h"
#include "plugins/image_policy_webhook/answer_cache.h"
#include "plugins/image_policy_webhook/image_policy_config.h"

namespace portcullis::plugins::image_policy_webhook {

// Thread-safe.
class ImageBackend {
 public:
  // Without `context.https` every call fails. Errors are about the kubeconfig.
  static base::Result<ImageBackend> Create(const ImagePolicyConfig& config,
                                           const admission::PluginContext& context);

  // Sends an ImageReview with this spec and waits for the answer; tries again, up to five times in
  // all, when the connection breaks or the service is overloaded.
  base::Result<ImageAnswer> Ask(json::Arena& arena, json::Value spec) const;

  // See kubeconfig::Client.
  bool runs_program() const { return client_.runs_program(); }

 private:
  ImageBackend(kubeconfig::Client client, const admission::ObjectInterfaces* objects)
      : client_(std::move(client)), objects_(objects) {}

  kubeconfig::Client client_;
  const admission::ObjectInterfaces* objects_;  // may be null
};

}  // namespace portcullis::plugins::image_policy_webhook

// The service that judges images, reached as a kubeconfig file says.
#pragma once

#include <memory>
#include <string>

#include "admission/plugin.h"
#include "base/status.h"
#include "json/value.h"
#include "net/client.h"
#include "plugins/image_policy_webhook/answer_cache.h"
#include "plugins/image_policy_webhook/image_policy_config.h"
#include "webhook/credentials.h"

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

 private:
  ImageBackend() = default;

  net::HttpsClient* https_ = nullptr;
  const admission::ObjectInterfaces* objects_ = nullptr;  // may be null
  std::string url_;
  std::shared_ptr<const net::ClientTls> tls_;
  std::shared_ptr<const webhook::Credentials> credentials_;
  base::Duration backoff_{};
};

}  // namespace portcullis::plugins::image_policy_webhook

// KubeconfigService: the one server that a kubeconfig file names, to which JSON is posted: what
// kube-apiserver calls for image policies and for authorization
// (k8s.io/apiserver/pkg/util/webhook, GenericWebhook).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "net/client.h"
#include "net/tls.h"
#include "webhook/credentials.h"

namespace portcullis::webhook {

struct KubeconfigServiceOptions {
  std::string kubeconfig;                                      // path
  base::Duration timeout = std::chrono::seconds(30);           // of each try; the server is told
  base::Duration first_wait = std::chrono::milliseconds(500);  // before the second try, then 1.5×
  int tries = 5;
};

// Thread-safe. Immutable after construction.
class KubeconfigService {
 public:
  // Errors are about the file, as clientcmd words them. `https` outlives the service; null: every
  // call fails.
  static base::Result<KubeconfigService> Create(const KubeconfigServiceOptions& options,
                                                net::HttpsClient* https);

  // Posts the body and gives an answer with a good status to `read`; tries again when the
  // connection breaks, the service is overloaded or `read` finds an InternalError. An error is the
  // client's (`Post "…": EOF`), the service's Status, or what `read` has said.
  base::Status Post(std::shared_ptr<const std::string> body,
                    const std::function<base::Status(const net::Response&)>& read) const;

 private:
  KubeconfigService() = default;

  net::HttpsClient* https_ = nullptr;
  KubeconfigServiceOptions options_;
  std::string url_;
  net::ClientTlsOptions tls_options_;
  std::shared_ptr<net::ClientTlsCache> tls_cache_;
  std::shared_ptr<const net::ClientTls> tls_;
  std::shared_ptr<const Credentials> credentials_;
  const UserEntry* user_ = nullptr;        // null: anonymous
  std::shared_ptr<ExecCredentials> exec_;  // may be null
};

}  // namespace portcullis::webhook

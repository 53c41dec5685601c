// SPDX-License-Identifier: Apache-2.0

// Endpoint: where one clientConfig leads to and how to go there: URL, TLS identity, credentials.
// EndpointCache shares endpoints between webhooks with equal clientConfigs.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "admission/service_resolver.h"
#include "base/mutex.h"
#include "base/status.h"
#include "kubeconfig/identity.h"
#include "net/client.h"
#include "net/tls.h"
#include "webhook/credentials.h"

namespace portcullis::webhook {

struct ClientConfig;

// How all endpoints of a cache are reached.
struct EndpointOptions {
  std::shared_ptr<const Credentials> credentials;  // null: anonymously
  // May be null: service references cannot be called then. Outlives the cache and all endpoints.
  const admission::ServiceResolver* services = nullptr;
  // As in 1.7: the URL has the address that a Service resolves to, and the certificate must be that
  // of the address. Otherwise it must be that of <service>.<namespace>.svc.
  bool by_address = false;
};

// What is needed to reach it, made at the first call: loading certificates is not cheap, and most
// webhooks of a large cluster are never called. Thread-safe.
class Endpoint {
 public:
  struct Ready {
    std::string url;  // without query; of an endpoint by address the path alone
    net::Headers headers;
    std::shared_ptr<const net::ClientTls> tls;
    std::string service_host_port;  // "web.ns.svc:443" for a service reference, else ""
    std::unique_ptr<const kubeconfig::Identity> identity;  // null: anonymous
  };

  // `options` outlive it.
  Endpoint(std::unique_ptr<const ClientConfig> config, net::ClientTlsCache& tls,
           const EndpointOptions& options);
  ~Endpoint();

  // The error is what follows "could not get REST client: ". `webhook` names the asking webhook.
  base::Result<const Ready*> Get(std::string_view webhook) const;

  // A request for it, complete but for its body; without a timeout it has no query. An error of reason ServiceUnavailable is a failure
  // to call, not one to get a client: see Identity::Apply.
  base::Result<net::SharedRequest> RequestFor(std::string_view webhook,
                                              std::optional<std::chrono::seconds> timeout) const;

  // The webhook has answered 401.
  void CredentialsRefused() const;

 private:
  void Prepare() const;
  base::Status PrepareIdentity(const UserEntry& user, const net::ClientTlsOptions& tls,
                               const kubeconfig::ExecCluster& cluster) const;
  base::Status PrepareTls(const net::ClientTlsOptions& options) const;
  base::Result<net::SharedRequest> MakeRequest(const Ready& ready,
                                               std::optional<std::chrono::seconds> timeout) const;

  const std::unique_ptr<const ClientConfig> config_;
  net::ClientTlsCache& tls_;
  const EndpointOptions& options_;
  mutable std::once_flag once_;
  mutable Ready ready_;
  mutable base::Status error_;
  mutable bool no_target_ = false;  // neither url nor service
  // The last request, if it serves for every call with that timeout.
  mutable base::Mutex mutex_;
  mutable std::optional<std::chrono::seconds> last_timeout_ PC_GUARDED_BY(mutex_);
  mutable net::SharedRequest last_ PC_GUARDED_BY(mutex_);
};

// Thread-safe.
class EndpointCache {
 public:
  // The cache outlives its endpoints.
  explicit EndpointCache(EndpointOptions options);
  std::shared_ptr<const Endpoint> Get(const ClientConfig& config);

 private:
  const EndpointOptions options_;
  net::ClientTlsCache tls_;
  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<const Endpoint>> endpoints_ PC_GUARDED_BY(mutex_);
  // Expired entries are erased when the map has grown to this size.
  std::size_t next_sweep_ PC_GUARDED_BY(mutex_) = 1024;
};

}  // namespace portcullis::webhook

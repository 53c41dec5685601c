// SPDX-License-Identifier: Apache-2.0

// Aggregation: the API servers behind this one, as APIServices with a Service name them
// (https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation). It knows which
// groups and versions are theirs, how they are reached, and what discovery shows of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/service_resolver.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/published.h"
#include "controllers/controller.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "net/tls.h"
#include "server/options.h"
#include "store/store.h"

namespace portcullis::server {

// One APIService with a Service. Immutable.
struct ApiService {
  std::string name;  // "v1beta1.metrics.k8s.io"
  std::string group;
  std::string version;
  std::string ns;  // of its Service
  std::string service;
  int port = 443;
  net::ClientTlsOptions tls;  // without a client certificate
  bool available = false;     // by its condition
};

// By "group/version".
using ApiServices = std::map<std::string, std::shared_ptr<const ApiService>, std::less<>>;

// Thread-safe.
class Aggregation final : public controllers::AggregatedServers, private store::Observer {
 public:
  // All of them outlive it.
  struct Parts {
    const Options& options;
    store::Store& store;
    net::HttpsClient& https;   // passes requests on
    net::HttpsClient& probes;  // asks for the server itself
    metrics::Registry& metrics;
    const admission::ServiceResolver& services;
    const base::Clock& clock;
  };
  explicit Aggregation(const Parts& parts);
  void Start();
  // Waits until no call is under way. REQUIRES: the client has been stopped.
  void Stop();

  // Null: the version is served here, or nowhere.
  std::shared_ptr<const ApiService> Find(std::string_view group, std::string_view version) const;
  std::shared_ptr<const ApiServices> all() const { return services_.Get(); }
  // Whether there is any.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // Another number whenever what discovery shows may have changed.
  std::uint64_t generation() const { return generation_.load(); }
  // The entry of the version in aggregated discovery. Before its server has told any it is empty and
  // stale, as kube-apiserver's is.
  json::Value DiscoveryOf(json::Arena& arena, const ApiService& service) const;
  // The documents of OpenAPI v3 that the server of an APIService has: "apis/garden.io/v1" and where it is,
  // "/openapi/v3/apis/garden.io/v1?hash=…".
  using OpenApiUrls = std::map<std::string, std::string, std::less<>>;
  OpenApiUrls OpenApiOf(const std::string& name) const;
  // What is merged of all of them into OpenAPI v2 (merged_open_api.h).
  std::vector<std::string> OpenApiV2Parts() const;
  // The first one by name whose server has the document; null: none.
  std::shared_ptr<const ApiService> WithOpenApi(std::string_view document) const;

  // A request without headers for the path and query at the server, and whom it is sent to. `host` receives
  // "host:port". `upgrades`: it asks for an upgrade, by HTTP/1.1. An error of reason kInternalError is one of its
  // certificates, any other one of the Service.
  base::Result<net::ClientRequest> RequestFor(const ApiService& service, std::string_view target,
                                              std::string& host, bool upgrades = false);
  net::HttpsClient& https() const { return parts_.https; }
  // Makes a request of this server itself; blocks until there is an answer, so long at most.
  net::CallResult Perform(net::ClientRequest request, base::Duration patience);

  base::Status Check(const std::string& name) override;
  base::Status Discover(const std::string& name) override;
  void EmptyNamespace(const std::string& ns, const controllers::Identity& user,
                      const std::atomic<bool>& is_stopping,
                      controllers::NamespaceLeftovers& left) override;

  // Counts a call that is passed on, from its construction to its destruction.
  class Passing {
   public:
    explicit Passing(Aggregation& aggregation);
    ~Passing();
    Passing(const Passing&) = delete;
    Passing& operator=(const Passing&) = delete;

   private:
    Aggregation& aggregation_;
  };

 private:
  struct Entry {
    std::string text;  // JSON; "" before the server has told any
    OpenApiUrls open_api;
    std::string open_api_v2;  // its part of it; "" if there is none
    bool stale = true;
  };

  void OnCommit(std::span<const store::EventPtr> events) override;
  static void Note(const store::Object& object, bool deleted, ApiServices& services);
  void CountUnavailable(const store::Event& event) const;
  void ReadCertificate();
  std::shared_ptr<const ApiService> ByName(const std::string& name) const;
  base::Result<net::ClientRequest> OwnRequest(const ApiService& service, std::string_view target);
  // The entry of the version as its server tells it.
  base::Result<std::string> Fetch(const ApiService& service);
  // "" if it tells no aggregated discovery, or no such version.
  base::Result<std::string> FetchAggregated(const ApiService& service);
  base::Result<std::string> FetchLegacy(const ApiService& service);
  base::Result<OpenApiUrls> FetchOpenApi(const ApiService& service);
  base::Result<std::string> FetchOpenApiV2(const ApiService& service);
  base::Result<net::Response> Get(net::ClientRequest request);

  const Parts parts_;
  metrics::Family<metrics::Counter>& unavailable_;  // by name and reason: that have become so
  net::ClientTlsCache tls_;
  base::Published<ApiServices> services_{std::make_shared<const ApiServices>()};
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> generation_{0};
  std::unique_ptr<store::Subscription> subscription_;
  mutable base::Mutex mutex_;
  base::CondVar idle_;
  std::size_t passing_ PC_GUARDED_BY(mutex_) = 0;
  std::string certificate_pem_
      PC_GUARDED_BY(mutex_);  // --proxy-client-cert-file, read now and then
  std::string key_pem_ PC_GUARDED_BY(mutex_);
  std::map<std::string, Entry> discovered_ PC_GUARDED_BY(mutex_);
  // How each is reached: kept, so that its connections are.
  std::map<std::string, std::shared_ptr<const net::ClientTls>> contexts_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::server

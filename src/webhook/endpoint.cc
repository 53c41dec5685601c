// SPDX-License-Identifier: Apache-2.0

#include "webhook/endpoint.h"

#include <algorithm>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "kubeconfig/rest.h"
#include "net/url.h"
#include "webhook/configuration.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kUserAgent = "kube-apiserver-admission";

std::string KeyOf(const ClientConfig& config) {
  std::string key = config.url ? base::StrCat("u", *config.url) : std::string();
  if (config.service) {
    const ServiceReference& service = *config.service;
    for (const std::string& part :
         {service.namespace_name, service.name, service.path, std::to_string(service.port)}) {
      key.append("\ns").append(part);
    }
  }
  return base::StrCat(key, "\nc", config.ca_bundle);
}

// "10.0.0.1:443"
base::Result<std::string> AddressOf(const ServiceReference& service,
                                    const admission::ServiceResolver& services) {
  const admission::ServiceAddress address =
      TRY(services.Resolve(service.namespace_name, service.name, service.port));
  return golang::JoinHostPort(address.host, std::to_string(address.port));
}

}  // namespace

Endpoint::Endpoint(std::unique_ptr<const ClientConfig> config, net::ClientTlsCache& tls,
                   const EndpointOptions& options)
    : config_(std::move(config)), tls_(tls), options_(options) {}

Endpoint::~Endpoint() = default;

void Endpoint::Prepare() const {
  net::ClientTlsOptions options;
  options.ca_pem = config_->ca_bundle;
  kubeconfig::ExecCluster cluster;
  cluster.certificate_authority_pem = config_->ca_bundle;
  std::string host;
  int port = 443;
  if (config_->service) {
    const ServiceReference& service = *config_->service;
    host = base::StrCat(service.name, ".", service.namespace_name, ".svc");
    port = service.port;
    if (!options_.by_address) options.server_name = host;
    ready_.service_host_port = base::StrCat(host, ":", std::to_string(port));
    cluster.server = base::StrCat("https://", ready_.service_host_port);
    cluster.tls_server_name = host;
    ready_.url = base::StrCat(options_.by_address ? "" : cluster.server,
                              kubeconfig::RequestPath(service.path));
  } else if (config_->url) {
    auto url = net::ParseUrl(*config_->url);
    if (!url.ok()) {
      error_ = base::ConfigError(base::StrCat("Unparsable URL: ", url.status().message()));
      return;
    }
    host = url->host;
    port = url->EffectivePort();
    // One connection for all calls would lead to one of many servers behind a balancer.
    if (net::IsLoopbackHost(host)) options.protocols = net::ClientProtocols::kHttp2OrHttp1;
    cluster.server = base::StrCat(url->scheme, "://", url->Authority());
    ready_.url = base::StrCat(cluster.server, kubeconfig::RequestPath(url->path));
  } else {
    no_target_ = true;
    return;
  }

  ready_.headers.Add("User-Agent", kUserAgent);
  ready_.headers.Add("Accept", "application/json, */*");
  ready_.headers.Add("Content-Type", "application/json");
  const UserEntry* user =
      options_.credentials != nullptr ? options_.credentials->Find(host, port) : nullptr;
  error_ = user != nullptr ? PrepareIdentity(*user, options, cluster) : PrepareTls(options);
}

base::Status Endpoint::PrepareIdentity(const UserEntry& user, const net::ClientTlsOptions& tls,
                                       const kubeconfig::ExecCluster& cluster) const {
  if (user.user.auth_provider) return base::ConfigError("auth provider not supported");
  ready_.identity =
      TRY(kubeconfig::Identity::Create(user.user, tls, user.exec.get(), cluster, tls_));
  return base::OkStatus();
}

base::Status Endpoint::PrepareTls(const net::ClientTlsOptions& options) const {
  ready_.tls = TRY(tls_.Get(options));
  return base::OkStatus();
}

void Endpoint::CredentialsRefused() const {
  if (ready_.identity != nullptr) ready_.identity->Refused();
}

base::Result<const Endpoint::Ready*> Endpoint::Get(std::string_view webhook) const {
  std::call_once(once_, [this] { Prepare(); });
  if (no_target_) {
    return base::ConfigError(
        base::StrCat("failed calling webhook ", base::GoQuote(webhook),
                     ": webhook configuration must have either service or URL"));
  }
  if (!error_.ok()) return error_;
  return &ready_;
}

base::Result<net::SharedRequest> Endpoint::RequestFor(
    std::string_view webhook, std::optional<std::chrono::seconds> timeout) const {
  const Ready* ready = TRY(Get(webhook));
  if (ready->identity != nullptr || options_.by_address) return MakeRequest(*ready, timeout);
  const base::MutexLock lock(mutex_);
  if (last_ == nullptr || last_timeout_ != timeout) {
    last_ = TRY(MakeRequest(*ready, timeout));
    last_timeout_ = timeout;
  }
  return last_;
}

base::Result<net::SharedRequest> Endpoint::MakeRequest(
    const Ready& ready, std::optional<std::chrono::seconds> timeout) const {
  net::ClientRequest request;
  request.method = "POST";
  request.url = ready.url;
  if (options_.by_address)
    request.url.insert(
        0, base::StrCat("https://", TRY(AddressOf(*config_->service, *options_.services))));
  if (timeout) request.url += base::StrCat("?timeout=", base::FormatDuration(*timeout));
  request.headers = ready.headers;
  request.tls = ready.tls;
  if (ready.identity != nullptr) {
    const base::Status identified = ready.identity->Apply(request);
    if (identified.reason() == base::Reason::kServiceUnavailable) {
      return identified.Annotate(base::StrCat("Post ", base::GoQuote(request.url)));
    }
    TRY(identified);
  }
  request.max_redirects = 10;
  if (auto prepared = net::Prepare(request); prepared.ok()) request.prepared = *std::move(prepared);
  if (!config_->service || options_.by_address) {
    return std::make_shared<const net::ClientRequest>(std::move(request));
  }
  // A redirect may lead elsewhere: only the service's own address is looked up here.
  request.resolve =
      [services = options_.services, service = *config_->service,
       own = ready.service_host_port](const std::string& host_port) -> base::Result<std::string> {
    if (host_port != own || services == nullptr) return host_port;
    return AddressOf(service, *services);
  };
  return std::make_shared<const net::ClientRequest>(std::move(request));
}

EndpointCache::EndpointCache(EndpointOptions options) : options_(std::move(options)) {}

std::shared_ptr<const Endpoint> EndpointCache::Get(const ClientConfig& config) {
  const base::MutexLock lock(mutex_);
  if (endpoints_.size() >= next_sweep_) {
    std::erase_if(endpoints_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = std::max<std::size_t>(1024, 2 * endpoints_.size());
  }
  auto& slot = endpoints_[KeyOf(config)];
  if (auto known = slot.lock()) return known;
  auto made = std::make_shared<Endpoint>(std::make_unique<ClientConfig>(config), tls_, options_);
  slot = made;
  return made;
}

}  // namespace portcullis::webhook

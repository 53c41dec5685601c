// SPDX-License-Identifier: Apache-2.0

#include "webhook/service_resolver.h"

#include <atomic>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/gotext.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::webhook {
namespace {

using admission::ServiceAddress;

base::Result<ServiceAddress> ParseAddress(const std::string& text) {
  const auto [host, port] = TRY(golang::SplitHostPort(text));
  const auto number = base::ParseInt(port);
  if (!number || *number < 1 || *number > 65535) {
    return base::ConfigError(base::StrCat("address ", text, ": invalid port"));
  }
  return ServiceAddress{host, static_cast<std::uint16_t>(*number)};
}

bool IsLoopback(std::string_view address) {
  const auto ip = golang::ParseIp(address);
  return ip && ip->IsLoopback();
}

base::Status NoPort(int port, std::string_view service) {
  return base::Status::Custom(503, "ServiceUnavailable",
                              base::StrCat("no service port ", std::to_string(port),
                                           " found for service ", base::GoQuote(service)));
}

const json::Value* FindPort(json::Value spec, int port) {
  const json::Value ports = spec["ports"];
  for (const json::Value& candidate : ports.elements()) {
    if (candidate["port"].AsInt() == port) return &candidate;
  }
  return nullptr;
}

class Resolver final : public admission::ServiceResolver {
 public:
  Resolver(const store::Reader& reader, ServiceResolverOptions options)
      : reader_(reader), options_(std::move(options)) {}

  base::Result<ServiceAddress> Resolve(std::string_view namespace_name, std::string_view service,
                                       int port) const override {
    const auto row =
        options_.table.find(base::StrCat(namespace_name, "/", service, ":", std::to_string(port)));
    if (row != options_.table.end()) return ParseAddress(row->second);
    const bool is_this_server =
        namespace_name == "default" && service == "kubernetes" && port == 443;
    if (is_this_server && options_.own_address != nullptr) {
      const std::string own = options_.own_address();
      if (!own.empty()) return ParseAddress(own);
    }
    const store::ObjectPtr object = reader_.Get({"", "services", namespace_name, service});
    if (object == nullptr) {
      Hint(namespace_name, service, port);
      return base::NotFound(base::StrCat("service ", base::GoQuote(service), " not found"));
    }
    const json::Value spec = object->document()["spec"];
    return options_.route_to_endpoints ? ResolveEndpoint(namespace_name, service, spec, port)
                                       : ResolveClusterIp(namespace_name, service, spec, port);
  }

 private:
  base::Result<ServiceAddress> ResolveClusterIp(std::string_view namespace_name,
                                                std::string_view service, json::Value spec,
                                                int port) const {
    const std::string_view type = spec["type"].AsString("ClusterIP");
    if (type == "ExternalName") {
      return ServiceAddress{std::string(spec["externalName"].AsString()),
                            static_cast<std::uint16_t>(port)};
    }
    if (type != "ClusterIP" && type != "NodePort" && type != "LoadBalancer") {
      return base::BadRequest(base::StrCat("unsupported service type ", base::GoQuote(type)));
    }
    const std::string_view address = spec["clusterIP"].AsString();
    if (address == "None") {
      return base::BadRequest("cannot route to service with ClusterIP \"None\"");
    }
    const json::Value* service_port = FindPort(spec, port);
    if (service_port == nullptr) return NoPort(port, service);
    if (options_.dials_cluster_ips || IsLoopback(address)) {
      return ServiceAddress{std::string(address), static_cast<std::uint16_t>(port)};
    }
    for (ServiceAddress& endpoint : ReadyEndpoints(namespace_name, service, *service_port)) {
      if (IsLoopback(endpoint.host)) return std::move(endpoint);
    }
    return base::Status::Custom(
        503, "ServiceUnavailable",
        base::StrCat("service ", base::GoQuote(service), " is not called at its cluster IP ",
                     address, ", which may belong to another machine: give ",
                     MapFlag(namespace_name, service, port), " or --service-cluster-ip-range"));
  }

  // The flag that tells where to reach the Service.
  static std::string MapFlag(std::string_view namespace_name, std::string_view service, int port) {
    return base::StrCat("--webhook-service-map=", namespace_name, "/", service, ":",
                        std::to_string(port), "=HOST:PORT");
  }

  // Kubernetes' error names no way out; the log does, once for each Service.
  void Hint(std::string_view namespace_name, std::string_view service, int port) const {
    constexpr std::size_t kMostHints = 100;
    std::string flag = MapFlag(namespace_name, service, port);
    {
      const base::MutexLock lock(mutex_);
      if (hinted_.size() >= kMostHints || !hinted_.insert(flag).second) return;
    }
    base::LogWarning("a Service that is to be called does not exist",
                     {{"service", base::StrCat(namespace_name, "/", service)},
                      {"hint", base::StrCat("to call a program of this machine instead: ", flag)}});
  }

  base::Result<ServiceAddress> ResolveEndpoint(std::string_view namespace_name,
                                               std::string_view service, json::Value spec,
                                               int port) const {
    const std::string_view type = spec["type"].AsString("ClusterIP");
    if (type == "ExternalName") {
      return base::BadRequest(base::StrCat("unsupported service type ", base::GoQuote(type)));
    }
    const json::Value* service_port = FindPort(spec, port);
    if (service_port == nullptr) return NoPort(port, service);
    const std::string_view family = spec["ipFamilies"][0].AsString();
    std::vector<ServiceAddress> ready =
        ReadyEndpoints(namespace_name, service, *service_port, family);
    if (ready.empty() && !family.empty())
      ready = ReadyEndpoints(namespace_name, service, *service_port);
    if (ready.empty()) {
      return base::Status::Custom(
          503, "ServiceUnavailable",
          base::StrCat("no endpoints available for service ", base::GoQuote(service)));
    }
    return ready[next_.fetch_add(1, std::memory_order_relaxed) % ready.size()];
  }

  // `family`: of slices of that one alone.
  std::vector<ServiceAddress> ReadyEndpoints(std::string_view namespace_name,
                                             std::string_view service, json::Value service_port,
                                             std::string_view family = {}) const {
    const std::string_view port_name = service_port["name"].AsString();
    std::vector<ServiceAddress> ready;
    for (const store::ObjectPtr& slice :
         reader_.List({"discovery.k8s.io", "endpointslices"}, namespace_name)) {
      const json::Document& document = slice->document();
      const json::Value labels = document["metadata"]["labels"];
      if (labels["kubernetes.io/service-name"].AsString() != service) continue;
      if (!family.empty() && document["addressType"].AsString() != family) continue;
      CollectReady(document.root(), port_name, ready);
    }
    return ready;
  }

  static void CollectReady(json::Value slice, std::string_view port_name,
                           std::vector<ServiceAddress>& ready) {
    for (const json::Value port : slice["ports"].elements()) {
      if (port["name"].AsString() != port_name || !port["port"].is_int()) continue;
      for (const json::Value endpoint : slice["endpoints"].elements()) {
        if (!endpoint["conditions"]["ready"].AsBool(true)) continue;
        // Of its addresses the first one alone.
        ready.push_back({std::string(endpoint["addresses"][0].AsString()),
                         static_cast<std::uint16_t>(port["port"].AsInt())});
      }
    }
  }

  const store::Reader& reader_;
  const ServiceResolverOptions options_;
  mutable std::atomic<std::size_t> next_{0};
  mutable base::Mutex mutex_;
  mutable std::set<std::string> hinted_ PC_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<admission::ServiceResolver> MakeServiceResolver(const store::Reader& reader,
                                                                ServiceResolverOptions options) {
  return std::make_unique<Resolver>(reader, std::move(options));
}

}  // namespace portcullis::webhook

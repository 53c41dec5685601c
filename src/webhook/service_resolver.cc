// SPDX-License-Identifier: Apache-2.0

#include "webhook/service_resolver.h"

#include <atomic>
#include <utility>
#include <vector>

#include "base/gotext.h"
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
      return base::NotFound(base::StrCat("service ", base::GoQuote(service), " not found"));
    }
    const json::Value spec = object->document()["spec"];
    return options_.route_to_endpoints ? ResolveEndpoint(namespace_name, service, spec, port)
                                       : ResolveClusterIp(service, spec, port);
  }

 private:
  static base::Result<ServiceAddress> ResolveClusterIp(std::string_view service, json::Value spec,
                                                       int port) {
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
    if (FindPort(spec, port) == nullptr) return NoPort(port, service);
    return ServiceAddress{std::string(address), static_cast<std::uint16_t>(port)};
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
    const std::string_view port_name = (*service_port)["name"].AsString();
    std::vector<ServiceAddress> ready;
    for (const store::ObjectPtr& slice :
         reader_.List({"discovery.k8s.io", "endpointslices"}, namespace_name)) {
      const json::Document& document = slice->document();
      const json::Value labels = document["metadata"]["labels"];
      if (labels["kubernetes.io/service-name"].AsString() != service) continue;
      CollectReady(document.root(), port_name, ready);
    }
    if (ready.empty()) {
      return base::Status::Custom(
          503, "ServiceUnavailable",
          base::StrCat("no endpoints available for service ", base::GoQuote(service)));
    }
    return ready[next_.fetch_add(1, std::memory_order_relaxed) % ready.size()];
  }

  static void CollectReady(json::Value slice, std::string_view port_name,
                           std::vector<ServiceAddress>& ready) {
    for (const json::Value port : slice["ports"].elements()) {
      if (port["name"].AsString() != port_name || !port["port"].is_int()) continue;
      for (const json::Value endpoint : slice["endpoints"].elements()) {
        if (!endpoint["conditions"]["ready"].AsBool(true)) continue;
        for (const json::Value address : endpoint["addresses"].elements()) {
          ready.push_back(
              {std::string(address.AsString()), static_cast<std::uint16_t>(port["port"].AsInt())});
        }
      }
    }
  }

  const store::Reader& reader_;
  const ServiceResolverOptions options_;
  mutable std::atomic<std::size_t> next_{0};
};

}  // namespace

std::unique_ptr<admission::ServiceResolver> MakeServiceResolver(const store::Reader& reader,
                                                                ServiceResolverOptions options) {
  return std::make_unique<Resolver>(reader, std::move(options));
}

}  // namespace portcullis::webhook

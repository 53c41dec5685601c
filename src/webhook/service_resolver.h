// SPDX-License-Identifier: Apache-2.0

// Resolves service references of webhooks as kube-apiserver does: from the Service object to its
// cluster IP, external name, or a ready endpoint; and, on a machine without a cluster network, from
// a table given by flag. There a cluster IP may be the address of another machine: it is dialled only
// if the operator says that cluster IPs exist, or if it is on the loopback.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "admission/service_resolver.h"
#include "store/store.h"

namespace portcullis::webhook {

struct ServiceResolverOptions {
  // "namespace/name:port" -> "host:port"; asked first.
  std::map<std::string, std::string> table;
  // --enable-aggregator-routing: a ready endpoint instead of the cluster IP.
  bool route_to_endpoints = false;
  // Cluster IPs are dialled (--service-cluster-ip-range was given). Otherwise a Service is reached
  // only if its cluster IP or a ready endpoint of it is on the loopback.
  bool dials_cluster_ips = false;
  // Where the server itself listens, "host:port" or "" if unknown: what default/kubernetes:443
  // means. May be null.
  std::function<std::string()> own_address;
};

// `reader` outlives it. Thread-safe.
std::unique_ptr<admission::ServiceResolver> MakeServiceResolver(const store::Reader& reader,
                                                                ServiceResolverOptions options);

}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

#include "metrics/allocator_metrics.h"

#include "base/strings.h"

namespace portcullis::metrics {
namespace {

Description Ips(std::string_view name, std::string_view help) {
  return {base::StrCat("kube_apiserver_clusterip_allocator_", name), std::string(help)};
}
Description Ports(std::string_view name, std::string_view help) {
  return {base::StrCat("kube_apiserver_nodeport_allocator_", name), std::string(help)};
}

}  // namespace

AllocatorMetrics::AllocatorMetrics(Registry& registry, const base::Clock& its_clock)
    : clock(its_clock),
      allocated_ips(registry.AddGauge(
          Ips("allocated_ips", "Gauge measuring the number of allocated IPs for Services"),
          {"cidr"})),
      available_ips(registry.AddGauge(
          Ips("available_ips", "Gauge measuring the number of available IPs for Services"),
          {"cidr"})),
      ip_allocations(registry.AddCounter(
          Ips("allocation_total", "Number of Cluster IPs allocations"), {"cidr", "scope"})),
      ip_errors(registry.AddCounter(
          Ips("allocation_errors_total", "Number of errors trying to allocate Cluster IPs"),
          {"cidr", "scope"})),
      ip_duration(registry.AddHistogram(
          Ips("allocation_duration_seconds",
              "Duration in seconds to allocate a Cluster IP by ServiceCIDR"),
          {"cidr"}, {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10})),
      allocated_ports(
          registry
              .AddGauge(Ports("allocated_ports",
                              "Gauge measuring the number of allocated NodePorts for Services"),
                        {})
              .With({})),
      available_ports(
          registry
              .AddGauge(Ports("available_ports",
                              "Gauge measuring the number of available NodePorts for Services"),
                        {})
              .With({})),
      port_allocations(registry.AddCounter(
          Ports("allocation_total", "Number of NodePort allocations"), {"scope"})),
      port_errors(registry.AddCounter(
          Ports("allocation_errors_total", "Number of errors trying to allocate NodePort"),
          {"scope"})) {}

}  // namespace portcullis::metrics

// SPDX-License-Identifier: Apache-2.0

#include "server/seats.h"

#include <algorithm>
#include <array>

#include "server/call.h"
#include "server/options.h"

namespace portcullis::server {

std::unique_ptr<Seats> MakeSeats(const Options& options, store::Store& store,
                                 const base::Clock& clock, metrics::Registry& registry) {
  return options.enable_priority_and_fairness ? MakeFlowSeats(options, store, clock, registry)
                                              : MakePlainSeats(options, clock, registry);
}

bool IsLongRunning(const RequestInfo& info) {
  if (info.verb == "watch" || info.verb == "proxy") return true;
  if (!info.is_resource) return info.path.starts_with("/debug/pprof/");
  constexpr std::array<std::string_view, 5> kSubresources = {"attach", "exec", "proxy", "log",
                                                             "portforward"};
  return !info.subresource.empty() && std::find(kSubresources.begin(), kSubresources.end(),
                                                info.subresource) != kSubresources.end();
}

flow_control::RequestFacts FactsOf(const Call& call) {
  const RequestInfo& info = call.info;
  return {&call.user,       info.is_resource, info.verb, info.api_group, info.resource,
          info.subresource, info.name_space,  info.name, info.path};
}

}  // namespace portcullis::server

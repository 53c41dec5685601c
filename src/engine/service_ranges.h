// SPDX-License-Identifier: Apache-2.0

// Follows the ServiceCIDRs in the store and tells the network of Services which networks addresses are given
// out of: those of every ServiceCIDR that is ready and not being deleted. Until there is the one that each
// cluster has, "kubernetes", those of the flag stand in for it. Behaviour: MetaAllocator of
// pkg/registry/core/service/ipallocator.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "golang/netip.h"
#include "registry/services/service_network.h"
#include "store/store.h"

namespace portcullis::engine {

class ServiceRanges final : private store::Observer {
 public:
  // Both outlive it.
  ServiceRanges(store::Store& store, registry::ServiceNetwork& network);

 private:
  void OnCommit(std::span<const store::EventPtr> events) override;
  void Note(const store::Object& object);
  void Publish();

  registry::ServiceNetwork& network_;
  // By the name of the ServiceCIDR; none of one that is not ready. The store calls one thing at a time.
  std::map<std::string, std::vector<golang::IpPrefix>, std::less<>> networks_;
  std::unique_ptr<store::Subscription> subscription_;
};

}  // namespace portcullis::engine

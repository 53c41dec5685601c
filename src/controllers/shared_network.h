// SPDX-License-Identifier: Apache-2.0

// SharedNetwork keeps what this server hands out to Services in agreement with other servers on the
// same store. An IPAddress decides who has a cluster IP (controllers/address_book.h); for node
// ports, for which Kubernetes has no objects, it is an object that only the store knows:
// portcullis.io nodeports "30001". The server that makes it first has the port.
#pragma once

#include <memory>
#include <span>

#include "base/clock.h"
#include "base/status.h"
#include "registry/services/service_network.h"
#include "store/store.h"

namespace portcullis::controllers {

class SharedNetwork final : public registry::PortBook, private store::Observer {
 public:
  // All of them outlive it.
  SharedNetwork(store::Store& store, registry::ServiceNetwork& network, const base::Clock& clock)
      : store_(store), network_(network), clock_(clock) {}

  // Enters the ports of stored Services, gives back those of Services that were never stored, and
  // follows the store. Before the first Service is made.
  base::Status Start();

  base::Status Enter(int port) override;
  void Strike(int port) override;

 private:
  void OnCommit(std::span<const store::EventPtr> events) override;
  void Note(const store::Object& object, bool is_taken);

  store::Store& store_;
  registry::ServiceNetwork& network_;
  const base::Clock& clock_;
  std::unique_ptr<store::Subscription> subscription_;
};

// A server that has taken an address or a port stores the Service within this time. What is
// younger and has no Service may still get one.
inline constexpr std::chrono::minutes kUnstoredGrace{2};

}  // namespace portcullis::controllers

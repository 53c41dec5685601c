// SPDX-License-Identifier: Apache-2.0

// SharedNetwork keeps what this server hands out to Services in agreement with other servers on the
// same store, kube-apiservers among them. An IPAddress decides who has a cluster IP
// (controllers/address_book.h); for node ports, for which Kubernetes has no objects, it is a
// RangeAllocation (store/range_allocation.h), and the server that takes a port there first has it.
//
// Like each kube-apiserver, each server compares the ports that are taken with those of stored
// Services every three minutes: what a Service has is taken, and what none has three times in a row is
// given back. Behaviour: pkg/registry/core/service/portallocator/controller. What differs: no
// Events are written about ports that are not as they should be.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "registry/services/service_network.h"
#include "store/range_allocation.h"
#include "store/store.h"

namespace portcullis::controllers {

class SharedNetwork final : public registry::PortBook, private store::Observer {
 public:
  // All of them outlive it. `range` is that of `network`: "30000-32767".
  SharedNetwork(store::Store& store, store::RangeAllocation& ports, std::string range,
                registry::ServiceNetwork& network, const base::Clock& clock);
  ~SharedNetwork() override;

  // Enters the ports of stored Services and follows the store. Before the first Service is made.
  base::Status Start();
  // Repairs from now on, on a thread of its own.
  void StartRepairs();
  // What the thread does each time.
  base::Status Repair() PC_EXCLUDES(mutex_);

  base::Status Enter(int port) override;
  void Strike(int port) override;

 private:
  using State = store::RangeAllocation::State;
  // Ports that no Service has, and how often they may still be found so.
  using Leaks = std::map<int, int>;

  void OnCommit(std::span<const store::EventPtr> events) override;
  void Run() PC_EXCLUDES(mutex_);
  bool Covers(int port) const { return port >= first_port_ && port <= last_port_; }
  base::Status RepairState(State& state, Leaks& known_leaks);
  // Tells the network which ports are taken now.
  void Note(const State& state);

  store::Store& store_;
  store::RangeAllocation& ports_;
  const std::string range_;
  int first_port_ = 0;
  int last_port_ = 0;
  registry::ServiceNetwork& network_;
  const base::Clock& clock_;
  std::unique_ptr<store::Subscription> subscription_;

  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  Leaks leaks_ PC_GUARDED_BY(mutex_);
  std::thread thread_;
};

// A server that has taken an address stores the Service within this time. What is younger and has no
// Service may still get one.
inline constexpr std::chrono::minutes kUnstoredGrace{2};

}  // namespace portcullis::controllers

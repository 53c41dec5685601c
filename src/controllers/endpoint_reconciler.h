// SPDX-License-Identifier: Apache-2.0

// EndpointReconciler keeps the endpoints of the Service "kubernetes" in "default": its Endpoints and
// its EndpointSlice list the addresses of all API servers that live. Every server runs one. It renews
// the lease of its own address, then makes the objects agree with all leases; a server that dies
// leaves them when its lease has expired, one that stops, at once. Without leases (master-count), it
// adds its address to those that there are, up to the number of servers: what is too much is taken
// off behind its own, so that servers that have ended leave the list. Behaviour: kube-apiserver's
// --endpoint-reconciler-type (pkg/controlplane/reconcilers, controller/kubernetesservice). What
// differs: a conflict with another server is tried again at once.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "controllers/client.h"
#include "json/value.h"
#include "store/master_leases.h"
#include "store/store.h"

namespace portcullis::controllers {

struct EndpointSettings {
  std::string address;    // of this server: an IP
  int port = 0;           // the same for all servers
  std::size_t count = 1;  // of servers, without leases
  std::chrono::seconds interval{10};
  std::chrono::seconds ttl{15};  // of the lease
};

class EndpointReconciler {
 public:
  // All of them outlive it. `client` works as the server itself. No `leases`: master-count.
  EndpointReconciler(EndpointSettings settings, store::MasterLeases* leases, Client& client,
                     const store::Reader& store, const base::Clock& clock);
  ~EndpointReconciler() { Stop(); }

  // When the server answers. What an earlier run has left is removed first.
  void Start();
  // Begins to remove the server's address; does not wait.
  void AnnounceStop() PC_EXCLUDES(mutex_);
  // Returns when it is removed, or cannot be.
  void Stop();

  // What the thread does each interval, and in the end. For tests, without Start().
  base::Status Renew();
  base::Status Leave();

 private:
  void Run() PC_EXCLUDES(mutex_);
  bool IsStopping() PC_EXCLUDES(mutex_);
  base::Status Remove(bool stopping);
  // `leaves`: this server is not listed, and the ports are corrected. `stopping`: maybe no server is.
  base::Status Publish(bool leaves, bool stopping);
  base::Status PublishOnce(bool leaves, bool stopping);
  // The addresses that are to be listed, where `live` is what is.
  base::Result<std::vector<std::string>> Addresses(json::Value live, bool leaves);
  std::vector<std::string> CountedAddresses(std::vector<std::string> ips) const;
  json::Value Corrected(json::Arena& arena, json::Value endpoints,
                        const std::vector<std::string>& ips, bool with_ports) const;
  base::Status PublishSlice(json::Arena& arena, json::Value endpoints);
  base::Result<store::ObjectPtr> Write(engine::Verb verb, std::string_view group,
                                       std::string_view resource, json::Value body);

  const EndpointSettings settings_;
  store::MasterLeases* const leases_;
  Client& client_;
  const store::Reader& store_;
  const base::Clock& clock_;

  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace portcullis::controllers

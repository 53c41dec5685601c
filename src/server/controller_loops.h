// SPDX-License-Identifier: Apache-2.0

// The controllers that run inside the server: those that every server runs, as every kube-apiserver
// does, and those of --controllers. If other servers share the store, one of them runs the latter:
// the holder of the Lease kube-system/portcullis-controllers. Besides, --endpoint-reconciler-type.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "controllers/client.h"
#include "controllers/controller.h"
#include "controllers/endpoint_reconciler.h"
#include "controllers/leader_election.h"
#include "controllers/namespace_initialization.h"
#include "controllers/runner.h"
#include "server/environment.h"

namespace portcullis::server {

class ControllerLoops {
 public:
  // All of them outlive the loops. `context` is copied for each controller, with its own client.
  ControllerLoops(const Environment& env, const controllers::ControllerContext& context,
                  controllers::NamespaceInitialization& initialization)
      : env_(env), context_(context), initialization_(initialization) {}
  ~ControllerLoops() { Stop(); }

  // Before Start(). Works as the server itself.
  void AddOwn(const controllers::ControllerInfo& info) { Add(own_, info, nullptr); }
  // Those of --controllers.
  void AddChosen(std::vector<const controllers::ControllerInfo*> chosen);
  // When the server answers, at `port`.
  void Start(int port);
  // Clients are to go to other servers; the rest works on.
  void AnnounceStop();
  void Stop();

 private:
  struct Loop {
    std::unique_ptr<controllers::Client> client;  // null: the server itself
    std::unique_ptr<controllers::ControllerContext> context;
    std::unique_ptr<controllers::ControllerRunner> runner;
  };
  using Loops = std::list<Loop>;
  void Add(Loops& loops, const controllers::ControllerInfo& info,
           std::unique_ptr<controllers::Client> client);
  void MakeChosen();
  void StartEndpoints(int port);
  static void StartAll(Loops& loops);
  static void StopAll(Loops& loops);

  const Environment& env_;
  const controllers::ControllerContext& context_;
  controllers::NamespaceInitialization& initialization_;
  std::vector<const controllers::ControllerInfo*> chosen_infos_;
  Loops own_;
  Loops chosen_;  // with an election: its thread's
  std::unique_ptr<controllers::LeaderElection> election_;
  std::unique_ptr<controllers::EndpointReconciler> endpoints_;  // null: it is off
};

}  // namespace portcullis::server

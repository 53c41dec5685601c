// SPDX-License-Identifier: Apache-2.0

#include "server/controller_loops.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "server/advertised_address.h"
#include "server/options.h"
#include "server/own_requests.h"
#include "store/etcd/etcd_store.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kLease = "portcullis-controllers";

// Different for each process, and tells the machine, as kube-controller-manager's.
std::string Identity() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return base::StrCat(static_cast<const char*>(host), "_", base::Uuid());
}

}  // namespace

void ControllerLoops::Add(Loops& loops, const controllers::ControllerInfo& info,
                          std::unique_ptr<controllers::Client> client) {
  Loop& loop = loops.emplace_back();
  loop.client = std::move(client);
  loop.context.reset(new controllers::ControllerContext{
      context_.store, loop.client ? *loop.client : context_.client, context_.catalog,
      context_.clock, context_.compiler, context_.root_ca, context_.release, context_.network,
      context_.initializers, context_.service_address, context_.server_port, context_.aggregated});
  loop.runner = std::make_unique<controllers::ControllerRunner>(info, *loop.context, *env_.store);
}

void ControllerLoops::MakeChosen() {
  for (const controllers::ControllerInfo* info : chosen_infos_) {
    Add(chosen_, *info,
        MakeOwnClient(env_, controllers::IdentityOf(info->account), Limits::kApply));
  }
}

void ControllerLoops::AddChosen(std::vector<const controllers::ControllerInfo*> chosen) {
  chosen_infos_ = std::move(chosen);
  if (env_.etcd == nullptr) {
    MakeChosen();
    auto info = chosen_infos_.begin();
    for (Loop& loop : chosen_) {
      if ((*info++)->furnishes_namespaces) initialization_.Add(*loop.runner);
    }
    return;
  }
  if (chosen_infos_.empty()) return;
  controllers::ElectionSettings settings;
  settings.lease = kLease;
  settings.identity = Identity();
  election_ = std::make_unique<controllers::LeaderElection>(
      std::move(settings), context_.client, context_.store, context_.clock,
      [this] {
        MakeChosen();
        StartAll(chosen_);
      },
      [this] {
        StopAll(chosen_);
        chosen_.clear();
      });
}

void ControllerLoops::StartEndpoints(int port) {
  const std::string& type = env_.options->endpoint_reconciler_type;
  const bool has_leases = type == "lease";
  if (type == "none" || (has_leases && env_.etcd == nullptr)) return;
  controllers::EndpointSettings settings;
  settings.count = static_cast<std::size_t>(env_.options->apiserver_count);
  settings.address = AdvertisedAddress(*env_.options);
  settings.port = port;
  if (settings.address.empty()) {
    base::LogInfo(
        "the Service kubernetes gets no endpoint of this server: other machines do not reach it at "
        "--bind-address, and there is no --advertise-address");
    return;
  }
  endpoints_ = std::make_unique<controllers::EndpointReconciler>(
      std::move(settings), has_leases ? &env_.etcd->master_leases() : nullptr, context_.client,
      context_.store, context_.clock);
  endpoints_->Start();
}

void ControllerLoops::Start(int port) {
  election_ != nullptr ? election_->Start() : StartAll(chosen_);
  StartAll(own_);
  StartEndpoints(port);
}

void ControllerLoops::AnnounceStop() {
  if (endpoints_ != nullptr) endpoints_->AnnounceStop();
}

void ControllerLoops::Stop() {
  if (endpoints_ != nullptr) endpoints_->Stop();
  if (election_ != nullptr) election_->Stop();
  StopAll(chosen_);
  StopAll(own_);
}

void ControllerLoops::StartAll(Loops& loops) {
  for (Loop& loop : loops) loop.runner->Start();
}

void ControllerLoops::StopAll(Loops& loops) {
  for (Loop& loop : loops) loop.runner->BeginStop();  // none works on while another one is awaited
  for (Loop& loop : loops) loop.runner->Stop();
}

}  // namespace portcullis::server

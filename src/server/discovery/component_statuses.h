// SPDX-License-Identifier: Apache-2.0

// ComponentStatuses: the state of a cluster's other components, asked for whenever it is read, as
// kube-apiserver does (pkg/registry/core/componentstatus): `/healthz` over HTTPS, without verifying
// a certificate, and the store, which is called etcd-0 whatever it is.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "net/client.h"

namespace portcullis::server {

struct Component {
  std::string_view name;  // of a literal
  std::string url;
};
// The scheduler and the controller manager, on the loopback.
std::vector<Component> OtherComponents();

constexpr std::chrono::seconds kComponentPatience{20};

// Objects of the kind ComponentStatus: the one called `name`, or all if it is "". `store` asks the store.
// Waits for answers until `deadline`: on a worker thread.
std::vector<json::Value> AskComponents(json::Arena& arena, net::HttpsClient& client,
                                       const std::vector<Component>& components,
                                       const std::function<base::Status()>& store,
                                       std::string_view name, base::SteadyTime deadline);

}  // namespace portcullis::server

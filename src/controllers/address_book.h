// SPDX-License-Identifier: Apache-2.0

// IPAddresses: one object of networking.k8s.io for each cluster IP, naming the Service that has it
// (Kubernetes docs: "Service ClusterIP allocation"; kube-apiserver makes and removes them as it
// hands out addresses, before the Service itself is written).
#pragma once

#include <memory>

#include "base/status.h"
#include "controllers/controller.h"
#include "registry/services/service_network.h"

namespace portcullis::controllers {

// Enters addresses through `client` as the server itself, so that what it does is admitted and
// audited. `client` outlives the book. Null if networking.k8s.io/v1 IPAddresses are not served, as by
// releases before v1.33: then the Services alone tell which addresses are taken.
std::unique_ptr<registry::AddressBook> MakeAddressBook(const engine::World& world, Client& client);

// Makes what a Service lacks: what somebody has deleted although the Service has the address, and what
// a Service never got that an update of its status has made. Works as the server itself; not among
// --controllers.
extern const ControllerInfo kAddressRepair;

// Removes what was made for Services that are gone, or that were never stored because the server
// ended in between: what is older than `grace`, as another server may be about to store the
// Service. Before the first Service is made.
base::Status ReleaseAddresses(const engine::World& world, base::Duration grace);

// Makes what stored Services lack. Before the first request.
base::Status RepairAddresses(const engine::World& world);

}  // namespace portcullis::controllers

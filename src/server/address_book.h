// IPAddresses: one object of networking.k8s.io for each cluster IP, naming the Service that has it
// (Kubernetes docs: "Service ClusterIP allocation"; kube-apiserver makes and removes them as it
// hands out addresses, before the Service itself is written).
#pragma once

#include <memory>

#include "base/status.h"
#include "controllers/controller.h"
#include "registry/service_network.h"
#include "server/environment.h"

namespace portcullis::server {

// Enters addresses through `api` as the server itself, so that what it does is admitted and
// audited. `api` outlives the book.
std::unique_ptr<registry::AddressBook> MakeAddressBook(controllers::ApiClient& api);

// Makes anew what somebody has deleted although a Service has the address. Works as the server
// itself; not among --controllers.
extern const controllers::ControllerInfo kAddressRepair;

// Removes what was made for Services that are gone, or that were never stored because the server
// ended in between. Before the first Service is made.
base::Status ReleaseAddresses(const Environment& env);

// Makes what stored Services lack. Before the first request.
base::Status RepairAddresses(const Environment& env);

}  // namespace portcullis::server

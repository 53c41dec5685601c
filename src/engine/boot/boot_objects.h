// SPDX-License-Identifier: Apache-2.0

// The objects every cluster has: system namespaces, the Service "kubernetes" and the range of its
// address, priority classes, what extension servers need to know, and the roles and
// bindings of RBAC. What is missing is made at each start; what RBAC's objects lack is added.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/world.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

struct BootFacts {
  // How many objects are written at a time: a store on disk commits them together. With 1 they are
  // written on the caller's thread.
  std::size_t writers = 16;
  bool roles = true;    // false: the roles and bindings of RBAC are left to MakeBootRoles()
  int server_port = 0;  // where the server listens; 0: not known yet
  // Data of the ConfigMap extension-apiserver-authentication: the authority behind client
  // certificates and how requests of proxies are authenticated.
  std::vector<std::pair<std::string, std::string>> authentication;
  // Done along with the rest, each piece on any thread: what the caller makes through the API.
  std::vector<std::function<base::Status()>> also;
};

base::Status MakeBootObjects(const World& world, const BootFacts& facts);
// The roles and bindings of RBAC alone.
base::Status MakeBootRoles(const World& world, std::size_t writers);

// The Service "kubernetes" of a cluster in which it has this address and leads to this port (0: to 6443),
// as it is created: the server sets the rest.
json::Value KubernetesService(json::Arena& arena, std::string_view address, int server_port);

// The ServiceCIDR "kubernetes" of a cluster whose clusterIPs come from these ranges, as it is created;
// what is applied to its status then, as this field manager; and whether it is such a one and has no
// status yet.
inline constexpr std::string_view kServiceCidrController = "kubernetes-service-cidr-controller";
json::Value DefaultServiceCidr(json::Arena& arena, const registry::ServiceNetwork& services);
json::Value DefaultServiceCidrStatus(json::Arena& arena, const base::Clock& clock);
bool LacksReadiness(const store::Object& stored, json::Value wanted);

// Tells world.services which addresses and ports the stored Services hold.
void AdoptServices(const World& world);

}  // namespace portcullis::engine

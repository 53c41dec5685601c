// SPDX-License-Identifier: Apache-2.0

#include "engine/boot/boot_objects.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "authz/rbac/bootstrap.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/boot/api_service_objects.h"
#include "engine/codec/codec.h"
#include "engine/write/cluster_writer.h"
#include "json/reader.h"
#include "registry/services/service_network.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kObjects[] = {
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})",
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}})",
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-public"}})",
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-node-lease"}})",
    R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",)"
    R"("metadata":{"name":"system-node-critical"},"value":2000001000,)"
    R"("description":"Used for system critical pods that must not be moved from their current node."})",
    R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",)"
    R"("metadata":{"name":"system-cluster-critical"},"value":2000000000,)"
    R"("description":"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."})",
};

constexpr store::Collection kServiceCidrs{"networking.k8s.io", "servicecidrs"};

// As the server itself writes it. It is made with one family, and gets the second one of a server that has
// both; other networks than those of this server are left as they are.
base::Status EnsureNetworks(const World& world, const api::catalog::ResourceInfo& resource,
                            json::Value wanted) {
  TRY(EnsureObject(world, wanted));
  const store::ObjectPtr existing =
      world.store->Get({kServiceCidrs.group, kServiceCidrs.resource, "", "kubernetes"});
  if (existing == nullptr) return base::OkStatus();
  const json::Value has = existing->document()["spec"]["cidrs"];
  const json::Value cidrs = wanted["spec"]["cidrs"];
  if (has.size() != 1 || cidrs.size() != 2 || !(has[0] == cidrs[0])) return base::OkStatus();
  json::Arena arena;
  const json::Value live = TRY(FromStore(arena, existing, resource));
  return UpdateByServer(world, resource, json::SetPath(arena, live, {"spec", "cidrs"}, cidrs));
}

// The ranges that clusterIPs come from, as the server makes them known, and once their status. Releases
// before v1.33 have no such kind.
base::Status EnsureServiceRanges(const World& world, json::Arena& arena) {
  const auto catalog = world.catalog->Get();
  const api::catalog::ResourceInfo* resource =
      catalog->Find(kServiceCidrs.group, "v1", kServiceCidrs.resource);
  if (resource == nullptr) return base::OkStatus();
  const json::Value wanted = DefaultServiceCidr(arena, *world.services);
  TRY(EnsureNetworks(world, *resource, wanted));
  const store::ObjectPtr existing =
      world.store->Get({kServiceCidrs.group, kServiceCidrs.resource, "", "kubernetes"});
  if (existing == nullptr || !LacksReadiness(*existing, wanted)) return base::OkStatus();
  return ApplyByServer(world, DefaultServiceCidrStatus(arena, *world.clock), "status",
                       kServiceCidrController);
}

json::Value NamedServiceCidr(json::Arena& arena) {
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "networking.k8s.io/v1")
      .Set("kind", "ServiceCIDR")
      .Set("metadata", json::ObjectBuilder(arena).Set("name", "kubernetes").Build())
      .Build();
}

json::Value SystemConfigMap(json::Arena& arena, std::string_view name, json::Value data) {
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "v1")
      .Set("kind", "ConfigMap")
      .Set("metadata",
           json::ObjectBuilder(arena).Set("name", name).Set("namespace", "kube-system").Build())
      .Set("data", data)
      .Build();
}

// How extension API servers are to authenticate who comes from here.
base::Status EnsureAuthenticationFacts(const World& world, const BootFacts& facts) {
  json::Arena arena;
  json::ObjectBuilder data(arena);
  for (const auto& [name, text] : facts.authentication) data.Set(name, text);
  const json::Value wanted =
      SystemConfigMap(arena, "extension-apiserver-authentication", data.Build());
  TRY(EnsureObject(world, wanted));
  const store::ObjectPtr existing =
      world.store->Get({"", "configmaps", "kube-system", "extension-apiserver-authentication"});
  const auto catalog = world.catalog->Get();
  const api::catalog::ResourceInfo* resource = catalog->Find("", "v1", "configmaps");
  if (existing == nullptr || resource == nullptr ||
      existing->document()["data"] == wanted["data"]) {
    return base::OkStatus();
  }
  const json::Value live = TRY(FromStore(arena, existing, *resource));
  return UpdateByServer(world, *resource, json::With(arena, live, "data", wanted["data"]));
}

// Since when tokens kept in Secrets have been tracked; cleaners of such Secrets ask.
base::Status EnsureTokenTracking(const World& world) {
  json::Arena arena;
  const std::string today = base::FormatTime(world.clock->Now()).substr(0, 10);
  return EnsureObject(world,
                      SystemConfigMap(arena, "kube-apiserver-legacy-service-account-token-tracking",
                                      json::ObjectBuilder(arena).Set("since", today).Build()));
}

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

// `inherited`: what it begins as if it is missing; null: as `wanted`.
base::Status EnsureRole(const World& world, json::Arena& arena,
                        const authz::rbac::BootstrapObject& wanted, json::Value inherited) {
  const store::Key key{kRbac, wanted.resource, wanted.ns, wanted.name};
  store::ObjectPtr existing = world.store->Get(key);
  if (existing == nullptr) {
    if (inherited.is_null()) return EnsureObject(world, wanted.object);
    TRY(EnsureObject(world, inherited));
    existing = world.store->Get(key);
  }
  const auto catalog = world.catalog->Get();
  const api::catalog::ResourceInfo* resource = catalog->Find(kRbac, "v1", wanted.resource);
  if (existing == nullptr || resource == nullptr) return base::OkStatus();
  const json::Value live = TRY(FromStore(arena, existing, *resource));
  if (authz::rbac::IsOfAnotherRole(live, wanted)) {
    TRY(world.store->Delete(key, {.uid = live["metadata"]["uid"].AsString()}));
    return EnsureObject(world, wanted.object);
  }
  const json::Value next = authz::rbac::Reconcile(arena, live, wanted);
  if (next.is_null()) return base::OkStatus();
  return UpdateByServer(world, *resource, next);
}

// RBAC's objects, and a job for each.
class Roles {
 public:
  explicit Roles(const World& world)
      : world_(world), objects_(authz::rbac::BootstrapObjects(arena_, [&](std::string_view gate) {
          return world.release->GateEnabled(gate);
        })) {
    // Before any job changes what there is.
    for (const auto& wanted : objects_) inherited_.push_back(Inherited(wanted));
  }

  // REQUIRES: this outlives the jobs.
  void AddJobs(std::vector<std::function<base::Status()>>& jobs) const {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      jobs.emplace_back([this, &role = objects_[i], inherited = inherited_[i]]() -> base::Status {
        json::Arena own;
        const base::Status status = EnsureRole(world_, own, role, inherited);
        return status.ok() ? status : status.Annotate(role.name);
      });
    }
  }

 private:
  json::Value Inherited(const authz::rbac::BootstrapObject& wanted) {
    if (wanted.like.empty()) return {};
    const auto stored = [&](const std::string& name) {
      return world_.store->Get({kRbac, wanted.resource, wanted.ns, name});
    };
    const store::ObjectPtr source = stored(wanted.like);
    if (source == nullptr || stored(wanted.name) != nullptr) return {};
    const auto object = json::Parse(arena_, arena_.Copy(source->bytes()));
    return object.ok() ? authz::rbac::Inherit(arena_, *object, wanted) : json::Value();
  }

  const World& world_;
  json::Arena arena_;
  const std::vector<authz::rbac::BootstrapObject> objects_;
  std::vector<json::Value> inherited_;  // of the objects, in their order
};

// Many writers at a time share the store's commits; one after the other would wait for the disk
// each time.
base::Status RunTogether(const std::vector<std::function<base::Status()>>& jobs,
                         std::size_t writers_wanted) {
  if (writers_wanted <= 1) {
    for (const auto& job : jobs) TRY(job());
    return base::OkStatus();
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  base::Status failure;
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < std::min(writers_wanted, jobs.size()); ++i) {
    writers.emplace_back([&] {
      for (std::size_t at = next++; at < jobs.size(); at = next++) {
        base::Status status = jobs[at]();
        if (status.ok()) continue;
        const std::lock_guard lock(mutex);
        failure = std::move(status);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  return failure;
}

}  // namespace

json::Value KubernetesService(json::Arena& arena, std::string_view address, int server_port) {
  const std::string text = base::StrCat(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"kubernetes","namespace":"default",)"
      R"("labels":{"component":"apiserver","provider":"kubernetes"}},"spec":{"type":"ClusterIP",)"
      R"("clusterIP":")",
      address, R"(","ipFamilyPolicy":"SingleStack","sessionAffinity":"None",)",
      R"("ports":[{"name":"https","port":443,"protocol":"TCP","targetPort":)",
      std::to_string(server_port == 0 ? 6443 : server_port), "}]}}");
  auto value = json::Parse(arena, text);
  return value.ok() ? *value : json::Value();
}

json::Value DefaultServiceCidr(json::Arena& arena, const registry::ServiceNetwork& services) {
  json::ArrayBuilder ranges(arena);
  for (const std::string& range : services.ranges()) ranges.Add(range);
  return json::SetPath(arena, NamedServiceCidr(arena), {"spec", "cidrs"}, ranges.Build());
}

json::Value DefaultServiceCidrStatus(json::Arena& arena, const base::Clock& clock) {
  json::ArrayBuilder conditions(arena);
  conditions.Add(json::ObjectBuilder(arena)
                     .Set("type", "Ready")
                     .Set("status", "True")
                     .Set("lastTransitionTime", base::FormatTime(clock.Now()))
                     .Set("message", "Kubernetes default Service CIDR is ready")
                     .Build());
  return json::SetPath(arena, NamedServiceCidr(arena), {"status", "conditions"},
                       conditions.Build());
}

bool LacksReadiness(const store::Object& stored, json::Value wanted) {
  const json::Document& object = stored.document();
  return object["metadata"]["deletionTimestamp"].is_null() &&
         object["status"]["conditions"].empty() &&
         object["spec"]["cidrs"] == wanted["spec"]["cidrs"];
}

base::Status MakeBootObjects(const World& world, const BootFacts& facts) {
  json::Arena arena;
  std::vector<std::function<base::Status()>> jobs;
  for (std::string_view text : kObjects) {
    const json::Value object = TRY(json::Parse(arena, text));
    jobs.emplace_back([&world, object] { return EnsureObject(world, object); });
  }
  const json::Value service =
      KubernetesService(arena, world.services->first_address(), facts.server_port);
  jobs.emplace_back([&world, service] { return EnsureObject(world, service); });
  jobs.insert(jobs.end(), facts.also.begin(), facts.also.end());
  for (const json::Value& object : ApiServiceObjects(arena, *world.catalog->Get())) {
    jobs.emplace_back([&world, object] { return EnsureObject(world, object); });
  }
  jobs.emplace_back([&] {
    json::Arena own;
    return EnsureServiceRanges(world, own);
  });
  jobs.emplace_back([&] { return EnsureAuthenticationFacts(world, facts); });
  jobs.emplace_back([&] { return EnsureTokenTracking(world); });
  const Roles roles(world);
  if (facts.roles) roles.AddJobs(jobs);
  return RunTogether(jobs, facts.writers);
}

base::Status MakeBootRoles(const World& world, std::size_t writers) {
  std::vector<std::function<base::Status()>> jobs;
  const Roles roles(world);
  roles.AddJobs(jobs);
  return RunTogether(jobs, writers);
}

void AdoptServices(const World& world) {
  for (const store::ObjectPtr& object : world.store->List({"", "services"})) {
    json::Arena arena;
    const auto service = json::Parse(arena, object->bytes());
    if (!service.ok()) continue;
    const json::Value spec = (*service)["spec"];
    const auto note = [&](const base::Status& status) {
      if (status.ok()) return;
      base::LogWarning("a Service holds what it cannot have",
                       {{"service", std::string(object->position())}, {"error", status.message()}});
    };
    for (const json::Value& address : spec["clusterIPs"].elements()) {
      if (address.AsString() != "None") note(world.services->TakeAddress(address.AsString()));
    }
    for (const json::Value& port : spec["ports"].elements()) {
      const int number = static_cast<int>(port["nodePort"].AsInt());
      if (number != 0) static_cast<void>(world.services->TakePort(number));
    }
  }
}

}  // namespace portcullis::engine

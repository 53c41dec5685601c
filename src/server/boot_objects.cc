#include "server/boot_objects.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "authz/rbac/bootstrap.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/reader.h"
#include "registry/service_network.h"
#include "server/cluster_writer.h"
#include "server/codec.h"
#include "store/store.h"

namespace portcullis::server {
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

json::Value KubernetesService(json::Arena& arena, const Environment& env) {
  const std::string text = base::StrCat(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"kubernetes","namespace":"default",)"
      R"("labels":{"component":"apiserver","provider":"kubernetes"}},"spec":{"type":"ClusterIP",)"
      R"("clusterIP":")",
      env.services->first_address(), R"(","clusterIPs":[")", env.services->first_address(),
      R"("],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","sessionAffinity":"None",)"
      R"("ports":[{"name":"https","port":443,"protocol":"TCP","targetPort":6443}]}})");
  auto value = json::Parse(arena, text);
  return value.ok() ? *value : json::Value();
}

base::Status EnsureRole(const Environment& env, json::Arena& arena,
                        const authz::rbac::BootstrapObject& wanted) {
  const store::Key key{"rbac.authorization.k8s.io", wanted.resource, wanted.ns, wanted.name};
  const store::ObjectPtr existing = env.store->Get(key);
  if (existing == nullptr) return EnsureObject(env, wanted.object);
  const auto catalog = env.catalog->Get();
  const api::catalog::ResourceInfo* resource =
      catalog->Find("rbac.authorization.k8s.io", "v1", wanted.resource);
  if (resource == nullptr) return base::OkStatus();
  const json::Value live = TRY(FromStore(arena, existing, *resource));
  const json::Value next = authz::rbac::Reconcile(arena, live, wanted);
  if (next.is_null()) return base::OkStatus();
  return WriteObject(env, *resource, arena, next, existing).status();
}

// Many writers at a time share the store's commits; one after the other would wait for the disk
// each time.
base::Status RunTogether(const std::vector<std::function<base::Status()>>& jobs) {
  constexpr std::size_t kWriters = 48;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  base::Status failure;
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < std::min(kWriters, jobs.size()); ++i) {
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

base::Status MakeBootObjects(const Environment& env) {
  json::Arena arena;
  std::vector<std::function<base::Status()>> jobs;
  for (std::string_view text : kObjects) {
    const json::Value object = TRY(json::Parse(arena, text));
    jobs.emplace_back([&env, object] { return EnsureObject(env, object); });
  }
  const json::Value service = KubernetesService(arena, env);
  jobs.emplace_back([&env, service] { return EnsureObject(env, service); });
  const auto roles = authz::rbac::BootstrapObjects(arena);
  for (const authz::rbac::BootstrapObject& role : roles) {
    jobs.emplace_back([&env, &role]() -> base::Status {
      json::Arena own;
      const base::Status status = EnsureRole(env, own, role);
      return status.ok() ? status : status.Annotate(role.name);
    });
  }
  return RunTogether(jobs);
}

void AdoptServices(const Environment& env) {
  for (const store::ObjectPtr& object : env.store->List({"", "services"})) {
    json::Arena arena;
    const auto service = json::Parse(arena, object->bytes());
    if (!service.ok()) continue;
    const json::Value spec = (*service)["spec"];
    const auto note = [&](const base::Status& status) {
      if (status.ok()) return;
      base::LogWarning("a Service holds what it cannot have",
                       {{"service", object->position()}, {"error", status.message()}});
    };
    for (const json::Value& address : spec["clusterIPs"].elements()) {
      if (address.AsString() != "None") note(env.services->TakeAddress(address.AsString()));
    }
    for (const json::Value& port : spec["ports"].elements()) {
      const int number = static_cast<int>(port["nodePort"].AsInt());
      if (number != 0) static_cast<void>(env.services->TakePort(number));
    }
  }
}

}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/mirror.h"

#include <algorithm>
#include <utility>

#include "admission/object_interfaces.h"
#include "base/strings.h"
#include "store/store.h"

namespace portcullis::webhook_server {
namespace {

constexpr std::chrono::seconds kListTimeout{60};
constexpr std::chrono::seconds kFetchTimeout{3};
constexpr std::string_view kPolicyGroup = "admissionregistration.k8s.io";

}  // namespace

base::Result<std::unique_ptr<Mirror>> Mirror::Create(const engine::World& world,
                                                     const kubeconfig::ClientConfig& cluster,
                                                     net::HttpsClient& https,
                                                     const std::set<std::string>& kept) {
  std::unique_ptr<Mirror> mirror(new Mirror(world, kept));
  kubeconfig::ClientOptions options;
  options.timeout = kListTimeout;
  mirror->client_.emplace(TRY(kubeconfig::Client::Create(cluster, options, &https)));
  options.timeout = kFetchTimeout;
  mirror->quick_.emplace(TRY(kubeconfig::Client::Create(cluster, options, &https)));
  return mirror;
}

Mirror::~Mirror() {
  std::vector<std::unique_ptr<MirroredCollection>> collections;
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
    collections = std::move(collections_);
    collections_.clear();
  }
}

MirroredCollection* Mirror::Find(std::string_view group, std::string_view resource) const {
  const base::MutexLock lock(mutex_);
  for (const auto& collection : collections_) {
    if (collection->resource().resource == resource && collection->resource().group == group) {
      return collection.get();
    }
  }
  return nullptr;
}

void Mirror::Add(const api::GroupResource& resource, MirroredCollection::Mode mode) {
  const base::MutexLock lock(mutex_);
  if (ending_) return;
  for (const auto& collection : collections_) {
    if (collection->resource() == resource) return;
  }
  collections_.push_back(std::make_unique<MirroredCollection>(
      MirrorEnds{world_, *client_, *quick_, kept_}, resource, mode, [this] { Changed(); }));
}

void Mirror::Follow(const api::GroupResource& resource) {
  Add(resource, MirroredCollection::Mode::kFollows);
}

void Mirror::FetchOnDemand(const api::GroupResource& resource) {
  Add(resource, MirroredCollection::Mode::kFetches);
}

void Mirror::FollowParameters() {
  {
    const base::MutexLock lock(mutex_);
    follows_parameters_ = true;
  }
  Changed();
}

std::vector<api::GroupResource> Mirror::ParameterKinds() const {
  std::vector<api::GroupResource> kinds;
  for (const std::string_view resource :
       {"validatingadmissionpolicies", "mutatingadmissionpolicies"}) {
    for (const store::ObjectPtr& policy : world_.store->List({kPolicyGroup, resource})) {
      const json::Value kind = policy->document()["spec"]["paramKind"];
      const auto version = api::ParseGroupVersion(kind["apiVersion"].AsString());
      if (!kind.is_object() || !version.ok()) continue;
      for (const admission::ResourceOfKind& found : world_.objects->ResourcesOf(
               {version->group, version->version, std::string(kind["kind"].AsString())})) {
        kinds.push_back(found.resource.group_resource());
      }
    }
  }
  return kinds;
}

void Mirror::Changed() {
  {
    const base::MutexLock lock(mutex_);
    if (!follows_parameters_ || ending_) return;
  }
  for (const api::GroupResource& resource : ParameterKinds()) Follow(resource);
}

bool Mirror::is_synced() const {
  const base::MutexLock lock(mutex_);
  return std::all_of(collections_.begin(), collections_.end(),
                     [](const auto& collection) { return collection->is_synced(); });
}

std::vector<std::string> Mirror::Missing() const {
  std::vector<std::string> missing;
  const base::MutexLock lock(mutex_);
  for (const auto& collection : collections_) {
    if (collection->is_synced()) continue;
    const std::string problem = collection->problem();
    missing.push_back(base::StrCat(collection->resource().ToString(), ": ",
                                   problem.empty() ? "not listed yet" : problem));
  }
  return missing;
}

// What the plugins of Kubernetes look up at the API server where their caches have nothing, and what is not
// followed at all.
std::vector<Mirror::Need> Mirror::NeedsOf(const admission::Attributes& request) const {
  std::vector<Need> needs;
  const store::Store& store = *world_.store;
  const auto need = [&](std::string_view group, std::string_view resource, std::string_view ns,
                        std::string_view name) {
    if (name.empty() || store.Get({group, resource, ns, name}) != nullptr) return;
    if (MirroredCollection* found = Find(group, resource)) {
      needs.push_back({found, std::string(ns), std::string(name)});
    }
  };
  const std::string& ns = request.namespace_name;
  const bool is_core = request.resource.group.empty();
  const bool is_namespace = is_core && request.resource.resource == "namespaces";
  if (!is_namespace) need("", "namespaces", "", ns);
  if (is_core && request.resource.resource == "pods" && request.object.is_object()) {
    const json::Value spec = request.object["spec"];
    need("", "serviceaccounts", ns, spec["serviceAccountName"].AsString("default"));
    need("node.k8s.io", "runtimeclasses", "", spec["runtimeClassName"].AsString());
  }
  MirroredCollection* const pods = Find("", "pods");
  if (pods == nullptr) return needs;
  if (is_core && request.resource.resource == "pods" && request.operation == admission::kConnect) {
    needs.push_back({pods, ns, request.name});
  } else if (is_namespace && request.operation == admission::kUpdate) {
    needs.push_back({pods, request.name, ""});
  }
  return needs;
}

bool Mirror::Lacks(const admission::Attributes& request) const { return !NeedsOf(request).empty(); }

void Mirror::Fetch(const admission::Attributes& request) {
  for (const Need& need : NeedsOf(request)) need.collection->Fetch(need.ns, need.name);
}

}  // namespace portcullis::webhook_server

// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/published_counts.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "api/condition.h"
#include "base/strings.h"
#include "engine/read/listing.h"
#include "json/reader.h"
#include "metrics/apiserver_metrics.h"
#include "metrics/watch_metrics.h"
#include "registry/services/service_network.h"
#include "server/options.h"
#include "store/event_count.h"
#include "store/store.h"

namespace portcullis::server {
namespace {

// "deployments.apps"
std::string NameOf(const std::string& group, const std::string& resource) {
  return group.empty() ? resource : base::StrCat(resource, ".", group);
}

// How many objects of each kind are stored, as of now, and how often they have been written.
void PublishObjectCounts(const Environment& env, const api::catalog::Catalog& catalog) {
  constexpr std::int64_t kDigits = 1'000'000'000'000'000;
  const auto revision = static_cast<double>(env.store->revision() % kDigits);
  // Series of kinds whose definition is gone go with it.
  const metrics::RequestMetrics& counts = *env.request_metrics;
  std::set<std::pair<std::string, std::string>> gone;
  counts.resource_objects.ForEach(
      [&](const auto& values, const auto&) { gone.emplace(values[0], values[1]); });
  for (const api::catalog::ResourceInfo* info : catalog.resources()) {
    const auto& [group, version, resource] = info->resource;
    if (!info->HasVerb("list") || info->storage_kind.group != group) continue;
    const auto count = static_cast<double>(env.store->Count({group, resource}));
    gone.erase({group, resource});
    counts.resource_objects.With({group, resource}).Set(count);
    counts.storage_objects.With({NameOf(group, resource)}).Set(count);
    if (!engine::IsCached(*info)) continue;
    const metrics::WatchMetrics& watches = *env.watch_metrics;
    watches.resource_version.With({group, resource}).Set(revision);
    const std::uint64_t events = store::CountEvents(*env.store, {group, resource});
    if (events == 0) continue;
    watches.received.With({group, resource}).RaiseTo(events);
    watches.dispatched.With({group, resource}).RaiseTo(events);
  }
  for (const auto& [group, resource] : gone) {
    counts.resource_objects.Remove({group, resource});
    counts.storage_objects.Remove({NameOf(group, resource)});
  }
}

// The database of this server; etcd tells its own size.
void PublishDatabaseSize(const Environment& env) {
  if (env.etcd != nullptr || env.options->store != "sqlite") return;
  const auto file = std::filesystem::path(env.options->data_dir) / "portcullis.db";
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return;
  env.metrics
      ->AddGauge({"apiserver_storage_size_bytes",
                  "Size of the storage database file physically allocated in bytes.",
                  metrics::Stability::kStable},
                 {"storage_cluster_id"})
      .With({"sqlite"})
      .Set(static_cast<double>(size));
}

// By their condition Available.
void PublishUnavailable(const Environment& env) {
  json::Arena arena;
  std::set<std::string> gone;
  metrics::Family<metrics::Gauge>& unavailable = env.request_metrics->unavailable_api_services;
  unavailable.ForEach([&](const auto& values, const auto&) { gone.insert(values[0]); });
  for (const store::ObjectPtr& service :
       env.store->List({"apiregistration.k8s.io", "apiservices"})) {
    const auto parsed = json::Parse(arena, service->bytes());
    if (!parsed.ok()) continue;
    if ((*parsed)["status"]["conditions"].elements().empty()) continue;  // not judged yet
    const std::string_view name = (*parsed)["metadata"]["name"].AsString();
    gone.erase(std::string(name));
    unavailable.With({name}).Set(api::HasTrueCondition(*parsed, "Available") ? 0 : 1);
  }
  for (const std::string& name : gone) unavailable.Remove({name});
}

}  // namespace

void PublishCounts(const Environment& env, const api::catalog::Catalog& catalog) {
  PublishObjectCounts(env, catalog);
  PublishUnavailable(env);
  PublishDatabaseSize(env);
  env.services->PublishUse();
}

}  // namespace portcullis::server

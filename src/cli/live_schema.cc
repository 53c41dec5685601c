// SPDX-License-Identifier: Apache-2.0

#include "cli/live_schema.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/strings.h"
#include "cli/fetcher.h"

namespace portcullis::cli {
namespace {

using json::Value;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
constexpr std::string_view kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

std::string VersionPath(std::string_view group, std::string_view version) {
  return group.empty() ? base::StrCat("/api/", version)
                       : base::StrCat("/apis/", group, "/", version);
}

bool CanBeListed(Value resource) {
  const auto verbs = resource["verbs"].elements();
  return std::any_of(verbs.begin(), verbs.end(),
                     [](const Value& verb) { return verb.AsString() == "list"; });
}

// The legacy documents and the columns of every version that aggregated discovery names.
base::Status FetchVersions(Fetcher& fetcher, json::Arena& arena, Value groups,
                           json::ObjectBuilder& legacy, json::ObjectBuilder& columns) {
  for (const Value& group : groups.elements()) {
    const std::string_view name = group["metadata"]["name"].AsString();
    for (const Value& version : group["versions"].elements()) {
      const std::string path = VersionPath(name, version["version"].AsString());
      legacy.Set(arena.Copy(path), TRY(fetcher.Get(path, kJson)));
      for (const Value& resource : version["resources"].elements()) {
        if (!CanBeListed(resource)) continue;
        const std::string_view plural = resource["resource"].AsString();
        const auto table = fetcher.Get(base::StrCat(path, "/", plural, "?limit=1"), kTable);
        if (!table.ok()) continue;
        const std::size_t prefix = name.empty() ? 5 : 6;  // "/api/", "/apis/"
        columns.Set(arena.Copy(base::StrCat(path.substr(prefix), "/", plural)),
                    (*table)["columnDefinitions"]);
      }
    }
  }
  return base::OkStatus();
}

base::Result<Value> FetchOpenApiV3(Fetcher& fetcher, json::Arena& arena) {
  const Value index = TRY(fetcher.Get("/openapi/v3", kJson));
  json::ObjectBuilder documents(arena);
  for (const json::Member& entry : index["paths"].members()) {
    const std::string_view url = entry.value["serverRelativeURL"].AsString();
    documents.Set(entry.name(), TRY(fetcher.Get(url, kJson)));
  }
  json::ObjectBuilder all(arena);
  all.Set("documents", documents.Build());
  return all.Build();
}

}  // namespace

base::Status FetchSchema(const kubeconfig::ClientConfig& server, json::Arena& arena,
                         api::catalog::ImportInput& input) {
  const std::unique_ptr<Fetcher> made = TRY(Fetcher::Create(server, arena));
  Fetcher& fetcher = *made;

  json::ObjectBuilder aggregated(arena);
  json::ObjectBuilder legacy(arena);
  json::ObjectBuilder columns(arena);
  for (const std::string_view root : {"/api", "/apis"}) {
    const Value groups = TRY(fetcher.Get(root, kAggregated));
    if (groups["kind"].AsString() != "APIGroupDiscoveryList") {
      return base::ConfigError("the server has no aggregated discovery");
    }
    aggregated.Set(root, groups);
    TRY(FetchVersions(fetcher, arena, groups["items"], legacy, columns));
  }
  json::ObjectBuilder discovery(arena);
  discovery.Set("aggregated", aggregated.Build()).Set("legacy", legacy.Build());
  input.discovery = discovery.Build();
  input.table_columns = columns.Build();
  input.openapi_v2 = TRY(fetcher.Get("/openapi/v2", kJson));
  input.openapi_v3 = TRY(FetchOpenApiV3(fetcher, arena));
  return base::OkStatus();
}

}  // namespace portcullis::cli

// SPDX-License-Identifier: Apache-2.0

// Documents: everything served beside resources: discovery, OpenAPI, version, health, metrics, and
// the list of paths. What is made from the catalog is kept until the catalog changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "metrics/page_reset.h"
#include "net/client.h"
#include "server/call.h"
#include "server/discovery/component_pages.h"

namespace portcullis::server {

// Thread-safe.
class Documents {
 public:
  explicit Documents(const Environment& env) : env_(env) {}

  Reply Serve(Call& call);

  // Where a document of OpenAPI v3 ("apis/apps/v1") is, "/openapi/v3/apis/apps/v1?hash=…"; "" if it is not one of
  // this server's own.
  base::Result<std::string> OpenApiV3Url(Call& call, std::string_view document);

  // By which other components are asked. REQUIRES: before the first request.
  void set_client(net::HttpsClient& client) { client_ = &client; }
  // ComponentStatuses: the one called `name`, or all if it is "". Waits.
  std::vector<json::Value> Components(json::Arena& arena, std::string_view name) const;

  // The server is being stopped: /readyz says so.
  void SetStopping() { stopping_ = true; }

  // Memory is short: what has been made is made again when it is asked for.
  void Forget();

 private:
  using Maker = std::function<base::Result<std::string>()>;
  struct Document {
    std::string text;
    std::int64_t made;  // seconds since 1970
  };
  // The document of that name for the call's catalog, made when first asked for.
  base::Result<std::shared_ptr<const Document>> Made(Call& call, const std::string& name,
                                                     const Maker& make);
  // The same without its time.
  base::Result<std::shared_ptr<const std::string>> Cached(Call& call, const std::string& name,
                                                          const Maker& make);
  // The parts of a path between its slashes, but those that are empty.
  static std::vector<std::string> Parts(std::string_view path);
  static Reply PageNotFound();
  static Reply SharedReply(std::shared_ptr<const std::string> body, std::string_view type);
  // An entity tag that hashes `text`, in quotes.
  static std::string TagOf(std::string_view text);
  // The names of the checks of "healthz", "livez" or "readyz", in order.
  static std::vector<std::string_view> ChecksOf(std::string_view kind, const Options& options);
  // api_documents.cc
  Reply ServeDiscovery(Call& call);
  json::Value AggregatedDocument(Call& call, json::Arena& arena, bool core,
                                 std::string_view version) const;
  Reply ServeAggregatedDiscovery(Call& call, bool core);
  static std::optional<Reply> RefuseDiscovery(Call& call, const std::vector<std::string>& parts,
                                              bool found, const base::Status& negotiated);
  // openapi_documents.cc
  Reply ServeOpenApi(Call& call);
  Reply ServeOpenApiPaths(Call& call);
  Reply ServeOpenApiV2(Call& call);
  Reply ServeOpenApiV3(Call& call);
  base::Result<std::string> OpenApiV2With(Call& call) const;
  // The document of the call's path in JSON, which `json` makes, or what `encode` makes of it.
  base::Result<std::shared_ptr<const Document>> InForm(Call& call, bool is_json, const Maker& json,
                                                       std::string (*encode)(json::Value));
  // health_checks.cc
  Reply ServeHealth(Call& call);
  base::Status StoreHealth(std::string_view kind) const;  // "readyz", "livez", "healthz"
  Reply ServeFlowControl(Call& call);
  std::vector<std::string> Paths(const Call& call) const;
  Reply ServePaths(Call& call);
  Reply ServeKeys(Call& call);    // REQUIRES: tokens are signed here
  Reply ServeIssuer(Call& call);  // the same
  Reply ServeVersion(Call& call);
  Reply ServeMetrics(Call& call);

  const Environment& env_;
  net::HttpsClient* client_ = nullptr;
  std::atomic<bool> stopping_{false};
  HealthMetrics health_;
  metrics::PageReset reset_;
  base::Mutex publishing_;  // held while counts of /metrics are looked up
  base::Mutex mutex_;
  std::shared_ptr<const api::catalog::Catalog> made_for_ PC_GUARDED_BY(mutex_);
  std::uint64_t generation_ PC_GUARDED_BY(mutex_) = 0;  // of env_.aggregation, likewise
  std::map<std::string, std::shared_ptr<const Document>> kept_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::server

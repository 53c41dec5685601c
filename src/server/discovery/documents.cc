// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/documents.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/api_status.h"
#include "api/catalog/discovery.h"
#include "authn/service_account.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/strings.h"
#include "golang/url.h"
#include "json/reader.h"
#include "json/writer.h"
#include "metrics/metrics.h"
#include "server/admission_traces.h"
#include "server/aggregation/aggregation.h"
#include "server/discovery/component_statuses.h"
#include "server/discovery/debug_flags.h"
#include "server/discovery/published_counts.h"
#include "server/discovery/version.h"
#include "server/negotiation.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/store_backup.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kFlowControlDumps = "/debug/api_priority_and_fairness/";
constexpr std::string_view kIssuerPath = "/.well-known/openid-configuration";
constexpr std::string_view kKeysPath = "/openid/v1/jwks";

// Whether OpenID Connect can discover this issuer; kube-apiserver does not serve its documents otherwise.
bool IsDiscoverable(const std::string& issuer) {
  const auto url = golang::ParseUrl(issuer);
  return url.ok() && url->scheme == "https" && url->raw_query.empty() && url->fragment.empty();
}

}  // namespace

std::vector<std::string> Documents::Parts(std::string_view path) {
  std::vector<std::string> parts;
  for (std::string_view piece : base::Split(path, '/')) {
    if (!piece.empty()) parts.emplace_back(piece);
  }
  return parts;
}

Reply Documents::PageNotFound() { return TextReply(404, "404 page not found\n"); }

Reply Documents::SharedReply(std::shared_ptr<const std::string> body, std::string_view type) {
  Reply reply;
  reply.content_type = std::string(type);
  reply.shared_body = std::move(body);
  return reply;
}

base::Result<std::shared_ptr<const Documents::Document>> Documents::Made(Call& call,
                                                                         const std::string& name,
                                                                         const Maker& make) {
  const std::uint64_t generation = env_.aggregation->generation();
  {
    base::MutexLock lock(mutex_);
    if (made_for_ != call.catalog || generation_ != generation) {
      kept_.clear();
      made_for_ = call.catalog;
      generation_ = generation;
    }
    const auto found = kept_.find(name);
    if (found != kept_.end()) return found->second;
  }
  const auto now = env_.clock->Now().time_since_epoch();
  auto document = std::make_shared<const Document>(
      Document{TRY(make()), std::chrono::duration_cast<std::chrono::seconds>(now).count()});
  base::MutexLock lock(mutex_);
  if (made_for_ == call.catalog && generation_ == generation) kept_[name] = document;
  return document;
}

base::Result<std::shared_ptr<const std::string>> Documents::Cached(Call& call,
                                                                   const std::string& name,
                                                                   const Maker& make) {
  const auto document = TRY(Made(call, name, make));
  return std::shared_ptr<const std::string>(document, &document->text);
}

std::string Documents::TagOf(std::string_view text) {
  return base::StrCat("\"", base::ToUpper(base::Sha512Hex(text)), "\"");
}

void Documents::Forget() {
  std::map<std::string, std::shared_ptr<const Document>> kept;
  const base::MutexLock lock(mutex_);
  kept_.swap(kept);
}

std::vector<json::Value> Documents::Components(json::Arena& arena, std::string_view name) const {
  const auto store = [this] {
    return env_.etcd == nullptr ? env_.store->Health() : env_.etcd->Probe(kComponentPatience);
  };
  return AskComponents(arena, *client_, OtherComponents(), store, name,
                       env_.clock->Steady() + kComponentPatience);
}

std::vector<std::string> Documents::Paths(const Call& call) const {
  std::vector<std::string> paths = {"/api",        "/apis",        "/apis/",        "/healthz",
                                    "/livez",      "/metrics",     "/metrics/slis", "/openapi/v2",
                                    "/openapi/v3", "/openapi/v3/", "/readyz",       "/version"};
  if (IsDiscoverable(env_.options->service_account_issuer)) {
    paths.insert(paths.end(), {std::string(kIssuerPath), std::string(kKeysPath)});
  }
  for (const api::catalog::GroupInfo& group : call.catalog->groups()) {
    const std::string prefix = group.name.empty() ? "/api" : "/apis/" + group.name;
    paths.push_back(prefix);
    for (const auto& version : api::catalog::ListedVersions(*call.catalog, group)) {
      paths.push_back(prefix + "/" + version.version);
    }
  }
  const auto services = env_.aggregation->all();
  for (const auto& [version, service] : *services) {
    paths.push_back("/apis/" + service->group);
    paths.push_back("/apis/" + version);
  }
  for (std::string_view kind : {"healthz", "livez", "readyz"}) {
    for (std::string_view check : ChecksOf(kind, *env_.options))
      paths.push_back(base::StrCat("/", kind, "/", check));
  }
  if (env_.release->GateEnabled("ComponentFlagz")) paths.emplace_back("/flagz");
  if (env_.release->GateEnabled("ComponentStatusz")) paths.emplace_back("/statusz");
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

Reply Documents::ServePaths(Call& call) {
  json::ArrayBuilder list(call.arena);
  for (const std::string& path : Paths(call)) list.Add(path);
  const json::Value value = json::MakeObject(call.arena, {{"paths", list.Build()}});
  Reply reply;
  json::WriteOptions indented;
  indented.indent = 2;
  reply.body = json::ToString(value, indented);
  return reply;
}

namespace {

constexpr std::string_view kKeptForAnHour = "public, max-age=3600";

// The refusal of a web service with one type of answers, if there is one.
std::optional<Reply> RefuseRead(Call& call, std::string_view produced) {
  if (call.info.method != "GET") return ErrorReply(call, api::MethodNotAllowedStatus());
  const base::Status accepted = CheckAcceptedTypes(call.headers().Get("Accept"), produced);
  if (!accepted.ok()) return ErrorReply(call, accepted);
  return std::nullopt;
}

// What the keys are for, each once and in order.
json::Value AlgorithmsOf(json::Arena& arena, std::string_view key_set) {
  std::set<std::string_view> names;
  const auto keys = json::Parse(arena, key_set);
  if (keys.ok()) {
    for (const json::Value key : (*keys)["keys"].elements()) names.insert(key["alg"].AsString());
  }
  json::ArrayBuilder list(arena);
  for (const std::string_view name : names) list.Add(name);
  return list.Build();
}

}  // namespace

Reply Documents::ServeKeys(Call& call) {
  if (auto refused = RefuseRead(call, "application/jwk-set+json")) return *std::move(refused);
  Reply reply;
  reply.content_type = "application/jwk-set+json";
  reply.body = env_.signer->KeySetJson();
  reply.headers.Set("Cache-Control", kKeptForAnHour);
  return reply;
}

Reply Documents::ServeIssuer(Call& call) {
  if (auto refused = RefuseRead(call, "application/json")) return *std::move(refused);
  const std::string& issuer = env_.options->service_account_issuer;
  json::ObjectBuilder document(call.arena);
  const std::string& keys = env_.signer->KeySetJson();
  const std::string& elsewhere = env_.options->service_account_jwks_uri;
  document.Set("issuer", issuer)
      .Set("jwks_uri",
           elsewhere.empty() ? base::StrCat("https://", env_.server_address, kKeysPath) : elsewhere)
      .Set("response_types_supported", json::ArrayBuilder(call.arena).Add("id_token").Build())
      .Set("subject_types_supported", json::ArrayBuilder(call.arena).Add("public").Build())
      .Set("id_token_signing_alg_values_supported", AlgorithmsOf(call.arena, keys));
  Reply reply;
  reply.body = json::ToString(document.Build());
  reply.headers.Set("Cache-Control", kKeptForAnHour);
  return reply;
}

Reply Documents::ServeVersion(Call& call) {
  if (auto refused = RefuseRead(call, "application/json")) return *std::move(refused);
  Reply reply;
  reply.body = VersionDocument(*env_.release);
  return reply;
}

Reply Documents::ServeFlowControl(Call& call) {
  flow_control::FlowControl* const flow_control = env_.seats->flow_control();
  if (flow_control == nullptr) return PageNotFound();
  const std::string_view page = std::string_view(call.info.path).substr(kFlowControlDumps.size());
  Reply reply;
  reply.content_type = "text/plain; charset=utf-8";
  if (page == "dump_priority_levels") {
    reply.body = flow_control->DumpPriorityLevels();
  } else if (page == "dump_queues") {
    reply.body = flow_control->DumpQueues();
  } else if (page == "dump_requests") {
    reply.body = flow_control->DumpRequests(!call.info.query.Get("includeRequestDetails").empty());
  } else {
    return PageNotFound();
  }
  return reply;
}

Reply Documents::ServeMetrics(Call& call) {
  env_.seats->Publish();
  {
    const base::MutexLock lock(publishing_);
    PublishCounts(env_, *call.catalog);
  }
  std::string page = env_.metrics->Expose();
  if (call.info.method == "DELETE") {
    reset_.Reset(page);
    return MetricsWereReset();
  }
  Reply reply;
  reply.content_type = std::string(metrics::kContentType);
  reply.headers.Set(kProcessStartHeader, ProcessStartSeconds());
  reply.body = reset_.Since(std::move(page));
  return reply;
}

Reply Documents::Serve(Call& call) {
  const std::string_view path = call.info.path;
  // What kube-apiserver serves as a web service takes slashes at the end; the others do not.
  std::string_view trimmed = path;
  while (trimmed.ends_with('/')) trimmed.remove_suffix(1);
  if (path == "/" || path == "/index.html") return ServePaths(call);
  for (std::string_view root : {"/api", "/apis"}) {
    if (trimmed == root || path.starts_with(base::StrCat(root, "/"))) return ServeDiscovery(call);
  }
  if (trimmed == "/version") return ServeVersion(call);
  if (path.starts_with("/version/")) return ErrorReply(call, api::UnknownResourceStatus());
  if (path == "/openapi/v2" || path == "/openapi/v3" || path.starts_with("/openapi/v3/")) {
    return ServeOpenApi(call);
  }
  for (std::string_view kind : {"/healthz", "/livez", "/readyz"}) {
    if (path == kind || path.starts_with(base::StrCat(kind, "/"))) return ServeHealth(call);
  }
  if (path == "/metrics") return ServeMetrics(call);
  if (env_.options->profiling &&
      (path == kDebugFlagsPath || path.starts_with(base::StrCat(kDebugFlagsPath, "/")))) {
    return ServeDebugFlags(call);
  }
  if (path == "/metrics/slis") return health_.Serve(call);
  if (path == "/statusz" && env_.release->GateEnabled("ComponentStatusz")) {
    return ServeStatusz(call, Paths(call));
  }
  if (path == "/flagz" && env_.release->GateEnabled("ComponentFlagz")) return ServeFlagz(call);
  if (path.starts_with(kFlowControlDumps)) return ServeFlowControl(call);
  if (path == kStoreBackupPath) return ServeStoreBackup(call);
  if (path == "/debug/admission" || path.starts_with("/debug/admission/")) {
    return env_.traces->Serve(call);
  }
  if (trimmed == kKeysPath || trimmed == kIssuerPath) {
    if (!IsDiscoverable(env_.options->service_account_issuer)) return PageNotFound();
    return trimmed == kKeysPath ? ServeKeys(call) : ServeIssuer(call);
  }
  return PageNotFound();
}

}  // namespace portcullis::server

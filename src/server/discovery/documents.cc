// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/documents.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/api_status.h"
#include "api/catalog/discovery.h"
#include "api/catalog/openapi.h"
#include "authn/service_account.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "metrics/apiserver_metrics.h"
#include "metrics/metrics.h"
#include "server/admission_traces.h"
#include "server/aggregation/merged_discovery.h"
#include "server/aggregation/merged_open_api.h"
#include "server/discovery/component_statuses.h"
#include "server/discovery/openapi_protobuf.h"
#include "server/discovery/published_counts.h"
#include "server/discovery/version.h"
#include "server/memory_budget.h"
#include "server/negotiation.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/routes.h"
#include "server/store_backup.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kFlowControlDumps = "/debug/api_priority_and_fairness/";
// What kube-apiserver's health endpoints check after it has started, in its order. They never fail
// here: the server listens only once its start is done.
constexpr std::string_view kHooks[] = {
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
};

// The names of the checks of "healthz", "livez" or "readyz", in order.
std::vector<std::string_view> ChecksOf(std::string_view kind, const Options& options) {
  const bool reloads = options.encryption_provider_config_automatic_reload;
  std::vector<std::string_view> checks = {"ping", "log"};
  const bool ready = kind == "readyz";
  if (!ready) checks.emplace_back("loopback-serving-certificate");
  checks.emplace_back("etcd");
  if (ready) checks.emplace_back("etcd-readiness");
  // There are no KMS plugins whose health could be bad.
  if (reloads && kind != "livez") checks.emplace_back("kms-providers");
  if (ready) checks.emplace_back("informer-sync");
  if (reloads) {
    checks.emplace_back("poststarthook/start-encryption-provider-config-automatic-reload");
  }
  checks.insert(checks.end(), std::begin(kHooks), std::end(kHooks));
  if (ready) checks.insert(checks.end(), {"memory", "shutdown"});
  return checks;
}

// "712 of 4096 MiB in use".
std::string MemoryUse(const MemoryBudget& memory) {
  const auto mebibytes = [](std::size_t bytes) { return std::to_string(bytes >> 20); };
  return base::StrCat(mebibytes(memory.used()), " of ", mebibytes(memory.limit()), " MiB in use");
}

Reply PageNotFound() { return TextReply(404, "404 page not found\n"); }

std::vector<std::string> Parts(std::string_view path) {
  std::vector<std::string> parts;
  for (std::string_view piece : base::Split(path, '/')) {
    if (!piece.empty()) parts.emplace_back(piece);
  }
  return parts;
}

Reply SharedReply(std::shared_ptr<const std::string> body, std::string_view type) {
  Reply reply;
  reply.content_type = std::string(type);
  reply.shared_body = std::move(body);
  return reply;
}

// Why discovery answers no document here, if so. What is served by the web service of a version is
// got and nothing else; the documents of /apis, of groups and of custom resources do not look at
// the method, but at each slash.
std::optional<Reply> RefuseDiscovery(Call& call, const std::vector<std::string>& parts, bool found,
                                     const base::Status& negotiated) {
  const bool core = parts[0] == "api";
  const bool built_in = core || (parts.size() > 1 && ServesBuiltIn(*call.catalog, parts[1]));
  const bool doubled = call.info.path.find("//") != std::string::npos;
  if (!built_in && (!found || doubled)) return PageNotFound();
  if (!found) return ErrorReply(call, api::UnknownResourceStatus());
  const bool by_method = core || (built_in && (doubled || parts.size() > 2));
  if (by_method && call.info.method != "GET")
    return ErrorReply(call, api::MethodNotAllowedStatus());
  if (by_method) {
    const base::Status accepted =
        CheckAcceptedTypes(call.headers().Get("Accept"), OutputTypes(call.takes_cbor));
    if (!accepted.ok()) return ErrorReply(call, accepted);
  }
  if (!negotiated.ok()) return ErrorReply(call, negotiated);
  return std::nullopt;
}

// Whether the document is that of a version of built-in resources: it is served in what they are.
bool IsOfBuiltInVersion(const Call& call, const std::vector<std::string>& parts) {
  if (parts[0] == "api") return parts.size() == 2;
  return parts.size() == 3 && ServesBuiltIn(*call.catalog, parts[1]);
}

// Schemas of custom resources, from their stored definitions.
api::catalog::SchemaText SchemaOf(const Call& call) {
  return [store = call.env.store](json::Arena& arena,
                                  const api::catalog::ResourceInfo& resource) -> json::Value {
    const std::string name = base::StrCat(resource.resource.resource, ".", resource.resource.group);
    const store::ObjectPtr definition =
        store->Get({"apiextensions.k8s.io", "customresourcedefinitions", "", name});
    if (definition == nullptr) return {};
    const auto parsed = json::Parse(arena, definition->bytes());
    if (!parsed.ok()) return {};
    for (const json::Value& version : (*parsed)["spec"]["versions"].elements()) {
      if (version["name"].AsString() == resource.resource.version) {
        return version["schema"]["openAPIV3Schema"];
      }
    }
    return {};
  };
}

}  // namespace

base::Result<std::shared_ptr<const std::string>> Documents::Cached(Call& call,
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
  auto document = std::make_shared<const std::string>(TRY(make()));
  base::MutexLock lock(mutex_);
  if (made_for_ == call.catalog && generation_ == generation) kept_[name] = document;
  return document;
}

namespace {

// What is accepted besides the aggregated form in its first version.
std::string WithoutFirstForm(std::string_view accept) {
  std::vector<std::string_view> clauses = base::Split(accept, ',');
  std::erase_if(clauses, [](std::string_view clause) {
    return clause.find("v=v2beta1") != std::string_view::npos;
  });
  return base::Join(clauses, ",");
}

}  // namespace

Reply Documents::ServeDiscovery(Call& call) {
  const auto parts = Parts(call.info.path);
  const std::string_view accept = call.headers().Get("Accept");
  call.takes_cbor = call.env.cbor && IsOfBuiltInVersion(call, parts);
  const auto negotiate = [&](std::string_view accepts, Offers offers) {
    return NegotiateOutput(accepts, call.info.query.Get("pretty"), call.headers().Get("User-Agent"),
                           offers, call.takes_cbor);
  };
  const bool has_first_form = !env_.release->GateEnabled("AggregatedDiscoveryRemoveBetaType");
  auto accepted = negotiate(has_first_form ? std::string(accept) : WithoutFirstForm(accept),
                            Offers::kAggregatedDiscovery);
  const bool aggregated = parts.size() == 1 && accepted.ok();
  if (!aggregated) accepted = negotiate(accept, Offers::kObjectOnly);
  const base::Status negotiated = accepted.status();
  if (negotiated.ok()) call.accepted = *std::move(accepted);
  const std::string version = aggregated ? call.accepted.form_version : "";
  const std::string name =
      base::StrCat("discovery ", version, " ", base::Join(parts, "/"), " ",
                   call.accepted.pretty ? "p" : "", call.accepted.ContentType());
  auto document = Cached(call, name, [&]() -> base::Result<std::string> {
    json::Arena arena;
    json::Value value;
    const bool core = parts[0] == "api";
    const bool merges = !core && env_.aggregation->any();
    if (aggregated) {
      env_.request_metrics->discovery_aggregations.Increment();
      value = api::catalog::AggregatedDiscovery(arena, *call.catalog, core, version);
      if (merges) value = WithAggregated(arena, value, *env_.store, *env_.aggregation);
    } else if (merges && parts.size() == 1) {
      value = MergedGroupList(arena, *env_.store);
    } else if (parts.size() == 1) {
      value = core ? api::catalog::LegacyApiVersions(arena, *call.catalog, env_.server_address)
                   : api::catalog::LegacyGroupList(arena, *call.catalog);
    } else if (core) {
      value = api::catalog::LegacyResourceList(arena, *call.catalog, "", parts[1]);
    } else if (parts.size() == 2) {
      if (merges) value = MergedGroup(arena, *env_.store, *env_.aggregation, parts[1]);
      if (value.is_null()) value = api::catalog::LegacyGroup(arena, *call.catalog, parts[1]);
    } else {
      value = api::catalog::LegacyResourceList(arena, *call.catalog, parts[1], parts[2]);
    }
    // Empty: there is no such document.
    return value.is_null() ? std::string() : ValueReply(call, 200, value).body;
  });
  if (!document.ok()) return ErrorReply(call, document.status());
  if (auto refused = RefuseDiscovery(call, parts, !(*document)->empty(), negotiated)) {
    return *std::move(refused);
  }
  if (aggregated) {
    return SharedReply(
        *document, base::StrCat(call.accepted.ContentType(), ";g=apidiscovery.k8s.io;v=", version,
                                ";as=APIGroupDiscoveryList"));
  }
  return SharedReply(*document, call.accepted.ContentType());
}

// Written as Go writes a file without an extension: whatever a client accepts, and whichever its verb.
Reply Documents::ServeOpenApiPaths(Call& call) {
  auto document = Cached(call, call.info.path, [&]() -> base::Result<std::string> {
    std::map<std::string, std::string> urls;
    for (const auto& entry : TRY(api::catalog::OpenApiV3Paths(*call.catalog)))
      urls.emplace(entry.path, entry.url);
    for (const auto& [version, service] : *env_.aggregation->all()) {
      auto its = env_.aggregation->OpenApiOf(service->name);
      // Its own version is not served here. Of what is served here, the document is that of here.
      if (const auto own = its.find("apis/" + version); own != its.end())
        urls.insert_or_assign(own->first, own->second);
      urls.merge(its);
    }
    std::string text = "{\"paths\":{";
    bool first = true;
    for (const auto& [path, url] : urls) {
      if (!first) text += ',';
      first = false;
      json::WriteString(path, text);
      text += ":{\"serverRelativeURL\":";
      json::WriteString(url, text, false);
      text += '}';
    }
    return text + "}}\n";
  });
  if (!document.ok()) return ErrorReply(call, document.status());
  return SharedReply(*document, "text/plain; charset=utf-8");
}

base::Result<std::string> Documents::OpenApiV3Url(Call& call, std::string_view document) {
  // Hashes are of whole documents: they are made once.
  const auto make = [&]() -> base::Result<std::string> {
    for (const auto& entry : TRY(api::catalog::OpenApiV3Paths(*call.catalog)))
      if (entry.path == document) return entry.url;
    return std::string();
  };
  return *TRY(Cached(call, base::StrCat("/openapi/v3/", document, "#url"), make));
}

// With that of aggregated servers.
base::Result<std::string> Documents::OpenApiV2With(Call& call) const {
  std::string own = TRY(api::catalog::OpenApiV2(*call.catalog, SchemaOf(call)));
  const auto parts = env_.aggregation->OpenApiV2Parts();
  return parts.empty() ? std::move(own) : MergedOpenApiV2(own, parts);
}

Reply Documents::ServeOpenApi(Call& call) {
  const std::string& path = call.info.path;
  if (path == "/openapi/v3") return ServeOpenApiPaths(call);
  const std::string_view accept = call.headers().Get("Accept");
  // kubectl before 1.24 checks files against the document in this form and no other.
  if (path == "/openapi/v2" && accept.find(kOpenApiProtobuf) != std::string_view::npos) {
    auto document = Cached(call, path + "#protobuf", [&]() -> base::Result<std::string> {
      json::Arena arena;
      return EncodeOpenApiV2(TRY(json::Parse(arena, TRY(OpenApiV2With(call)))));
    });
    if (!document.ok()) return ErrorReply(call, document.status());
    return SharedReply(*document, kOpenApiProtobufContentType);
  }
  const bool json = accept.empty() || accept.find("*/*") != std::string_view::npos ||
                    accept.find("json") != std::string_view::npos;
  if (!json) return Reply{.status = 406, .content_type = {}};
  if (path == "/openapi/v2") {
    auto document = Cached(call, path, [&] { return OpenApiV2With(call); });
    if (!document.ok()) return ErrorReply(call, document.status());
    return SharedReply(*document, "application/json");
  }
  const std::string name = path.substr(std::string_view("/openapi/v3/").size());
  if (name.empty()) return Reply{.status = 404, .content_type = {}};
  auto document = Cached(
      call, path, [&] { return api::catalog::OpenApiV3(*call.catalog, name, SchemaOf(call)); });
  if (!document.ok()) {
    if (document.status().reason() == base::Reason::kNotFound)
      return Reply{.status = 404, .content_type = {}};
    return ErrorReply(call, document.status());
  }
  Reply reply = SharedReply(*document, "application/json");
  const std::string hash = std::string(call.info.query.Get("hash"));
  if (hash.empty()) return reply;
  const auto url = OpenApiV3Url(call, name);
  // A client keeps what it is told is immutable under the hash that it has asked for.
  if (url.ok() && *url != base::StrCat(path, "?hash=", hash)) {
    Reply moved{.status = 301, .content_type = "application/json"};
    moved.headers.Set("Location", *url);
    return moved;
  }
  reply.headers.Set("Cache-Control", "public, immutable");
  return reply;
}

void Documents::Forget() {
  std::map<std::string, std::shared_ptr<const std::string>> kept;
  const base::MutexLock lock(mutex_);
  kept_.swap(kept);
}

base::Status Documents::StoreHealth(std::string_view kind) const {
  const Options& options = *env_.options;
  if (env_.etcd == nullptr) return env_.store->Health();
  return env_.etcd->Probe(kind == "readyz" ? options.etcd_readycheck_timeout
                                           : options.etcd_healthcheck_timeout);
}

std::vector<json::Value> Documents::Components(json::Arena& arena, std::string_view name) const {
  const auto store = [this] {
    return env_.etcd == nullptr ? env_.store->Health() : env_.etcd->Probe(kComponentPatience);
  };
  return AskComponents(arena, *client_, OtherComponents(), store, name,
                       env_.clock->Steady() + kComponentPatience);
}

Reply Documents::ServeHealth(Call& call) {
  if (call.info.path.ends_with('/')) return PageNotFound();
  const auto parts = Parts(call.info.path);
  const std::string& kind = parts[0];
  std::vector<std::pair<std::string, std::string>> checks;  // name, error
  std::map<std::string, std::string> remarks;               // by name, for those who look closer
  std::optional<base::Status> store;  // asked once, and only if a check is about it
  for (std::string_view check : ChecksOf(kind, *env_.options)) {
    std::string error;
    if (check.starts_with("etcd")) {
      if (!store) store = StoreHealth(kind);
      error = store->message();
    } else if (check == "memory") {
      env_.memory->Refresh(call.exchange->received_at());
      const std::string memory = MemoryUse(*env_.memory);
      if (env_.memory->is_short()) error = memory;
      remarks.emplace("memory", memory);
    } else if (check == "shutdown" && stopping_) {
      error = "process is shutting down";
    }
    checks.emplace_back(check, error);
  }
  if (parts.size() > 1) {
    std::string name = base::Join(std::vector<std::string>(parts.begin() + 1, parts.end()), "/");
    for (const auto& [check, error] : checks) {
      if (check != name) continue;
      if (error.empty()) return TextReply(200, "ok");
      return TextReply(500, base::StrCat("internal server error: ", error, "\n"));
    }
    return PageNotFound();
  }
  const auto excluded = call.info.query.All("exclude");
  std::set<std::string> unknown(excluded.begin(), excluded.end());
  std::string lines;
  bool failed = false;
  for (const auto& [check, error] : checks) {
    if (std::find(excluded.begin(), excluded.end(), check) != excluded.end()) {
      unknown.erase(check);
      lines += base::StrCat("[+]", check, " excluded: ok\n");
      continue;
    }
    health_.Observe(check, kind, error.empty());
    if (error.empty()) {
      const auto remark = remarks.find(check);
      lines +=
          base::StrCat("[+]", check, " ok",
                       remark != remarks.end() ? base::StrCat(": ", remark->second) : "", "\n");
    } else {
      failed = true;
      // kube-apiserver names no reasons of its own checks; memory is no check of its.
      const bool told = remarks.find(check) != remarks.end();
      lines += base::StrCat("[-]", check, " failed: ", told ? error : "reason withheld", "\n");
    }
  }
  if (!unknown.empty()) {
    std::vector<std::string> quoted;
    for (const std::string& name : unknown) quoted.push_back(base::GoQuote(name));
    lines += base::StrCat("warn: some health checks cannot be excluded: no matches for ",
                          base::Join(quoted, ","), "\n");
  }
  if (failed) return TextReply(500, base::StrCat(lines, kind, " check failed\n"));
  if (!call.info.query.Has("verbose")) return TextReply(200, "ok");
  return TextReply(200, base::StrCat(lines, kind, " check passed\n"));
}

std::vector<std::string> Documents::Paths(const Call& call) const {
  std::vector<std::string> paths = {"/.well-known/openid-configuration",
                                    "/api",
                                    "/apis",
                                    "/apis/",
                                    "/healthz",
                                    "/livez",
                                    "/metrics",
                                    "/metrics/slis",
                                    "/openapi/v2",
                                    "/openapi/v3",
                                    "/openapi/v3/",
                                    "/openid/v1/jwks",
                                    "/readyz",
                                    "/version"};
  for (const api::catalog::GroupInfo& group : call.catalog->groups()) {
    const std::string prefix = group.name.empty() ? "/api" : "/apis/" + group.name;
    paths.push_back(prefix);
    for (const auto& version : api::catalog::ListedVersions(*call.catalog, group)) {
      paths.push_back(prefix + "/" + version.version);
    }
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
  const std::string keys = env_.signer->KeySetJson();
  document.Set("issuer", issuer)
      .Set("jwks_uri", base::StrCat("https://", env_.server_address, "/openid/v1/jwks"))
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

Reply Documents::Serve(Call& call) {
  const std::string_view path = call.info.path;
  // What kube-apiserver serves as a web service takes slashes at the end; the others do not.
  std::string_view trimmed = path;
  while (trimmed.ends_with('/')) trimmed.remove_suffix(1);
  if (path == "/") return ServePaths(call);
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
  if (path == "/metrics") {
    Reply reply;
    reply.content_type = std::string(metrics::kContentType);
    env_.seats->Publish();
    {
      const base::MutexLock lock(publishing_);
      PublishCounts(env_, *call.catalog);
    }
    reply.body = env_.metrics->Expose();
    return reply;
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
  if (env_.signer != nullptr) {
    if (trimmed == "/openid/v1/jwks") return ServeKeys(call);
    if (trimmed == "/.well-known/openid-configuration") return ServeIssuer(call);
  }
  return PageNotFound();
}

}  // namespace portcullis::server

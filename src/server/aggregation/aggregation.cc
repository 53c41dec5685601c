// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/aggregation.h"

#include <utility>

#include "api/condition.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "controllers/workloads/workload.h"
#include "golang/netip.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/aggregation/discovery_entry.h"
#include "server/aggregation/merged_open_api.h"

namespace portcullis::server {
namespace {

using namespace std::chrono_literals;

constexpr store::Collection kApiServices{"apiregistration.k8s.io", "apiservices"};
constexpr std::size_t kAttempts = 5;
constexpr auto kCheckTime = 5s;
constexpr std::size_t kMostOpenApi = 32 << 20;  // that of kube-apiserver itself has 4 MiB
constexpr std::string_view kAccept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

bool IsAvailable(json::Value service) { return api::HasTrueCondition(service, "Available"); }

std::string PathOf(const ApiService& service) {
  return base::StrCat("/apis/", service.group, "/", service.version);
}

// What http.Client says of one attempt; "" if nothing is wrong.
std::string ProblemOf(const net::CallResult& result, const std::string& url) {
  if (result.failure) {
    return result.failure->timed_out
               ? base::StrCat(result.failure->message,
                              " (Client.Timeout exceeded while awaiting headers)")
               : result.failure->message;
  }
  const int status = result.response.status;
  if (status >= 200 && status < 300) return {};
  return base::StrCat("bad status from ", url, ": ", std::to_string(status));
}

}  // namespace

Aggregation::Passing::Passing(Aggregation& aggregation) : aggregation_(aggregation) {
  const base::MutexLock lock(aggregation_.mutex_);
  ++aggregation_.passing_;
}

Aggregation::Passing::~Passing() {
  const base::MutexLock lock(aggregation_.mutex_);
  if (--aggregation_.passing_ == 0) aggregation_.idle_.NotifyAll();
}

Aggregation::Aggregation(const Parts& parts)
    : parts_(parts),
      unavailable_(parts.metrics.AddCounter(
          {"aggregator_unavailable_apiservice_total",
           "Counter of APIServices which are marked as unavailable broken down by APIService name "
           "and reason."},
          {"name", "reason"})) {}

// A pair that is being replaced may not be one: what was read last stays then.
void Aggregation::ReadCertificate() {
  const Options& options = parts_.options;
  if (options.proxy_client_cert_file.empty()) return;
  auto certificate = base::ReadFile(options.proxy_client_cert_file);
  auto key = base::ReadFile(options.proxy_client_key_file);
  if (!certificate.ok() || !key.ok()) return;
  if (!net::ClientTls::Create({.certificate_pem = *certificate, .key_pem = *key}).ok()) return;
  const base::MutexLock lock(mutex_);
  certificate_pem_ = *std::move(certificate);
  key_pem_ = *std::move(key);
}

void Aggregation::Start() {
  ReadCertificate();
  subscription_ = parts_.store.Subscribe({kApiServices}, *this, [this] {
    auto services = std::make_shared<ApiServices>();
    for (const store::ObjectPtr& object : parts_.store.List(kApiServices))
      Note(*object, false, *services);
    any_ = !services->empty();
    services_.Set(std::move(services));
  });
}

void Aggregation::Stop() {
  subscription_.reset();
  const base::MutexLock lock(mutex_);
  while (passing_ > 0) idle_.Wait(mutex_);
}

void Aggregation::OnCommit(std::span<const store::EventPtr> events) {
  auto services = std::make_shared<ApiServices>(*services_.Get());
  const bool were_any = !services->empty();
  for (const store::EventPtr& event : events) {
    Note(*event->object, event->type == store::EventType::kDeleted, *services);
    CountUnavailable(*event);
  }
  if (!were_any && services->empty()) return;
  any_ = !services->empty();
  services_.Set(std::move(services));
  ++generation_;
}

void Aggregation::CountUnavailable(const store::Event& event) const {
  if (event.type != store::EventType::kModified || event.previous == nullptr) return;
  json::Arena arena;
  const auto before = json::Parse(arena, event.previous->bytes());
  const auto after = json::Parse(arena, event.object->bytes());
  if (!before.ok() || !after.ok() || !IsAvailable(*before) || IsAvailable(*after)) return;
  unavailable_
      .With({event.object->name(), api::ConditionOf(*after, "Available")["reason"].AsString()})
      .Increment();
}

void Aggregation::Note(const store::Object& object, bool deleted, ApiServices& services) {
  json::Arena arena;
  const auto parsed = json::Parse(arena, object.bytes(), {.borrow_text = true});
  if (!parsed.ok()) return;
  const json::Value spec = (*parsed)["spec"];
  const json::Value reference = spec["service"];
  auto made = std::make_shared<ApiService>();
  made->name = object.name();
  made->group = spec["group"].AsString();
  made->version = spec["version"].AsString();
  const std::string key = base::StrCat(made->group, "/", made->version);
  if (deleted || reference.is_null() || made->group.empty()) {
    services.erase(key);
    return;
  }
  made->ns = reference["namespace"].AsString();
  made->service = reference["name"].AsString();
  made->port = static_cast<int>(reference["port"].AsInt(443));
  made->tls.ca_pem = base::Base64Decode(spec["caBundle"].AsString()).value_or("");
  made->tls.insecure_skip_verify = spec["insecureSkipTLSVerify"].AsBool();
  made->tls.server_name = base::StrCat(made->service, ".", made->ns, ".svc");
  made->tls.protocols = net::ClientProtocols::kHttp2OrHttp1;
  made->available = IsAvailable(*parsed);
  services[key] = std::move(made);
}

std::shared_ptr<const ApiService> Aggregation::Find(std::string_view group,
                                                    std::string_view version) const {
  if (!any()) return nullptr;
  const auto services = services_.Get();
  const auto found = services->find(base::StrCat(group, "/", version));
  return found == services->end() ? nullptr : found->second;
}

std::shared_ptr<const ApiService> Aggregation::ByName(const std::string& name) const {
  const auto services = services_.Get();
  for (const auto& [key, service] : *services) {
    if (service->name == name) return service;
  }
  return nullptr;
}

base::Result<net::ClientRequest> Aggregation::RequestFor(const ApiService& service,
                                                         std::string_view target, std::string& host,
                                                         bool upgrades) {
  const admission::ServiceAddress address =
      TRY(parts_.services.Resolve(service.ns, service.service, service.port));
  host = golang::JoinHostPort(address.host, std::to_string(address.port));
  net::ClientRequest request;
  request.method = "GET";
  request.url = base::StrCat("https://", host, target);
  net::ClientTlsOptions options = service.tls;
  if (upgrades) options.protocols = net::ClientProtocols::kHttp1;
  {
    const base::MutexLock lock(mutex_);
    options.certificate_pem = certificate_pem_;
    options.key_pem = key_pem_;
  }
  auto tls = tls_.Get(options);
  if (!tls.ok())
    return base::Status(base::Reason::kInternalError, std::string(tls.status().message()));
  request.tls = *tls;
  const base::MutexLock lock(mutex_);
  if (!upgrades) contexts_[service.name] = *std::move(tls);
  return request;
}

base::Result<net::ClientRequest> Aggregation::OwnRequest(const ApiService& service,
                                                         std::string_view target) {
  std::string host;
  net::ClientRequest request = TRY(RequestFor(service, target, host));
  request.headers.Add("User-Agent", "Go-http-client/2.0");
  request.headers.Add("X-Remote-User", "system:kube-aggregator");
  request.headers.Add("X-Remote-Group", "system:masters");
  return request;
}

// Several at once, as there may be several endpoints, one of which is enough.
base::Status Aggregation::Check(const std::string& name) {
  const auto service = ByName(name);
  if (service == nullptr) return base::OkStatus();
  ReadCertificate();
  const auto set = parts_.probes.NewSet();
  std::map<std::size_t, std::string> urls;
  base::Status last;
  const base::SteadyTime deadline = parts_.clock.Steady() + kCheckTime;
  for (std::size_t id = 0; id < kAttempts; ++id) {
    auto request = OwnRequest(*service, PathOf(*service));
    if (!request.ok()) {
      last = request.status();
      continue;
    }
    urls[id] = request->url;
    set->Start(id, std::make_shared<const net::ClientRequest>(*std::move(request)), deadline);
  }
  while (auto arrival = set->Next()) {
    if (arrival->result.failure && arrival->result.failure->cancelled) {  // this server ends
      return {base::Reason::kInternalError, "context canceled"};
    }
    const std::string& url = urls[arrival->id];
    const std::string problem = ProblemOf(arrival->result, url);
    if (problem.empty()) return base::OkStatus();
    last = base::ConfigError(base::StrCat("failing or missing response from ", url, ": ", problem));
  }
  return last;
}

net::CallResult Aggregation::Perform(net::ClientRequest request, base::Duration patience) {
  return parts_.probes.Call(std::move(request), parts_.clock.Steady() + patience);
}

base::Result<net::Response> Aggregation::Get(net::ClientRequest request) {
  net::CallResult result = Perform(std::move(request), kCheckTime);
  if (result.failure) return base::ConfigError(result.failure->message);
  return std::move(result.response);
}

base::Result<std::string> Aggregation::FetchAggregated(const ApiService& service) {
  net::ClientRequest request = TRY(OwnRequest(service, "/apis"));
  request.headers.Add("Accept", kAccept);
  const net::Response response = TRY(Get(std::move(request)));
  if (response.status == 503) return base::ConfigError("503");
  const bool told = response.status == 200 &&
                    response.headers.Get("Content-Type").find("as=APIGroupDiscoveryList") !=
                        std::string_view::npos;
  if (!told) return std::string();
  json::Arena arena;
  const json::Value document = TRY(json::Parse(arena, response.content()));
  for (const json::Value& group : document["items"].elements()) {
    if (group["metadata"]["name"].AsString() != service.group) continue;
    for (const json::Value& version : group["versions"].elements()) {
      if (version["version"].AsString() == service.version)
        return json::ToString(EntryOfAggregated(arena, version));
    }
  }
  return json::ToString(EmptyEntry(arena, service.version));
}

base::Result<std::string> Aggregation::FetchLegacy(const ApiService& service) {
  net::ClientRequest request = TRY(OwnRequest(service, PathOf(service)));
  request.headers.Remove("X-Remote-Group");
  request.headers.Add("Accept", "application/json");
  const net::Response response = TRY(Get(std::move(request)));
  if (response.status != 200) return base::ConfigError("failed to download legacy discovery");
  json::Arena arena;
  const json::Value list = TRY(json::Parse(arena, response.content()));
  if (!list.is_object()) return base::ConfigError("legacy discovery is no object");
  return json::ToString(EntryOfLegacy(arena, list, service.version));
}

base::Result<Aggregation::OpenApiUrls> Aggregation::FetchOpenApi(const ApiService& service) {
  net::ClientRequest request = TRY(OwnRequest(service, "/openapi/v3"));
  request.headers.Add("Accept", "application/json");
  const net::Response response = TRY(Get(std::move(request)));
  OpenApiUrls urls;
  if (response.status != 200) return urls;
  json::Arena arena;
  const json::Value paths = TRY(json::Parse(arena, response.content()))["paths"];
  for (const json::Member& path : paths.members())
    urls.emplace(path.name(), path.value["serverRelativeURL"].AsString());
  return urls;
}

base::Result<std::string> Aggregation::FetchOpenApiV2(const ApiService& service) {
  net::ClientRequest request = TRY(OwnRequest(service, "/openapi/v2"));
  request.max_response_bytes = kMostOpenApi;
  request.headers.Add("Accept", "application/json");
  const net::Response response = TRY(Get(std::move(request)));
  if (response.status != 200) return std::string();
  json::Arena arena;
  return OpenApiV2Of(TRY(json::Parse(arena, response.content())), PathOf(service) + "/");
}

base::Result<std::string> Aggregation::Fetch(const ApiService& service) {
  std::string entry = TRY(FetchAggregated(service));
  return entry.empty() ? FetchLegacy(service) : std::move(entry);
}

base::Status Aggregation::Discover(const std::string& name) {
  const auto service = ByName(name);
  if (service == nullptr) {
    const base::MutexLock lock(mutex_);
    contexts_.erase(name);
    if (discovered_.erase(name) > 0) ++generation_;
    return base::OkStatus();
  }
  auto fetched = Fetch(*service);
  base::Status status = fetched.status();
  auto open_api = status.ok() ? FetchOpenApi(*service) : base::Result<OpenApiUrls>(status);
  auto open_api_v2 = status.ok() ? FetchOpenApiV2(*service) : base::Result<std::string>(status);
  const base::MutexLock lock(mutex_);
  Entry& entry = discovered_[name];
  const Entry before = entry;
  if (fetched.ok()) entry.text = *std::move(fetched);
  if (open_api.ok()) entry.open_api = *std::move(open_api);
  if (open_api_v2.ok()) entry.open_api_v2 = *std::move(open_api_v2);
  entry.stale = !status.ok();
  const bool is_same = entry.text == before.text && entry.stale == before.stale &&
                       entry.open_api == before.open_api && entry.open_api_v2 == before.open_api_v2;
  if (!is_same) ++generation_;
  return status;
}

json::Value Aggregation::DiscoveryOf(json::Arena& arena, const ApiService& service) const {
  static const Entry kNone;
  const base::MutexLock lock(mutex_);
  const auto found = discovered_.find(service.name);
  const Entry& entry = found == discovered_.end() ? kNone : found->second;
  const auto told = json::Parse(arena, entry.text);
  return json::ObjectBuilder(arena, told.ok() ? *told : EmptyEntry(arena, service.version))
      .Set("freshness", entry.stale ? "Stale" : "Current")
      .Build();
}

Aggregation::OpenApiUrls Aggregation::OpenApiOf(const std::string& name) const {
  const base::MutexLock lock(mutex_);
  const auto found = discovered_.find(name);
  return found == discovered_.end() ? OpenApiUrls() : found->second.open_api;
}

std::vector<std::string> Aggregation::OpenApiV2Parts() const {
  std::vector<std::string> parts;
  const base::MutexLock lock(mutex_);
  for (const auto& [name, entry] : discovered_) {
    if (!entry.open_api_v2.empty()) parts.push_back(entry.open_api_v2);
  }
  return parts;
}

std::shared_ptr<const ApiService> Aggregation::WithOpenApi(std::string_view document) const {
  std::string name;
  {
    const base::MutexLock lock(mutex_);
    for (const auto& [service, entry] : discovered_) {
      if (!entry.open_api.contains(document)) continue;
      name = service;
      break;
    }
  }
  return name.empty() ? nullptr : ByName(name);
}

}  // namespace portcullis::server

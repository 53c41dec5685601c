// SPDX-License-Identifier: Apache-2.0

#include "controllers/endpoint_reconciler.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "engine/operation.h"
#include "json/reader.h"

namespace portcullis::controllers {
namespace {

constexpr std::string_view kNamespace = "default";
constexpr std::string_view kService = "kubernetes";
constexpr std::string_view kSliceGroup = "discovery.k8s.io";
// Keeps the controller that mirrors Endpoints to EndpointSlices away: the slice is made here.
constexpr std::string_view kSkipMirror = "endpointslice.kubernetes.io/skip-mirror";
constexpr int kAttempts = 5;

json::Value Parsed(json::Arena& arena, std::string_view text) {
  const auto value = json::Parse(arena, text);
  return value.ok() ? *value : json::Value();
}

bool IsV6(std::string_view ip) { return ip.find(':') != std::string_view::npos; }

// An absent list is an empty one.
bool AreSame(json::Value a, json::Value b) { return (a.empty() && b.empty()) || a == b; }

// What kube-apiserver makes of Endpoints: of one family, IPv6 only if there is nothing else.
json::Value SliceOf(json::Arena& arena, json::Value endpoints) {
  json::Value addresses;
  json::Value ports;
  if (endpoints["subsets"].size() > 0) {
    addresses = endpoints["subsets"].elements()[0]["addresses"];
    ports = endpoints["subsets"].elements()[0]["ports"];
  }
  const auto all = addresses.elements();
  const bool v6 = !addresses.empty() && std::all_of(all.begin(), all.end(), [](json::Value one) {
    return IsV6(one["ip"].AsString());
  });
  json::ArrayBuilder list(arena);
  for (const json::Value& address : all) {
    if (IsV6(address["ip"].AsString()) != v6) continue;
    json::Value endpoint = Parsed(arena, R"({"addresses":[],"conditions":{"ready":true}})");
    list.Add(json::With(arena, endpoint, "addresses", json::MakeArray(arena, {address["ip"]})));
  }
  const json::Value listed = list.Build();
  const json::Value slice =
      Parsed(arena, R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{)"
                    R"("name":"kubernetes","namespace":"default",)"
                    R"("labels":{"kubernetes.io/service-name":"kubernetes"}}})");
  return json::ObjectBuilder(arena, slice)
      .Set("addressType", v6 ? "IPv6" : "IPv4")
      .Set("endpoints", listed.empty() ? json::Value() : listed)
      .Set("ports", ports)
      .Build();
}

}  // namespace

EndpointReconciler::EndpointReconciler(EndpointSettings settings, store::MasterLeases* leases,
                                       Client& client, const store::Reader& store,
                                       const base::Clock& clock)
    : settings_(std::move(settings)),
      leases_(leases),
      client_(client),
      store_(store),
      clock_(clock) {}

void EndpointReconciler::Start() {
  thread_ = std::thread([this] { Run(); });
}

void EndpointReconciler::AnnounceStop() {
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
}

void EndpointReconciler::Stop() {
  AnnounceStop();
  if (thread_.joinable()) thread_.join();
}

bool EndpointReconciler::IsStopping() {
  base::MutexLock lock(mutex_);
  return stopping_;
}

void EndpointReconciler::Run() {
  pthread_setname_np(pthread_self(), "endpoints");
  const base::NeedsMemory needs;
  if (Remove(false).ok()) {
    base::LogWarning("this server's address was still an endpoint of the Service kubernetes",
                     {{"address", settings_.address}});
  }
  while (!IsStopping()) {
    const base::SteadyTime next = clock_.Steady() + settings_.interval;
    const base::Status status = Renew();
    if (!status.ok()) {
      base::LogWarning("unable to sync kubernetes service", {{"error", status.message()}});
    }
    base::MutexLock lock(mutex_);
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
    }
  }
  const base::Status status = Leave();
  if (status.ok()) return;
  base::LogWarning("unable to remove endpoints from kubernetes service",
                   {{"error", status.message()}});
}

base::Status EndpointReconciler::Renew() {
  if (leases_ != nullptr) TRY(leases_->Renew(settings_.address, settings_.ttl));
  return Publish(false, false);
}

base::Status EndpointReconciler::Leave() { return Remove(true); }

base::Status EndpointReconciler::Remove(bool stopping) {
  if (leases_ != nullptr) TRY(leases_->Remove(settings_.address));
  return Publish(true, stopping);
}

base::Status EndpointReconciler::Publish(bool leaves, bool stopping) {
  base::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = PublishOnce(leaves, stopping);
    // Another server was faster. What the store shows now has what it wrote.
    if (status.reason() != base::Reason::kConflict &&
        status.reason() != base::Reason::kAlreadyExists) {
      break;
    }
  }
  return status;
}

base::Status EndpointReconciler::PublishOnce(bool leaves, bool stopping) {
  json::Arena arena;
  const store::ObjectPtr current = store_.Get({"", "endpoints", kNamespace, kService});
  if (current == nullptr && stopping) return base::OkStatus();
  const json::Value live =
      current ? current->document().root()
              : Parsed(arena, R"({"apiVersion":"v1","kind":"Endpoints",)"
                              R"("metadata":{"name":"kubernetes","namespace":"default"}})");
  const std::vector<std::string> ips = TRY(Addresses(live, leaves));
  // This server has just renewed its own lease: there is something wrong with the list.
  if (leases_ != nullptr && ips.empty() && !stopping) {
    return base::InternalError(
        "no API server IP addresses were listed in storage, refusing to erase all endpoints for "
        "the kubernetes Service");
  }
  const json::Value wanted = Corrected(arena, live, ips, leaves && leases_ != nullptr);
  if (wanted == live) return PublishSlice(arena, live);
  const store::ObjectPtr written =
      TRY(Write(current ? engine::Verb::kUpdate : engine::Verb::kCreate, "", "endpoints", wanted));
  return PublishSlice(arena, written->document().root());
}

base::Result<std::vector<std::string>> EndpointReconciler::Addresses(json::Value live,
                                                                     bool leaves) {
  if (leases_ != nullptr) return leases_->List();
  std::vector<std::string> ips;
  if (live["subsets"].size() == 1) {
    for (const json::Value& one : live["subsets"].elements()[0]["addresses"].elements()) {
      ips.emplace_back(one["ip"].AsString());
    }
  }
  if (!leaves) return CountedAddresses(std::move(ips));
  if (std::erase(ips, settings_.address) == 0) return base::NotFound("the address is not listed");
  return ips;
}

std::vector<std::string> EndpointReconciler::CountedAddresses(std::vector<std::string> ips) const {
  const std::string& own = settings_.address;
  const bool is_listed = std::find(ips.begin(), ips.end(), own) != ips.end();
  if (is_listed && ips.size() <= settings_.count) return ips;
  if (!is_listed) ips.push_back(own);
  std::sort(ips.begin(), ips.end());
  // Those behind it, then from the front. As in kube-apiserver, its place is that before any has been
  // taken off; should it go itself, it is back the next time.
  const auto place = std::find(ips.begin(), ips.end(), own) - ips.begin();
  while (ips.size() > settings_.count) {
    ips.erase(ips.begin() + (place + 1) % static_cast<std::ptrdiff_t>(ips.size()));
  }
  return ips;
}

// Endpoints that list `ips`. An order or ports that somebody has chosen are left as they are.
json::Value EndpointReconciler::Corrected(json::Arena& arena, json::Value endpoints,
                                          const std::vector<std::string>& ips,
                                          bool with_ports) const {
  json::Value out = endpoints;
  if (endpoints["metadata"]["labels"][kSkipMirror].AsString() != "true") {
    out = json::SetPath(arena, out, {"metadata", "labels", kSkipMirror},
                        json::Value::StringView("true"));
  }
  const json::Value ports =
      Parsed(arena, base::StrCat(R"([{"name":"https","port":)", std::to_string(settings_.port),
                                 R"(,"protocol":"TCP"}])"));
  const bool is_one = endpoints["subsets"].size() == 1;
  const json::Value subset = is_one ? endpoints["subsets"].elements()[0] : json::Value();
  const auto listed = subset["addresses"].elements();
  const auto is_listed = [&](const std::string& ip) {
    return std::any_of(listed.begin(), listed.end(),
                       [&](const json::Value& one) { return one["ip"].AsString() == ip; });
  };
  const bool has_ips =
      is_one && listed.size() == ips.size() && std::all_of(ips.begin(), ips.end(), is_listed);
  const bool has_ports = is_one && (!with_ports || subset["ports"] == ports);
  if (has_ips && has_ports) return out;
  if (ips.empty()) return json::RemovePath(arena, out, {"subsets"});
  json::ArrayBuilder addresses(arena);
  for (const std::string& ip : ips) {
    addresses.Add(json::MakeObject(arena, {{"ip", json::String(arena, ip)}}));
  }
  const json::Value corrected =
      json::MakeObject(arena, {{"addresses", has_ips ? subset["addresses"] : addresses.Build()},
                               {"ports", has_ports ? subset["ports"] : ports}});
  return json::With(arena, out, "subsets", json::MakeArray(arena, {corrected}));
}

base::Status EndpointReconciler::PublishSlice(json::Arena& arena, json::Value endpoints) {
  const json::Value wanted = SliceOf(arena, endpoints);
  const store::ObjectPtr current =
      store_.Get({kSliceGroup, "endpointslices", kNamespace, kService});
  if (current == nullptr)
    return Write(engine::Verb::kCreate, kSliceGroup, "endpointslices", wanted).status();
  const json::Value live = current->document().root();
  if (live["addressType"] != wanted["addressType"]) {  // which no update may change
    TRY(Write(engine::Verb::kDelete, kSliceGroup, "endpointslices", {}));
    return Write(engine::Verb::kCreate, kSliceGroup, "endpointslices", wanted).status();
  }
  if (AreSame(live["endpoints"], wanted["endpoints"]) && AreSame(live["ports"], wanted["ports"]) &&
      AreSame(live["metadata"]["labels"], wanted["metadata"]["labels"])) {
    return base::OkStatus();
  }
  return Write(engine::Verb::kUpdate, kSliceGroup, "endpointslices",
               json::SetPath(arena, wanted, {"metadata", "resourceVersion"},
                             live["metadata"]["resourceVersion"]))
      .status();
}

base::Result<store::ObjectPtr> EndpointReconciler::Write(engine::Verb verb, std::string_view group,
                                                         std::string_view resource,
                                                         json::Value body) {
  Request request;
  request.verb = verb;
  request.resource = {std::string(group), "v1", std::string(resource)};
  request.ns = kNamespace;
  if (verb != engine::Verb::kCreate) request.name = kService;
  request.body = body;
  return client_.Do(request);
}

}  // namespace portcullis::controllers

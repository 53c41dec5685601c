// SPDX-License-Identifier: Apache-2.0

// What aggregated API servers hold of a namespace that is being deleted (Kubernetes:
// pkg/controller/namespace/deletion, whose client finds these resources by discovery).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "controllers/namespace_conditions.h"
#include "golang/url.h"
#include "json/reader.h"
#include "server/aggregation/aggregation.h"
#include "server/aggregation/passed_fields.h"

namespace portcullis::server {
namespace {

using json::Value;

// For all calls of a round: other namespaces wait meanwhile.
constexpr std::chrono::seconds kRoundTime{10};
constexpr std::size_t kMostListed = 32 << 20;
constexpr std::string_view kPage = "?limit=500";
constexpr std::string_view kAcceptMetadata =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr std::string_view kDeleteInBackground =
    R"({"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":"Background"})";

bool HasVerb(Value resource, std::string_view verb) {
  const auto verbs = resource["verbs"].elements();
  return std::any_of(verbs.begin(), verbs.end(),
                     [&](const Value& one) { return one.AsString() == verb; });
}

// The deletions in one namespace, until their time is over or the controller stops.
struct Round {
  Aggregation& aggregation;
  const base::Clock& clock;
  const controllers::Identity& user;
  std::string_view ns;
  const std::atomic<bool>& is_stopping;
  const base::SteadyTime end;
};

// One resource of an aggregated API server, in one namespace.
class Content {
 public:
  Content(const Round& round, const ApiService& service, std::string_view resource)
      : round_(round),
        service_(service),
        resource_(resource),
        path_(base::StrCat("/apis/", service.group, "/", service.version, "/namespaces/", round.ns,
                           "/", resource)) {}

  // Whether the last call has been answered.
  bool is_reached() const { return is_reached_; }
  // At once if the server can, else one after the other.
  base::Status Delete(bool at_once) {
    base::Status status = at_once ? Ask("DELETE").status() : base::NotFound("");
    if (status.reason() != base::Reason::kNotFound) return status;
    return ForEach([this](Value object) {
      const base::Status deleted = Ask("DELETE", object["metadata"]["name"].AsString()).status();
      return deleted.reason() == base::Reason::kNotFound ? base::OkStatus() : deleted;
    });
  }

  // Page by page. Nothing if the resource is not served after all.
  base::Status ForEach(const std::function<base::Status(Value)>& visit) {
    std::string query(kPage);
    while (true) {
      const auto listed = Ask("GET", "", query);
      if (listed.status().reason() == base::Reason::kNotFound) return base::OkStatus();
      if (!listed.ok()) return listed.status();
      json::Arena arena;
      const Value list = TRY(json::Parse(arena, *listed, {.borrow_text = true}));
      for (const Value& object : list["items"].elements()) TRY(visit(object));
      const std::string_view next = list["metadata"]["continue"].AsString();
      if (next.empty()) return base::OkStatus();
      query = base::StrCat(kPage, "&continue=", golang::QueryEscape(next));
    }
  }

 private:
  // The text of the answer. kNotFound also for what the server does not do.
  base::Result<std::string> Ask(std::string_view method, std::string_view name = {},
                                std::string_view query = {}) {
    const std::string path = name.empty() ? path_ : base::StrCat(path_, "/", name);
    const std::string what = base::StrCat(" (", base::ToLower(method), " ", resource_, ".",
                                          service_.group, name.empty() ? "" : " ", name, ")");
    const base::SteadyTime now = round_.clock.Steady();
    if (round_.is_stopping || now >= round_.end) {
      return base::ConfigError(base::StrCat("there was no time left for the request", what));
    }
    const base::Status unable = base::ConfigError(
        base::StrCat("the server is currently unable to handle the request", what));
    std::string host;
    auto request = round_.aggregation.RequestFor(
        service_, base::StrCat(golang::EscapePath(path), query), host);
    if (!request.ok()) return unable;
    request->method = method;
    request->max_response_bytes = kMostListed;
    request->headers.Add("User-Agent", round_.user.agent);
    request->headers.Add("Accept", kAcceptMetadata);
    AddUser(round_.user.user, request->headers);
    if (method == "DELETE") {
      request->headers.Add("Content-Type", "application/json");
      request->body = std::make_shared<const std::string>(kDeleteInBackground);
    }
    net::CallResult result = round_.aggregation.Perform(*std::move(request), round_.end - now);
    is_reached_ = !result.failure;
    if (result.failure) return unable;
    const int status = result.response.status;
    if (status == 404 || status == 405) return base::NotFound("");
    if (status < 300) return std::string(result.response.content());
    json::Arena arena;
    const auto answer = json::Parse(arena, result.response.content());
    const bool is_told = answer.ok() && (*answer)["kind"].AsString() == "Status";
    return is_told ? base::ConfigError(std::string((*answer)["message"].AsString())) : unable;
  }

  const Round& round_;
  const ApiService& service_;
  const std::string_view resource_;
  const std::string path_;
  bool is_reached_ = true;
};

base::Status Empty(Content& content, Value resource, const std::string& name,
                   controllers::NamespaceLeftovers& left) {
  TRY(content.Delete(HasVerb(resource, "deletecollection")));
  return content.ForEach([&](Value object) {
    ++left.resources[name];
    for (const Value& finalizer : object["metadata"]["finalizers"].elements()) {
      ++left.finalizers[std::string(finalizer.AsString())];
    }
    return base::OkStatus();
  });
}

}  // namespace

void Aggregation::EmptyNamespace(const std::string& ns, const controllers::Identity& user,
                                 const std::atomic<bool>& is_stopping,
                                 controllers::NamespaceLeftovers& left) {
  const Round round{*this, parts_.clock, user, ns, is_stopping, parts_.clock.Steady() + kRoundTime};
  json::Arena arena;
  std::set<std::string> seen;  // a resource is the same in all versions
  const auto services = all();
  for (const auto& [version, service] : *services) {
    const Value entry = DiscoveryOf(arena, *service);
    if (!service->available || entry["freshness"].AsString() != "Current") {
      left.undiscovered.push_back(version);
      continue;
    }
    for (const Value& resource : entry["resources"].elements()) {
      const std::string_view plural = resource["resource"].AsString();
      const std::string name = base::StrCat(plural, ".", service->group);
      if (resource["scope"].AsString() != "Namespaced" || !HasVerb(resource, "delete")) continue;
      if (!seen.insert(name).second) continue;
      Content content(round, *service, plural);
      const base::Status status = Empty(content, resource, name, left);
      if (!status.ok()) left.errors.emplace_back(status.message());
      if (!content.is_reached()) break;
    }
  }
}

}  // namespace portcullis::server

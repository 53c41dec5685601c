// SPDX-License-Identifier: Apache-2.0

// What aggregated API servers hold of a namespace that is being deleted (Kubernetes:
// pkg/controller/namespace/deletion, whose client finds these resources by discovery).

#include <algorithm>
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

namespace portcullis::server {
namespace {

using json::Value;

constexpr std::chrono::seconds kCallTime{30};
constexpr std::size_t kMostListed = 32 << 20;
constexpr std::string_view kAcceptMetadata =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr std::string_view kDeleteInBackground =
    R"({"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":"Background"})";

bool HasVerb(Value resource, std::string_view verb) {
  const auto verbs = resource["verbs"].elements();
  return std::any_of(verbs.begin(), verbs.end(),
                     [&](const Value& one) { return one.AsString() == verb; });
}

// One resource of an aggregated API server, in one namespace.
class Content {
 public:
  Content(Aggregation& aggregation, const ApiService& service, const controllers::Identity& user,
          std::string_view ns, std::string_view resource)
      : aggregation_(aggregation),
        service_(service),
        user_(user),
        resource_(resource),
        path_(base::StrCat("/apis/", service.group, "/", service.version, "/namespaces/", ns, "/",
                           resource)) {}

  // Whether the last call has been answered.
  bool is_reached() const { return is_reached_; }
  // At once if the server can, else one after the other.
  base::Status Delete(bool at_once) {
    const base::Status status = at_once ? Ask("DELETE").status() : base::NotFound("");
    if (status.reason() != base::Reason::kNotFound) return status;
    for (const Value& object : TRY(List())["items"].elements()) {
      const base::Status deleted = Ask("DELETE", object["metadata"]["name"].AsString()).status();
      if (!deleted.ok() && deleted.reason() != base::Reason::kNotFound) return deleted;
    }
    return base::OkStatus();
  }

  // Null if the resource is not served after all.
  base::Result<Value> List() {
    auto listed = Ask("GET");
    return listed.status().reason() == base::Reason::kNotFound ? Value() : std::move(listed);
  }

 private:
  // kNotFound also for what the server does not do.
  base::Result<Value> Ask(std::string_view method, std::string_view name = {}) {
    const std::string path = name.empty() ? path_ : base::StrCat(path_, "/", name);
    const base::Status unable = base::ConfigError(base::StrCat(
        "the server is currently unable to handle the request (", base::ToLower(method), " ",
        resource_, ".", service_.group, name.empty() ? "" : " ", name, ")"));
    std::string host;
    auto request = aggregation_.RequestFor(service_, golang::EscapePath(path), host);
    if (!request.ok()) return unable;
    request->method = method;
    request->max_response_bytes = kMostListed;
    request->headers.Add("User-Agent", user_.agent);
    request->headers.Add("Accept", kAcceptMetadata);
    request->headers.Add("X-Remote-User", user_.user.name);
    for (const std::string& group : user_.user.groups) {
      request->headers.Add("X-Remote-Group", group);
    }
    if (method == "DELETE") {
      request->headers.Add("Content-Type", "application/json");
      request->body = std::make_shared<const std::string>(kDeleteInBackground);
    }
    const net::CallResult result = aggregation_.Perform(*std::move(request), kCallTime);
    is_reached_ = !result.failure;
    if (result.failure) return unable;
    const int status = result.response.status;
    if (status == 404 || status == 405) return base::NotFound("");
    auto answer = json::Parse(arena_, result.response.content());
    if (status < 300) return answer;
    const bool is_told = answer.ok() && (*answer)["kind"].AsString() == "Status";
    return is_told ? base::ConfigError(std::string((*answer)["message"].AsString())) : unable;
  }

  Aggregation& aggregation_;
  const ApiService& service_;
  const controllers::Identity& user_;
  const std::string_view resource_;
  const std::string path_;
  bool is_reached_ = true;
  json::Arena arena_;
};

base::Status Empty(Content& content, Value resource, const std::string& name,
                   controllers::NamespaceLeftovers& left) {
  TRY(content.Delete(HasVerb(resource, "deletecollection")));
  const Value list = TRY(content.List());
  for (const Value& object : list["items"].elements()) {
    ++left.resources[name];
    for (const Value& finalizer : object["metadata"]["finalizers"].elements()) {
      ++left.finalizers[std::string(finalizer.AsString())];
    }
  }
  return base::OkStatus();
}

}  // namespace

void Aggregation::EmptyNamespace(const std::string& ns, const controllers::Identity& user,
                                 controllers::NamespaceLeftovers& left) {
  json::Arena arena;
  std::set<std::string> seen;  // a resource is the same in all versions
  const auto services = all();
  for (const auto& [version, service] : *services) {
    const Value entry = DiscoveryOf(arena, service->name);
    if (!service->available || entry["freshness"].AsString() != "Current") {
      left.undiscovered.push_back(version);
      continue;
    }
    for (const Value& resource : entry["resources"].elements()) {
      const std::string_view plural = resource["resource"].AsString();
      const std::string name = base::StrCat(plural, ".", service->group);
      if (resource["scope"].AsString() != "Namespaced" || !HasVerb(resource, "delete")) continue;
      if (!seen.insert(name).second) continue;
      Content content(*this, *service, user, ns, plural);
      const base::Status status = Empty(content, resource, name, left);
      if (!status.ok()) left.errors.emplace_back(status.message());
      if (!content.is_reached()) break;
    }
  }
}

}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/component_statuses.h"

#include <memory>
#include <utility>

#include "base/strings.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kMaxMessage = 10 << 10;
constexpr std::string_view kStore = "etcd-0";

struct Health {
  std::string_view status;  // of the condition
  std::string message;
  std::string error;
};

json::Value ObjectOf(json::Arena& arena, std::string_view name, const Health& health) {
  json::ObjectBuilder condition(arena);
  condition.Set("type", "Healthy").Set("status", health.status);
  if (!health.message.empty()) condition.Set("message", health.message);
  if (!health.error.empty()) condition.Set("error", health.error);
  return json::MakeObject(
      arena, {{"kind", json::Value::StringView("ComponentStatus")},
              {"apiVersion", json::Value::StringView("v1")},
              {"metadata", json::MakeObject(arena, {{"name", json::String(arena, name)}})},
              {"conditions", json::MakeArray(arena, {condition.Build()})}});
}

// No proxy, at most ten redirects.
net::ClientRequest RequestFor(const Component& component, net::ClientRequest request) {
  request.method = "GET";
  request.url = component.url;
  request.headers.Set("User-Agent", "kube-probe/1.36");
  request.headers.Set("Accept", "*/*");
  request.headers.Set("Accept-Encoding", "identity");
  request.headers.Set("Connection", "close");
  request.proxies = std::make_shared<const net::ProxyRules>(net::ProxySettings{});
  request.max_redirects = 10;
  return request;
}

Health HealthOf(const net::CallResult& result) {
  if (result.failure && !result.failure->too_large) {
    const net::CallFailure& failure = *result.failure;
    if (failure.phase == net::CallPhase::kRead) return {"Unknown", "", failure.message};
    return {"False",
            failure.timed_out
                ? base::StrCat(failure.message, " (Client.Timeout exceeded while awaiting headers)")
                : failure.message,
            ""};
  }
  const int status = result.response.status;
  const std::string body = result.response.body.substr(0, kMaxMessage);
  if (status >= 200 && status < 300) return {"True", body, ""};
  if (status >= 300 && status < 400) {
    return {"Unknown", base::StrCat("Probe terminated redirects, Response body: ", body), ""};
  }
  return {"False", base::StrCat("HTTP probe failed with statuscode: ", std::to_string(status)), ""};
}

}  // namespace

std::vector<Component> OtherComponents() {
  return {{"controller-manager", "https://127.0.0.1:10257/healthz"},
          {"scheduler", "https://127.0.0.1:10259/healthz"}};
}

std::vector<json::Value> AskComponents(json::Arena& arena, net::HttpsClient& client,
                                       const std::vector<Component>& components,
                                       const std::function<base::Status()>& store,
                                       std::string_view name, base::SteadyTime deadline) {
  const auto tls = net::ClientTls::Create(
      {.insecure_skip_verify = true, .protocols = net::ClientProtocols::kHttp2OrHttp1});
  const auto calls = client.NewSet();
  std::vector<Health> healths(components.size());
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (!name.empty() && name != components[i].name) continue;
    net::ClientRequest request;
    if (tls.ok()) request.tls = *tls;
    calls->Start(
        i,
        std::make_shared<const net::ClientRequest>(RequestFor(components[i], std::move(request))),
        deadline);
  }
  const bool wants_store = name.empty() || name == kStore;
  const base::Status stored = wants_store ? store() : base::OkStatus();
  while (auto arrival = calls->Next()) healths[arrival->id] = HealthOf(arrival->result);

  std::vector<json::Value> objects;
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (healths[i].status.empty()) continue;
    objects.push_back(ObjectOf(arena, components[i].name, healths[i]));
  }
  if (wants_store) {
    objects.push_back(
        ObjectOf(arena, kStore,
                 stored.ok() ? Health{"True", "ok", ""} : Health{"False", "", stored.message()}));
  }
  return objects;
}

}  // namespace portcullis::server

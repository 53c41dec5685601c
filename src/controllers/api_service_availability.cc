// SPDX-License-Identifier: Apache-2.0

#include "controllers/api_service_availability.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/gotext.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGroup = "apiregistration.k8s.io";
constexpr std::string_view kServiceName = "kubernetes.io/service-name";
constexpr std::int64_t kDefaultPort = 443;

// What is found out about an APIService.
struct Finding {
  std::string_view status;
  std::string_view reason;
  std::string message;
};

Finding Missing(std::string_view reason, std::string message) {
  return {"False", reason, std::move(message)};
}

// Whether the slice has an endpoint that is ready and a port of this name.
bool HasEndpoint(json::Value slice, std::string_view port_name) {
  bool ready = false;
  for (const json::Value& endpoint : slice["endpoints"].elements()) {
    ready = ready || endpoint["conditions"]["ready"].AsBool(true);
  }
  if (!ready) return false;
  for (const json::Value& port : slice["ports"].elements()) {
    if (port.Has("name") && port["name"].AsString() == port_name && port.Has("port")) return true;
  }
  return false;
}

// Keys are names of APIServices.
class ApiServiceAvailability final : public Controller {
 public:
  ApiServiceAvailability(const ControllerContext& context, bool with_service)
      : context_(context), with_service_(with_service) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.group() == kGroup) {
      Remember(event);
      if (event.type != store::EventType::kDeleted) enqueue(std::string(object.name()));
      return;
    }
    std::set<std::string> concerned;
    {
      const base::MutexLock lock(mutex_);
      if (services_.empty()) return;
      const std::string service = ServiceOf(object);
      for (const auto& [name, its_service] : services_) {
        if (its_service == service) concerned.insert(name);
      }
    }
    for (const std::string& name : concerned) enqueue(name);
  }

  std::optional<base::Duration> Reconcile(const std::string& name) override {
    const store::ObjectPtr current = context_.store.Get({kGroup, "apiservices", "", name});
    if (current == nullptr) return std::nullopt;
    json::Arena arena;
    const auto service = json::Parse(arena, current->bytes(), {.borrow_text = true});
    if (!service.ok() || (*service)["spec"]["service"].is_null() == with_service_) {
      return std::nullopt;
    }
    const Finding finding = Find((*service)["spec"], name);
    if (finding.reason.empty()) return Again(name, finding);
    const json::Value next = WithCondition(arena, *service, finding);
    if (next.IsSameAs(*service)) return Again(name, finding);
    const base::Status written = context_.client
                                     .Do({.verb = engine::Verb::kUpdate,
                                          .resource = {std::string(kGroup), "v1", "apiservices"},
                                          .subresource = "status",
                                          .name = name,
                                          .body = next})
                                     .status();
    if (written.ok() || written.reason() == base::Reason::kNotFound) return Again(name, finding);
    return 1s;
  }

 private:
  // Which Service an APIService is served by, "namespace/name".
  void Remember(const store::Event& event) {
    json::Arena arena;
    const std::string name(event.object->name());
    const auto value = json::Parse(arena, event.object->bytes(), {.borrow_text = true});
    const json::Value service = value.ok() ? (*value)["spec"]["service"] : json::Value();
    const base::MutexLock lock(mutex_);
    if (event.type == store::EventType::kDeleted || service.is_null()) {
      services_.erase(name);
    } else {
      services_[name] =
          base::StrCat(service["namespace"].AsString(), "/", service["name"].AsString());
    }
  }

  // The Service that an object is, or that an EndpointSlice is of.
  static std::string ServiceOf(const store::Object& object) {
    if (object.resource() == "services") return base::StrCat(object.ns(), "/", object.name());
    json::Arena arena;
    const auto slice = json::Parse(arena, object.bytes(), {.borrow_text = true});
    if (!slice.ok()) return {};
    return base::StrCat(object.ns(), "/", (*slice)["metadata"]["labels"][kServiceName].AsString());
  }

  // Servers are asked again; one that has failed, soon at first.
  std::optional<base::Duration> Again(const std::string& name, const Finding& finding) {
    constexpr base::Duration kMost = 30s;
    if (!with_service_ || context_.aggregated == nullptr) return std::nullopt;
    if (!finding.reason.empty() && finding.reason != "FailedDiscoveryCheck") {
      failures_.erase(name);
      return kMost;
    }
    base::Duration& wait = failures_[name];
    wait = wait.count() == 0 ? base::Duration(5ms) : std::min(2 * wait, kMost);
    return wait;
  }

  Finding Find(json::Value spec, const std::string& api_service) const {
    const json::Value reference = spec["service"];
    if (reference.is_null()) {
      return {"True", "Local", "Local APIServices are always available"};
    }
    const std::string_view ns = reference["namespace"].AsString();
    const std::string_view name = reference["name"].AsString();
    const std::string place = base::StrCat("service/", name, " in ", base::GoQuote(ns));
    const store::ObjectPtr found = context_.store.Get({"", "services", ns, name});
    if (found == nullptr) {
      return Missing("ServiceNotFound", base::StrCat(place, " is not present"));
    }
    json::Arena arena;
    const auto parsed = json::Parse(arena, found->bytes(), {.borrow_text = true});
    const json::Value service = parsed.ok() ? (*parsed)["spec"] : json::Value();
    const std::int64_t port = reference["port"].AsInt(kDefaultPort);
    std::string host(service["clusterIP"].AsString());
    if (service["type"].AsString() == "ClusterIP") {
      auto missing = FindEndpoints(service, {ns, name}, place, port);
      if (!missing.reason.empty()) return missing;
    } else if (service["type"].AsString() == "ExternalName") {
      host = service["externalName"].AsString();
    }
    if (context_.aggregated != nullptr) {
      const base::Status checked = context_.aggregated->Check(api_service);
      if (checked.ok()) return {"True", "Passed", "all checks passed"};
      // kube-aggregator says nothing of one whose caBundle it cannot read; nor is the end of this server its fault.
      if (checked.reason() == base::Reason::kInternalError) return {};
      return Missing("FailedDiscoveryCheck", std::string(checked.message()));
    }
    return Missing(
        "FailedDiscoveryCheck",
        base::StrCat("failing or missing response from https://", host, ":", std::to_string(port),
                     "/apis/", spec["group"].AsString(), "/", spec["version"].AsString(),
                     ": no aggregated API servers are called"));
  }

  struct Name {
    std::string_view ns;
    std::string_view name;
  };

  // What lacks of a Service with an address of its own; no reason if nothing does.
  Finding FindEndpoints(json::Value service, Name of, const std::string& place,
                        std::int64_t number) const {
    const json::Value* port = nullptr;
    for (const json::Value& candidate : service["ports"].elements()) {
      if (port == nullptr && candidate["port"].AsInt() == number) port = &candidate;
    }
    if (port == nullptr) {
      return Missing("ServicePortError",
                     base::StrCat(place, " is not listening on port ", std::to_string(number)));
    }
    const std::string_view port_name = (*port)["name"].AsString();
    bool any = false;
    for (const store::ObjectPtr& object :
         context_.store.List({"discovery.k8s.io", "endpointslices"}, of.ns)) {
      json::Arena arena;
      const auto slice = json::Parse(arena, object->bytes(), {.borrow_text = true});
      if (!slice.ok()) continue;
      if ((*slice)["metadata"]["labels"][kServiceName].AsString() != of.name) continue;
      any = true;
      if (HasEndpoint(*slice, port_name)) return {};
    }
    if (!any) {
      return Missing("EndpointsNotFound", base::StrCat("cannot find endpointslices for ", place));
    }
    return Missing("MissingEndpoints",
                   base::StrCat("endpointslices for ", place, " have no addresses with port name ",
                                base::GoQuote(port_name)));
  }

  // The APIService itself if it says so already. The time is that of the last change of the status.
  json::Value WithCondition(json::Arena& arena, json::Value service, const Finding& finding) const {
    const json::Value old = service["status"]["conditions"];
    json::ArrayBuilder conditions(arena);
    bool found = false;
    for (const json::Value& condition : old.elements()) {
      if (found || condition["type"].AsString() != "Available") {
        conditions.Add(condition);
        continue;
      }
      found = true;
      const bool same = condition["status"].AsString() == finding.status;
      if (same && condition["reason"].AsString() == finding.reason &&
          condition["message"].AsString() == finding.message) {
        return service;
      }
      conditions.Add(
          Condition(arena, finding, same ? condition["lastTransitionTime"] : Now(arena)));
    }
    if (!found) conditions.Add(Condition(arena, finding, Now(arena)));
    return json::SetPath(arena, service, {"status", "conditions"}, conditions.Build());
  }

  static json::Value Condition(json::Arena& arena, const Finding& finding, json::Value since) {
    return json::ObjectBuilder(arena)
        .Set("type", "Available")
        .Set("status", finding.status)
        .Set("lastTransitionTime", since)
        .Set("reason", finding.reason)
        .Set("message", std::string_view(finding.message))
        .Build();
  }

  json::Value Now(json::Arena& arena) const {
    return json::String(arena, base::FormatTime(context_.clock.Now()));
  }

  const ControllerContext& context_;
  const bool with_service_;                         // which APIServices are its own
  std::map<std::string, base::Duration> failures_;  // how long the last one is waited for
  base::Mutex mutex_;
  // By name of the APIService: its Service.
  std::map<std::string, std::string> services_ PC_GUARDED_BY(mutex_);
};

constexpr store::Collection kHears[] = {
    {kGroup, "apiservices"}, {"", "services"}, {"discovery.k8s.io", "endpointslices"}};

}  // namespace

const ControllerInfo kApiServiceAvailability = {
    .name = "api-service-availability",
    .account = "",
    .summary = "says of APIServices without a Service that they are available",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ApiServiceAvailability>(context, false);
    },
    .hears = kHears,
};

const ControllerInfo kAggregatedAvailability = {
    .name = "aggregated-availability",
    .account = "",
    .summary = "says of APIServices with a Service whether they can be reached",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ApiServiceAvailability>(context, true);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers

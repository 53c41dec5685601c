// SPDX-License-Identifier: Apache-2.0

// One slice for each family of addresses of a Service and each 100 pods
// (staging/src/k8s.io/endpointslice).
#include "controllers/workloads/endpoint_slice.h"

#include <algorithm>

#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::NameOf;

constexpr workloads::OwnerKind kServices{"", "v1", "services", "Service"};
const api::GroupVersionResource kSlices{"discovery.k8s.io", "v1", "endpointslices"};
constexpr std::string_view kServiceName = "kubernetes.io/service-name";
constexpr std::string_view kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr std::string_view kManager = "endpointslice-controller.k8s.io";
constexpr std::size_t kMostInASlice = 100;

class EndpointSlices final : public workloads::WorkloadController {
 public:
  explicit EndpointSlices(const ControllerContext& context)
      : WorkloadController(context, kServices) {}

  // Pods belong to a Service by their labels, not by their owner.
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.object->resource() != "pods") return WorkloadController::OnEvent(event, enqueue);
    for (const store::ObjectPtr& object :
         context().store.List({"", "services"}, event.object->ns())) {
      const Value service = object->document().root();
      if (Chooses(service, event.object) || Chooses(service, event.previous)) {
        enqueue(std::string(object->position()));
      }
    }
  }

 private:
  static bool Chooses(Value service, const store::ObjectPtr& pod) {
    const Value selector = service["spec"]["selector"];
    return pod != nullptr && !selector.empty() &&
           api::LabelSelector::FromSet(selector).Matches(
               pod->document().root()["metadata"]["labels"]);
  }

  base::Result<std::optional<base::Duration>> Sync(Value service) override {
    const Value spec = service["spec"];
    if (spec["selector"].empty() || spec["type"].AsString() == "ExternalName" ||
        workloads::IsEnding(service)) {
      return std::optional<base::Duration>();
    }
    const auto selector = api::LabelSelector::FromSet(spec["selector"]);
    std::vector<Value> pods;
    for (const store::ObjectPtr& object :
         context().store.List({"", "pods"}, workloads::NamespaceOf(service))) {
      const Value pod = Root(object);
      const bool counts = !workloads::IsFinished(pod) && !pod["status"]["podIP"].is_null() &&
                          selector.Matches(pod["metadata"]["labels"]);
      if (counts) pods.push_back(pod);
    }
    for (const Value& family : spec["ipFamilies"].elements()) {
      TRY(SyncFamily(service, pods, family.AsString()));
    }
    return std::optional<base::Duration>();
  }

  base::Status SyncFamily(Value service, const std::vector<Value>& pods, std::string_view family) {
    json::ArrayBuilder endpoints(arena());
    for (const Value& pod : pods) {
      const Value endpoint = EndpointOf(service, pod, family);
      if (!endpoint.is_null()) endpoints.Add(endpoint);
    }
    const Value all = endpoints.Build();
    std::vector<Value> slices = SlicesOf(service, family);
    const std::size_t needed =
        std::max<std::size_t>((all.size() + kMostInASlice - 1) / kMostInASlice, 1);
    for (std::size_t i = 0; i < needed; ++i) {
      const auto rest = all.elements().subspan(std::min(i * kMostInASlice, all.size()));
      const Value part = json::MakeArray(arena(), rest.first(std::min(rest.size(), kMostInASlice)));
      TRY(WriteSlice(service, family, i < slices.size() ? slices[i] : Value(), part,
                     all.empty() ? Value() : PortsOf(service, pods.front())));
    }
    for (std::size_t i = needed; i < slices.size(); ++i) TRY(Delete(kSlices, slices[i]));
    return base::OkStatus();
  }

  std::vector<Value> SlicesOf(Value service, std::string_view family) {
    std::vector<Value> slices;
    for (const store::ObjectPtr& object : context().store.List(
             {"discovery.k8s.io", "endpointslices"}, workloads::NamespaceOf(service))) {
      const Value slice = Root(object);
      const bool ours = workloads::LabelOf(slice, kServiceName) == NameOf(service) &&
                        workloads::LabelOf(slice, kManagedBy) == kManager &&
                        slice["addressType"].AsString() == family && !workloads::IsEnding(slice);
      if (ours) slices.push_back(slice);
    }
    return slices;
  }

  Value EndpointOf(Value service, Value pod, std::string_view family) {
    json::ArrayBuilder addresses(arena());
    for (const Value& address : pod["status"]["podIPs"].elements()) {
      const bool is_v6 = address["ip"].AsString().find(':') != std::string_view::npos;
      if (is_v6 == (family == "IPv6")) addresses.Add(address["ip"]);
    }
    if (addresses.size() == 0) return {};
    const bool serving = workloads::IsReady(pod);
    const bool ending = workloads::IsEnding(pod);
    const bool shown = service["spec"]["publishNotReadyAddresses"].AsBool();
    json::ObjectBuilder endpoint(arena());
    endpoint.Set("addresses", addresses.Build())
        .Set("conditions", json::ObjectBuilder(arena())
                               .Set("ready", shown || (serving && !ending))
                               .Set("serving", serving)
                               .Set("terminating", ending)
                               .Build());
    if (pod["spec"]["subdomain"].AsString() == NameOf(service) &&
        !pod["spec"]["hostname"].AsString().empty()) {
      endpoint.Set("hostname", pod["spec"]["hostname"]);
    }
    endpoint.Set("nodeName", pod["spec"]["nodeName"])
        .Set("targetRef", json::ObjectBuilder(arena())
                              .Set("kind", "Pod")
                              .Set("namespace", pod["metadata"]["namespace"])
                              .Set("name", pod["metadata"]["name"])
                              .Set("uid", pod["metadata"]["uid"])
                              .Build());
    return endpoint.Build();
  }

  // A port's number: a named target is looked up in the pod's containers.
  static Value NumberOf(Value target, std::string_view protocol, Value pod) {
    if (!target.is_string()) return target;
    for (const std::string_view list : {"containers", "initContainers"}) {
      for (const Value& container : pod["spec"][list].elements()) {
        for (const Value& port : container["ports"].elements()) {
          if (port["name"].AsString() == target.AsString() &&
              port["protocol"].AsString() == protocol) {
            return port["containerPort"];
          }
        }
      }
    }
    return {};
  }

  Value PortsOf(Value service, Value pod) {
    json::ArrayBuilder ports(arena());
    for (const Value& port : service["spec"]["ports"].elements()) {
      const Value number = NumberOf(port["targetPort"], port["protocol"].AsString(), pod);
      if (number.is_null()) continue;
      json::ObjectBuilder out(arena());
      out.Set("name", port["name"].AsString())
          .Set("protocol", port["protocol"])
          .Set("port", number);
      if (!port["appProtocol"].is_null()) out.Set("appProtocol", port["appProtocol"]);
      ports.Add(out.Build());
    }
    return ports.Build();
  }

  Value LabelsOf(Value service) {
    json::ObjectBuilder labels(arena(), service["metadata"]["labels"]);
    labels.Set(kManagedBy, kManager).Set(kServiceName, NameOf(service));
    if (service["spec"]["clusterIP"].AsString() == "None") {
      labels.Set("service.kubernetes.io/headless", "");
    }
    return labels.Build();
  }

  base::Status WriteSlice(Value service, std::string_view family, Value slice, Value endpoints,
                          Value ports) {
    const Value none = json::MakeArray(arena(), {});
    const Value wanted_ports = ports.is_null() ? none : ports;
    const auto same = [](Value a, Value b) { return a == b || (a.empty() && b.empty()); };
    if (!slice.is_null() && same(slice["endpoints"], endpoints) &&
        same(slice["ports"], wanted_ports) && slice["metadata"]["labels"] == LabelsOf(service)) {
      return base::OkStatus();
    }
    json::ObjectBuilder metadata =
        slice.is_null() ? Metadata(service) : json::ObjectBuilder(arena(), slice["metadata"]);
    if (slice.is_null()) metadata.Set("generateName", base::StrCat(NameOf(service), "-"));
    metadata.Set("labels", LabelsOf(service));
    const Value object = json::ObjectBuilder(arena())
                             .Set("apiVersion", "discovery.k8s.io/v1")
                             .Set("kind", "EndpointSlice")
                             .Set("metadata", metadata.Build())
                             .Set("addressType", family)
                             .Set("endpoints", endpoints)
                             .Set("ports", wanted_ports)
                             .Build();
    return slice.is_null() ? Create(kSlices, object).status() : Update(kSlices, object);
  }
};

constexpr store::Collection kHears[] = {
    {"", "services"}, {"", "pods"}, {"discovery.k8s.io", "endpointslices"}};

}  // namespace

const ControllerInfo kEndpointSlice = {
    .name = "endpointslice-controller",
    .account = "endpointslice-controller",
    .summary = "lists the pods of Services in EndpointSlices",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<EndpointSlices>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers

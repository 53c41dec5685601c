// SPDX-License-Identifier: Apache-2.0

// Connections to pods, services and nodes (exec, attach, portforward, proxy) and the logs of pods.
// They are admitted like writes; nothing here dials a kubelet, so that an admitted connection ends
// with the reason why there is none.

#include <algorithm>
#include <optional>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/write.h"
#include "store/readable.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

base::Status NotReachable() {
  return base::Status(base::Reason::kServiceUnavailable, "this server has no connection to nodes");
}

// Why a node cannot be reached: kubelets are not dialled. One that is missing goes by the resource of the
// request, as kube-apiserver names it.
base::Status NodeUnreachable(Operation& op, std::string_view name) {
  const store::ObjectPtr node = op.world.store->Get({"", "nodes", "", name});
  if (node == nullptr) return api::NotFoundStatus(op.group_resource(), name);
  if (node->document()["status"]["addresses"].empty()) {
    return base::Status(base::Reason::kUnknown,
                        "no preferred addresses found; known addresses: []");
  }
  return NotReachable();
}

// "https:web:443", "web:443" or "web".
struct ProxyTarget {
  std::string_view name;
  std::string_view port;
};

std::optional<ProxyTarget> SplitTarget(std::string_view id) {
  const auto pieces = base::Split(id, ':');
  if (pieces.size() > 3) return std::nullopt;
  const std::size_t at = pieces.size() == 3 ? 1 : 0;
  if (pieces[at].empty()) return std::nullopt;
  if (at == 1 && !pieces[0].empty() && pieces[0] != "http" && pieces[0] != "https") {
    return std::nullopt;
  }
  return ProxyTarget{pieces[at], pieces.size() > 1 ? pieces[at + 1] : std::string_view()};
}

base::Status ServiceUnreachable(Operation& op, const ProxyTarget& target) {
  const std::string& ns = op.ns;
  if (const auto number = base::ParseInt(target.port)) {
    const store::ObjectPtr service = op.world.store->Get({"", "services", ns, target.name});
    if (service == nullptr) return api::NotFoundStatus({"", "services"}, target.name);
    const json::Value ports = service->document()["spec"]["ports"];
    const auto items = ports.elements();
    if (std::none_of(items.begin(), items.end(),
                     [&](json::Value port) { return port["port"].AsInt() == *number; })) {
      return base::Status(base::Reason::kServiceUnavailable,
                          base::StrCat("no service port ", std::to_string(*number),
                                       " found for service ", base::GoQuote(target.name)));
    }
  }
  const store::ObjectPtr endpoints = op.world.store->Get({"", "endpoints", ns, target.name});
  if (endpoints == nullptr) return api::NotFoundStatus(op.group_resource(), target.name);
  if (endpoints->document()["subsets"].empty()) {
    return base::Status(
        base::Reason::kServiceUnavailable,
        base::StrCat("no endpoints available for service ", base::GoQuote(target.name)));
  }
  return NotReachable();
}

// As kube-apiserver goes through them.
constexpr std::string_view kContainerLists[] = {"initContainers", "containers",
                                                "ephemeralContainers"};

// That the pod has the container, or one that need not be named.
base::Status CheckContainer(json::Value pod, std::string_view container) {
  const std::string_view name = pod["metadata"]["name"].AsString();
  const json::Value spec = pod["spec"];
  if (container.empty()) {
    if (spec["containers"].size() == 1) return base::OkStatus();
    std::vector<std::string_view> names;
    for (const std::string_view list : kContainerLists) {
      for (const json::Value& one : spec[list].elements()) {
        names.push_back(one["name"].AsString());
      }
    }
    return base::BadRequest(base::StrCat("a container name must be specified for pod ", name,
                                         ", choose one of: [", base::Join(names, " "), "]"));
  }
  for (const std::string_view list : kContainerLists) {
    for (const json::Value& one : spec[list].elements()) {
      if (one["name"].AsString() == container) return base::OkStatus();
    }
  }
  return base::BadRequest(base::StrCat("container ", container, " is not valid for pod ", name));
}

// Why the pod cannot be reached.
base::Status PodUnreachable(Operation& op, std::string_view name, bool proxy,
                            json::Value options = {}) {
  const store::ObjectPtr pod = TRY(store::GetReadable(*op.world.store, KeyOf(op, name)));
  if (pod == nullptr) return api::NotFoundStatus(op.group_resource(), name);
  if (proxy) {
    if (pod->document()["status"]["podIP"].AsString().empty()) {
      return base::BadRequest("address not allowed");
    }
    return NotReachable();
  }
  if (op.subresource_name() != "portforward") {
    TRY(CheckContainer(pod->document().root(), options["container"].AsString()));
  }
  const std::string_view node = pod->document()["spec"]["nodeName"].AsString();
  if (node.empty()) {
    return base::BadRequest(base::StrCat("pod ", name, " does not have a host assigned"));
  }
  return NodeUnreachable(op, node);
}

}  // namespace

base::Result<json::Value> AdmitConnection(Operation& op, const Input& input) {
  const AdmissionInput connect{
      .operation = admission::kConnect, .name = op.name, .object = input.parameters};
  const json::Value admitted = TRY(RunMutating(op, connect));
  TRY(RunValidating(op, {.operation = admission::kConnect, .name = op.name, .object = admitted}));
  return admitted;
}

base::Status Unreachable(Operation& op, json::Value options) {
  const std::string& resource = op.resource->resource.resource;
  if (op.subresource_name() != "proxy") return PodUnreachable(op, op.name, false, options);
  const auto target = SplitTarget(op.name);
  if (!target) {
    return base::BadRequest(
        base::StrCat("invalid ", op.resource->singular, " request ", base::GoQuote(op.name)));
  }
  if (resource == "services") return ServiceUnreachable(op, *target);
  if (resource == "nodes") return NodeUnreachable(op, target->name);
  return PodUnreachable(op, target->name, true);
}

base::Result<Outcome> Connect(Operation& op, const Input& input) {
  return Unreachable(op, TRY(AdmitConnection(op, input)));
}

base::Result<Outcome> GetLog(Operation& op, const Input& input) {
  const store::ObjectPtr object = TRY(store::GetReadable(*op.world.store, KeyOf(op, op.name)));
  if (object == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
  const json::Value pod = TRY(FromStore(op, object));
  TRY(CheckContainer(pod, input.parameters["container"].AsString()));
  const std::string_view node = pod["spec"]["nodeName"].AsString();
  // Nothing has run yet: an empty log, as kube-apiserver answers.
  if (node.empty()) return Outcome();
  return NodeUnreachable(op, node);
}

}  // namespace portcullis::engine

// What can be done with a pod besides reading, writing and evicting it: binding, connections, log.

#include <algorithm>
#include <optional>
#include <span>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "server/codec.h"
#include "server/reply.h"
#include "server/rest/admit.h"
#include "server/rest/pod_condition.h"
#include "server/rest/subresource_body.h"
#include "server/rest/system_fields.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"
#include "store/store.h"

namespace portcullis::server::rest {
namespace {

// Why the pod cannot be bound to a node, or "".
std::string ObstacleToBinding(json::Value pod, std::string_view name) {
  if (!pod["metadata"]["deletionTimestamp"].is_null()) {
    return base::StrCat("pod ", name, " is being deleted, cannot be assigned to a host");
  }
  const json::Value spec = pod["spec"];
  if (const std::string_view node = spec["nodeName"].AsString(); !node.empty()) {
    return base::StrCat("pod ", name, " is already assigned to node ", base::GoQuote(node));
  }
  if (!spec["schedulingGates"].empty()) {
    return base::StrCat("pod ", name, " has non-empty .spec.schedulingGates");
  }
  return "";
}

// What is wrong with a binding; the error is none of the API's, which makes it a 500.
base::Status CheckTarget(json::Value target) {
  api::FieldErrors errors;
  const std::string_view kind = target["kind"].AsString();
  if (!kind.empty() && kind != "Node") {
    errors.push_back(
        api::NotSupported(api::FieldPath("target", "kind"), kind, {"Node", "<empty>"}));
  }
  if (target["name"].AsString().empty()) {
    errors.push_back(api::Required(api::FieldPath("target", "name"), ""));
  }
  if (errors.empty()) return base::OkStatus();
  return base::Status(base::Reason::kUnknown, api::AggregateText(errors));
}

// That the binding means the pod that is there, in the state that is there.
base::Status CheckIdentity(json::Value binding, json::Value pod, const store::Key& key,
                           bool dry_run) {
  for (const auto& [field, shown] : {std::pair<std::string_view, std::string_view>{"uid", "UID"},
                                     {"resourceVersion", "ResourceVersion"}}) {
    const std::string_view wanted = binding["metadata"][field].AsString();
    const std::string_view actual = pod["metadata"][field].AsString();
    if (wanted.empty() || wanted == actual) continue;
    return api::ConflictStatus(
        {"", "pods"}, key.name,
        base::StrCat("StorageError: invalid object, Code: 4, Key: ", dry_run ? "" : "/registry",
                     "/pods/", key.ns, "/", key.name,
                     ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ", shown,
                     " in precondition: ", wanted, ", ", shown, " in object meta: ", actual));
  }
  return base::OkStatus();
}

// The pod on its node, with what admission has put on the binding.
json::Value Bound(Call& call, json::Value pod, json::Value binding) {
  pod = json::SetPath(call.arena, pod, {"spec", "nodeName"}, binding["target"]["name"]);
  for (std::string_view kind_of : {"labels", "annotations"}) {
    for (const json::Member& member : binding["metadata"][kind_of].members()) {
      pod = json::SetPath(call.arena, pod, {"metadata", kind_of, member.name()}, member.value);
    }
  }
  if (pod["status"].Has("nominatedNodeName")) {
    pod = json::RemovePath(call.arena, pod, {"status", "nominatedNodeName"});
  }
  return WithTrueCondition(call.arena, pod, {"PodScheduled", "", ""}, *call.env.clock);
}

}  // namespace

VerbResult CreateBinding(Call& call) {
  // POST /bindings names the pod in its body, POST /pods/<name>/binding in its path.
  const bool of_pod = call.subresource != nullptr;
  WriteOptions options;
  json::Value binding = TRY(ReadSubresourceBody(call, options));
  const std::string name(of_pod ? std::string_view(call.info.name)
                                : binding["metadata"]["name"].AsString());
  binding = TRY(RunMutating(call, {.operation = admission::kCreate,
                                   .name = name,
                                   .object = binding,
                                   .options = options.as_create}));
  if (of_pod && binding["metadata"]["name"].AsString() != name) {
    return base::BadRequest("name in URL does not match name in Binding object");
  }
  TRY(CheckTarget(binding["target"]));
  TRY(RunValidating(call, {.operation = admission::kCreate,
                           .name = name,
                           .object = binding,
                           .options = options.as_create}));
  const api::GroupResource pods{"", "pods"};
  if (name.empty()) return base::BadRequest("Name parameter required.");
  // Whoever posts to the collection cannot mean a certain pod: its uid is taken for none.
  if (!of_pod) binding = json::RemovePath(call.arena, binding, {"metadata", "uid"});
  const store::Key key{"", "pods", call.info.name_space, name};
  const store::ObjectPtr current = call.env.store->Get(key);
  if (current == nullptr) return api::NotFoundStatus(pods, name);
  const api::catalog::ResourceInfo& resource = *call.catalog->Find("", "v1", "pods");
  json::Value pod = TRY(FromStore(call.arena, current, resource));
  TRY(CheckIdentity(binding, pod, key, call.dry_run));
  if (const std::string obstacle = ObstacleToBinding(pod, name); !obstacle.empty()) {
    return api::ConflictStatus({"", "pods/binding"}, name, obstacle);
  }
  if (call.dry_run) return ValueReply(call, 201, CreatedStatus(call.arena));
  pod = Bound(call, pod, binding);
  store::Preconditions preconditions;
  preconditions.revision = current->revision();
  TRY(call.env.store->Update(key, TRY(EncodeForStore(call.arena, pod, resource)), preconditions));
  return ValueReply(call, 201, CreatedStatus(call.arena));
}

namespace {

// The options object of a connect request, from the query, by the schema of its kind.
base::Result<json::Value> ConnectOptions(Call& call) {
  json::Arena& arena = call.arena;
  json::ObjectBuilder options(arena);
  options.Set("kind", call.kind().kind).Set("apiVersion", ApiVersion(call.kind()));
  const Query& query = call.info.query;
  if (call.info.subresource == "proxy") {
    const std::size_t own = std::min<std::size_t>(3, call.info.parts.size());
    std::string path = base::Join(std::span(call.info.parts).subspan(own), "/");
    if (!path.empty() && path.front() != '/') path.insert(0, "/");
    if (call.info.path.back() == '/' && (path.empty() || path.back() != '/')) path += '/';
    if (!path.empty()) options.Set("path", path);
    return options.Build();
  }
  if (call.info.subresource == "portforward") {
    json::ArrayBuilder ports(arena);
    for (const std::string& text : query.All("ports")) {
      for (std::string_view piece : base::Split(text, ',')) {
        const auto port = base::ParseInt(piece);
        if (!port || *port < 0 || *port > 65535) {
          return base::BadRequest(base::StrCat(
              "cannot convert to []int32: strconv.ParseUint: parsing ", base::GoQuote(piece),
              port && *port > 65535 ? ": value out of range" : ": invalid syntax"));
        }
        ports.Add(json::Value::Int(*port));
      }
    }
    if (ports.size() > 0) options.Set("ports", ports.Build());
    return options.Build();
  }
  for (std::string_view name : {"stdin", "stdout", "stderr", "tty"}) {
    if (query.GetBool(name)) options.Set(name, true);
  }
  if (!query.Get("container").empty()) options.Set("container", query.Get("container"));
  if (call.info.subresource == "exec") {
    json::ArrayBuilder command(arena);
    for (const std::string& word : query.All("command")) command.Add(word);
    options.Set("command", command.size() > 0 ? command.Build() : json::Value());
  }
  return options.Build();
}

}  // namespace

namespace {

base::Status NotReachable() {
  return base::Status(base::Reason::kServiceUnavailable, "this server has no connection to nodes");
}

// Why a node cannot be reached: kubelets are not dialled.
base::Status NodeUnreachable(Call& call, std::string_view name) {
  const store::ObjectPtr node = call.env.store->Get({"", "nodes", "", name});
  if (node == nullptr) return api::NotFoundStatus({"", "nodes"}, name);
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

base::Status ServiceUnreachable(Call& call, const ProxyTarget& target) {
  const std::string& ns = call.info.name_space;
  if (const auto number = base::ParseInt(target.port)) {
    const store::ObjectPtr service = call.env.store->Get({"", "services", ns, target.name});
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
  const store::ObjectPtr endpoints = call.env.store->Get({"", "endpoints", ns, target.name});
  if (endpoints == nullptr) return api::NotFoundStatus({"", "endpoints"}, target.name);
  if (endpoints->document()["subsets"].empty()) {
    return base::Status(
        base::Reason::kServiceUnavailable,
        base::StrCat("no endpoints available for service ", base::GoQuote(target.name)));
  }
  return NotReachable();
}

std::string NamesOf(json::Value containers) {
  std::vector<std::string_view> names;
  for (const json::Value& container : containers.elements()) {
    names.push_back(container["name"].AsString());
  }
  return base::Join(names, " ");
}

// That the pod has the container, or one that need not be named.
base::Status CheckContainer(json::Value pod, std::string_view container) {
  const std::string_view name = pod["metadata"]["name"].AsString();
  const json::Value spec = pod["spec"];
  if (container.empty()) {
    if (spec["containers"].size() == 1) return base::OkStatus();
    std::string text = base::StrCat("a container name must be specified for pod ", name,
                                    ", choose one of: [", NamesOf(spec["containers"]), "]");
    if (!spec["initContainers"].empty()) {
      text +=
          base::StrCat(" or one of the init containers: [", NamesOf(spec["initContainers"]), "]");
    }
    return base::BadRequest(std::move(text));
  }
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const json::Value& one : spec[list].elements()) {
      if (one["name"].AsString() == container) return base::OkStatus();
    }
  }
  return base::BadRequest(base::StrCat("container ", container, " is not valid for pod ", name));
}

// Why the pod cannot be reached.
base::Status PodUnreachable(Call& call, std::string_view name, bool proxy,
                            json::Value options = {}) {
  const store::ObjectPtr pod = call.env.store->Get(KeyOf(call, name));
  if (pod == nullptr) return api::NotFoundStatus(call.group_resource(), name);
  if (proxy) {
    if (pod->document()["status"]["podIP"].AsString().empty()) {
      return base::BadRequest("address not allowed");
    }
    return NotReachable();
  }
  if (call.info.subresource != "portforward") {
    TRY(CheckContainer(pod->document().root(), options["container"].AsString()));
  }
  const std::string_view node = pod->document()["spec"]["nodeName"].AsString();
  if (node.empty()) {
    return base::BadRequest(base::StrCat("pod ", name, " does not have a host assigned"));
  }
  return NodeUnreachable(call, node);
}

}  // namespace

VerbResult Connect(Call& call) {
  if (call.info.query.Has("dryRun")) return base::BadRequest("dryRun is not supported");
  const AdmissionInput input{.operation = admission::kConnect,
                             .name = call.info.name,
                             .object = TRY(ConnectOptions(call))};
  const json::Value admitted = TRY(RunMutating(call, input));
  TRY(RunValidating(
      call, {.operation = admission::kConnect, .name = call.info.name, .object = admitted}));
  const std::string& resource = call.resource->resource.resource;
  if (call.info.subresource != "proxy") {
    return PodUnreachable(call, call.info.name, false, admitted);
  }
  const auto target = SplitTarget(call.info.name);
  if (!target) {
    return base::BadRequest(base::StrCat("invalid ", call.resource->singular, " request ",
                                         base::GoQuote(call.info.name)));
  }
  if (resource == "services") return ServiceUnreachable(call, *target);
  if (resource == "nodes") return NodeUnreachable(call, target->name);
  return PodUnreachable(call, target->name, true);
}

namespace {

// What is wrong with the numbers of PodLogOptions.
base::Status CheckLogOptions(const Call& call) {
  const Query& query = call.info.query;
  api::FieldErrors errors;
  const auto check = [&](std::string_view name, std::int64_t least, std::string_view text) {
    const std::string_view given = query.Get(name);
    if (given.empty()) return base::OkStatus();
    const auto number = base::ParseInt(given);
    if (!number) {
      return base::BadRequest(
          base::StrCat("strconv.ParseInt: parsing ", base::GoQuote(given), ": invalid syntax"));
    }
    if (*number < least) errors.push_back(api::Invalid(api::FieldPath(name), *number, text));
    return base::OkStatus();
  };
  TRY(check("tailLines", 0, "must be greater than or equal to 0"));
  TRY(check("limitBytes", 1, "must be greater than 0"));
  if (query.Has("sinceSeconds") && query.Has("sinceTime")) {
    errors.push_back(api::Forbidden(
        api::FieldPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else {
    TRY(check("sinceSeconds", 1, "must be greater than 0"));
  }
  if (errors.empty()) return base::OkStatus();
  return api::InvalidStatus({"", "PodLogOptions"}, call.info.name, errors);
}

}  // namespace

VerbResult GetLog(Call& call) {
  TRY(CheckLogOptions(call));
  const store::ObjectPtr object = call.env.store->Get(KeyOf(call, call.info.name));
  if (object == nullptr) return api::NotFoundStatus(call.group_resource(), call.info.name);
  const json::Value pod = TRY(FromStore(call, object));
  TRY(CheckContainer(pod, call.info.query.Get("container")));
  const std::string_view node = pod["spec"]["nodeName"].AsString();
  // Nothing has run yet: an empty log, as kube-apiserver answers.
  if (node.empty()) return TextReply(200, "");
  return NodeUnreachable(call, node);
}

}  // namespace portcullis::server::rest

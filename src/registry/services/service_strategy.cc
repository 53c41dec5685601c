// SPDX-License-Identifier: Apache-2.0

// Services get their cluster IPs and node ports from the server
// (Kubernetes docs: Service, ClusterIP allocation).

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/api_status.h"
#include "api/field_error.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/edit.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/services/service_families.h"
#include "registry/services/service_network.h"
#include "registry/services/service_validation.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kNone = "None";

std::string_view TypeOf(json::Value service) { return service["spec"]["type"].AsString(); }

// A LoadBalancer with allocateLoadBalancerNodePorts: false has only those node ports that it asks for.
bool WantsNodePorts(json::Value service) {
  const std::string_view type = TypeOf(service);
  if (type == "NodePort") return true;
  return type == "LoadBalancer" && service["spec"]["allocateLoadBalancerNodePorts"].AsBool(true);
}

// Of a type that may have node ports.
bool HasNodePorts(json::Value service) {
  return TypeOf(service) == "NodePort" || TypeOf(service) == "LoadBalancer";
}

bool ChecksHealth(json::Value service) {
  return TypeOf(service) == "LoadBalancer" &&
         service["spec"]["externalTrafficPolicy"].AsString() == "Local";
}

// What a Service holds of the range of node ports: none that it may not have for its type.
std::set<int> NodePorts(json::Value service) {
  std::set<int> ports;
  if (HasNodePorts(service)) {
    for (const json::Value& port : service["spec"]["ports"].elements()) {
      ports.insert(static_cast<int>(port["nodePort"].AsInt()));
    }
  }
  if (ChecksHealth(service)) {
    ports.insert(static_cast<int>(service["spec"]["healthCheckNodePort"].AsInt()));
  }
  ports.erase(0);
  return ports;
}

class Services final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  bool ReturnsDeletedObject() const override { return true; }

  // Without the gate a name has to begin with a letter (KEP-5311).
  std::vector<std::string> CheckName(const Context& ctx, std::string_view name,
                                     bool is_prefix) const override {
    if (ctx.release->GateEnabled("RelaxedServiceNameValidation")) {
      return DefaultStrategy::CheckName(ctx, name, is_prefix);
    }
    return api::IsDns1035Label(is_prefix ? api::MaskTrailingDash(name) : name);
  }

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    // An update of the status that makes a Service gives it neither families nor addresses.
    if (!ctx.subresource.empty()) return object;
    return InitFamilies(ctx, PairAddresses(ctx, object, {}), {}).service;
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource == "status") return OnlyStatus(ctx.arena, object, old);
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    object = PairAddresses(ctx, KeepAllocated(ctx, object, old), old);
    return InitFamilies(ctx, DropOfOldType(ctx, object, old), old).service;
  }

  base::Result<json::Value> Allocate(const Context& ctx, json::Value object,
                                     json::Value old) const override {
    if (ctx.services == nullptr || !ctx.subresource.empty()) return object;
    const api::FieldErrors errors = InitFamilies(ctx, object, old).errors;
    if (!errors.empty()) return api::InvalidStatus(ctx.kind.group_kind(), ctx.name, errors);
    object = TRY(AllocateAddresses(ctx, object, old));
    PortsOfOneWrite taking(ctx);
    auto with_ports = AllocatePorts(ctx, object, old, taking);
    if (with_ports.ok()) return with_ports;
    taking.GiveBack();
    if (!ctx.dry_run) ReleaseAddresses(ctx, object, old);
    return with_ports;
  }

  void Release(const Context& ctx, json::Value gone, json::Value kept) const override {
    if (ctx.services == nullptr || ctx.dry_run) return;
    ReleaseAddresses(ctx, gone, kept);
    const auto ports = NodePorts(kept);
    for (int port : NodePorts(gone)) {
      if (!ports.contains(port)) ctx.services->ReleasePort(port);
    }
  }

 private:
  // From which one on a change from `before` to `after` takes the addresses of `after`: all those of a new
  // Service or of one that was an ExternalName, the second one of a Service that gets a second family.
  // Another change of addresses is refused. With both exchanged: which ones it gives back.
  static std::optional<std::size_t> FirstTaken(json::Value after, json::Value before) {
    if (TypeOf(after) == "ExternalName" || IsHeadless(after["spec"])) return std::nullopt;
    if (before.is_null() || TypeOf(before) == "ExternalName") return 0;
    if (IsHeadless(before["spec"])) return std::nullopt;
    const bool is_second =
        after["spec"]["ipFamilies"].size() == 2 && before["spec"]["ipFamilies"].size() == 1;
    return is_second ? std::optional<std::size_t>(1) : std::nullopt;
  }

  static void ReleaseAddresses(const Context& ctx, json::Value gone, json::Value kept) {
    const auto first = FirstTaken(gone, kept);
    const json::Value addresses = gone["spec"]["clusterIPs"];
    for (std::size_t i = first.value_or(addresses.size()); i < addresses.size(); ++i) {
      ctx.services->ReleaseAddress(addresses[i].AsString());
    }
  }

  // What a client that knows one of clusterIP and clusterIPs says of it holds for the other. One
  // that has changed both is left to validation.
  static json::Value PairAddresses(const Context& ctx, json::Value object, json::Value old) {
    const json::Value spec = object["spec"];
    const std::string_view one = spec["clusterIP"].AsString();
    const std::string_view before = old["spec"]["clusterIP"].AsString();
    if (spec["clusterIPs"].empty() && !old["spec"]["clusterIPs"].empty() && one == before) {
      return json::SetPath(ctx.arena, object, {"spec", "clusterIPs"}, old["spec"]["clusterIPs"]);
    }
    const bool same_list = spec["clusterIPs"] == old["spec"]["clusterIPs"];
    const bool is_new = old.is_null() && spec["clusterIPs"].empty();
    if (!one.empty() && (is_new || (one != before && same_list))) {
      return json::SetPath(ctx.arena, object, {"spec", "clusterIPs"},
                           json::MakeArray(ctx.arena, {spec["clusterIP"]}));
    }
    if (one.empty() && !before.empty() && same_list) {
      return json::RemovePath(ctx.arena, object, {"spec", "clusterIPs"});
    }
    return object;
  }

  // What an update leaves out stays as it was, as long as the type still has it.
  static json::Value KeepAllocated(const Context& ctx, json::Value object, json::Value old) {
    if (TypeOf(object) == "ExternalName" || TypeOf(old) == "ExternalName") return object;
    const json::Value address = old["spec"]["clusterIP"];
    if (object["spec"]["clusterIP"].AsString().empty() && !address.is_null()) {
      object = json::SetPath(ctx.arena, object, {"spec", "clusterIP"}, address);
    }
    if (object["spec"]["clusterIPs"].empty() && old["spec"].Has("clusterIPs")) {
      object = json::SetPath(ctx.arena, object, {"spec", "clusterIPs"}, old["spec"]["clusterIPs"]);
    }
    if (ChecksHealth(object) && ChecksHealth(old) && !object["spec"].Has("healthCheckNodePort")) {
      if (const json::Value* port = old["spec"].Find("healthCheckNodePort")) {
        object = json::SetPath(ctx.arena, object, {"spec", "healthCheckNodePort"}, *port);
      }
    }
    return KeepNodePorts(ctx, object, old);
  }

  // Fields that only the old type has go with it, unless the update changes them too.
  static json::Value DropOfOldType(const Context& ctx, json::Value object, json::Value old) {
    const auto is_balanced = [](json::Value service) { return TypeOf(service) == "LoadBalancer"; };
    const auto drop = [&](std::string_view field, bool (*has)(json::Value)) {
      const json::Value spec = object["spec"];
      if (has(old) && !has(object) && spec[field] == old["spec"][field]) {
        object = json::With(ctx.arena, object, "spec", json::Without(ctx.arena, spec, field));
      }
    };
    drop(
        "healthCheckNodePort", +[](json::Value service) {
          return TypeOf(service) == "LoadBalancer" &&
                 service["spec"]["externalTrafficPolicy"].AsString() == "Local";
        });
    object = DropAddresses(ctx, object, old);
    drop("allocateLoadBalancerNodePorts", +is_balanced);
    drop("loadBalancerClass", +is_balanced);
    drop(
        "externalTrafficPolicy", +[](json::Value service) {
          return TypeOf(service) == "LoadBalancer" || TypeOf(service) == "NodePort" ||
                 (TypeOf(service) == "ClusterIP" && !service["spec"]["externalIPs"].empty());
        });
    if (!is_balanced(object) && !object["status"]["loadBalancer"].empty()) {
      object = json::SetPath(ctx.arena, object, {"status", "loadBalancer"},
                             json::MakeObject(ctx.arena, {}));
    }
    return DropNodePorts(ctx, object, old);
  }

  // Of a Service that becomes an ExternalName; its addresses go only if both fields are as they were.
  static json::Value DropAddresses(const Context& ctx, json::Value object, json::Value old) {
    if (TypeOf(object) != "ExternalName" || TypeOf(old) == "ExternalName") return object;
    const auto is_same = [before = old["spec"], now = object["spec"]](std::string_view name) {
      return now[name] == before[name];
    };
    const bool same_addresses = is_same("clusterIP") && is_same("clusterIPs");
    for (std::string_view name : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      const bool is_address = name.starts_with("clusterIP");
      if (is_address ? same_addresses : is_same(name)) {
        object = json::RemovePath(ctx.arena, object, {"spec", name});
      }
    }
    return object;
  }

  static std::set<std::int64_t> NumbersOf(json::Value ports) {
    std::set<std::int64_t> numbers;
    for (const json::Value& port : ports.elements()) {
      if (port.Has("nodePort")) numbers.insert(port["nodePort"].AsInt());
    }
    return numbers;
  }

  // Node ports that an update leaves out are those that ports of the same name had, unless another
  // port has been given them.
  static json::Value KeepNodePorts(const Context& ctx, json::Value object, json::Value old) {
    const json::Value ports = object["spec"]["ports"];
    if (ports.empty() || !WantsNodePorts(object) || !WantsNodePorts(old)) return object;
    const std::set<std::int64_t> taken = NumbersOf(ports);
    std::map<std::string_view, json::Value> free;  // by the port's name
    for (const json::Value& before : old["spec"]["ports"].elements()) {
      const json::Value number = before["nodePort"];
      if (!before.Has("nodePort") || taken.contains(number.AsInt())) continue;
      free.try_emplace(before["name"].AsString(), number);
    }
    const auto keep = [&](json::Value port) {
      const auto number = free.find(port["name"].AsString());
      if (port.Has("nodePort") || number == free.end()) return port;
      return json::With(ctx.arena, port, "nodePort", number->second);
    };
    return json::SetPath(ctx.arena, object, {"spec", "ports"},
                         json::EditElements(ctx.arena, ports, keep));
  }

  // Types without node ports lose them, unless the update has changed them.
  static json::Value DropNodePorts(const Context& ctx, json::Value object, json::Value old) {
    const json::Value ports = object["spec"]["ports"];
    if (ports.empty() || !HasNodePorts(old) || HasNodePorts(object)) return object;
    const std::set<std::int64_t> before = NumbersOf(old["spec"]["ports"]);
    for (const std::int64_t number : NumbersOf(ports)) {
      if (before.count(number) == 0) return object;
    }
    json::ArrayBuilder result(ctx.arena);
    for (const json::Value& port : ports.elements()) {
      result.Add(json::Without(ctx.arena, port, "nodePort"));
    }
    return json::SetPath(ctx.arena, object, {"spec", "ports"}, result.Build());
  }

  static base::Status Refuse(const Context& ctx, const api::FieldPath& path, json::Value value,
                             std::string_view detail) {
    const api::FieldErrors errors = {api::Invalid(path, value, detail)};
    return api::InvalidStatus(ctx.kind.group_kind(), ctx.name, errors);
  }

  static base::Status Failed(std::string_view what, const base::Status& why) {
    return base::InternalError(base::StrCat("failed to allocate a ", what, ": ", why.message()));
  }

  // A range that is full is the server's fault; any other reason why there is no address, the Service's.
  static base::Status NoAddress(const Context& ctx, const ServiceNetwork::Owner& owner,
                                std::string_view wanted, json::Value addresses,
                                const base::Status& why) {
    if (wanted.empty() && why.reason() == base::Reason::kUnknown) {
      return Failed(base::StrCat("serviceIP for Service ", base::GoQuote(owner.name)), why);
    }
    return Refuse(ctx, api::FieldPath("spec", "clusterIPs"), addresses,
                  base::StrCat("failed to allocate IP", wanted.empty() ? "" : " ", wanted, ": ",
                               why.message()));
  }

  // An address of the family; `wanted` if it is not "".
  static base::Result<std::string> AllocateAddress(const Context& ctx, std::string_view family,
                                                   std::string_view wanted,
                                                   const ServiceNetwork::Owner& owner) {
    ServiceNetwork& network = *ctx.services;
    if (wanted.empty()) {
      return ctx.dry_run ? network.DryRunAddress(family) : network.TakeAnyAddress(family, owner);
    }
    if (ctx.dry_run || !ctx.release->GateEnabled("MultiCIDRServiceAllocator")) {
      TRY(network.CheckAddress(wanted));
    }
    if (!ctx.dry_run) TRY(network.TakeAddress(wanted, owner));
    return std::string(wanted);
  }

  static base::Result<json::Value> AllocateAddresses(const Context& ctx, json::Value object,
                                                     json::Value old) {
    const auto first = FirstTaken(object, old);
    if (!first) return object;
    const json::Value families = object["spec"]["ipFamilies"];
    const auto given = object["spec"]["clusterIPs"].elements();
    std::vector<json::Value> addresses(given.begin(), given.end());
    addresses.resize(families.size(), json::Value::StringView(""));
    const json::Value wanted = json::MakeArray(ctx.arena, addresses);
    const json::Value metadata = object["metadata"];
    const ServiceNetwork::Owner owner{metadata["namespace"].AsString(),
                                      metadata["name"].AsString()};
    for (std::size_t i = *first; i < addresses.size(); ++i) {
      const auto address =
          AllocateAddress(ctx, families[i].AsString(), addresses[i].AsString(), owner);
      if (!address.ok()) {
        for (std::size_t taken = *first; taken < i && !ctx.dry_run; ++taken) {
          ctx.services->ReleaseAddress(addresses[taken].AsString());
        }
        return NoAddress(ctx, owner, addresses[i].AsString(), wanted, address.status());
      }
      addresses[i] = json::String(ctx.arena, *address);
    }
    if (addresses.empty()) return object;
    object = json::SetPath(ctx.arena, object, {"spec", "clusterIP"}, addresses.front());
    return json::SetPath(ctx.arena, object, {"spec", "clusterIPs"},
                         json::MakeArray(ctx.arena, addresses));
  }

  // The node ports that one write takes; a dry run takes none and numbers them as Kubernetes does.
  class PortsOfOneWrite {
   public:
    explicit PortsOfOneWrite(const Context& ctx) : ctx_(ctx) {}

    base::Result<int> TakeAny() {
      int number = (taken_.empty() ? kBeforeDryRun : *taken_.rbegin()) + 1;
      if (!ctx_.dry_run) number = TRY(ctx_.services->TakeAnyPort());
      taken_.insert(number);
      return number;
    }

    base::Status Take(int port) {
      if (taken_.contains(port)) return base::Invalid("provided port is already allocated");
      TRY(ctx_.dry_run ? ctx_.services->CheckPort(port) : ctx_.services->TakePort(port));
      taken_.insert(port);
      return base::OkStatus();
    }

    // What a write that fails has taken, and no port of another Service that it has asked for.
    void GiveBack() {
      if (ctx_.dry_run) return;
      for (const int port : taken_) ctx_.services->ReleasePort(port);
    }

   private:
    static constexpr int kBeforeDryRun = 32768;
    const Context& ctx_;
    std::set<int> taken_;
  };

  // The node ports that are asked for, by port: what a new Service asks for at any place of one holds for all.
  static std::map<std::int64_t, int> RequestedByPort(json::Value ports) {
    std::map<std::int64_t, int> requested;
    for (const json::Value& port : ports.elements()) {
      const auto number = static_cast<int>(port["nodePort"].AsInt());
      if (number != 0) requested.emplace(port["port"].AsInt(), number);
    }
    return requested;
  }

  static base::Result<json::Value> AllocatePorts(const Context& ctx, json::Value object,
                                                 json::Value old, PortsOfOneWrite& taking) {
    if (HasNodePorts(object)) object = TRY(AllocateNodePorts(ctx, object, old, taking));
    if (!ChecksHealth(object)) return object;
    const int wanted = static_cast<int>(object["spec"]["healthCheckNodePort"].AsInt());
    const auto refuse = [&](std::string_view which, const base::Status& why) {
      return base::InternalError(base::StrCat("failed to allocate ", which,
                                              " HealthCheck NodePort ", std::to_string(wanted),
                                              ": ", why.message()));
    };
    if (wanted == 0) {
      const auto number = taking.TakeAny();
      if (!number.ok()) return refuse("a", number.status());
      return json::SetPath(ctx.arena, object, {"spec", "healthCheckNodePort"},
                           json::Value::Int(*number));
    }
    if (NodePorts(old).contains(wanted)) return object;
    if (const base::Status taken = taking.Take(wanted); !taken.ok()) {
      return refuse("requested", taken);
    }
    return object;
  }

  static base::Result<json::Value> AllocateNodePorts(const Context& ctx, json::Value object,
                                                     json::Value old, PortsOfOneWrite& taking) {
    // Of a new Service, protocols that share a port share its node port.
    std::map<std::int64_t, int> by_port;
    std::set<int> held = NodePorts(old);
    std::set<std::pair<std::string_view, int>> of_update;  // by protocol
    const json::Value given = object["spec"]["ports"];
    const auto requested = RequestedByPort(given);
    json::ArrayBuilder ports(ctx.arena);
    std::size_t index = 0;
    for (json::Value port : given.elements()) {
      int wanted = static_cast<int>(port["nodePort"].AsInt());
      if (wanted == 0 && !WantsNodePorts(object)) {
        ports.Add(port);
        ++index;
        continue;
      }
      const auto shared = by_port.find(port["port"].AsInt());
      if (wanted == 0 && old.is_null()) {
        const auto asked = requested.find(port["port"].AsInt());
        wanted = shared != by_port.end()    ? shared->second
                 : asked != requested.end() ? asked->second
                                            : 0;
      }
      if (wanted == 0) {
        const auto number = taking.TakeAny();
        if (!number.ok()) return Failed("nodePort", number.status());
        wanted = *number;
      } else if (!held.contains(wanted) && (shared == by_port.end() || shared->second != wanted)) {
        const base::Status taken = taking.Take(wanted);
        if (!taken.ok()) {
          return Refuse(ctx, api::FieldPath("spec", "ports").Index(index).Child("nodePort"),
                        json::Value::Int(wanted), taken.message());
        }
      }
      const std::string_view protocol = port["protocol"].AsString();
      if (!old.is_null() && !of_update.emplace(protocol, wanted).second) {
        return base::Status(base::Reason::kUnknown, base::StrCat("duplicate nodePort: {", protocol,
                                                                 " ", std::to_string(wanted), "}"));
      }
      by_port.emplace(port["port"].AsInt(), wanted);
      if (!old.is_null()) held.insert(wanted);
      ports.Add(json::With(ctx.arena, port, "nodePort", json::Value::Int(wanted)));
      ++index;
    }
    return json::SetPath(ctx.arena, object, {"spec", "ports"}, ports.Build());
  }
};

void WarnOfService(const Context&, json::Value object, json::Value,
                   std::vector<std::string>& warnings) {
  const json::Value spec = object["spec"];
  const api::FieldPath path("spec");
  const std::string_view type = spec["type"].AsString();
  const bool external_name = type == "ExternalName";
  const bool headless = type == "ClusterIP" && spec["clusterIP"].AsString() == kNone;
  const json::Value addresses = spec["externalIPs"];
  if (object["metadata"]["annotations"].Has("service.kubernetes.io/topology-aware-hints")) {
    warnings.emplace_back(
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead");
  }
  const auto each = [&](std::string_view field, auto warn) {
    std::size_t index = 0;
    for (const json::Value& text : spec[field].elements()) {
      warn(text.AsString(), path.Child(field).Index(index++), warnings);
    }
  };
  if (!headless) each("clusterIPs", &WarnOfIp);
  if (headless) {
    if (!spec["loadBalancerIP"].AsString().empty()) {
      warnings.emplace_back("spec.loadBalancerIP is ignored for headless services");
    }
    if (!addresses.empty()) {
      warnings.emplace_back("spec.externalIPs is ignored for headless services");
    }
    if (spec["sessionAffinity"].AsString() != kNone) {
      warnings.emplace_back("spec.SessionAffinity is ignored for headless services");
    }
  }
  each("externalIPs", &WarnOfIp);
  if (!addresses.empty() && !headless && !external_name) {
    warnings.emplace_back(
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (const std::string_view ip = spec["loadBalancerIP"].AsString(); !ip.empty()) {
    WarnOfIp(ip, path.Child("loadBalancerIP"), warnings);
  }
  each("loadBalancerSourceRanges", &WarnOfCidr);
  if (!addresses.empty() && external_name) {
    warnings.emplace_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  }
  if (!external_name && !spec["externalName"].AsString().empty()) {
    warnings.emplace_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  }
  if (spec["trafficDistribution"].AsString() == "PreferClose") {
    warnings.emplace_back(
        "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
  }
}

void WarnOfServiceStatus(const Context&, json::Value object, json::Value,
                         std::vector<std::string>& warnings) {
  WarnOfIngressPoints(object["status"]["loadBalancer"]["ingress"],
                      api::FieldPath("status", "loadBalancer", "ingress"), warnings);
}

}  // namespace

void AddServiceStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "services",
             .validate = &ValidateService,
             .validate_update = &ValidateServiceUpdate,
             .warn = &WarnOfService,
             .warn_of_status = &WarnOfServiceStatus,
             .traits = {.created_by_put = true, .names = NameStyle::kLabel},
             .make = &Make<Services>});
}

}  // namespace portcullis::registry

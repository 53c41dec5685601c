// Services (pkg/apis/core/validation, ValidateService).

#include <arpa/inet.h>

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "registry/validation/kinds.h"

namespace portcullis::registry {
namespace {

// A port as the internal Go type prints in JSON, without the fields that do not identify it.
std::string PortKey(json::Value port) {
  return StructJson({{"Name", "\"\""},
                     {"Protocol", Quoted(port["protocol"].AsString())},
                     {"AppProtocol", "null"},
                     {"Port", std::to_string(port["port"].AsInt())},
                     {"TargetPort", "0"},
                     {"NodePort", "0"}});
}

void CheckNonSpecialIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  const std::string address(text);
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    const std::uint32_t ip = ntohl(v4.s_addr);
    if (ip == 0) {
      errors.push_back(api::Invalid(path, text, "may not be unspecified (0.0.0.0 or ::)"));
    }
    if (ip >> 24 == 127) {
      errors.push_back(
          api::Invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    if (ip >> 16 == 0xA9FE) {
      errors.push_back(api::Invalid(
          path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
    if (ip >> 8 == 0xE00000) {
      errors.push_back(api::Invalid(
          path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
    }
  } else if (inet_pton(AF_INET6, address.c_str(), &v6) == 1) {
    if (IN6_IS_ADDR_UNSPECIFIED(&v6)) {
      errors.push_back(api::Invalid(path, text, "may not be unspecified (0.0.0.0 or ::)"));
    }
    if (IN6_IS_ADDR_LOOPBACK(&v6)) {
      errors.push_back(
          api::Invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    if (IN6_IS_ADDR_LINKLOCAL(&v6)) {
      errors.push_back(api::Invalid(
          path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
  } else {
    errors.push_back(
        api::Invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  }
}

void CheckServicePort(json::Value port, const FieldPath& path, bool require_name,
                      std::set<std::string>& names, FieldErrors& errors) {
  const std::string_view name = port["name"].AsString();
  if (require_name && name.empty()) {
    errors.push_back(api::Required(path.Child("name"), ""));
  } else if (!name.empty()) {
    CheckDnsLabel(name, path.Child("name"), errors);
    if (!names.insert(std::string(name)).second) {
      errors.push_back(api::Duplicate(path.Child("name"), name));
    }
  }
  CheckPort(port["port"].AsInt(), path.Child("port"), errors);
  if (port["protocol"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("protocol"), ""));
  } else {
    CheckOneOf(port["protocol"], path.Child("protocol"), {"SCTP", "TCP", "UDP"}, errors);
  }
  CheckPortNumOrName(port["targetPort"], path.Child("targetPort"), errors);
  if (const std::string_view protocol = port["appProtocol"].AsString(); !protocol.empty()) {
    AddInvalid(path.Child("appProtocol"), protocol, api::IsQualifiedName(protocol), errors);
  }
}

void CheckPorts(json::Value spec, const FieldPath& spec_path, FieldErrors& errors) {
  const std::string_view type = spec["type"].AsString();
  const FieldPath path = spec_path.Child("ports");
  const auto ports = spec["ports"].elements();
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    CheckServicePort(ports[i], path.Index(i), ports.size() > 1, names, errors);
  }
  std::set<std::string> keys;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (type == "ClusterIP" && ports[i]["nodePort"].AsInt() != 0) {
      errors.push_back(api::Forbidden(path.Index(i).Child("nodePort"),
                                      "may not be used when `type` is 'ClusterIP'"));
    }
  }
  std::set<std::pair<std::string_view, std::int64_t>> node_ports;
  if (type == "NodePort" || type == "LoadBalancer") {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::int64_t node_port = ports[i]["nodePort"].AsInt();
      if (node_port == 0) continue;
      if (!node_ports.insert({ports[i]["protocol"].AsString(), node_port}).second) {
        errors.push_back(api::Duplicate(path.Index(i).Child("nodePort"), node_port));
      }
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!keys.insert(PortKey(ports[i])).second) {
      errors.push_back(api::Duplicate(path.Index(i), api::BadValue::Raw(PortKey(ports[i]))));
    }
  }
}

void CheckExternalName(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view field : {"clusterIP", "clusterIPs"}) {
    const json::Value value = spec[field];
    const bool set = value.is_array() ? !value.empty() : !value.AsString().empty();
    if (set) {
      errors.push_back(
          api::Forbidden(path.Child(field), "may not be set for ExternalName services"));
    }
  }
  const std::string_view name = spec["externalName"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("externalName"), ""));
    return;
  }
  const std::string_view trimmed = name.back() == '.' ? name.substr(0, name.size() - 1) : name;
  CheckSubdomain(trimmed, path.Child("externalName"), errors);
}

void CheckTrafficPolicies(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = spec["type"].AsString();
  const bool external = type == "NodePort" || type == "LoadBalancer" ||
                        (type == "ClusterIP" && !spec["externalIPs"].empty());
  const json::Value policy = spec["externalTrafficPolicy"];
  if (!external) {
    if (!policy.AsString().empty()) {
      errors.push_back(api::Invalid(path.Child("externalTrafficPolicy"), policy,
                                    "may only be set for externally-accessible services"));
    }
  } else if (policy.AsString().empty()) {
    errors.push_back(api::Required(path.Child("externalTrafficPolicy"),
                                   "required for externally-accessible services"));
  } else {
    CheckOneOf(policy, path.Child("externalTrafficPolicy"), {"Cluster", "Local"}, errors);
  }
  const json::Value internal = spec["internalTrafficPolicy"];
  if (type == "ExternalName") return;
  if (internal.AsString().empty()) {
    errors.push_back(api::Required(path.Child("internalTrafficPolicy"), ""));
  } else {
    CheckOneOf(internal, path.Child("internalTrafficPolicy"), {"Cluster", "Local"}, errors);
  }
}

void CheckSessionAffinity(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value affinity = spec["sessionAffinity"];
  if (affinity.AsString().empty()) {
    errors.push_back(api::Required(path.Child("sessionAffinity"), ""));
    return;
  }
  CheckOneOf(affinity, path.Child("sessionAffinity"), {"ClientIP", "None"}, errors);
  const json::Value config = spec["sessionAffinityConfig"];
  const FieldPath config_path = path.Child("sessionAffinityConfig");
  if (affinity.AsString() == "ClientIP") {
    const json::Value timeout = config["clientIP"]["timeoutSeconds"];
    const FieldPath timeout_path = config_path.Child("clientIP").Child("timeoutSeconds");
    if (timeout.is_null()) {
      errors.push_back(api::Required(timeout_path, ""));
    } else if (timeout.AsInt() <= 0 || timeout.AsInt() > 86400) {
      errors.push_back(api::Invalid(timeout_path, timeout.AsInt(),
                                    "must be greater than 0 and less than 86400"));
    }
  } else if (affinity.AsString() == "None" && !config.is_null()) {
    errors.push_back(api::Forbidden(config_path, "must not be set when session affinity is None"));
  }
}

void CheckLoadBalancer(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = spec["type"].AsString();
  const json::Value ranges = spec["loadBalancerSourceRanges"];
  if (!ranges.empty()) {
    if (type != "LoadBalancer") {
      errors.push_back(api::Forbidden(path.Child("LoadBalancerSourceRanges"),
                                      "may only be used when `type` is 'LoadBalancer'"));
    }
    std::size_t index = 0;
    for (const json::Value& range : ranges.elements()) {
      const FieldPath at = path.Child("loadBalancerSourceRanges").Index(index++);
      if (!IsCidr(base::Trim(range.AsString()))) {
        errors.push_back(api::Invalid(
            at, range, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
      }
    }
  }
  if (!spec["loadBalancerClass"].is_null() && type != "LoadBalancer") {
    errors.push_back(api::Forbidden(path.Child("loadBalancerClass"),
                                    "may only be used when `type` is 'LoadBalancer'"));
  }
  if (!spec["allocateLoadBalancerNodePorts"].is_null() && type != "LoadBalancer") {
    errors.push_back(api::Forbidden(path.Child("allocateLoadBalancerNodePorts"),
                                    "may only be used when `type` is 'LoadBalancer'"));
  }
  if (type == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].is_null()) {
    errors.push_back(api::Required(path.Child("allocateLoadBalancerNodePorts"), ""));
  }
}

}  // namespace

void ValidateService(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view type = spec["type"].AsString();
  const bool headless = spec["clusterIP"].AsString() == "None";
  if (spec["ports"].empty() && !headless && type != "ExternalName") {
    errors.push_back(api::Required(path.Child("ports"), ""));
  }
  if (type == "LoadBalancer" && headless) {
    errors.push_back(api::Invalid(path.Child("clusterIPs").Index(0), "None",
                                  "may not be set to 'None' for LoadBalancer services"));
  } else if (type == "NodePort" && headless) {
    errors.push_back(api::Invalid(path.Child("clusterIPs").Index(0), "None",
                                  "may not be set to 'None' for NodePort services"));
  } else if (type == "ExternalName") {
    CheckExternalName(spec, path, errors);
  }
  CheckPorts(spec, path, errors);
  if (!spec["selector"].empty()) CheckLabels(spec["selector"], path.Child("selector"), errors);
  CheckSessionAffinity(spec, path, errors);
  std::size_t index = 0;
  for (const json::Value& ip : spec["externalIPs"].elements()) {
    CheckNonSpecialIp(ip.AsString(), path.Child("externalIPs").Index(index++), errors);
  }
  if (type.empty()) {
    errors.push_back(api::Required(path.Child("type"), ""));
  } else {
    CheckOneOf(spec["type"], path.Child("type"),
               {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, errors);
  }
  CheckLoadBalancer(spec, path, errors);
  if (std::find_if(errors.begin(), errors.end(), [](const api::FieldError& e) {
        return e.field == "spec.type";
      }) == errors.end()) {
    CheckTrafficPolicies(spec, path, errors);
  }
}

void ValidateServiceUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  const FieldPath path("spec");
  const bool same_kind =
      spec["type"].AsString() != "ExternalName" && before["type"].AsString() != "ExternalName";
  if (same_kind && !before["clusterIPs"].empty()) {
    const json::Value was = before["clusterIPs"][std::size_t{0}];
    const json::Value is = spec["clusterIPs"][std::size_t{0}];
    if (!was.AsString().empty() && !(was == is)) {
      errors.push_back(api::Invalid(path.Child("clusterIPs").Index(0), is.AsString(),
                                    is.AsString().empty() ? "primary clusterIP can not be unset"
                                                          : "may not change once set"));
    }
  }
  ValidateService(ctx, object, errors);
}

}  // namespace portcullis::registry

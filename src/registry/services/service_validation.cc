// SPDX-License-Identifier: Apache-2.0

// Services (pkg/apis/core/validation, ValidateService).

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "golang/strings.h"
#include "registry/services/service_families.h"
#include "registry/services/service_validation.h"
#include "registry/validation/addresses.h"

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
  if (const json::Value protocol = port["appProtocol"]; !protocol.is_null()) {
    AddInvalid(path.Child("appProtocol"), protocol.AsString(),
               api::IsQualifiedName(protocol.AsString()), errors);
  }
}

void CheckEachPort(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const auto ports = spec["ports"].elements();
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    CheckServicePort(ports[i], path.Child("ports").Index(i), ports.size() > 1, names, errors);
  }
}

// Ports beside each other: none may be there twice.
void CheckPorts(json::Value spec, const FieldPath& spec_path, FieldErrors& errors) {
  const std::string_view type = spec["type"].AsString();
  const FieldPath path = spec_path.Child("ports");
  const auto ports = spec["ports"].elements();
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
  for (const std::string_view field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    const json::Value value = spec[field];
    if (value.is_null() || (value.is_array() && value.empty())) continue;
    errors.push_back(api::Forbidden(path.Child(field), "may not be set for ExternalName services"));
  }
  const std::string_view name = spec["externalName"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("externalName"), ""));
    return;
  }
  const std::string_view trimmed = name.back() == '.' ? name.substr(0, name.size() - 1) : name;
  CheckSubdomain(trimmed, path.Child("externalName"), errors);
}

void CheckTrafficPolicies(const Context& ctx, json::Value spec, const FieldPath& path,
                          FieldErrors& errors) {
  const bool prefers_same = ctx.release->GateEnabled("PreferSameTrafficDistribution");
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
  const json::Value health = spec["healthCheckNodePort"];
  const bool checks_health = type == "LoadBalancer" && policy.AsString() == "Local";
  if (health.AsInt() != 0 && !checks_health) {
    errors.push_back(api::Invalid(path.Child("healthCheckNodePort"), health.AsInt(),
                                  "may only be set when `type` is 'LoadBalancer' and "
                                  "`externalTrafficPolicy` is 'Local'"));
  } else if (health.AsInt() != 0) {
    CheckPort(health.AsInt(), path.Child("healthCheckNodePort"), errors);
  } else if (checks_health && ctx.services != nullptr) {
    // Given to every Service but to one that is made by an update of its status.
    errors.push_back(api::Required(path.Child("healthCheckNodePort"), ""));
  }
  const json::Value internal = spec["internalTrafficPolicy"];
  if (internal.is_null()) {
    if (type == "NodePort" || type == "LoadBalancer" || type == "ClusterIP") {
      errors.push_back(api::Required(path.Child("internalTrafficPolicy"), ""));
    }
  } else {
    CheckOneOf(internal, path.Child("internalTrafficPolicy"), {"Cluster", "Local"}, errors);
  }
  if (const json::Value distribution = spec["trafficDistribution"]; !distribution.is_null()) {
    if (prefers_same) {
      CheckOneOf(distribution, path.Child("trafficDistribution"),
                 {"PreferClose", "PreferSameZone", "PreferSameNode"}, errors, GoType::kString);
    } else {
      CheckOneOf(distribution, path.Child("trafficDistribution"), {"PreferClose"}, errors,
                 GoType::kString);
    }
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

constexpr std::string_view kOnlyBalanced = "may only be used when `type` is 'LoadBalancer'";

void CheckSourceRanges(const Context& ctx, json::Value object, FieldErrors& errors) {
  constexpr std::string_view kAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
  const json::Value spec = object["spec"];
  const bool balanced = spec["type"].AsString() == "LoadBalancer";
  const json::Value ranges = spec["loadBalancerSourceRanges"];
  const json::Value annotations = object["metadata"]["annotations"];
  if (!ranges.empty()) {
    const FieldPath path("spec", "LoadBalancerSourceRanges");
    if (!balanced) errors.push_back(api::Forbidden(path, kOnlyBalanced));
    std::size_t index = 0;
    for (const json::Value& range : ranges.elements()) {
      CheckCidr(ctx, golang::TrimSpace(range.AsString()), path.Index(index++), errors);
    }
  } else if (annotations.Has(kAnnotation)) {
    const FieldPath path = FieldPath("metadata", "annotations").Key(kAnnotation);
    if (!balanced) errors.push_back(api::Forbidden(path, kOnlyBalanced));
    const std::string_view text = golang::TrimSpace(annotations[kAnnotation].AsString());
    if (text.empty()) return;
    for (const std::string_view range : base::Split(text, ',')) {
      CheckCidr(ctx, golang::TrimSpace(range), path, errors);
    }
  }
}

// An update tells it twice: of the object, and of the change.
void CheckLoadBalancerClass(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value name = spec["loadBalancerClass"];
  if (name.is_null()) return;
  if (spec["type"].AsString() == "LoadBalancer") {
    AddInvalid(path.Child("loadBalancerClass"), name.AsString(),
               api::IsQualifiedName(name.AsString()), errors);
  } else {
    errors.push_back(api::Forbidden(path.Child("loadBalancerClass"), kOnlyBalanced));
  }
}

void CheckLoadBalancer(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const bool balanced = spec["type"].AsString() == "LoadBalancer";
  const json::Value allocates = spec["allocateLoadBalancerNodePorts"];
  if (!allocates.is_null() && !balanced) {
    errors.push_back(api::Forbidden(path.Child("allocateLoadBalancerNodePorts"), kOnlyBalanced));
  }
  if (allocates.is_null() && balanced) {
    errors.push_back(api::Required(FieldPath("allocateLoadBalancerNodePorts"), ""));
  }
  CheckLoadBalancerClass(spec, path, errors);
}

void CheckLoadBalancerStatus(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value ingress = object["status"]["loadBalancer"]["ingress"];
  const FieldPath path("status", "loadBalancer", "ingress");
  if (object["spec"]["type"].AsString() != "LoadBalancer" && !ingress.empty()) {
    errors.push_back(api::Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& point : ingress.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view ip = point["ip"].AsString();
    const json::Value mode = point["ipMode"];
    if (!ip.empty()) CheckIp(ctx, ip, at.Child("ip"), errors);
    if (mode.is_null()) {
      if (!ip.empty()) {
        errors.push_back(api::Required(at.Child("ipMode"), "must be specified when `ip` is set"));
      }
    } else if (ip.empty()) {
      errors.push_back(
          api::Forbidden(at.Child("ipMode"), "may not be specified when `ip` is not set"));
    } else {
      CheckOneOf(mode, at.Child("ipMode"), {"Proxy", "VIP"}, errors);
    }
    if (const std::string_view host = point["hostname"].AsString(); !host.empty()) {
      CheckSubdomain(host, at.Child("hostname"), errors);
      if (IsIp(host)) {
        errors.push_back(
            api::Invalid(at.Child("hostname"), host, "must be a DNS name, not an IP address"));
      }
    }
  }
}

// The annotation has had two names.
void CheckTopologyMode(json::Value annotations, FieldErrors& errors) {
  constexpr std::string_view kOld = "service.kubernetes.io/topology-aware-hints";
  constexpr std::string_view kNew = "service.kubernetes.io/topology-mode";
  if (!annotations.Has(kOld) || !annotations.Has(kNew)) return;
  if (annotations[kOld] == annotations[kNew]) return;
  errors.push_back(
      api::Invalid(FieldPath("metadata", "annotations").Key(kNew), annotations[kNew],
                   base::StrCat("must match annotations[", kOld, "] when both are specified")));
}

// Addresses are allocated first, and nothing else is looked at if that fails. A Service that an update of
// its status makes gets none.
bool HasFamilies(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  if (!ctx.subresource.empty()) return true;
  const FieldErrors found = InitFamilies(ctx, object, old).errors;
  errors.insert(errors.end(), found.begin(), found.end());
  return found.empty();
}

// `old` is null for a new one.
void CheckService(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  CheckTopologyMode(object["metadata"]["annotations"], errors);
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view type = spec["type"].AsString();
  // A create by an update of the status has not filled the list in.
  const json::Value ips = spec["clusterIPs"];
  const bool headless = ips.size() == 1 && ips[std::size_t{0}].AsString() == "None";
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
  CheckEachPort(spec, path, errors);
  if (!spec["selector"].empty()) CheckLabels(spec["selector"], path.Child("selector"), errors);
  CheckSessionAffinity(spec, path, errors);
  if (type != "ExternalName") CheckAddressFields(ctx, spec, old["spec"], errors);
  std::size_t index = 0;
  for (const json::Value& ip : spec["externalIPs"].elements()) {
    const FieldPath at = path.Child("externalIPs").Index(index++);
    if (CheckIp(ctx, ip.AsString(), at, errors)) CheckNonSpecialIp(ip.AsString(), at, errors);
  }
  if (type.empty()) {
    errors.push_back(api::Required(path.Child("type"), ""));
  } else {
    CheckOneOf(spec["type"], path.Child("type"),
               {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, errors);
  }
  CheckPorts(spec, path, errors);
  CheckSourceRanges(ctx, object, errors);
  CheckLoadBalancer(spec, path, errors);
  CheckTrafficPolicies(ctx, spec, path, errors);
}

}  // namespace

void ValidateService(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (HasFamilies(ctx, object, {}, errors)) CheckService(ctx, object, {}, errors);
}

void ValidateServiceUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  const FieldPath path("spec");
  if (ctx.subresource == "status") {
    CheckLoadBalancerStatus(ctx, object, errors);
    return;
  }
  if (!HasFamilies(ctx, object, old, errors)) return;
  CheckFamiliesUpdate(spec, before, errors);
  const bool balanced =
      spec["type"].AsString() == "LoadBalancer" && before["type"].AsString() == "LoadBalancer";
  if (balanced && !(spec["loadBalancerClass"] == before["loadBalancerClass"])) {
    errors.push_back(api::Invalid(path.Child("loadBalancerClass"), spec["loadBalancerClass"],
                                  "may not change once set"));
  }
  CheckLoadBalancerClass(spec, path, errors);
  const auto checks_health = [](json::Value of) {
    return of["type"].AsString() == "LoadBalancer" &&
           of["externalTrafficPolicy"].AsString() == "Local";
  };
  if (checks_health(spec) && checks_health(before) && spec.Has("healthCheckNodePort") &&
      !(spec["healthCheckNodePort"] == before["healthCheckNodePort"])) {
    errors.push_back(api::Forbidden(path.Child("healthCheckNodePort"), "field is immutable"));
  }
  CheckService(ctx, object, old, errors);
}

}  // namespace portcullis::registry

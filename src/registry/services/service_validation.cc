// SPDX-License-Identifier: Apache-2.0

// Services (pkg/apis/core/validation, ValidateService).

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "golang/strings.h"
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

// `prefers_same`: gate PreferSameTrafficDistribution.
void CheckTrafficPolicies(json::Value spec, bool prefers_same, const FieldPath& path,
                          FieldErrors& errors) {
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

// Addresses, families and policy by themselves (ValidateServiceClusterIPsRelatedFields).
void CheckAddressFields(const Context& ctx, json::Value spec, const FieldPath& path,
                        FieldErrors& errors) {
  const json::Value addresses = spec["clusterIPs"];
  const FieldPath addresses_path = path.Child("clusterIPs");
  const std::string_view first = spec["clusterIP"].AsString();
  if (!first.empty() && addresses.empty()) {
    errors.push_back(api::Required(addresses_path, ""));
  } else if (!first.empty() && addresses[std::size_t{0}].AsString() != first) {
    errors.push_back(api::Invalid(addresses_path, addresses, "first value must match `clusterIP`"));
  } else if (first.empty() && !addresses.empty()) {
    errors.push_back(
        api::Invalid(addresses_path, addresses, "must be empty when `clusterIP` is not specified"));
  }
  const json::Value families = spec["ipFamilies"];
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& family : families.elements()) {
    const FieldPath at = path.Child("ipFamilies").Index(index++);
    CheckOneOf(family, at, {"IPv4", "IPv6"}, errors);
    if (!seen.insert(family.AsString()).second) {
      errors.push_back(api::Duplicate(at, family.AsString()));
    }
  }
  if (const json::Value policy = spec["ipFamilyPolicy"]; !policy.is_null()) {
    CheckOneOf(policy, path.Child("ipFamilyPolicy"),
               {"PreferDualStack", "RequireDualStack", "SingleStack"}, errors);
  }
  const std::size_t before = errors.size();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view address = addresses[i].AsString();
    if (i == 0 && address == "None") {
      if (addresses.size() > 1) {
        errors.push_back(
            api::Invalid(addresses_path, addresses, "'None' must be the first and only value"));
      }
      continue;
    }
    CheckIp(ctx, address, addresses_path.Index(i), errors);
  }
  const bool invalid = errors.size() != before;
  if (addresses.size() > 2) {
    errors.push_back(api::Invalid(addresses_path, addresses, "may only hold up to 2 values"));
  }
  if (invalid) return;
  if (addresses.size() == 2 && IsIpv6(addresses[std::size_t{0}].AsString()) ==
                                   IsIpv6(addresses[std::size_t{1}].AsString())) {
    errors.push_back(api::Invalid(addresses_path, addresses,
                                  "may specify no more than one IP for each IP family"));
  }
  for (std::size_t i = 0; i < addresses.size() && i < families.size() && first != "None"; ++i) {
    const std::string_view family = families[i].AsString();
    const std::string_view address = addresses[i].AsString();
    if ((family == "IPv6") == IsIpv6(address)) continue;
    errors.push_back(
        api::Invalid(addresses_path.Index(i), address,
                     base::StrCat("expected an ", family, " value as indicated by `ipFamilies[",
                                  std::to_string(i), "]`")));
  }
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

// What a cluster with IPv4 addresses alone can give (allocateCreate, initIPFamilyFields). Each step
// is taken only if the one before found nothing.
void CheckFamilies(const Context& ctx, json::Value spec, bool reduces, const FieldPath& path,
                   FieldErrors& errors) {
  CheckAddressFields(ctx, spec, path, errors);
  if (!errors.empty()) return;
  const json::Value families = spec["ipFamilies"];
  const json::Value addresses = spec["clusterIPs"];
  const std::string_view policy = spec["ipFamilyPolicy"].AsString();
  const FieldPath policy_path = path.Child("ipFamilyPolicy");
  if (policy == "SingleStack" || policy.empty()) {
    constexpr std::string_view kMust = "must be 'RequireDualStack' or 'PreferDualStack' when ";
    const json::Value shown = json::Value::StringView("SingleStack");
    if (addresses.size() == 2) {
      errors.push_back(api::Invalid(policy_path, shown,
                                    base::StrCat(kMust, "multiple cluster IPs are specified")));
    }
    if (families.size() == 2) {
      errors.push_back(api::Invalid(policy_path, shown,
                                    base::StrCat(kMust, "multiple IP families are specified")));
    }
  } else if (reduces) {
    errors.push_back(api::Invalid(policy_path, policy,
                                  "must be 'SingleStack' to release the secondary IP family"));
  }
  for (std::size_t i = families.size(); i < addresses.size(); ++i) {
    if (!IsIpv6(addresses[i].AsString())) continue;
    errors.push_back(api::Invalid(path.Child("clusterIPs").Index(i), addresses,
                                  "IPv6 is not configured on this cluster"));
  }
  const bool headless = spec["clusterIP"].AsString() == "None";
  if (!errors.empty() || (headless && spec["selector"].empty())) return;
  if (policy == "RequireDualStack") {
    errors.push_back(api::Invalid(policy_path, policy,
                                  "this cluster is not configured for dual-stack services"));
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].AsString() == "IPv4") continue;
    errors.push_back(api::Invalid(path.Child("ipFamilies").Index(i), families[i].AsString(),
                                  "not configured on this cluster"));
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

bool IsHeadless(json::Value spec) {
  return spec["clusterIPs"][std::size_t{0}].AsString() == "None";
}

// A list of addresses or families may grow and shrink at its end (validateUpgradeDowngrade…).
struct ServiceList {
  std::string_view field;
  std::string_view one;             // what an element is called
  std::string_view shown;           // the field whose value is told when the length changes
  bool names_first_always = false;  // errors of any element name the first
};

void CheckListUpdate(const ServiceList& list, json::Value spec, json::Value before,
                     const FieldPath& path, FieldErrors& errors) {
  const json::Value now = spec[list.field];
  const json::Value was = before[list.field];
  const FieldPath at = path.Child(list.field);
  constexpr std::string_view kFixed = "may not change once set";
  if (now.size() == was.size()) {
    for (std::size_t i = 0; i < was.size(); ++i) {
      if (now[i] == was[i]) continue;
      errors.push_back(api::Invalid(at.Index(list.names_first_always ? 0 : i), now, kFixed));
    }
    return;
  }
  const std::size_t first = 0;
  if (now.size() < was.size() && spec["clusterIPs"].empty()) {
    errors.push_back(
        api::Invalid(at.Index(0), now, base::StrCat("primary ", list.one, " can not be unset")));
  }
  if (!now.empty() && !was.empty() && !(now[first] == was[first])) {
    errors.push_back(api::Invalid(at.Index(0), spec[list.shown], kFixed));
  }
  if (now.size() < was.size() && now.size() == 1 &&
      spec["ipFamilyPolicy"].AsString() != "SingleStack") {
    errors.push_back(api::Invalid(
        path.Child("ipFamilyPolicy"), spec["ipFamilyPolicy"],
        base::StrCat("must be set to 'SingleStack' when releasing the secondary ", list.one)));
  }
}

void CheckFamiliesUpdate(json::Value spec, json::Value before, const FieldPath& path,
                         FieldErrors& errors) {
  if (spec["type"].AsString() == "ExternalName" || before["type"].AsString() == "ExternalName") {
    return;
  }
  const bool headless = IsHeadless(spec);
  const bool was_headless = IsHeadless(before);
  if (!headless || !was_headless) {
    CheckListUpdate({"clusterIPs", "clusterIP", "clusterIPs"}, spec, before, path, errors);
  }
  if (!headless && !was_headless) {
    CheckListUpdate({"ipFamilies", "ipFamily", "clusterIPs", true}, spec, before, path, errors);
  }
}

}  // namespace

bool ReducesFamilies(json::Value sent, json::Value old) {
  const std::size_t now = sent["spec"]["ipFamilies"].size();
  return now > 0 && now < old["spec"]["ipFamilies"].size();
}

void CheckServiceAddresses(const Context& ctx, json::Value object, bool reduces_families,
                           FieldErrors& errors) {
  const json::Value spec = object["spec"];
  if (spec["type"].AsString() == "ExternalName") return;
  CheckFamilies(ctx, spec, reduces_families, FieldPath("spec"), errors);
}

void ValidateService(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckTopologyMode(object["metadata"]["annotations"], errors);
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view type = spec["type"].AsString();
  const bool headless = spec["clusterIP"].AsString() == "None";
  FieldErrors addresses;
  // Addresses are allocated first, and nothing else is looked at if that fails. A Service that an update of
  // its status makes gets none.
  const bool allocates = ctx.subresource.empty();
  if (type != "ExternalName" && allocates) {
    CheckFamilies(ctx, spec, false, path, addresses);
  } else if (type != "ExternalName") {
    CheckAddressFields(ctx, spec, path, addresses);
  }
  if (allocates && !addresses.empty()) {
    errors.insert(errors.end(), addresses.begin(), addresses.end());
    return;
  }
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
  errors.insert(errors.end(), addresses.begin(), addresses.end());
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
  CheckTrafficPolicies(spec, ctx.release->GateEnabled("PreferSameTrafficDistribution"), path,
                       errors);
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
  if (spec["type"].AsString() != "ExternalName") {
    FieldErrors found;
    CheckFamilies(ctx, spec, ReducesFamilies(ctx.sent, old), path, found);
    if (!found.empty()) {
      errors.insert(errors.end(), found.begin(), found.end());
      return;
    }
  }
  CheckFamiliesUpdate(spec, before, path, errors);
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
  ValidateService(ctx, object, errors);
}

}  // namespace portcullis::registry

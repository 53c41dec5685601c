// Ingresses, network policies and what names addresses (pkg/apis/networking/validation); budgets of
// disruptions (pkg/apis/policy/validation).

#include <set>

#include "base/strings.h"
#include "golang/netip.h"
#include "registry/kind_table.h"
#include "registry/validation/addresses.h"
#include "registry/validation/conditions.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kBudgetRules[] = {
    {"spec.unhealthyPodEvictionPolicy", FieldRuleKind::kOneOf, "AlwaysAllow|IfHealthyBudget"},
};

constexpr FieldRule kIngressClassRules[] = {
    {"spec.controller", FieldRuleKind::kImmutable},
};

void CheckHost(std::string_view host, const FieldPath& path, FieldErrors& errors) {
  if (host.find('*') == std::string_view::npos) {
    CheckSubdomain(host, path, errors);
    return;
  }
  if (host.size() > 253) {
    errors.push_back(api::Invalid(path, host, "must be no more than 253 bytes"));
  }
  if (host.starts_with("*.") && api::IsDns1123Subdomain(host.substr(2)).empty()) return;
  errors.push_back(api::Invalid(
      path, host,
      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
      "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
      "alphanumeric character (e.g. '*.example.com', regex used for validation is "
      "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"));
}

void CheckResourceBackend(json::Value resource, const FieldPath& path, FieldErrors& errors) {
  if (const json::Value group = resource["apiGroup"]; !group.is_null()) {
    CheckSubdomain(group.AsString(), path.Child("apiGroup"), errors);
  }
  for (const std::string_view field : {"kind", "name"}) {
    const std::string_view text = resource[field].AsString();
    if (text.empty()) {
      errors.push_back(api::Required(path.Child(field), base::StrCat(field, " is required")));
    } else {
      AddInvalid(path.Child(field), text, IsPathSegmentName(text, false), errors);
    }
  }
}

void CheckBackend(json::Value backend, const FieldPath& path, FieldErrors& errors) {
  const json::Value service = backend["service"];
  const json::Value resource = backend["resource"];
  if (!service.is_null() && !resource.is_null()) {
    errors.push_back(api::Invalid(path, "", "cannot set both resource and service backends"));
    return;
  }
  if (!resource.is_null()) {
    CheckResourceBackend(resource, path.Child("resource"), errors);
    return;
  }
  if (service.is_null()) {
    errors.push_back(api::Invalid(path, "", "resource or service backend is required"));
    return;
  }
  const FieldPath at = path.Child("service");
  const std::string_view name = service["name"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(at.Child("name"), ""));
  } else {
    AddInvalid(at.Child("name"), name, api::IsDns1123Label(name), errors);
  }
  const std::string_view port_name = service["port"]["name"].AsString();
  const std::int64_t number = service["port"]["number"].AsInt();
  if (!port_name.empty() && number != 0) {
    errors.push_back(api::Invalid(path, "", "cannot set both port name & port number"));
  } else if (!port_name.empty()) {
    AddInvalid(at.Child("port", "name"), port_name, IsValidPortName(port_name), errors);
  } else if (number != 0) {
    CheckPort(number, at.Child("port", "number"), errors);
  } else {
    errors.push_back(api::Required(path, "port name or number is required"));
  }
}

void CheckIngressPath(json::Value entry, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = entry["pathType"].AsString();
  const std::string_view text = entry["path"].AsString();
  const FieldPath at = path.Child("path");
  if (entry["pathType"].is_null()) {
    errors.push_back(api::Required(path.Child("pathType"), "pathType must be specified"));
    return;
  }
  const bool strict = type == "Exact" || type == "Prefix";
  if (strict || (type == "ImplementationSpecific" && !text.empty())) {
    if (!text.starts_with("/")) {
      errors.push_back(api::Invalid(at, text, "must be an absolute path"));
    }
  }
  if (strict) {
    for (const std::string_view part : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (text.find(part) == std::string_view::npos) continue;
      errors.push_back(api::Invalid(at, text, base::StrCat("must not contain '", part, "'")));
    }
    for (const std::string_view end : {"/..", "/."}) {
      if (!text.ends_with(end)) continue;
      errors.push_back(api::Invalid(at, text, base::StrCat("cannot end with '", end, "'")));
    }
  } else if (type != "ImplementationSpecific") {
    errors.push_back(api::NotSupported(path.Child("pathType"), type,
                                       {"Exact", "ImplementationSpecific", "Prefix"}));
  }
  CheckBackend(entry["backend"], path.Child("backend"), errors);
}

void CheckIngressRule(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  if (const std::string_view host = rule["host"].AsString(); !host.empty()) {
    if (IsIp(host)) {
      errors.push_back(
          api::Invalid(path.Child("host"), host, "must be a DNS name, not an IP address"));
    }
    CheckHost(host, path.Child("host"), errors);
  }
  const json::Value http = rule["http"];
  if (http.is_null()) return;
  const FieldPath paths = path.Child("http", "paths");
  if (http["paths"].empty()) errors.push_back(api::Required(paths, ""));
  std::size_t index = 0;
  for (const json::Value& entry : http["paths"].elements()) {
    CheckIngressPath(entry, paths.Index(index++), errors);
  }
}

void CheckIngressSpec(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  if (spec["rules"].empty() && spec["defaultBackend"].is_null()) {
    errors.push_back(
        api::Invalid(path, json::Value(), "either `defaultBackend` or `rules` must be specified"));
  }
  if (!spec["defaultBackend"].is_null()) {
    CheckBackend(spec["defaultBackend"], path.Child("defaultBackend"), errors);
  }
  std::size_t index = 0;
  for (const json::Value& rule : spec["rules"].elements()) {
    CheckIngressRule(rule, path.Child("rules").Index(index++), errors);
  }
  index = 0;
  for (const json::Value& tls : spec["tls"].elements()) {
    const FieldPath at = path.Child("tls").Index(index++);
    std::size_t host_index = 0;
    for (const json::Value& host : tls["hosts"].elements()) {
      CheckHost(host.AsString(), at.Child("hosts").Index(host_index++), errors);
    }
    if (const std::string_view name = tls["secretName"].AsString(); !name.empty()) {
      CheckSubdomain(name, at.Child("secretName"), errors);
    }
  }
  if (const json::Value name = spec["ingressClassName"]; !name.is_null()) {
    CheckSubdomain(name.AsString(), path.Child("ingressClassName"), errors);
  }
}

void CheckIpBlock(json::Value block, const FieldPath& path, FieldErrors& errors) {
  const std::string_view cidr = block["cidr"].AsString();
  if (cidr.empty()) {
    errors.push_back(api::Required(path.Child("cidr"), ""));
    return;
  }
  CheckCidr(cidr, path.Child("cidr"), errors);
  const auto network = golang::ParseIpPrefix(cidr);
  if (!network.ok()) return;
  std::size_t index = 0;
  for (const json::Value& except : block["except"].elements()) {
    const FieldPath at = path.Child("except").Index(index++);
    CheckCidr(except.AsString(), at, errors);
    const auto inner = golang::ParseIpPrefix(except.AsString());
    if (inner.ok() && (!network->Contains(*inner) || network->length >= inner->length)) {
      errors.push_back(api::Invalid(at, except.AsString(), "must be a strict subset of `cidr`"));
    }
  }
}

void CheckPolicyPort(json::Value port, const FieldPath& path, FieldErrors& errors) {
  if (!port["protocol"].is_null()) {
    CheckOneOf(port["protocol"], path.Child("protocol"), {"TCP", "UDP", "SCTP"}, errors);
  }
  const json::Value end = port["endPort"];
  const json::Value number = port["port"];
  if (number.is_null()) {
    if (!end.is_null()) {
      errors.push_back(api::Invalid(path.Child("endPort"), end.AsInt(),
                                    "may not be specified when `port` is not specified"));
    }
    return;
  }
  if (number.is_string()) {
    if (!end.is_null()) {
      errors.push_back(api::Invalid(path.Child("endPort"), end.AsInt(),
                                    "may not be specified when `port` is non-numeric"));
    }
    AddInvalid(path.Child("port"), number.AsString(), IsValidPortName(number.AsString()), errors);
    return;
  }
  CheckPort(number.AsInt(), path.Child("port"), errors);
  if (end.is_null()) return;
  if (end.AsInt() < number.AsInt()) {
    // The value that is told is that of the port.
    errors.push_back(api::Invalid(path.Child("endPort"), number.AsInt(),
                                  "must be greater than or equal to `port`"));
  }
  CheckPort(end.AsInt(), path.Child("endPort"), errors);
}

void CheckPeer(json::Value peer, const FieldPath& path, FieldErrors& errors) {
  std::size_t peers = 0;
  for (const std::string_view selector : {"podSelector", "namespaceSelector"}) {
    if (peer[selector].is_null()) continue;
    ++peers;
    CheckLabelSelector(peer[selector], path.Child(selector), errors);
  }
  const bool block = !peer["ipBlock"].is_null();
  if (block) {
    ++peers;
    CheckIpBlock(peer["ipBlock"], path.Child("ipBlock"), errors);
  }
  if (peers == 0) {
    errors.push_back(api::Required(path, "must specify a peer"));
  } else if (peers > 1 && block) {
    errors.push_back(api::Forbidden(path, "may not specify both ipBlock and another peer"));
  }
}

void CheckPercent(json::Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_null()) return;
  CheckIntOrPercent(value, path, errors);
  if (const auto percent = PercentOf(value); percent && *percent > 100) {
    errors.push_back(api::Invalid(path, value, "must not be greater than 100%"));
  }
}

void ValidateIngress(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckIngressSpec(object["spec"], FieldPath("spec"), errors);
  constexpr std::string_view kClass = "kubernetes.io/ingress.class";
  const json::Value annotations = object["metadata"]["annotations"];
  const json::Value name = object["spec"]["ingressClassName"];
  if (annotations.Has(kClass) && !name.is_null() &&
      annotations[kClass].AsString() != name.AsString()) {
    errors.push_back(api::Invalid(FieldPath("annotations", kClass), annotations[kClass].AsString(),
                                  "must match `ingressClassName` when both are specified"));
  }
}

// Where an ingress is reached, by the status.
void CheckIngressPoints(json::Value points, json::Value old, FieldErrors& errors) {
  std::set<std::string_view> before;
  for (const json::Value& point : old.elements()) before.insert(point["ip"].AsString());
  std::size_t index = 0;
  for (const json::Value& point : points.elements()) {
    const FieldPath at = FieldPath("status", "loadBalancer", "ingress").Index(index++);
    const std::string_view ip = point["ip"].AsString();
    // An address that was good enough before may stay.
    if (!ip.empty() && !before.contains(ip)) CheckIp(ip, at.Child("ip"), errors);
    const std::string_view host = point["hostname"].AsString();
    if (host.empty()) continue;
    CheckSubdomain(host, at.Child("hostname"), errors);
    if (IsIp(host)) {
      errors.push_back(
          api::Invalid(at.Child("hostname"), host, "must be a DNS name, not an IP address"));
    }
  }
}

void ValidateIngressUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  if (ctx.subresource == "status") {
    return CheckIngressPoints(object["status"]["loadBalancer"]["ingress"],
                              old["status"]["loadBalancer"]["ingress"], errors);
  }
  CheckIngressSpec(object["spec"], FieldPath("spec"), errors);
}

void ValidateNetworkPolicy(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckLabelSelector(spec["podSelector"], path.Child("podSelector"), errors);
  for (const auto& [list, peers] :
       {std::pair<std::string_view, std::string_view>{"ingress", "from"},
        std::pair<std::string_view, std::string_view>{"egress", "to"}}) {
    std::size_t index = 0;
    for (const json::Value& rule : spec[list].elements()) {
      const FieldPath at = path.Child(list).Index(index++);
      std::size_t port_index = 0;
      for (const json::Value& port : rule["ports"].elements()) {
        CheckPolicyPort(port, at.Child("ports").Index(port_index++), errors);
      }
      std::size_t peer_index = 0;
      for (const json::Value& peer : rule[peers].elements()) {
        CheckPeer(peer, at.Child(peers).Index(peer_index++), errors);
      }
    }
  }
  const json::Value types = spec["policyTypes"];
  if (types.size() > 2) {
    errors.push_back(api::Invalid(path.Child("policyTypes"), types,
                                  "may not specify more than two policyTypes"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& type : types.elements()) {
    CheckOneOf(type, path.Child("policyTypes").Index(index++), {"Ingress", "Egress"}, errors);
  }
}

void ValidateIngressClass(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view controller = spec["controller"].AsString();
  if (controller.size() > 250) errors.push_back(api::TooLong(path.Child("controller"), 250));
  CheckDomainPrefixedPath(controller, path.Child("controller"), errors);
  const json::Value parameters = spec["parameters"];
  if (parameters.is_null()) return;
  const FieldPath at = path.Child("parameters");
  CheckResourceBackend(parameters, at, errors);
  const json::Value scope = parameters["scope"];
  if (scope.is_null()) {
    errors.push_back(api::Required(at.Child("scope"), ""));
    return;
  }
  CheckOneOf(scope, at.Child("scope"), {"Cluster", "Namespace"}, errors);
  const json::Value name_space = parameters["namespace"];
  if (scope.AsString() == "Namespace" && name_space.is_null()) {
    errors.push_back(
        api::Required(at.Child("namespace"), "`parameters.scope` is set to 'Namespace'"));
  } else if (scope.AsString() == "Namespace") {
    CheckDnsLabel(name_space.AsString(), at.Child("namespace"), errors);
  } else if (scope.AsString() == "Cluster" && !name_space.is_null()) {
    errors.push_back(
        api::Forbidden(at.Child("namespace"), "`parameters.scope` is set to 'Cluster'"));
  }
}

void ValidatePodDisruptionBudget(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const json::Value least = spec["minAvailable"];
  const json::Value most = spec["maxUnavailable"];
  if (!least.is_null() && !most.is_null()) {
    errors.push_back(api::Invalid(
        path,
        api::BadValue::Raw(
            StructJson({{"MinAvailable", Json(least)},
                        {"Selector", Json(spec["selector"])},
                        {"MaxUnavailable", Json(most)},
                        {"UnhealthyPodEvictionPolicy", Json(spec["unhealthyPodEvictionPolicy"])}})),
        "minAvailable and maxUnavailable cannot be both set"));
  }
  CheckPercent(least, path.Child("minAvailable"), errors);
  CheckPercent(most, path.Child("maxUnavailable"), errors);
  CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
}

void ValidateBudgetUpdate(const Context& ctx, json::Value object, json::Value,
                          FieldErrors& errors) {
  if (ctx.subresource.empty()) return ValidatePodDisruptionBudget(ctx, object, errors);
  const json::Value status = object["status"];
  const FieldPath path("status");
  ValidateConditions(status["conditions"], path.Child("conditions"), errors);
  for (const std::string_view field :
       {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
    CheckNonNegative(status[field], path.Child(field), errors);
  }
}

// Their names are addresses.
class IpAddresses final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  std::vector<std::string> CheckName(std::string_view name, bool) const override {
    FieldErrors errors;
    CheckCanonicalIp(name, FieldPath("name"), errors);
    std::vector<std::string> texts;
    for (const api::FieldError& error : errors) texts.push_back(error.detail);
    return texts;
  }
};

void ValidateIpAddress(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value parent = object["spec"]["parentRef"];
  const FieldPath path("spec", "parentRef");
  if (parent.is_null()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  if (const std::string_view group = parent["group"].AsString(); !group.empty()) {
    CheckSubdomain(group, path.Child("group"), errors);
  }
  for (const std::string_view field : {"resource", "name", "namespace"}) {
    const std::string_view text = parent[field].AsString();
    if (text.empty()) {
      if (field != "namespace") errors.push_back(api::Required(path.Child(field), ""));
    } else {
      AddInvalid(path.Child(field), text, IsPathSegmentName(text, false), errors);
    }
  }
}

void ValidateIpAddressUpdate(const Context&, json::Value object, json::Value old,
                             FieldErrors& errors) {
  const json::Value parent = object["spec"]["parentRef"];
  if (parent == old["spec"]["parentRef"]) return;
  const auto field = [&](std::string_view name) { return Quoted(parent[name].AsString()); };
  const std::string told = parent.is_null() ? "null"
                                            : StructJson({{"Group", field("group")},
                                                          {"Resource", field("resource")},
                                                          {"Namespace", field("namespace")},
                                                          {"Name", field("name")}});
  errors.push_back(
      api::Invalid(FieldPath("spec", "parentRef"), api::BadValue::Raw(told), "field is immutable"));
}

bool AreOfBothFamilies(json::Value cidrs) {
  const auto first = golang::ParseIpPrefix(cidrs[std::size_t{0}].AsString());
  const auto second = golang::ParseIpPrefix(cidrs[std::size_t{1}].AsString());
  return first.ok() && second.ok() && first->address.is_v6 != second->address.is_v6;
}

void ValidateServiceCidr(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value cidrs = object["spec"]["cidrs"];
  const FieldPath path("spec", "cidrs");
  if (cidrs.empty()) {
    errors.push_back(api::Required(path, "at least one CIDR required"));
    return;
  }
  const bool many = cidrs.size() > 2;
  if (many || (cidrs.size() == 2 && !AreOfBothFamilies(cidrs))) {
    errors.push_back(api::Invalid(path, api::BadValue::Raw(StructJson({{"CIDRs", Json(cidrs)}})),
                                  many ? "may only hold up to 2 values"
                                       : "may specify no more than one IP for each IP family, i.e "
                                         "192.168.0.0/24 and 2001:db8::/64"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& cidr : cidrs.elements()) {
    CheckCanonicalCidr(cidr.AsString(), path.Index(index++), errors);
  }
}

void ValidateServiceCidrUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckImmutable(object["spec"]["cidrs"], old["spec"]["cidrs"], FieldPath("spec", "cidrs"), errors);
}

void WarnOfIngress(const Context&, json::Value object, json::Value old,
                   std::vector<std::string>& warnings) {
  if (!old.is_null() || !object["metadata"]["annotations"].Has("kubernetes.io/ingress.class"))
    return;
  warnings.emplace_back(
      "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
      "'spec.ingressClassName' instead");
}

void WarnOfNetworkPolicy(const Context&, json::Value object, json::Value,
                         std::vector<std::string>& warnings) {
  for (const auto& [list, peers] :
       {std::pair<std::string_view, std::string_view>{"ingress", "from"},
        std::pair<std::string_view, std::string_view>{"egress", "to"}}) {
    std::size_t index = 0;
    for (const json::Value& rule : object["spec"][list].elements()) {
      const FieldPath peers_path = FieldPath("spec", list).Index(index++).Child(peers);
      std::size_t peer_index = 0;
      for (const json::Value& peer : rule[peers].elements()) {
        const FieldPath at = peers_path.Index(peer_index++).Child("ipBlock");
        WarnOfCidr(peer["ipBlock"]["cidr"].AsString(), at.Child("cidr"), warnings);
        std::size_t except_index = 0;
        for (const json::Value& except : peer["ipBlock"]["except"].elements()) {
          WarnOfCidr(except.AsString(), at.Child("except").Index(except_index++), warnings);
        }
      }
    }
  }
}

}  // namespace

void AddNetworking(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "ingresses",
             .validate = &ValidateIngress,
             .validate_update = &ValidateIngressUpdate,
             .warn = &WarnOfIngress,
             .traits = {.counts_generation = true}});
  table.Add({.group = "networking.k8s.io",
             .resource = "ingressclasses",
             .validate = &ValidateIngressClass,
             .rules = kIngressClassRules,
             .traits = {.counts_generation = true}});
  table.Add({.group = "networking.k8s.io",
             .resource = "networkpolicies",
             .validate = &ValidateNetworkPolicy,
             .warn = &WarnOfNetworkPolicy,
             .traits = {.counts_generation = true}});
  table.Add({.group = "networking.k8s.io",
             .resource = "ipaddresses",
             .validate = &ValidateIpAddress,
             .validate_update = &ValidateIpAddressUpdate,
             .make = &Make<IpAddresses>});
  table.Add({.group = "networking.k8s.io",
             .resource = "servicecidrs",
             .validate = &ValidateServiceCidr,
             .validate_update = &ValidateServiceCidrUpdate});
  table.Add({.group = "policy",
             .resource = "poddisruptionbudgets",
             .validate = &ValidatePodDisruptionBudget,
             .validate_update = &ValidateBudgetUpdate,
             .rules = kBudgetRules,
             .traits = {.counts_generation = true, .needs_version = true}});
}

}  // namespace portcullis::registry

// Nodes, priority classes, autoscalers, ingresses and network policies.

#include "base/strings.h"
#include "registry/validation/kinds.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

constexpr std::int64_t kHighestUserPriority = 1000000000;

struct SystemPriority {
  std::string_view name;
  std::int64_t value;
};
constexpr SystemPriority kSystemPriorities[] = {{"system-node-critical", 2000001000},
                                                {"system-cluster-critical", 2000000000}};

bool SameTolerationKeys(json::Value a, json::Value b) {
  for (const std::string_view field : {"key", "operator", "value", "effect"}) {
    if (a[field].AsString() != b[field].AsString()) return false;
  }
  return true;
}

// As Go prints the internal type.
std::string TolerationJson(json::Value toleration) {
  return StructJson({{"Key", Quoted(toleration["key"].AsString())},
                     {"Operator", Quoted(toleration["operator"].AsString())},
                     {"Value", Quoted(toleration["value"].AsString())},
                     {"Effect", Quoted(toleration["effect"].AsString())},
                     {"TolerationSeconds", Json(toleration["tolerationSeconds"])}});
}

}  // namespace

void ValidatePriorityClass(const Context&, json::Value object, FieldErrors& errors) {
  const std::string_view name = object["metadata"]["name"].AsString();
  const std::int64_t value = object["value"].AsInt();
  if (name.starts_with("system-")) {
    bool known = false;
    for (const SystemPriority& system : kSystemPriorities) {
      known |= system.name == name && system.value == value;
    }
    if (!known) {
      errors.push_back(api::Forbidden(
          FieldPath("metadata", "name"),
          base::StrCat("priority class names with 'system-' prefix are reserved for system use "
                       "only. error: ",
                       name, " is not a known system priority class")));
    }
  } else if (value > kHighestUserPriority) {
    errors.push_back(api::Forbidden(
        FieldPath("value"), base::StrCat("maximum allowed value of a user defined priority is ",
                                         std::to_string(kHighestUserPriority))));
  }
  if (const json::Value policy = object["preemptionPolicy"]; !policy.is_null()) {
    CheckOneOf(policy, FieldPath("preemptionPolicy"), {"PreemptLowerPriority", "Never"}, errors);
  }
}

void ValidateRuntimeClass(const Context&, json::Value object, FieldErrors& errors) {
  for (const json::Member* amount : SortedMembers(object["overhead"]["podFixed"])) {
    const FieldPath at = FieldPath("overhead", "limits").Key(amount->name());
    CheckNameOfContainerResource(amount->name(), at, errors);
    CheckAmountOfResource(amount->name(), QuantityOf(amount->value), at, errors);
  }
  const json::Value scheduling = object["scheduling"];
  const FieldPath path("scheduling");
  CheckLabels(scheduling["nodeSelector"], path.Child("nodeSelector"), errors);
  const json::Value tolerations = scheduling["tolerations"];
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!SameTolerationKeys(tolerations[i], tolerations[j])) continue;
      errors.push_back(api::Duplicate(path.Child("tolerations").Index(i),
                                      api::BadValue::Raw(TolerationJson(tolerations[i]))));
      break;
    }
  }
}

void ValidateNode(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  std::size_t index = 0;
  for (const json::Value& taint : object["spec"]["taints"].elements()) {
    const FieldPath at = FieldPath("spec", "taints").Index(index++);
    const std::string_view key = taint["key"].AsString();
    AddInvalid(at.Child("key"), key, api::IsQualifiedName(key), errors);
    const std::string_view effect = taint["effect"].AsString();
    if (effect.empty()) {
      errors.push_back(api::Required(at.Child("effect"), ""));
    } else {
      CheckOneOf(taint["effect"], at.Child("effect"),
                 {"NoSchedule", "PreferNoSchedule", "NoExecute"}, errors);
    }
  }
}

void ValidateHorizontalPodAutoscaler(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::int64_t least = spec["minReplicas"].AsInt(1);
  const std::int64_t most = spec["maxReplicas"].AsInt();
  if (!spec["minReplicas"].is_null() && least < 1) {
    errors.push_back(
        api::Invalid(path.Child("minReplicas"), least, "must be greater than or equal to 1"));
  }
  if (most < 1) {
    errors.push_back(api::Invalid(path.Child("maxReplicas"), most, "must be greater than 0"));
  }
  if (most < least) {
    errors.push_back(api::Invalid(path.Child("maxReplicas"), most,
                                  "must be greater than or equal to `minReplicas`"));
  }
  const FieldPath target = path.Child("scaleTargetRef");
  for (const std::string_view field : {"kind", "name"}) {
    const std::string_view value = spec["scaleTargetRef"][field].AsString();
    if (value.empty()) {
      errors.push_back(api::Required(target.Child(field), ""));
    } else {
      AddInvalid(target.Child(field), value, IsPathSegmentName(value, false), errors);
    }
  }
}

void ValidateIngress(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (spec["rules"].empty() && spec["defaultBackend"].is_null()) {
    errors.push_back(
        api::Invalid(path, spec["rules"], "either `defaultBackend` or `rules` must be specified"));
  }
  std::size_t index = 0;
  for (const json::Value& rule : spec["rules"].elements()) {
    const FieldPath rule_path = path.Child("rules").Index(index++);
    if (const std::string_view host = rule["host"].AsString(); !host.empty()) {
      if (IsIp(host)) {
        errors.push_back(
            api::Invalid(rule_path.Child("host"), host, "must be a DNS name, not an IP address"));
      } else if (host.find('*') == std::string_view::npos) {
        CheckSubdomain(host, rule_path.Child("host"), errors);
      }
    }
    const json::Value http = rule["http"];
    if (http.is_null()) continue;
    if (http["paths"].empty()) {
      errors.push_back(api::Required(rule_path.Child("http", "paths"), ""));
    }
    std::size_t path_index = 0;
    for (const json::Value& entry : http["paths"].elements()) {
      const FieldPath at = rule_path.Child("http", "paths").Index(path_index++);
      const std::string_view type = entry["pathType"].AsString();
      const std::string_view text = entry["path"].AsString();
      if (type.empty()) {
        errors.push_back(api::Required(at.Child("pathType"), "pathType must be specified"));
      } else if (type == "Exact" || type == "Prefix") {
        if (!text.starts_with("/")) {
          errors.push_back(api::Invalid(at.Child("path"), text, "must be an absolute path"));
        }
      } else if (type == "ImplementationSpecific") {
        if (!text.empty() && !text.starts_with("/")) {
          errors.push_back(api::Invalid(at.Child("path"), text, "must be an absolute path"));
        }
      } else {
        errors.push_back(api::NotSupported(at.Child("pathType"), type,
                                           {"Exact", "ImplementationSpecific", "Prefix"}));
      }
      const json::Value backend = entry["backend"];
      if (backend["resource"].is_null() && backend["service"].is_null()) {
        errors.push_back(
            api::Required(at.Child("backend"), "resource or service backend is required"));
      } else if (!backend["service"].is_null()) {
        const FieldPath service = at.Child("backend", "service");
        if (backend["service"]["name"].AsString().empty()) {
          errors.push_back(api::Required(service.Child("name"), ""));
        }
        const json::Value port = backend["service"]["port"];
        if (port["name"].AsString().empty() && port["number"].AsInt() == 0) {
          errors.push_back(api::Required(at.Child("backend"), "port name or number is required"));
        } else if (port["name"].AsString().empty()) {
          CheckPort(port["number"].AsInt(), service.Child("port", "number"), errors);
        }
      }
    }
  }
}

void ValidateNetworkPolicy(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  for (api::FieldError& error :
       api::ValidateLabelSelector(spec["podSelector"], path.Child("podSelector"))) {
    errors.push_back(std::move(error));
  }
  for (const auto& [list, peers] :
       {std::pair<std::string_view, std::string_view>{"ingress", "from"},
        std::pair<std::string_view, std::string_view>{"egress", "to"}}) {
    std::size_t index = 0;
    for (const json::Value& rule : spec[list].elements()) {
      const FieldPath at = path.Child(list).Index(index++);
      std::size_t port_index = 0;
      for (const json::Value& port : rule["ports"].elements()) {
        const FieldPath port_path = at.Child("ports").Index(port_index++);
        if (!port["protocol"].is_null()) {
          CheckOneOf(port["protocol"], port_path.Child("protocol"), {"TCP", "UDP", "SCTP"}, errors);
        }
        if (!port["port"].is_null()) {
          CheckPortNumOrName(port["port"], port_path.Child("port"), errors);
        }
      }
      std::size_t peer_index = 0;
      for (const json::Value& peer : rule[peers].elements()) {
        const FieldPath peer_path = at.Child(peers).Index(peer_index++);
        const bool selects = !peer["podSelector"].is_null() || !peer["namespaceSelector"].is_null();
        if (!peer["ipBlock"].is_null()) {
          if (selects) {
            errors.push_back(
                api::Forbidden(peer_path, "may not specify both ipBlock and another peer"));
          }
          if (!IsCidr(peer["ipBlock"]["cidr"].AsString())) {
            errors.push_back(
                api::Invalid(peer_path.Child("ipBlock", "cidr"), peer["ipBlock"]["cidr"].AsString(),
                             "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
          }
        } else if (!selects) {
          errors.push_back(api::Required(peer_path, "must specify a peer"));
        }
      }
    }
  }
}

}  // namespace portcullis::registry

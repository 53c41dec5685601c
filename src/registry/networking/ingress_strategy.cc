// SPDX-License-Identifier: Apache-2.0

// Ingresses (pkg/apis/networking/validation).

#include <set>

#include "api/named_value.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/validation/addresses.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

void CheckHost(std::string_view host, const FieldPath& path, FieldErrors& errors) {
  if (host.find('*') == std::string_view::npos) {
    CheckSubdomain(host, path, errors);
    return;
  }
  if (host.size() > 253) {
    errors.push_back(api::Invalid(path, host, "must be no more than 253 characters"));
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
      errors.push_back(api::Required(path.Child(field), ""));
    } else {
      AddInvalid(path.Child(field), text, IsPathSegmentName(text, false), errors);
    }
  }
}

// `relaxed`: names of services may begin with a digit (gate RelaxedServiceNameValidation).
void CheckBackend(json::Value backend, bool relaxed, const FieldPath& path, FieldErrors& errors) {
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
    AddInvalid(at.Child("name"), name,
               relaxed ? api::IsDns1123Label(name) : api::IsDns1035Label(name), errors);
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

void CheckIngressPath(json::Value entry, bool relaxed, const FieldPath& path, FieldErrors& errors) {
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
    errors.push_back(api::NotSupported(path.Child("pathType"), api::NamedValue(type),
                                       {"Exact", "ImplementationSpecific", "Prefix"}));
  }
  CheckBackend(entry["backend"], relaxed, path.Child("backend"), errors);
}

void CheckIngressRule(json::Value rule, bool relaxed, const FieldPath& path, FieldErrors& errors) {
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
    CheckIngressPath(entry, relaxed, paths.Index(index++), errors);
  }
}

bool IsRelaxedName(json::Value backend) {
  const std::string_view name = backend["service"]["name"].AsString();
  return api::IsDns1123Label(name).empty() && !api::IsDns1035Label(name).empty();
}

// Whether a stored ingress leads to a service whose name begins with a digit.
bool HasRelaxedName(json::Value spec) {
  if (IsRelaxedName(spec["defaultBackend"])) return true;
  for (const json::Value& rule : spec["rules"].elements()) {
    for (const json::Value& entry : rule["http"]["paths"].elements()) {
      if (IsRelaxedName(entry["backend"])) return true;
    }
  }
  return false;
}

// `old` is the stored spec that an update replaces, or null.
void CheckIngressSpec(const Context& ctx, json::Value spec, json::Value old, const FieldPath& path,
                      FieldErrors& errors) {
  const bool relaxed =
      ctx.release->GateEnabled("RelaxedServiceNameValidation") || HasRelaxedName(old);
  if (spec["rules"].empty() && spec["defaultBackend"].is_null()) {
    const json::Value sent = ctx.sent["spec"]["rules"];
    errors.push_back(api::Invalid(path, IsSentEmpty(sent) ? sent : json::Value(),
                                  "either `defaultBackend` or `rules` must be specified"));
  }
  if (!spec["defaultBackend"].is_null()) {
    CheckBackend(spec["defaultBackend"], relaxed, path.Child("defaultBackend"), errors);
  }
  std::size_t index = 0;
  for (const json::Value& rule : spec["rules"].elements()) {
    CheckIngressRule(rule, relaxed, path.Child("rules").Index(index++), errors);
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

void ValidateIngress(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckIngressSpec(ctx, object["spec"], {}, FieldPath("spec"), errors);
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
void CheckIngressPoints(const Context& ctx, json::Value points, json::Value old,
                        FieldErrors& errors) {
  std::set<std::string_view> before;
  for (const json::Value& point : old.elements()) before.insert(point["ip"].AsString());
  std::size_t index = 0;
  for (const json::Value& point : points.elements()) {
    const FieldPath at = FieldPath("status", "loadBalancer", "ingress").Index(index++);
    const std::string_view ip = point["ip"].AsString();
    // An address that was good enough before may stay.
    if (!ip.empty() && !before.contains(ip)) CheckIp(ctx, ip, at.Child("ip"), errors);
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
    return CheckIngressPoints(ctx, object["status"]["loadBalancer"]["ingress"],
                              old["status"]["loadBalancer"]["ingress"], errors);
  }
  CheckIngressSpec(ctx, object["spec"], old["spec"], FieldPath("spec"), errors);
}

void WarnOfIngress(const Context&, json::Value object, json::Value old,
                   std::vector<std::string>& warnings) {
  if (!old.is_null() || !object["spec"]["ingressClassName"].is_null() ||
      !object["metadata"]["annotations"].Has("kubernetes.io/ingress.class")) {
    return;
  }
  warnings.emplace_back(
      "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
      "'spec.ingressClassName' instead");
}

void WarnOfIngressStatus(const Context&, json::Value object, json::Value,
                         std::vector<std::string>& warnings) {
  WarnOfIngressPoints(object["status"]["loadBalancer"]["ingress"],
                      FieldPath("status", "loadBalancer", "ingress"), warnings);
}

}  // namespace

void AddIngressStrategy(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "ingresses",
             .validate = &ValidateIngress,
             .validate_update = &ValidateIngressUpdate,
             .warn = &WarnOfIngress,
             .warn_of_status = &WarnOfIngressStatus,
             .judged_in = "v1",
             .traits = {.counts_generation = true},
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry

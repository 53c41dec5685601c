// SPDX-License-Identifier: Apache-2.0

// EndpointSlices (pkg/apis/discovery/validation, pkg/registry/discovery/endpointslice).

#include <set>
#include <span>

#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/services/endpoint_port.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

// `list` is the place of all addresses, `path` that of this one.
void CheckSliceAddress(const Context& ctx, std::string_view address, std::string_view type,
                       const FieldPath& list, const FieldPath& path, FieldErrors& errors) {
  if (type == "FQDN") {
    std::string_view name = address;
    if (name.ends_with(".")) name.remove_suffix(1);
    if (name.empty()) {
      errors.push_back(api::Required(path, ""));
      return;
    }
    const auto texts = api::IsDns1123Subdomain(name);
    AddInvalid(path, address, texts, errors);
    if (texts.empty() && name.find('.') == std::string_view::npos) {
      errors.push_back(api::Invalid(
          path, address, "should be a domain with at least two segments separated by dots"));
    }
    return;
  }
  if (type != "IPv4" && type != "IPv6") return;
  const std::size_t before = errors.size();
  if (type == "IPv4") {
    CheckIp(ctx, address, path, errors);
  } else {
    CheckCanonicalIp(address, path, errors);
  }
  if (errors.size() != before) return;
  if (IsIpv6(address) != (type == "IPv6")) {
    errors.push_back(api::Invalid(list, address, base::StrCat("must be an ", type, " address")));
  }
  CheckNonSpecialIp(address, path, errors);
}

// Zones and nodes that an endpoint is meant for. Too many zones hide the nodes.
void CheckHints(json::Value hints, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMostHints = 8;
  for (const std::string_view list : {"forZones", "forNodes"}) {
    const FieldPath at = path.Child(list);
    const std::span<const json::Value> places = hints[list].elements();
    if (places.size() > kMostHints) {
      errors.push_back(api::TooMany(at, static_cast<int>(places.size()), kMostHints));
      return;
    }
    std::set<std::string_view> names;
    std::size_t index = 0;
    for (const json::Value& place : places) {
      const FieldPath name_path = at.Index(index++).Child("name");
      const std::string_view name = place["name"].AsString();
      if (!names.insert(name).second) errors.push_back(api::Duplicate(name_path, name));
      AddInvalid(name_path, name,
                 list == "forZones" ? api::IsValidLabelValue(name) : api::IsDns1123Subdomain(name),
                 errors);
    }
  }
}

void CheckEndpoint(const Context& ctx, json::Value endpoint, std::string_view type,
                   const FieldPath& path, FieldErrors& errors) {
  const json::Value addresses = endpoint["addresses"];
  const FieldPath list = path.Child("addresses");
  if (addresses.empty()) {
    errors.push_back(api::Required(list, "must contain at least 1 address"));
  } else if (addresses.size() > 100) {
    errors.push_back(api::TooMany(list, static_cast<int>(addresses.size()), 100));
  }
  std::size_t index = 0;
  for (const json::Value& address : addresses.elements()) {
    CheckSliceAddress(ctx, address.AsString(), type, list, list.Index(index++), errors);
  }
  if (const json::Value node = endpoint["nodeName"]; !node.is_null()) {
    CheckSubdomain(node.AsString(), path.Child("nodeName"), errors);
  }
  CheckLabels(endpoint["deprecatedTopology"], path.Child("deprecatedTopology"), errors);
  if (const json::Value host = endpoint["hostname"]; !host.is_null()) {
    CheckDnsLabel(host.AsString(), path.Child("hostname"), errors);
  }
  CheckHints(endpoint["hints"], path.Child("hints"), errors);
}

void CheckEndpoints(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value endpoints = object["endpoints"];
  if (endpoints.size() > 1000) {
    errors.push_back(
        api::TooMany(FieldPath("endpoints"), static_cast<int>(endpoints.size()), 1000));
    return;
  }
  const std::string_view type = object["addressType"].AsString();
  std::size_t index = 0;
  for (const json::Value& endpoint : endpoints.elements()) {
    CheckEndpoint(ctx, endpoint, type, FieldPath("endpoints").Index(index++), errors);
  }
}

void CheckTypeAndPorts(json::Value object, FieldErrors& errors) {
  if (object["addressType"].AsString().empty()) {
    errors.push_back(api::Required(FieldPath("addressType"), ""));
  } else {
    CheckOneOf(object["addressType"], FieldPath("addressType"), {"FQDN", "IPv4", "IPv6"}, errors);
  }
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& port : object["ports"].elements()) {
    const FieldPath at = FieldPath("ports").Index(index++);
    const std::string_view name = port["name"].AsString();
    if (!name.empty()) CheckDnsLabel(name, at.Child("name"), errors);
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
    CheckProtocolAndApp(port, at, errors);
  }
}

void ValidateEndpointSlice(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckTypeAndPorts(object, errors);
  CheckEndpoints(ctx, object, errors);
}

// Endpoints that do not change need not become better.
void ValidateEndpointSliceUpdate(const Context& ctx, json::Value object, json::Value old,
                                 FieldErrors& errors) {
  CheckTypeAndPorts(object, errors);
  if (!(object["endpoints"] == old["endpoints"])) CheckEndpoints(ctx, object, errors);
  CheckImmutable(object["addressType"], old["addressType"], FieldPath("addressType"), errors);
}

// v1 has no topology but the node's name; what an older version wrote stays until it is touched.
json::Value WithoutTopology(json::Arena& arena, json::Value object) {
  json::ArrayBuilder endpoints(arena);
  for (const json::Value& endpoint : object["endpoints"].elements()) {
    endpoints.Add(json::Without(arena, endpoint, "deprecatedTopology"));
  }
  if (endpoints.size() == 0) return object;
  return json::With(arena, object, "endpoints", endpoints.Build());
}

// Labels count as a change too: they tell whose slice it is.
class EndpointSlices final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return WithoutTopology(ctx.arena, DefaultStrategy::PrepareForCreate(ctx, object));
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    // A topology that is about to be dropped counts as a change.
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (!(object["endpoints"] == old["endpoints"])) object = WithoutTopology(ctx.arena, object);
    const std::int64_t before = old["metadata"]["generation"].AsInt();
    if (object["metadata"]["labels"] == old["metadata"]["labels"] ||
        object["metadata"]["generation"].AsInt() != before) {
      return object;
    }
    return json::SetPath(ctx.arena, object, {"metadata", "generation"},
                         json::Value::Int(before + 1));
  }
};

// Which domains of addresses are deprecated, which only a create is warned of, and addresses.
void WarnOfSlice(const Context&, json::Value object, json::Value old,
                 std::vector<std::string>& warnings) {
  if (old.is_null() && object["addressType"].AsString() == "FQDN") {
    warnings.emplace_back("spec.addressType: FQDN endpoints are deprecated");
  }
  const std::string_view manager =
      object["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"].AsString();
  if (manager == "endpointslice-controller.k8s.io" ||
      manager == "endpointslicemirroring-controller.k8s.io") {
    return;
  }
  std::size_t index = 0;
  for (const json::Value& endpoint : object["endpoints"].elements()) {
    const FieldPath list = FieldPath("endpoints").Index(index++).Child("addresses");
    std::size_t position = 0;
    for (const json::Value& address : endpoint["addresses"].elements()) {
      WarnOfIp(address.AsString(), list.Index(position++), warnings);
    }
  }
}

constexpr DisabledField kDisabledOfEndpointSlices[] = {
    {"PreferSameTrafficDistribution", "endpoints[].hints.forNodes"}};

}  // namespace

void AddEndpointSliceStrategy(KindTable& table) {
  table.Add({.group = "discovery.k8s.io",
             .resource = "endpointslices",
             .validate = &ValidateEndpointSlice,
             .validate_update = &ValidateEndpointSliceUpdate,
             .warn = &WarnOfSlice,
             .traits = {.counts_generation = true},
             .metadata = {.update = "F"},
             .disabled = kDisabledOfEndpointSlices,
             .make = &Make<EndpointSlices>});
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// Endpoints (pkg/apis/core/validation).

#include "registry/kind_table.h"
#include "registry/services/endpoint_port.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

void CheckAddress(const Context& ctx, json::Value address, const FieldPath& path,
                  FieldErrors& errors) {
  const std::string_view ip = address["ip"].AsString();
  CheckIp(ctx, ip, path.Child("ip"), errors);
  if (const std::string_view host = address["hostname"].AsString(); !host.empty()) {
    CheckDnsLabel(host, path.Child("hostname"), errors);
  }
  if (const json::Value node = address["nodeName"]; !node.is_null()) {
    CheckSubdomain(node.AsString(), path.Child("nodeName"), errors);
  }
  if (IsIp(ip)) {
    CheckNonSpecialIp(ip, path.Child("ip"), errors);
  } else {
    errors.push_back(api::Invalid(path.Child("ip"), ip, "must be a valid IP address"));
  }
}

void ValidateEndpoints(const Context& ctx, json::Value object, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& subset : object["subsets"].elements()) {
    const FieldPath at = FieldPath("subsets").Index(index++);
    if (subset["addresses"].empty() && subset["notReadyAddresses"].empty()) {
      errors.push_back(api::Required(at, "must specify `addresses` or `notReadyAddresses`"));
    }
    for (const std::string_view list : {"addresses", "notReadyAddresses"}) {
      std::size_t address_index = 0;
      for (const json::Value& address : subset[list].elements()) {
        CheckAddress(ctx, address, at.Child(list).Index(address_index++), errors);
      }
    }
    std::size_t port_index = 0;
    for (const json::Value& port : subset["ports"].elements()) {
      const FieldPath port_path = at.Child("ports").Index(port_index++);
      const std::string_view name = port["name"].AsString();
      if (name.empty()) {
        if (subset["ports"].size() > 1) {
          errors.push_back(api::Required(port_path.Child("name"), ""));
        }
      } else {
        CheckDnsLabel(name, port_path.Child("name"), errors);
      }
      CheckPort(port["port"].AsInt(), port_path.Child("port"), errors);
      CheckProtocolAndApp(port, port_path, errors);
    }
  }
}

void WarnOfEndpoints(const Context&, json::Value object, json::Value,
                     std::vector<std::string>& warnings) {
  std::size_t index = 0;
  for (const json::Value& subset : object["subsets"].elements()) {
    const FieldPath at = FieldPath("subsets").Index(index++);
    for (const std::string_view list : {"addresses", "notReadyAddresses"}) {
      std::size_t position = 0;
      for (const json::Value& address : subset[list].elements()) {
        WarnOfIp(address["ip"].AsString(), at.Child(list).Index(position++).Child("ip"), warnings);
      }
    }
  }
}

}  // namespace

void AddEndpointsStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "endpoints",
             .validate = &ValidateEndpoints,
             .warn = &WarnOfEndpoints,
             .traits = {.created_by_put = true},
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry

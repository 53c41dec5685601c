// SPDX-License-Identifier: Apache-2.0

// NetworkPolicies (pkg/apis/networking/validation).

#include "golang/netip.h"
#include "registry/kind_table.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

void CheckIpBlock(const Context& ctx, json::Value block, const FieldPath& path,
                  FieldErrors& errors) {
  const std::string_view cidr = block["cidr"].AsString();
  if (cidr.empty()) {
    errors.push_back(api::Required(path.Child("cidr"), ""));
    return;
  }
  CheckCidr(ctx, cidr, path.Child("cidr"), errors);
  const auto network = golang::ParsePrefixSloppy(cidr);
  if (!network) return;
  std::size_t index = 0;
  for (const json::Value& except : block["except"].elements()) {
    const FieldPath at = path.Child("except").Index(index++);
    CheckCidr(ctx, except.AsString(), at, errors);
    const auto inner = golang::ParsePrefixSloppy(except.AsString());
    if (inner && (!network->Contains(*inner) || network->length >= inner->length)) {
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

void CheckPeer(const Context& ctx, json::Value peer, const FieldPath& path, FieldErrors& errors) {
  std::size_t peers = 0;
  for (const std::string_view selector : {"podSelector", "namespaceSelector"}) {
    if (peer[selector].is_null()) continue;
    ++peers;
    CheckLabelSelector(peer[selector], path.Child(selector), errors);
  }
  const bool block = !peer["ipBlock"].is_null();
  if (block) {
    ++peers;
    CheckIpBlock(ctx, peer["ipBlock"], path.Child("ipBlock"), errors);
  }
  if (peers == 0) {
    errors.push_back(api::Required(path, "must specify a peer"));
  } else if (peers > 1 && block) {
    errors.push_back(api::Forbidden(path, "may not specify both ipBlock and another peer"));
  }
}

void ValidateNetworkPolicy(const Context& ctx, json::Value object, FieldErrors& errors) {
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
        CheckPeer(ctx, peer, at.Child(peers).Index(peer_index++), errors);
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

void AddNetworkPolicyStrategy(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "networkpolicies",
             .validate = &ValidateNetworkPolicy,
             .warn = &WarnOfNetworkPolicy,
             .traits = {.counts_generation = true, .counts_empty = true}});
}

}  // namespace portcullis::registry

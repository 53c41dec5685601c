// SPDX-License-Identifier: Apache-2.0

// Who may write which part of the status of a ResourceClaim: rights of their own on subresources that
// no URL has (pkg/registry/resource/utils.go).

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "api/names.h"
#include "authz/authorizer.h"
#include "base/strings.h"
#include "registry/devices/device_checks.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kAssociatedNode = "associated-node:";
constexpr std::string_view kArbitraryNode = "arbitrary-node:";

// "" if the user may, else the refusal.
std::string RefusalOf(const Context& ctx, authz::Attributes attributes) {
  attributes.user = &ctx.user;
  attributes.group = ctx.resource.group;
  attributes.version = ctx.resource.version;
  attributes.resource = ctx.resource.resource;
  const authz::Decision decision = ctx.authorizer->Authorize(attributes);
  if (decision.allowed()) return "";
  const bool both = !decision.error.empty() && !decision.reason.empty();
  return std::string(
      authz::Denied(attributes, both ? base::StrCat(decision.error, ": ", decision.reason)
                                     : base::StrCat(decision.error, decision.reason))
          .message());
}

void CheckBinding(const Context& ctx, json::Value status, json::Value old, FieldErrors& errors) {
  if (status["allocation"] == old["allocation"] && status["reservedFor"] == old["reservedFor"]) {
    return;
  }
  authz::Attributes attributes;
  attributes.verb = ctx.verb;
  attributes.subresource = "binding";
  const std::string refusal = RefusalOf(ctx, attributes);
  if (refusal.empty()) return;
  errors.push_back(
      api::Forbidden(FieldPath("status", "allocation"),
                     base::StrCat("changing status.allocation or status.reservedFor requires "
                                  "resource=\"resourceclaims/binding\", verb=\"",
                                  ctx.verb, "\" permission: ", refusal)));
}

// The drivers of devices whose status comes, goes or changes.
std::set<std::string_view> ChangedDrivers(json::Value devices, json::Value old) {
  const auto key = [](json::Value device) {
    return std::tuple(device["driver"].AsString(), device["pool"].AsString(),
                      device["device"].AsString(), device["shareID"].AsString());
  };
  std::map<decltype(key({})), json::Value> before;
  for (const json::Value& device : old.elements()) before[key(device)] = device;
  std::set<std::string_view> drivers;
  for (const json::Value& device : devices.elements()) {
    const auto found = before.find(key(device));
    if (found == before.end() || !(found->second == device)) {
      drivers.insert(device["driver"].AsString());
    }
    if (found != before.end()) before.erase(found);
  }
  for (const auto& [gone, device] : before) drivers.insert(device["driver"].AsString());
  return drivers;
}

// The one node that an allocation is for, or "".
std::string_view NodeOf(json::Value allocation) {
  const json::Value terms = allocation["nodeSelector"]["nodeSelectorTerms"];
  const json::Value term = terms[std::size_t{0}];
  const json::Value field = term["matchFields"][std::size_t{0}];
  const bool names_one = terms.size() == 1 && term["matchExpressions"].empty() &&
                         term["matchFields"].size() == 1 &&
                         field["key"].AsString() == "metadata.name" &&
                         field["operator"].AsString() == "In" && field["values"].size() == 1;
  return names_one ? field["values"][std::size_t{0}].AsString() : std::string_view();
}

// Whether the user is a service account on that node, as its token tells.
bool IsOnNode(const api::UserInfo& user, std::string_view node) {
  const auto names = user.extra.find("authentication.kubernetes.io/node-name");
  return !node.empty() && user.name.starts_with("system:serviceaccount:") &&
         names != user.extra.end() && names->second.size() == 1 && names->second.front() == node;
}

void CheckDrivers(const Context& ctx, json::Value status, json::Value old, FieldErrors& errors) {
  std::vector<std::string> verbs = {base::StrCat(kArbitraryNode, ctx.verb)};
  if (IsOnNode(ctx.user, NodeOf(status["allocation"]))) {
    verbs.insert(verbs.begin(), base::StrCat(kAssociatedNode, ctx.verb));
  }
  for (const std::string_view driver : ChangedDrivers(status["devices"], old["devices"])) {
    std::string first_refusal;
    bool allowed = false;
    for (const std::string& verb : verbs) {
      authz::Attributes attributes;
      attributes.verb = verb;
      attributes.subresource = "driver";
      attributes.ns = ctx.name_space;
      attributes.name = driver;
      const std::string refusal = RefusalOf(ctx, attributes);
      if (first_refusal.empty()) first_refusal = refusal;
      allowed = allowed || refusal.empty();
    }
    if (allowed) continue;
    errors.push_back(api::Forbidden(
        FieldPath("status", "devices"),
        base::StrCat(
            "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[",
            base::Join(verbs, " "), "]\" permission: ", first_refusal)));
  }
}

}  // namespace

void CheckMayWriteClaimStatus(const Context& ctx, json::Value status, json::Value old,
                              FieldErrors& errors) {
  if (ctx.authorizer == nullptr ||
      !ctx.release->GateEnabled("DRAResourceClaimGranularStatusAuthorization")) {
    return;
  }
  CheckBinding(ctx, status, old, errors);
  if (!status["allocation"].is_null()) CheckDrivers(ctx, status, old, errors);
}

}  // namespace portcullis::registry

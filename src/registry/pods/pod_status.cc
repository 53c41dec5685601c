// SPDX-License-Identifier: Apache-2.0

// What may not happen to a pod's status (pkg/apis/core/validation, ValidatePodStatusUpdate).

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "golang/netip.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

void CheckConditions(json::Value conditions, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const FieldPath at = path.Index(index++);
    if (const json::Value number = condition["observedGeneration"]; number.AsInt() < 0) {
      errors.push_back(api::Invalid(at.Child("observedGeneration"), number.AsInt(),
                                    "must be a non-negative integer"));
    }
    const std::string_view type = condition["type"].AsString();
    if (type == "PodScheduled" || type == "Ready" || type == "Initialized") continue;
    AddInvalid(at.Child("Type"), type, api::IsQualifiedName(type), errors);
  }
}

struct StatusList {
  std::string_view name;
  std::string_view containers;  // the list of the spec
};
constexpr StatusList kStatusLists[] = {{"containerStatuses", "containers"},
                                       {"initContainerStatuses", "initContainers"},
                                       {"ephemeralContainerStatuses", "ephemeralContainers"}};

json::Value FindNamed(json::Value list, json::Value name) {
  for (const json::Value& element : list.elements()) {
    if (element["name"] == name) return element;
  }
  return {};
}

// Whether one of the statuses with the name is not that of an end.
bool RunsAgain(json::Value statuses, json::Value name) {
  const auto all = statuses.elements();
  return std::any_of(all.begin(), all.end(), [&](const json::Value& status) {
    return status["name"] == name && !status["state"].Has("terminated");
  });
}

// A container whose rules say what to do with an exit code.
bool RuleRestarts(json::Value container, std::int64_t code, bool& decided) {
  for (const json::Value& rule : container["restartPolicyRules"].elements()) {
    const json::Value exit = rule["exitCodes"];
    bool listed = false;
    for (const json::Value& value : exit["values"].elements()) {
      listed = listed || value.AsInt() == code;
    }
    if (listed != (exit["operator"].AsString() == "In")) continue;
    decided = true;
    return rule["action"].AsString() == "Restart";
  }
  return false;
}

bool MayRestart(json::Value container, json::Value spec, std::int64_t code, bool ephemeral) {
  if (ephemeral) return false;
  bool decided = false;
  const bool restarts = RuleRestarts(container, code, decided);
  if (decided) return restarts;
  std::string_view policy = container["restartPolicy"].AsString();
  if (policy.empty()) policy = spec["restartPolicy"].AsString();
  return policy == "Always" || (policy == "OnFailure" && code != 0);
}

// One container's rule may start all of them again.
bool AllMayRestart(json::Value spec) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::Value& container : spec[list].elements()) {
      for (const json::Value& rule : container["restartPolicyRules"].elements()) {
        if (rule["action"].AsString() == "RestartAllContainers") return true;
      }
    }
  }
  return false;
}

// What has ended for good does not run again. With rules for restarts (gate ContainerRestartRules), this
// goes for a container that the spec does not have as well.
void CheckTransitions(const Context& ctx, json::Value now, json::Value before, json::Value spec,
                      FieldErrors& errors) {
  const bool has_rules = ctx.release->GateEnabled("ContainerRestartRules");
  const bool all =
      ctx.release->GateEnabled("RestartAllContainersOnContainerExits") && AllMayRestart(spec);
  for (const StatusList& list : kStatusLists) {
    if (all && list.containers != "ephemeralContainers") continue;
    std::size_t index = 0;
    for (const json::Value& status : before[list.name].elements()) {
      const FieldPath at = FieldPath("status", list.name).Index(index++).Child("state");
      const json::Value* ended = status["state"].Find("terminated");
      if (ended == nullptr) continue;
      if (!RunsAgain(now[list.name], status["name"])) continue;
      const json::Value container = FindNamed(spec[list.containers], status["name"]);
      const bool known = !container.is_null() || !has_rules;
      if (known && MayRestart(container, spec, (*ended)["exitCode"].AsInt(),
                              list.containers == "ephemeralContainers")) {
        continue;
      }
      errors.push_back(api::Forbidden(at, "may not be transitioned to non-terminated state"));
    }
  }
}

void CheckClaimStatuses(json::Value statuses, json::Value claims, FieldErrors& errors) {
  const FieldPath path("status", "resourceClaimStatuses");
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& status : statuses.elements()) {
    const FieldPath entry = path.Index(index++);
    const FieldPath at = entry.Child("name");
    const std::string_view name = status["name"].AsString();
    if (FindNamed(claims, status["name"]).is_null()) {
      errors.push_back(
          api::Invalid(at, name, "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!seen.insert(name).second) errors.push_back(api::Duplicate(at, name));
    if (const json::Value claim = status["resourceClaimName"]; !claim.is_null()) {
      CheckSubdomain(claim.AsString(), entry.Child("resourceClaimName"), errors);
    }
  }
}

// Whether several addresses are of both families. `error` names the first that is no address.
bool AreDualStack(json::Value entries, std::string& error) {
  bool has_v4 = false;
  bool has_v6 = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view text = entries[i]["ip"].AsString();
    const auto ip = golang::ParseIpSloppy(text);
    if (!ip) {
      error = base::StrCat("failed to check for dual stack with error:invalid IP[",
                           std::to_string(i), "]: ", text);
      return false;
    }
    (ip->Unmap().is_v6 ? has_v6 : has_v4) = true;
  }
  return has_v4 && has_v6;
}

// At most one address of each family; what was there before may stay.
void CheckAddresses(const Context& ctx, json::Value now, json::Value before, std::string_view list,
                    FieldErrors& errors) {
  const FieldPath path("status", list);
  std::size_t index = 0;
  for (const json::Value& entry : now[list].elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view ip = entry["ip"].AsString();
    bool known = false;
    for (const json::Value& old : before[list].elements())
      known = known || old["ip"] == entry["ip"];
    if (!known) CheckIp(ctx, ip, at, errors);
  }
  if (now[list].size() < 2) return;
  std::string error;
  const bool dual = AreDualStack(now[list], error);
  if (!error.empty()) errors.push_back(api::InternalFieldError(path, error));
  if (!dual || now[list].size() > 2) {
    std::string shown;
    for (const json::Value& entry : now[list].elements()) {
      shown += base::StrCat(shown.empty() ? "[" : ",",
                            StructJson({{"IP", Quoted(entry["ip"].AsString())}}));
    }
    errors.push_back(api::Invalid(path, api::BadValue::Raw(shown + "]"),
                                  "may specify no more than one IP for each IP family"));
  }
}

}  // namespace

void ValidatePodStatus(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  const FieldPath path("status");
  const json::Value now = object["status"];
  const json::Value before = old["status"];
  CheckConditions(now["conditions"], path.Child("conditions"), errors);
  const std::string_view node = now["nominatedNodeName"].AsString();
  if (!node.empty() && !(now["nominatedNodeName"] == before["nominatedNodeName"])) {
    CheckSubdomain(node, path.Child("nominatedNodeName"), errors);
    if (!old["spec"]["nodeName"].AsString().empty()) {
      errors.push_back(api::Forbidden(path.Child("nominatedNodeName"),
                                      "may not be set on pods that are already bound to a node"));
    }
  }
  if (const json::Value number = now["observedGeneration"]; number.AsInt() < 0) {
    errors.push_back(api::Invalid(path.Child("observedGeneration"), number.AsInt(),
                                  "must be a non-negative integer"));
  }
  CheckImmutable(now["qosClass"], before["qosClass"], path.Child("qosClass"), errors);
  CheckTransitions(ctx, now, before, old["spec"], errors);
  CheckClaimStatuses(now["resourceClaimStatuses"], object["spec"]["resourceClaims"], errors);
  CheckExtendedClaimStatus(object, errors);
  CheckAddresses(ctx, now, before, "podIPs", errors);
  if (const json::Value hosts = now["hostIPs"]; !hosts.empty()) {
    const json::Value first = hosts[std::size_t{0}]["ip"];
    if (first.AsString() != now["hostIP"].AsString()) {
      errors.push_back(api::Invalid(path.Child("hostIPs").Index(0).Child("ip"), first.AsString(),
                                    "must be equal to `hostIP`"));
    }
    CheckAddresses(ctx, now, before, "hostIPs", errors);
  }
  CheckContainerStatuses(object, errors);
}

}  // namespace portcullis::registry

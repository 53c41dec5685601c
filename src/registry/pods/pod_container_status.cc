// SPDX-License-Identifier: Apache-2.0

// What kubelets report of containers and what the scheduler reports of claims
// (pkg/apis/core/validation, ValidatePodStatusUpdate).

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/strings.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kLongestHealthMessage = 1024;

void CheckId(json::Value id, const FieldPath& path, FieldErrors& errors) {
  constexpr std::int64_t kHighest = 2147483647;
  if (id.AsInt() >= 0 && id.AsInt() <= kHighest) return;
  errors.push_back(api::Invalid(path, id.AsInt(), "must be between 0 and 2147483647, inclusive"));
}

void CheckUsers(json::Value statuses, const FieldPath& path, std::string_view os,
                FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& status : statuses.elements()) {
    const FieldPath at = path.Index(index++).Child("user", "linux");
    const json::Value user = status["user"]["linux"];
    if (user.is_null()) continue;
    if (os == "windows") errors.push_back(api::Forbidden(at, "cannot be set for a windows pod"));
    if (os != "linux") continue;
    CheckId(user["uid"], at.Child("uid"), errors);
    CheckId(user["gid"], at.Child("gid"), errors);
    std::size_t group = 0;
    for (const json::Value& id : user["supplementalGroups"].elements()) {
      CheckId(id, at.Child("supplementalGroups").Index(group++), errors);
    }
  }
}

// Whether a container has asked for what is reported of it: a claim, or a resource.
bool Requests(json::Value container, std::string_view name, bool is_claim) {
  const json::Value resources = container["resources"];
  if (!is_claim) return resources["requests"].Has(name);
  const auto claims = resources["claims"].elements();
  return std::any_of(claims.begin(), claims.end(), [&](json::Value claim) {
    const std::string_view request = claim["request"].AsString();
    return name ==
           base::StrCat("claim:", claim["name"].AsString(), request.empty() ? "" : "/", request);
  });
}

void CheckHealth(json::Value resources, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& resource : resources.elements()) {
    const FieldPath at = path.Index(index++);
    CheckOneOf(resource["health"], at.Child("health"), {"Healthy", "Unhealthy", "Unknown"}, errors);
    if (const json::Value message = resource["message"]; !message.is_null()) {
      const FieldPath message_path = at.Child("message");
      if (message.AsString().empty()) {
        errors.push_back(api::Required(message_path, "must be non-empty if specified"));
      } else if (message.AsString().size() > kLongestHealthMessage) {
        errors.push_back(api::TooLong(message_path, static_cast<int>(kLongestHealthMessage)));
      }
    }
    const std::string_view id = resource["resourceID"].AsString();
    if (!seen.insert(id).second) errors.push_back(api::Duplicate(at.Child("resourceID"), id));
  }
}

// The health of what containers have been given.
void CheckAllocated(json::Value statuses, json::Value containers, const FieldPath& path,
                    FieldErrors& errors) {
  std::map<std::string_view, json::Value> named;
  for (const json::Value& container : containers.elements()) {
    named.try_emplace(container["name"].AsString(), container);
  }
  std::size_t index = 0;
  for (const json::Value& status : statuses.elements()) {
    const FieldPath list = path.Index(index++).Child("allocatedResourcesStatus");
    const auto container = named.find(status["name"].AsString());
    std::size_t resource_index = 0;
    for (const json::Value& resource : status["allocatedResourcesStatus"].elements()) {
      const FieldPath at = list.Index(resource_index++);
      const std::string_view name = resource["name"].AsString();
      const bool is_claim = name.starts_with("claim:");
      // Statuses of containers that the spec does not have are taken as they are.
      if (container != named.end() && !Requests(container->second, name, is_claim)) {
        errors.push_back(api::Invalid(
            at.Child("name"), name,
            is_claim ? "must match one of the container's resource claims in a format "
                       "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
                     : "must match one of the container's resource requests"));
      }
      CheckHealth(resource["resources"], at.Child("resources"), errors);
    }
  }
}

}  // namespace

void CheckExtendedClaimStatus(json::Value object, FieldErrors& errors) {
  const json::Value status = object["status"]["extendedResourceClaimStatus"];
  if (status.is_null()) return;
  const FieldPath path("status", "extendedResourceClaimStatus");
  std::map<std::string_view, json::Value> containers;
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const json::Value& container : object["spec"][list].elements()) {
      containers[container["name"].AsString()] = container;
    }
  }
  const FieldPath mappings = path.Child("requestMappings");
  if (status["requestMappings"].empty()) {
    errors.push_back(api::Required(mappings, "at least one request mapping is required"));
  }
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  std::size_t index = 0;
  for (const json::Value& mapping : status["requestMappings"].elements()) {
    const FieldPath at = mappings.Index(index++);
    const std::string_view name = mapping["containerName"].AsString();
    const std::string_view resource = mapping["resourceName"].AsString();
    const std::string_view request = mapping["requestName"].AsString();
    const auto container = containers.find(name);
    if (container == containers.end()) {
      errors.push_back(api::Invalid(
          at.Child("containerName"), name,
          "must match the name of an entry in spec.initContainers.name or spec.containers.name"));
    } else if (!container->second["resources"]["requests"].Has(resource)) {
      errors.push_back(api::Invalid(at.Child("resourceName"), resource,
                                    "must match the extended resource name of an entry in "
                                    "spec.initContainers.resources.requests or "
                                    "spec.containers.resources.requests"));
    }
    CheckDnsLabel(request, path.Child("requestName"), errors);
    if (!seen.emplace(name, resource, request).second) {
      errors.push_back(api::Duplicate(at.Child("containerName"), name));
      errors.push_back(api::Duplicate(at.Child("resourceName"), resource));
      errors.push_back(api::Duplicate(at.Child("requestName"), request));
    }
  }
  const FieldPath claim = path.Child("resourceClaimName");
  const std::string_view claim_name = status["resourceClaimName"].AsString();
  if (claim_name.empty()) {
    errors.push_back(api::Required(claim, ""));
  } else {
    CheckSubdomain(claim_name, claim, errors);
  }
}

void CheckContainerStatuses(json::Value object, FieldErrors& errors) {
  const FieldPath path("status");
  const json::Value status = object["status"];
  const json::Value spec = object["spec"];
  const json::Value name = spec["os"]["name"];
  const std::string_view os = spec["os"].is_null() ? std::string_view("linux") : name.AsString();
  for (const std::string_view list :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    CheckUsers(status[list], path.Child(list), os, errors);
  }
  CheckAllocated(status["containerStatuses"], spec["containers"], path.Child("containerStatuses"),
                 errors);
  CheckAllocated(status["initContainerStatuses"], spec["initContainers"],
                 path.Child("initContainerStatuses"), errors);
  const FieldPath ephemeral = path.Child("ephemeralContainerStatuses");
  std::size_t index = 0;
  for (const json::Value& one : status["ephemeralContainerStatuses"].elements()) {
    const FieldPath at = ephemeral.Index(index++).Child("allocatedResourcesStatus");
    if (one["allocatedResourcesStatus"].empty()) continue;
    errors.push_back(api::Forbidden(at, "must not be specified in container status"));
  }
}

}  // namespace portcullis::registry

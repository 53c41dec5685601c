// SPDX-License-Identifier: Apache-2.0

// ResourcePoolStatusRequests (pkg/apis/resource/validation, the declarations of their types).

#include <set>
#include <string>
#include <vector>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"
#include "registry/validation/conditions.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostPools = 1000;
constexpr std::size_t kMostRequestConditions = 10;
constexpr std::int64_t kMostOfLimit = 1000;
constexpr std::size_t kLongestError = 256;

// The text of a subdomain whose letters may be of any case.
std::string Caseless(std::string_view text) {
  std::string out = base::ReplaceAll(text, "a lowercase RFC", "an RFC");
  out = base::ReplaceAll(out, "lower case alphanumeric", "alphanumeric");
  return base::ReplaceAll(out, "'example.com'", "'Example.com'");
}

void CheckDriver(json::Value owner, const FieldPath& path, FieldErrors& errors) {
  if (!RequireField(owner, "driver", path, errors)) return;
  const std::string_view name = owner["driver"].AsString();
  std::vector<std::string> faults = api::IsDns1123Subdomain(base::ToLower(name));
  for (std::string& fault : faults) fault = Caseless(fault);
  AddInvalid(path.Child("driver"), name, faults, errors);
}

void CheckPool(json::Value pool, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = pool.AsString();
  if (name.size() > 253) errors.push_back(api::TooLong(path, 253));
  std::size_t index = 0;
  for (const std::string_view part : base::Split(name, '/')) {
    const std::string segment = base::StrCat("segment ", std::to_string(index++), ": ");
    if (part.empty()) {
      errors.push_back(api::Invalid(path, name, segment + "must not be empty"));
      continue;
    }
    for (const std::string& fault : api::IsDns1123Subdomain(part)) {
      errors.push_back(api::Invalid(path, part, segment + fault));
    }
  }
}

void CheckAtLeast(json::Value number, std::int64_t least, const FieldPath& path,
                  FieldErrors& errors) {
  if (number.is_null() || number.AsInt() >= least) return;
  errors.push_back(api::Invalid(
      path, number, base::StrCat("must be greater than or equal to ", std::to_string(least))));
}

void ValidateRequest(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckDriver(spec, path, errors);
  if (spec.Has("poolName")) CheckPool(spec["poolName"], path.Child("poolName"), errors);
  const json::Value limit = spec["limit"];
  if (limit.AsInt() > kMostOfLimit) {
    errors.push_back(
        api::Invalid(path.Child("limit"), limit,
                     base::StrCat("must be less than or equal to ", std::to_string(kMostOfLimit))));
  }
  CheckAtLeast(limit, 1, path.Child("limit"), errors);
}

void CheckPoolStatus(json::Value pool, const FieldPath& path, FieldErrors& errors) {
  CheckDriver(pool, path, errors);
  if (RequireField(pool, "poolName", path, errors)) {
    CheckPool(pool["poolName"], path.Child("poolName"), errors);
  }
  const FieldPath generation = path.Child("generation");
  if (pool["generation"].AsInt() == 0) errors.push_back(api::Required(generation, ""));
  CheckAtLeast(pool["generation"], 0, generation, errors);
  CheckAtLeast(pool["resourceSliceCount"], 1, path.Child("resourceSliceCount"), errors);
  for (const std::string_view name :
       {"totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices"}) {
    CheckAtLeast(pool[name], 0, path.Child(name), errors);
  }
  if (pool.Has("nodeName")) {
    CheckSubdomain(pool["nodeName"].AsString(), path.Child("nodeName"), errors);
  }
  if (pool["validationError"].AsString().size() > kLongestError) {
    errors.push_back(api::TooLong(path.Child("validationError"), static_cast<int>(kLongestError)));
  }
}

void CheckStatus(json::Value status, FieldErrors& errors) {
  const FieldPath path("status");
  ValidateConditions(status["conditions"], path.Child("conditions"), errors);
  const FieldPath count = path.Child("poolCount");
  if (status["poolCount"].is_null()) errors.push_back(api::Required(count, ""));
  CheckAtLeast(status["poolCount"], 0, count, errors);
  const FieldPath pools = path.Child("pools");
  if (CheckSize(status["pools"], kMostPools, pools, errors)) {
    std::size_t index = 0;
    for (const json::Value& pool : status["pools"].elements()) {
      CheckPoolStatus(pool, pools.Index(index++), errors);
    }
  }
  const FieldPath conditions = path.Child("conditions");
  if (!CheckSize(status["conditions"], kMostRequestConditions, conditions, errors)) return;
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& condition : status["conditions"].elements()) {
    const FieldPath at = conditions.Index(index++);
    if (types.insert(condition["type"].AsString()).second) continue;
    errors.push_back(api::Duplicate(at, condition));
  }
}

// Both the question and, once it is given, the answer stay as they are.
void ValidateRequestUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  if (ctx.subresource.empty()) {
    if (object["spec"] == old["spec"]) return;
    errors.push_back(api::Invalid(FieldPath("spec"), json::Value(), "field is immutable"));
  } else if (!old["status"].is_null()) {
    CheckUnchanged(ctx, "io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequestStatus",
                   {object["status"], old["status"], ctx.sent["status"]}, FieldPath("status"),
                   errors);
  } else if (!object["status"].is_null()) {
    CheckStatus(object["status"], errors);
  }
}

class PoolRequests final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  // There is no answer yet, not an empty one.
  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return json::Without(ctx.arena, DefaultStrategy::PrepareForCreate(ctx, object), "status");
  }
};

}  // namespace

void AddResourcePoolStatusRequestStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "resourcepoolstatusrequests",
             .validate = &ValidateRequest,
             .validate_update = &ValidateRequestUpdate,
             .traits = {.returns_deleted = true,
                        .needs_version = true,
                        .status_keeps = StatusKeeps::kMetadata},
             .make = &Make<PoolRequests>});
}

}  // namespace portcullis::registry

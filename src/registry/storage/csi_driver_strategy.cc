// SPDX-License-Identifier: Apache-2.0

// CSIDrivers (pkg/apis/storage/validation).

#include <set>

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr DisabledField kDisabledOfDrivers[] = {
    {"VolumeLimitScaling", "spec.preventPodSchedulingIfMissing"},
    {"SELinuxMountReadWriteOncePod", "spec.seLinuxMount"},
    {"MutableCSINodeAllocatableCount", "spec.nodeAllocatableUpdatePeriodSeconds"},
    {"CSIServiceAccountTokenSecrets", "spec.serviceAccountTokenInSecrets"}};

void CheckTokenRequests(json::Value requests, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> audiences;
  std::size_t index = 0;
  for (const json::Value& request : requests.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view audience = request["audience"].AsString();
    if (!audiences.insert(audience).second) {
      errors.push_back(api::Duplicate(at.Child("audience"), audience));
      continue;
    }
    const json::Value seconds = request["expirationSeconds"];
    if (seconds.is_null()) continue;
    if (seconds.AsInt() < 600) {
      errors.push_back(api::Invalid(at.Child("expirationSeconds"), seconds.AsInt(),
                                    "may not specify a duration less than 10 minutes"));
    }
    if (seconds.AsInt() > (std::int64_t{1} << 32)) {
      errors.push_back(api::Invalid(at.Child("expirationSeconds"), seconds.AsInt(),
                                    "may not specify a duration larger than 2^32 seconds"));
    }
  }
}

void ValidateCsiDriver(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (!spec["fsGroupPolicy"].is_null()) {
    CheckOneOf(spec["fsGroupPolicy"], path.Child("fsGroupPolicy"),
               {"File", "None", "ReadWriteOnceWithFSType"}, errors);
  }
  CheckTokenRequests(spec["tokenRequests"], path.Child("tokenRequests"), errors);
  for (const json::Value& mode : spec["volumeLifecycleModes"].elements()) {
    CheckOneOf(mode, path.Child("volumeLifecycleModes"), {"Persistent", "Ephemeral"}, errors);
  }
  constexpr std::string_view kPeriod = "nodeAllocatableUpdatePeriodSeconds";
  if (const json::Value period = spec[kPeriod]; !period.is_null() && period.AsInt() < 10) {
    errors.push_back(api::Invalid(path.Child(kPeriod), period.AsInt(),
                                  "must be greater than or equal to 10 seconds"));
  }
  constexpr std::string_view kInSecrets = "serviceAccountTokenInSecrets";
  if (!spec[kInSecrets].is_null() && spec["tokenRequests"].empty()) {
    errors.push_back(
        api::Invalid(path.Child(kInSecrets), spec[kInSecrets].AsBool(),
                     "serviceAccountTokenInSecrets is set but no tokenRequests are specified"));
  }
}

void ValidateCsiDriverUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  ValidateCsiDriver(ctx, object, errors);
  CheckImmutable(object["spec"]["attachRequired"], old["spec"]["attachRequired"],
                 FieldPath("spec", "attachedRequired"), errors);
  CheckImmutable(object["spec"]["volumeLifecycleModes"], old["spec"]["volumeLifecycleModes"],
                 FieldPath("spec", "volumeLifecycleModes"), errors);
}

// Tokens in the attributes of volumes are logged by careless drivers.
void WarnOfCsiDriver(const Context& ctx, json::Value object, json::Value old,
                     std::vector<std::string>& warnings) {
  const json::Value spec = object["spec"];
  const json::Value requests = spec["tokenRequests"];
  const bool same = !old.is_null() && requests == old["spec"]["tokenRequests"];
  if (same || requests.empty() || !spec["serviceAccountTokenInSecrets"].is_null()) return;
  if (!ctx.release->GateEnabled("CSIServiceAccountTokenSecrets")) return;
  warnings.emplace_back(
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true "
      "to prevent possible logging of tokens in volume attributes");
}

// New ones have no generation.
class CsiDrivers final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    return CountGeneration(ctx.arena, DefaultStrategy::PrepareForUpdate(ctx, object, old), old);
  }
};

}  // namespace

void AddCsiDriverStrategy(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "csidrivers",
             .validate = &ValidateCsiDriver,
             .validate_update = &ValidateCsiDriverUpdate,
             .warn = &WarnOfCsiDriver,
             .traits = {.returns_deleted = true, .needs_version = true},
             .disabled = kDisabledOfDrivers,
             .make = &Make<CsiDrivers>});
}

}  // namespace portcullis::registry

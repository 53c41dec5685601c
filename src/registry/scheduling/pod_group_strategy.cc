// SPDX-License-Identifier: Apache-2.0

// PodGroups (pkg/apis/scheduling/validation, pkg/registry/scheduling/podgroup, the declarations of their
// types).

#include <string>

#include "registry/kind_table.h"
#include "registry/scheduling/group_checks.h"
#include "registry/validation/conditions.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostClaimStatuses = 4;

void CheckTemplateReference(json::Value reference, const FieldPath& path, FieldErrors& errors) {
  if (reference.is_null()) return;
  CheckMembers(reference, {"workload"}, path, errors);
  const json::Value workload = reference["workload"];
  if (workload.is_null()) return;
  const FieldPath at = path.Child("workload");
  CheckRequiredName(workload, "workloadName", api::IsDns1123Subdomain, at, errors);
  CheckRequiredName(workload, "podGroupTemplateName", api::IsDns1123Label, at, errors);
}

void ValidatePodGroup(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckTemplateReference(spec["podGroupTemplateRef"], path.Child("podGroupTemplateRef"), errors);
  CheckSchedulingPolicy(spec["schedulingPolicy"], path.Child("schedulingPolicy"), errors);
  for (const GroupField& field : kGatedGroupFields) {
    if (!ctx.release->GateEnabled(field.gate)) continue;
    CheckGatedField(field.name, spec[field.name], path.Child(field.name), errors);
  }
}

// No field can change; those of a gate that is off can go.
void CheckSpecChange(const Context& ctx, json::Value spec, json::Value old, FieldErrors& errors) {
  const auto refuse = [&](std::string_view name) {
    errors.push_back(api::Invalid(FieldPath("spec", name), json::Value(), "field is immutable"));
  };
  for (const std::string_view name : {"podGroupTemplateRef", "schedulingPolicy"}) {
    if (!SemanticallyEqual(spec[name], old[name])) refuse(name);
  }
  for (const GroupField& field : kGatedGroupFields) {
    const json::Value value = spec[field.name];
    if (SemanticallyEqual(value, old[field.name])) continue;
    if (field.name == "resourceClaims" || ctx.release->GateEnabled(field.gate)) {
      refuse(field.name);
      if (field.name != "resourceClaims" || value.size() <= kMostClaimStatuses) continue;
      errors.push_back(api::TooMany(FieldPath("spec", field.name), static_cast<int>(value.size()),
                                    static_cast<int>(kMostClaimStatuses)));
    } else if (!value.is_null()) {
      errors.push_back(api::Forbidden(FieldPath("spec", field.name), ""));
    }
  }
}

json::Value FindNamed(json::Value list, json::Value name) {
  for (const json::Value& element : list.elements()) {
    if (element["name"] == name) return element;
  }
  return {};
}

void CheckStatus(json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value status = object["status"];
  ValidateConditions(status["conditions"], FieldPath("status", "conditions"), errors);
  const FieldPath path("status", "resourceClaimStatuses");
  const json::Value claims = status["resourceClaimStatuses"];
  const json::Value claims_before = old["status"]["resourceClaimStatuses"];
  std::size_t index = 0;
  for (const json::Value& claim : claims.elements()) {
    const FieldPath at = path.Index(index++);
    if (!FindNamed(object["spec"]["resourceClaims"], claim["name"]).is_null()) continue;
    errors.push_back(api::Invalid(at.Child("name"), claim["name"].AsString(),
                                  "must match the name of an entry in `spec.resourceClaims`"));
  }
  if (SemanticallyEqual(claims, claims_before)) return;
  if (claims.size() > kMostClaimStatuses) {
    errors.push_back(
        api::TooMany(path, static_cast<int>(claims.size()), static_cast<int>(kMostClaimStatuses)));
    return;
  }
  CheckNamesAreUnique(claims, path, errors);
  index = 0;
  for (const json::Value& claim : claims.elements()) {
    const FieldPath at = path.Index(index++);
    const json::Value name = claim["resourceClaimName"];
    const json::Value before = FindNamed(claims_before, claim["name"])["resourceClaimName"];
    if (name.is_null() || name == before) continue;
    CheckLongName(name.AsString(), at.Child("resourceClaimName"), errors);
  }
}

void ValidatePodGroupUpdate(const Context& ctx, json::Value object, json::Value old,
                            FieldErrors& errors) {
  if (ctx.subresource.empty()) return CheckSpecChange(ctx, object["spec"], old["spec"], errors);
  CheckStatus(object, old, errors);
}

class PodGroups final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  // What is stored without a disruption mode is read with the default.
  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    json::Value spec = WithoutGatedFields(ctx, object["spec"], {});
    if (!ctx.dry_run && spec["disruptionMode"].is_null()) {
      spec = json::With(ctx.arena, spec, "disruptionMode", json::String(ctx.arena, "Pod"));
    }
    return json::With(ctx.arena, object, "spec", spec);
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (ctx.subresource.empty()) {
      return json::With(ctx.arena, object, "spec",
                        WithoutGatedFields(ctx, object["spec"], old["spec"]));
    }
    if (ctx.release->GateEnabled("DRAWorkloadResourceClaims") ||
        !old["spec"]["resourceClaims"].empty() || object["status"].is_null()) {
      return object;
    }
    return json::With(ctx.arena, object, "status",
                      json::Without(ctx.arena, object["status"], "resourceClaimStatuses"));
  }

  // A write of the group itself resets nothing for its managers.
  std::vector<std::string_view> ResetFields(const Context& ctx) const override {
    if (ctx.subresource.empty()) return {};
    return DefaultStrategy::ResetFields(ctx);
  }
};

}  // namespace

void AddPodGroupStrategy(KindTable& table) {
  table.Add({.group = "scheduling.k8s.io",
             .resource = "podgroups",
             .validate = &ValidatePodGroup,
             .validate_update = &ValidatePodGroupUpdate,
             .traits = {.status_keeps = StatusKeeps::kMetadata},
             .make = &Make<PodGroups>});
}

}  // namespace portcullis::registry

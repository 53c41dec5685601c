// SPDX-License-Identifier: Apache-2.0

// Workloads (pkg/apis/scheduling/validation, pkg/registry/scheduling/workload, the declarations of their
// types).

#include <string>

#include "registry/kind_table.h"
#include "registry/scheduling/group_checks.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostTemplates = 8;

std::vector<std::string> IsSegment(std::string_view name) { return IsPathSegmentName(name, false); }

void CheckController(json::Value reference, const FieldPath& path, FieldErrors& errors) {
  if (reference.is_null()) return;
  if (const std::string_view group = reference["apiGroup"].AsString(); !group.empty()) {
    CheckLongName(group, path.Child("apiGroup"), errors);
  }
  CheckRequiredName(reference, "kind", &IsSegment, path, errors);
  CheckRequiredName(reference, "name", &IsSegment, path, errors);
}

bool CheckTemplateCount(json::Value templates, const FieldPath& path, FieldErrors& errors) {
  if (templates.size() > kMostTemplates) {
    errors.push_back(
        api::TooMany(path, static_cast<int>(templates.size()), static_cast<int>(kMostTemplates)));
  } else if (templates.empty()) {
    errors.push_back(api::Required(path, ""));
  }
  return !templates.empty() && templates.size() <= kMostTemplates;
}

void ValidateWorkload(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const json::Value templates = spec["podGroupTemplates"];
  const FieldPath path("spec", "podGroupTemplates");
  CheckController(spec["controllerRef"], FieldPath("spec", "controllerRef"), errors);
  if (!CheckTemplateCount(templates, path, errors)) return;
  CheckNamesAreUnique(templates, path, errors);
  std::size_t index = 0;
  for (const json::Value& one : templates.elements()) {
    const FieldPath at = path.Index(index++);
    CheckRequiredName(one, "name", api::IsDns1123Label, at, errors);
    CheckSchedulingPolicy(one["schedulingPolicy"], at.Child("schedulingPolicy"), errors);
    for (const GroupField& field : kGatedGroupFields) {
      if (!ctx.release->GateEnabled(field.gate)) continue;
      CheckGatedField(field.name, one[field.name], at.Child(field.name), errors);
    }
  }
}

// Neither field can change.
void ValidateWorkloadUpdate(const Context&, json::Value object, json::Value old,
                            FieldErrors& errors) {
  for (const std::string_view name : {"controllerRef", "podGroupTemplates"}) {
    const json::Value value = object["spec"][name];
    const FieldPath path("spec", name);
    if (SemanticallyEqual(value, old["spec"][name])) continue;
    errors.push_back(api::Invalid(path, json::Value(), "field is immutable"));
    if (name == "podGroupTemplates") CheckTemplateCount(value, path, errors);
  }
}

class Workloads final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return WithoutGated(ctx, DefaultStrategy::PrepareForCreate(ctx, object), {});
  }
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    return WithoutGated(ctx, DefaultStrategy::PrepareForUpdate(ctx, object, old), old);
  }

 private:
  // A template is compared with the one that was in its place.
  static json::Value WithoutGated(const Context& ctx, json::Value object, json::Value old) {
    const json::Value templates = object["spec"]["podGroupTemplates"];
    const json::Value before = old["spec"]["podGroupTemplates"];
    if (templates.empty()) return object;
    json::ArrayBuilder kept(ctx.arena);
    for (std::size_t i = 0; i < templates.size(); ++i) {
      json::Value one =
          WithoutGatedFields(ctx, templates[i], i < before.size() ? before[i] : json::Value());
      // Go writes the absent pointer.
      if (!one.Has("schedulingConstraints") && templates[i].Has("schedulingConstraints")) {
        one = json::With(ctx.arena, one, "schedulingConstraints", json::Value());
      }
      kept.Add(one);
    }
    return json::SetPath(ctx.arena, object, {"spec", "podGroupTemplates"}, kept.Build());
  }
};

}  // namespace

void AddWorkloadStrategy(KindTable& table) {
  table.Add({.group = "scheduling.k8s.io",
             .resource = "workloads",
             .validate = &ValidateWorkload,
             .validate_update = &ValidateWorkloadUpdate,
             .make = &Make<Workloads>});
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// PriorityClasses (pkg/apis/scheduling/validation).

#include <string>

#include "api/api_status.h"
#include "base/strings.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kPriorityClassRules[] = {
    {"value", FieldRuleKind::kFrozen, "may not be changed in an update."},
    {"preemptionPolicy", FieldRuleKind::kImmutable},
};

constexpr std::int64_t kHighestUserPriority = 1000000000;

struct SystemPriority {
  std::string_view name;
  std::int64_t value;
};
constexpr SystemPriority kSystemPriorities[] = {{"system-node-critical", 2000001000},
                                                {"system-cluster-critical", 2000000000}};

// Why it is none of the system's own, or "".
std::string SystemProblem(std::string_view name, std::int64_t value, bool global_default) {
  for (const SystemPriority& system : kSystemPriorities) {
    if (system.name != name) continue;
    if (system.value != value) {
      return base::StrCat("value of ", name, " PriorityClass must be ",
                          std::to_string(system.value));
    }
    return global_default ? base::StrCat("globalDefault of ", name, " PriorityClass must be false")
                          : "";
  }
  return base::StrCat(name, " is not a known system priority class");
}

void ValidatePriorityClass(const Context&, json::Value object, FieldErrors& errors) {
  const std::string_view name = object["metadata"]["name"].AsString();
  const std::int64_t value = object["value"].AsInt();
  if (name.starts_with("system-")) {
    const std::string problem = SystemProblem(name, value, object["globalDefault"].AsBool());
    if (!problem.empty()) {
      errors.push_back(api::Forbidden(
          FieldPath("metadata", "name"),
          base::StrCat("priority class names with 'system-' prefix are reserved for system use "
                       "only. error: ",
                       problem)));
    }
  } else if (value > kHighestUserPriority) {
    errors.push_back(api::Forbidden(
        FieldPath("value"), base::StrCat("maximum allowed value of a user defined priority is ",
                                         std::to_string(kHighestUserPriority))));
  }
  const json::Value policy = object["preemptionPolicy"];
  if (!policy.is_null() && RequireField(object, "preemptionPolicy", FieldPath(), errors)) {
    CheckOneOf(policy, FieldPath("preemptionPolicy"), {"PreemptLowerPriority", "Never"}, errors);
  }
}

// What must not change is all that an update is checked for.
void ValidatePriorityClassUpdate(const Context&, json::Value, json::Value, FieldErrors&) {}

// The two classes of the system cannot be deleted.
class PriorityClasses final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  // The first generation is the only one.
  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return json::SetPath(ctx.arena, DefaultStrategy::PrepareForCreate(ctx, object),
                         {"metadata", "generation"}, json::Value::Int(1));
  }

  base::Status CheckDelete(const Context& ctx) const override {
    if (ctx.name != "system-node-critical" && ctx.name != "system-cluster-critical") {
      return base::OkStatus();
    }
    return api::ForbiddenStatus(ctx.resource.group_resource(), ctx.name,
                                "this is a system priority class and cannot be deleted");
  }
};

}  // namespace

void AddPriorityClassStrategy(KindTable& table) {
  table.Add({.group = "scheduling.k8s.io",
             .resource = "priorityclasses",
             .validate = &ValidatePriorityClass,
             .validate_update = &ValidatePriorityClassUpdate,
             .rules = kPriorityClassRules,
             .make = &Make<PriorityClasses>});
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// ControllerRevisions (pkg/apis/apps/validation).

#include "json/writer.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRevisionRules[] = {
    {"revision", FieldRuleKind::kMinimum, "0"},
};

void ValidateControllerRevision(const Context& ctx, json::Value object, FieldErrors& errors) {
  (void)ctx;
  CheckFieldRules(kRevisionRules, object, nullptr, errors);
  const json::Value data = object["data"];
  if (data.is_object()) return;
  errors.push_back(api::Required(FieldPath("data"), data.is_null()
                                                        ? "data is mandatory"
                                                        : "data must be a valid JSON object"));
}

void ValidateControllerRevisionUpdate(const Context& ctx, json::Value object, json::Value old,
                                      FieldErrors& errors) {
  (void)ctx;
  CheckFieldRules(kRevisionRules, object, &old, errors);
  // Compared as text: another order of keys is a change.
  const json::Value data = object["data"];
  if (json::ToString(data) == json::ToString(old["data"])) return;
  errors.push_back(api::Invalid(FieldPath("data"), data, "field is immutable"));
}

}  // namespace

void AddControllerRevisionStrategy(KindTable& table) {
  table.Add({.group = "apps",
             .resource = "controllerrevisions",
             .validate = ValidateControllerRevision,
             .validate_update = ValidateControllerRevisionUpdate,
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry

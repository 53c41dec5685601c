// SPDX-License-Identifier: Apache-2.0

#include "engine/options.h"

#include <algorithm>

#include "api/api_status.h"
#include "api/field_error.h"
#include "base/strings.h"

namespace portcullis::engine {
namespace {

// `kind` is a literal.
json::Value OptionsValue(json::Arena& arena, std::string_view kind,
                         const GivenWriteOptions& given) {
  json::ObjectBuilder value(arena);
  value.Add("kind", json::Value::StringView(kind));
  value.Add("apiVersion", json::Value::StringView("meta.k8s.io/v1"));
  if (!given.dry_run.empty()) {
    json::ArrayBuilder dry_run(arena);
    for (const std::string& text : given.dry_run) dry_run.Add(text);
    value.Set("dryRun", dry_run.Build());
  }
  if (!given.field_manager.empty()) value.Set("fieldManager", given.field_manager);
  if (!given.field_validation.empty()) value.Set("fieldValidation", given.field_validation);
  return value.Build();
}

}  // namespace

void SetOptionsForAdmission(json::Arena& arena, const GivenWriteOptions& given,
                            WriteOptions& options) {
  options.as_create = OptionsValue(arena, "CreateOptions", given);
  options.as_update = OptionsValue(arena, "UpdateOptions", given);
}

base::Status CheckDeleteOptions(const DeleteOptions& options) {
  api::FieldErrors errors;
  const api::FieldPath path("propagationPolicy");
  const json::Value given = options.value[path.ToString()];
  const std::string_view policy = given.AsString();
  if (options.orphan_dependents && given.is_string()) {
    errors.push_back(
        api::Invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (given.is_string() && policy != "Foreground" && policy != "Background" && policy != "Orphan") {
    errors.push_back(
        api::NotSupported(path, policy, {"Foreground", "Background", "Orphan", "nil"}));
  }
  const json::Value dry_run = options.value["dryRun"];
  const auto values = dry_run.elements();
  if (!std::all_of(values.begin(), values.end(),
                   [](json::Value value) { return value.AsString() == "All"; })) {
    errors.push_back(api::NotSupported(api::FieldPath("dryRun"), dry_run, {"All"}));
  }
  for (const std::string_view name :
       {"dryRun", "propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"}) {
    if (!options.ignores_read_errors || !options.value.Has(name)) continue;
    errors.push_back(api::Invalid(api::FieldPath(kIgnoresReadErrors), true,
                                  base::StrCat("cannot be set together with .", name)));
  }
  if (errors.empty()) return base::OkStatus();
  return api::InvalidStatus({"meta.k8s.io", "DeleteOptions"}, "", errors);
}

std::string_view FieldValidationName(FieldValidation validation) {
  switch (validation) {
    case FieldValidation::kIgnore:
      return "Ignore";
    case FieldValidation::kStrict:
      return "Strict";
    case FieldValidation::kWarn:
      break;
  }
  return "Warn";
}

std::optional<FieldValidation> FieldValidationNamed(std::string_view name) {
  if (name.empty()) return FieldValidation::kWarn;
  for (const FieldValidation validation :
       {FieldValidation::kIgnore, FieldValidation::kWarn, FieldValidation::kStrict}) {
    if (FieldValidationName(validation) == name) return validation;
  }
  return std::nullopt;
}

}  // namespace portcullis::engine

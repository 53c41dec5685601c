// SPDX-License-Identifier: Apache-2.0

#include "registry/batch/job_policies.h"

#include <set>

#include "base/strings.h"
#include "golang/strconv.h"
#include "registry/batch/job_indexes.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostRules = 20;
constexpr std::size_t kMostCodes = 255;
constexpr std::size_t kLongestIndexes = 64 * 1024;

// A required choice: the detail names what there is.
void CheckChoice(json::Value value, const FieldPath& path, std::string_view choices,
                 std::initializer_list<std::string_view> allowed, FieldErrors& errors) {
  if (value.AsString().empty()) {
    errors.push_back(api::Required(path, base::StrCat("valid values: ", choices)));
  } else {
    CheckOneOf(value, path, allowed, errors);
  }
}

void CheckExitCodes(json::Value codes, const std::set<std::string_view>& containers,
                    const FieldPath& path, FieldErrors& errors) {
  CheckChoice(codes["operator"], path.Child("operator"), R"(["In" "NotIn"])", {"In", "NotIn"},
              errors);
  const json::Value name = codes["containerName"];
  if (!name.is_null() && !containers.contains(name.AsString())) {
    errors.push_back(
        api::Invalid(path.Child("containerName"), name,
                     "must be one of the container or initContainer names in the pod template"));
  }
  const json::Value values = codes["values"];
  const FieldPath values_path = path.Child("values");
  if (values.empty()) {
    errors.push_back(api::Invalid(values_path, values, "at least one value is required"));
  } else if (values.size() > kMostCodes) {
    errors.push_back(
        api::TooMany(values_path, static_cast<int>(values.size()), static_cast<int>(kMostCodes)));
  }
  bool ordered = true;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t code = values[i].AsInt();
    if (codes["operator"].AsString() == "In" && code == 0) {
      errors.push_back(
          api::Invalid(values_path.Index(i), code, "must not be 0 for the In operator"));
    }
    if (!seen.insert(code).second) errors.push_back(api::Duplicate(values_path.Index(i), code));
    ordered = ordered && (i == 0 || values[i - 1].AsInt() <= code);
  }
  if (!ordered) errors.push_back(api::Invalid(values_path, values, "must be ordered"));
}

void CheckPodConditions(json::Value patterns, const FieldPath& path, FieldErrors& errors) {
  if (patterns.size() > kMostRules) {
    errors.push_back(
        api::TooMany(path, static_cast<int>(patterns.size()), static_cast<int>(kMostRules)));
  }
  std::size_t index = 0;
  for (const json::Value& pattern : patterns.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view type = pattern["type"].AsString();
    AddInvalid(at.Child("type"), type, api::IsQualifiedName(type), errors);
    CheckChoice(pattern["status"], at.Child("status"), R"(["False" "True" "Unknown"])",
                {"False", "True", "Unknown"}, errors);
  }
}

void CheckFailureRule(json::Value spec, json::Value rule,
                      const std::set<std::string_view>& containers, const FieldPath& path,
                      FieldErrors& errors) {
  const json::Value action = rule["action"];
  if (action.AsString() == "FailIndex") {
    if (spec["backoffLimitPerIndex"].is_null()) {
      errors.push_back(api::Invalid(path.Child("action"), action,
                                    "requires the backoffLimitPerIndex to be set"));
    }
  } else {
    CheckChoice(action, path.Child("action"), R"(["Count" "FailIndex" "FailJob" "Ignore"])",
                {"Count", "FailIndex", "FailJob", "Ignore"}, errors);
  }
  const bool by_codes = !rule["onExitCodes"].is_null();
  const bool by_conditions = !rule["onPodConditions"].empty();
  if (by_codes) CheckExitCodes(rule["onExitCodes"], containers, path.Child("onExitCodes"), errors);
  if (by_conditions) {
    CheckPodConditions(rule["onPodConditions"], path.Child("onPodConditions"), errors);
  }
  if (by_codes && by_conditions) {
    errors.push_back(
        api::Invalid(path, api::BadValue::Omitted(),
                     "specifying both OnExitCodes and OnPodConditions is not supported"));
  } else if (!by_codes && !by_conditions) {
    errors.push_back(api::Invalid(path, api::BadValue::Omitted(),
                                  "specifying one of OnExitCodes and OnPodConditions is required"));
  }
}

}  // namespace

void CheckPodFailurePolicy(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value rules = spec["podFailurePolicy"]["rules"];
  if (rules.size() > kMostRules) {
    errors.push_back(api::TooMany(path.Child("rules"), static_cast<int>(rules.size()),
                                  static_cast<int>(kMostRules)));
  }
  std::set<std::string_view> containers;
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::Value& container : spec["template"]["spec"][list].elements()) {
      containers.insert(container["name"].AsString());
    }
  }
  std::size_t index = 0;
  for (const json::Value& rule : rules.elements()) {
    CheckFailureRule(spec, rule, containers, path.Child("rules").Index(index++), errors);
  }
}

void CheckSuccessPolicy(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value rules = spec["successPolicy"]["rules"];
  const FieldPath list = path.Child("rules");
  const std::int64_t completions = spec["completions"].AsInt();
  if (rules.empty()) {
    errors.push_back(api::Required(
        list, "at least one rules must be specified when the successPolicy is specified"));
  }
  if (rules.size() > kMostRules) {
    errors.push_back(
        api::TooMany(list, static_cast<int>(rules.size()), static_cast<int>(kMostRules)));
  }
  std::size_t position = 0;
  for (const json::Value& rule : rules.elements()) {
    const FieldPath at = list.Index(position++);
    const json::Value indexes = rule["succeededIndexes"];
    const json::Value count = rule["succeededCount"];
    if (indexes.is_null() && count.is_null()) {
      errors.push_back(api::Required(
          at, "at least one of succeededCount or succeededIndexes must be specified"));
    }
    std::int64_t total = 0;
    if (!indexes.is_null()) {
      const FieldPath indexes_path = at.Child("succeededIndexes");
      if (indexes.AsString().size() > kLongestIndexes) {
        errors.push_back(api::TooLong(indexes_path, static_cast<int>(kLongestIndexes)));
      }
      const JobIndexes parsed = ParseJobIndexes(indexes.AsString(), completions);
      total = parsed.total;
      if (!parsed.wrong.empty()) {
        errors.push_back(api::Invalid(
            indexes_path, indexes, base::StrCat("error parsing succeededIndexes: ", parsed.wrong)));
      }
    }
    if (count.is_null()) continue;
    const FieldPath count_path = at.Child("succeededCount");
    CheckNonNegative(count, count_path, errors);
    if (count.AsInt() > completions) {
      errors.push_back(
          api::Invalid(count_path, count.AsInt(),
                       base::StrCat("must be less than or equal to ", std::to_string(completions),
                                    " (the number of specified completions)")));
    }
    if (!indexes.is_null() && count.AsInt() > total) {
      errors.push_back(api::Invalid(
          count_path, count.AsInt(),
          base::StrCat("must be less than or equal to ", std::to_string(total),
                       " (the number of indexes in the specified succeededIndexes field)")));
    }
  }
}

}  // namespace portcullis::registry

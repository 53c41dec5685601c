// SPDX-License-Identifier: Apache-2.0

#include "registry/scheduling/group_checks.h"

#include <set>
#include <string>
#include <vector>

#include "api/named_value.h"
#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostClaims = 4;
constexpr std::size_t kMostTopologies = 1;
constexpr std::int64_t kHighestPriority = 1'000'000'000;

// Declared checks count bytes.
void AddFaults(const FieldPath& path, std::string_view value, std::vector<std::string> faults,
               FieldErrors& errors) {
  for (std::string& fault : faults) {
    if (fault.find("no more than") != std::string::npos) {
      fault = base::ReplaceAll(fault, " characters", " bytes");
    }
  }
  AddInvalid(path, value, faults, errors);
}

bool CheckMostItems(json::Value list, std::size_t most, const FieldPath& path,
                    FieldErrors& errors) {
  if (list.size() <= most) return true;
  errors.push_back(api::TooMany(path, static_cast<int>(list.size()), static_cast<int>(most)));
  return false;
}

void CheckClaims(json::Value claims, const FieldPath& path, FieldErrors& errors) {
  if (!CheckMostItems(claims, kMostClaims, path, errors)) return;
  CheckNamesAreUnique(claims, path, errors);
  std::size_t index = 0;
  for (const json::Value& claim : claims.elements()) {
    const FieldPath at = path.Index(index++);
    CheckMembers(claim, {"resourceClaimName", "resourceClaimTemplateName"}, at, errors);
    CheckRequiredName(claim, "name", api::IsDns1123Label, at, errors);
    for (const std::string_view name : {"resourceClaimName", "resourceClaimTemplateName"}) {
      if (claim.Has(name)) CheckLongName(claim[name].AsString(), at.Child(name), errors);
    }
  }
}

std::vector<std::string> IsLabelKey(std::string_view name) {
  std::vector<std::string> faults = api::IsQualifiedName(name);
  for (std::string& fault : faults) {
    fault = base::ReplaceAll(fault, "a qualified name", "a valid label key");
  }
  return faults;
}

void CheckConstraints(json::Value constraints, const FieldPath& path, FieldErrors& errors) {
  const json::Value topology = constraints["topology"];
  const FieldPath list = path.Child("topology");
  if (!CheckMostItems(topology, kMostTopologies, list, errors)) return;
  std::size_t index = 0;
  for (const json::Value& one : topology.elements()) {
    CheckRequiredName(one, "key", &IsLabelKey, list.Index(index++), errors);
  }
}

}  // namespace

void CheckRequiredName(json::Value owner, std::string_view name,
                       std::vector<std::string> (*check)(std::string_view), const FieldPath& path,
                       FieldErrors& errors) {
  const std::string_view text = owner[name].AsString();
  if (RequireField(owner, name, path, errors)) {
    AddFaults(path.Child(name), text, check(text), errors);
  }
}

void CheckLongName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  AddFaults(path, name, api::IsDns1123Subdomain(name), errors);
}

void CheckNamesAreUnique(json::Value list, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& element : list.elements()) {
    const FieldPath at = path.Index(index++);
    if (!seen.insert(element["name"].AsString()).second) {
      errors.push_back(api::Duplicate(at, element));
    }
  }
}

void CheckMembers(json::Value owner, std::initializer_list<std::string_view> names,
                  const FieldPath& path, FieldErrors& errors) {
  std::vector<std::string_view> set;
  std::vector<std::string> all;
  for (const std::string_view name : names) {
    if (!owner[name].is_null()) set.push_back(name);
    all.push_back(base::StrCat("`", name, "`"));
  }
  const std::string listed = base::Join(all, ", ");
  if (set.empty()) {
    errors.push_back(api::Invalid(path, "", base::StrCat("must specify one of: ", listed)));
  } else if (set.size() > 1) {
    errors.push_back(api::Invalid(path, base::StrCat("{", base::Join(set, ", "), "}"),
                                  base::StrCat("must specify exactly one of: ", listed)));
  }
}

json::Value WithoutGatedFields(const Context& ctx, json::Value spec, json::Value old) {
  for (const GroupField& field : kGatedGroupFields) {
    if (spec[field.name].is_null() || !old[field.name].is_null() ||
        ctx.release->GateEnabled(field.gate)) {
      continue;
    }
    spec = json::Without(ctx.arena, spec, field.name);
  }
  return spec;
}

void CheckGatedField(std::string_view name, json::Value value, const FieldPath& path,
                     FieldErrors& errors) {
  if (value.is_null()) return;
  if (name == "schedulingConstraints") {
    CheckConstraints(value, path, errors);
  } else if (name == "resourceClaims") {
    CheckClaims(value, path, errors);
  } else if (name == "disruptionMode") {
    CheckOneOf(value, path, {"Pod", "PodGroup"}, errors);
  } else if (name == "priorityClassName") {
    CheckLongName(value.AsString(), path, errors);
  } else if (value.AsInt() > kHighestPriority) {
    errors.push_back(api::Invalid(
        path, value,
        base::StrCat("must be less than or equal to ", std::to_string(kHighestPriority))));
  }
}

void CheckSchedulingPolicy(json::Value policy, const FieldPath& path, FieldErrors& errors) {
  CheckMembers(policy, {"basic", "gang"}, path, errors);
  const json::Value gang = policy["gang"];
  if (gang.is_null()) return;
  const FieldPath count = path.Child("gang", "minCount");
  const std::int64_t number = gang["minCount"].AsInt();
  if (number == 0) {
    errors.push_back(api::Required(count, ""));
  } else if (number < 1) {
    errors.push_back(api::Invalid(count, number, "must be greater than or equal to 1"));
  }
}

}  // namespace portcullis::registry

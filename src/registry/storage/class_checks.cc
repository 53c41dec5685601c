// SPDX-License-Identifier: Apache-2.0

#include "registry/storage/class_checks.h"

#include <vector>

#include "base/strings.h"
#include "json/sorted.h"
#include "registry/pods/pod_warnings.h"

namespace portcullis::registry {

void CheckProvisioner(json::Value value, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = value.AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const std::string lower = base::ToLower(name);
  AddInvalid(path, lower, api::IsQualifiedName(lower), errors);
}

void CheckParameters(json::Value parameters, bool may_be_empty, const FieldPath& path,
                     FieldErrors& errors) {
  if (parameters.size() > 512) {
    errors.push_back(api::TooLong(path, 512));
    return;
  }
  std::size_t total = 0;
  for (const json::Member* parameter : json::MembersByName(parameters)) {
    if (parameter->name().empty()) {
      errors.push_back(api::Invalid(path, parameter->name(), "field can not be empty."));
    }
    total += parameter->name().size() + parameter->value.AsString().size();
  }
  if (total > std::size_t{256} * 1024) errors.push_back(api::TooLong(path, 256 * 1024));
  if (!may_be_empty && parameters.empty()) {
    errors.push_back(api::Required(path, "must contain at least one key/value pair"));
  }
}

void WarnOfLabel(std::string_view key, const FieldPath& path, std::vector<std::string>& warnings) {
  const std::string_view text = DeprecatedNodeLabel(key);
  if (!text.empty()) warnings.push_back(base::StrCat(path.ToString(), ": ", text));
}

}  // namespace portcullis::registry

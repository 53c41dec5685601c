// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/static_names.h"

#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kReserved =
    "names ending with \".static.k8s.io\" are reserved for static manifest-based configurations "
    "and cannot be managed via the API";

bool IsStatic(json::Value object) {
  return object["metadata"]["name"].AsString().ends_with(".static.k8s.io");
}

}  // namespace

void CheckStaticName(const Context& ctx, json::Value object, api::FieldErrors& errors) {
  if (!ctx.reserves_static_names || !IsStatic(object)) return;
  errors.push_back(api::Invalid(api::FieldPath("metadata", "name"),
                                object["metadata"]["name"].AsString(), kReserved));
}

void WarnOfStaticName(const Context& ctx, json::Value object, std::vector<std::string>& warnings) {
  if (ctx.reserves_static_names || !IsStatic(object)) return;
  warnings.push_back(base::StrCat("metadata.name: ", kReserved));
}

}  // namespace portcullis::registry

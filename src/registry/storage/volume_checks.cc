// SPDX-License-Identifier: Apache-2.0

#include "registry/storage/volume_checks.h"

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {

std::string StructDifference(const Context& ctx, std::string_view definition, json::Value before,
                             json::Value after, json::Value sent) {
  if (ctx.catalog == nullptr) return "";
  const auto* schema = ctx.catalog->FindDefinition(definition);
  return schema == nullptr ? "" : "\n" + GoDiff(*schema, before, after, sent);
}

json::Value PendingPhase() { return json::Value::StringView("Pending"); }

bool CheckNotNegative(const api::Quantity& amount, const FieldPath& path, FieldErrors& errors) {
  if (amount.Sign() >= 0) return true;
  errors.push_back(api::Invalid(path, amount.Value(), "must be a valid resource quantity"));
  return false;
}

void WarnOfBetaClass(json::Value object, std::vector<std::string>& warnings) {
  if (!object["metadata"]["annotations"].Has(kBetaClass)) return;
  warnings.push_back(
      base::StrCat("metadata.annotations[", kBetaClass,
                   "]: deprecated since v1.8; use \"storageClassName\" attribute instead"));
}

}  // namespace portcullis::registry

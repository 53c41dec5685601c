// SPDX-License-Identifier: Apache-2.0

// ConfigMaps (pkg/apis/core/validation).

#include "json/sorted.h"
#include "registry/config/data_checks.h"
#include "registry/kind_table.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

void ValidateConfigMap(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value data = object["data"];
  const json::Value binary = object["binaryData"];
  std::size_t total = 0;
  for (const json::Member* entry : json::MembersByName(data)) {
    const FieldPath path = FieldPath("data").Key(entry->name());
    AddInvalid(path, entry->name(), IsConfigMapKey(entry->name()), errors);
    if (binary.Has(entry->name())) {
      errors.push_back(api::Invalid(path, entry->name(), "duplicate of key present in binaryData"));
    }
    total += entry->value.AsString().size();
  }
  for (const json::Member* entry : json::MembersByName(binary)) {
    AddInvalid(FieldPath("binaryData").Key(entry->name()), entry->name(),
               IsConfigMapKey(entry->name()), errors);
    total += DecodedSize(entry->value.AsString());
  }
  if (total > kMostDataBytes) errors.push_back(api::TooLong(FieldPath("[]"), kMostDataBytes));
}

// kube-apiserver gives a ConfigMap without `data` an empty map, but none as `binaryData`: `{}` differs from
// nothing there alone.
void CheckDataChange(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  CheckImmutableData(WithSentEmpty(ctx.arena, object, ctx.sent, "binaryData"), old,
                     {"data", "binaryData"}, errors);
}

}  // namespace

void AddConfigMapStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "configmaps",
             .validate = &ValidateConfigMap,
             .validate_between = &CheckDataChange,
             .validate_update = &AsNew<&ValidateConfigMap>,
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry

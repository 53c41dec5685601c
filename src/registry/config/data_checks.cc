// SPDX-License-Identifier: Apache-2.0

#include "registry/config/data_checks.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kImmutableText = "field is immutable when `immutable` is set";

}  // namespace

std::size_t DecodedSize(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return text.size() / 4 * 3 - padding;
}

void CheckImmutableData(json::Value object, json::Value old,
                        std::initializer_list<std::string_view> fields, FieldErrors& errors) {
  if (!old["immutable"].AsBool()) return;
  if (!object["immutable"].AsBool()) {
    errors.push_back(api::Forbidden(FieldPath("immutable"), kImmutableText));
  }
  for (const std::string_view field : fields) {
    if (!(object[field] == old[field])) {
      errors.push_back(api::Forbidden(FieldPath(field), kImmutableText));
    }
  }
}

}  // namespace portcullis::registry

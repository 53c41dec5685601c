// SPDX-License-Identifier: Apache-2.0

#include "api/view/metadata.h"

namespace portcullis::api::view {

json::Value Metadata::controller() const {
  for (const json::Value& owner : owner_references().elements()) {
    if (owner["controller"].AsBool()) return owner;
  }
  return {};
}

}  // namespace portcullis::api::view

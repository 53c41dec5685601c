// SPDX-License-Identifier: Apache-2.0

#include "store/uninitialized.h"

#include "api/view/initializers.h"

namespace portcullis::store {

bool IsUninitialized(const Object& object) {
  // Objects are stored without blanks, and a text would have its quotes escaped.
  if (object.bytes().find("\"initializers\":{") == std::string_view::npos) return false;
  return api::view::Initializers(object.document().root()).present();
}

}  // namespace portcullis::store

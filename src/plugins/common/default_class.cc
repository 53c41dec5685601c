// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/default_class.h"

#include "api/view/metadata.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::common {

std::string DefaultClass(const store::Reader* reader, std::string_view group,
                         std::string_view resource,
                         std::initializer_list<std::string_view> annotations) {
  std::string name;
  std::string created;
  for (const store::ObjectPtr& object : List(reader, group, resource)) {
    const api::view::Metadata metadata(object->document().root());
    bool marked = false;
    for (std::string_view annotation : annotations) {
      marked = marked || metadata.annotation(annotation) == "true";
    }
    if (!marked) continue;
    // RFC 3339 in UTC sorts as text. Objects are listed by name, so the first of equals stays.
    if (name.empty() || metadata.creation_timestamp() > created) {
      name = metadata.name();
      created = metadata.creation_timestamp();
    }
  }
  return name;
}

}  // namespace portcullis::plugins::common

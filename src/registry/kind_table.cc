// SPDX-License-Identifier: Apache-2.0

#include "registry/kind_table.h"

#include "registry/kind_list.h"

namespace portcullis::registry {

const KindTable& KindTable::BuiltIn() {
  static const KindTable table = [] {
    KindTable made;
    AddAllKinds(made);
    return made;
  }();
  return table;
}

const Kind* KindTable::Find(std::string_view group, std::string_view resource) const {
  for (const Kind& kind : kinds_) {
    if (kind.resource == resource && kind.group == group) return &kind;
  }
  return nullptr;
}

}  // namespace portcullis::registry

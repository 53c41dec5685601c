// The families below registry/kinds/, as the build finds them. Private to the registry.
#pragma once

#include "registry/kind_table.h"

namespace portcullis::registry {

void AddAllKinds(KindTable& table);

}  // namespace portcullis::registry

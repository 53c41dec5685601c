// SPDX-License-Identifier: Apache-2.0

// The kinds whose files the build has found (see CMakeLists.txt). Private to the registry.
#pragma once

#include "registry/kind_table.h"

namespace portcullis::registry {

void AddAllKinds(KindTable& table);

}  // namespace portcullis::registry

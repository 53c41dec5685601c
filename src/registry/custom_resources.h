// The strategy of custom resources. Stateless; see strategy.h.
#pragma once

#include <memory>

#include "registry/strategy.h"

namespace portcullis::registry {

std::unique_ptr<Strategy> MakeCustomResources(bool has_status);

}  // namespace portcullis::registry

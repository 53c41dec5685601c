// SPDX-License-Identifier: Apache-2.0

// The factory of a plugin whose constructor takes the context and cannot fail.
#pragma once

#include <memory>

#include "admission/plugin.h"

namespace portcullis::plugins::common {

template <typename P>
base::Result<std::unique_ptr<admission::Plugin>> Make(const admission::PluginContext& context) {
  return std::unique_ptr<admission::Plugin>(std::make_unique<P>(context));
}

}  // namespace portcullis::plugins::common

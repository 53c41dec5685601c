// SPDX-License-Identifier: Apache-2.0

// RequestKind: how the limits and metrics of requests under way tell them apart.
#pragma once

#include <cstdint>

namespace portcullis::flow_control {

enum class RequestKind : std::uint8_t { kReadOnly, kMutating };

}  // namespace portcullis::flow_control

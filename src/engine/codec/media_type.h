// SPDX-License-Identifier: Apache-2.0

// The encodings of objects.
#pragma once

#include <cstdint>

namespace portcullis::engine {

enum class MediaType : std::uint8_t { kJson, kYaml, kProtobuf, kCbor };

}  // namespace portcullis::engine

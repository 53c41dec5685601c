// SPDX-License-Identifier: Apache-2.0

// The wire form of Kubernetes' objects in protobuf: that of base/protobuf_reader.h behind a magic.
#pragma once

#include <string_view>

#include "base/protobuf_wire.h"

namespace portcullis::engine::protobuf {

// How the body of an object begins; a message of type runtime.Unknown follows.
inline constexpr std::string_view kMagic("k8s\0", 4);

using namespace base::protobuf;

}  // namespace portcullis::engine::protobuf

// SPDX-License-Identifier: Apache-2.0

// The files of data/, part of the program.
#pragma once

#include <string_view>

namespace portcullis::engine {

std::string_view EmbeddedProtobufFields();  // data/protobuf.fields

}  // namespace portcullis::engine

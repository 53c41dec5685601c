// The text of data/protobuf.fields, part of the program.
#pragma once

#include <string_view>

namespace portcullis::engine {

std::string_view EmbeddedProtobufFields();

}  // namespace portcullis::engine

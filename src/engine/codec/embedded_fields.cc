// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/embedded_fields.h"

#include <cstddef>

// The assembler takes the files in; see CMakeLists.txt of this folder.
__asm__(
    ".pushsection .rodata\n"
    ".global pc_protobuf_fields_begin\n"
    "pc_protobuf_fields_begin:\n"
    ".incbin \"" PC_ENGINE_DATA
    "/protobuf.fields\"\n"
    ".global pc_protobuf_fields_end\n"
    "pc_protobuf_fields_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char pc_protobuf_fields_begin[];
extern const char pc_protobuf_fields_end[];
}

namespace portcullis::engine {
namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view EmbeddedProtobufFields() {
  return Between(pc_protobuf_fields_begin, pc_protobuf_fields_end);
}

}  // namespace portcullis::engine

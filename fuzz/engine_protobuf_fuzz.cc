// Bodies in Kubernetes' protobuf form.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/codec/protobuf.h"
#include "json/value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  portcullis::json::Arena arena;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static_cast<void>(portcullis::engine::ParseProtobuf(arena, body));
  return 0;
}

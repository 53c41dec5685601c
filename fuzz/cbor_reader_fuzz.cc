// SPDX-License-Identifier: Apache-2.0

// Any bytes: reading never crashes; what reads well is well-formed, writes, and reads back equal.
#include <cstdlib>
#include <string>
#include <string_view>

#include "cbor/reader.h"
#include "cbor/writer.h"

namespace cbor = portcullis::cbor;
namespace json = portcullis::json;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  json::Arena arena;
  const bool well_formed = cbor::CheckWellFormed(bytes).ok();
  const auto value = cbor::Parse(arena, bytes);
  constexpr std::string_view kNames[] = {"kind", "apiVersion"};
  const auto members = cbor::ParseMembers(arena, bytes, kNames);
  if (!well_formed && (value.ok() || members.ok())) std::abort();
  if (!value.ok()) {
    if (value.status().message().empty()) std::abort();
    return 0;
  }
  if (!members.ok()) std::abort();
  for (const std::string_view name : kNames) {
    if (!((*members)[name] == (*value)[name])) std::abort();
  }
  std::string written(cbor::kSelfDescribed);
  cbor::Write(*value, written);
  const auto again = cbor::Parse(arena, written);
  if (!again.ok() || !(*again == *value)) std::abort();
  return 0;
}

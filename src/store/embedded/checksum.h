// SPDX-License-Identifier: Apache-2.0

// The checksums of rows: CRC-32 over everything a row says, so that a bit that flips on the disk is
// noticed in the row it hits. What goes in, byte for byte, is in docs/internals/store.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace portcullis::store {

struct ObjectRow {
  std::int64_t revision = 0;
  std::int64_t collection = 0;
  std::string_view ns;
  std::string_view name;
  std::int64_t revision_at = 0;
  std::string_view bytes;
};

std::int64_t ChecksumOf(const ObjectRow& row);
std::int64_t ChecksumOfCollection(std::int64_t id, std::string_view group,
                                  std::string_view resource);
std::int64_t ChecksumOfMeta(std::string_view name, std::int64_t value);

}  // namespace portcullis::store

// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/checksum.h"

#include <libdeflate.h>

#include <array>
#include <cstdint>
#include <initializer_list>

namespace portcullis::store {
namespace {

// Numbers as eight bytes each, the least significant first, then the texts. The lengths of all
// texts but the last are among the numbers.
std::uint32_t Checksum(std::initializer_list<std::int64_t> numbers,
                       std::initializer_list<std::string_view> texts) {
  std::array<unsigned char, 64> head{};
  std::size_t size = 0;
  for (const std::int64_t number : numbers) {
    auto rest = static_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i, rest >>= 8) head[size++] = static_cast<unsigned char>(rest);
  }
  std::uint32_t checksum = libdeflate_crc32(0, head.data(), size);
  for (const std::string_view text : texts) {
    if (text.empty()) continue;
    checksum = libdeflate_crc32(checksum, text.data(), text.size());
  }
  return checksum;
}

std::int64_t SizeOf(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

}  // namespace

std::int64_t ChecksumOf(const ObjectRow& row) {
  return static_cast<std::int64_t>(
      Checksum({row.revision, row.collection, row.revision_at, SizeOf(row.ns), SizeOf(row.name)},
               {row.ns, row.name, row.bytes}));
}

std::int64_t ChecksumOfCollection(std::int64_t id, std::string_view group,
                                  std::string_view resource) {
  return static_cast<std::int64_t>(Checksum({id, SizeOf(group)}, {group, resource}));
}

std::int64_t ChecksumOfMeta(std::string_view name, std::int64_t value) {
  return static_cast<std::int64_t>(Checksum({value}, {name}));
}

}  // namespace portcullis::store

// SPDX-License-Identifier: Apache-2.0

#include "api/schema/field_index.h"

#include <algorithm>
#include <numeric>

namespace portcullis::api::schema {
namespace {

// Structs with more fields than this are looked up through an index.
constexpr std::size_t kLinearFields = 6;
constexpr std::uint16_t kFree = 0xFFFF;
// The longest run of slots in use that a table may have; good hashes make runs of a few.
constexpr std::size_t kLongestRun = 64;

// Decoded objects have the names of the schema itself.
bool Is(const Field& field, std::string_view name, std::uint32_t hash) {
  return field.hash == hash && field.name.size() == name.size() &&
         (field.name.data() == name.data() || field.name == name);
}

// Empty if the table would have a long run.
FieldIndex MakeTable(std::span<const Field> fields) {
  std::size_t slots = 16;
  while (slots < fields.size() * 2) slots *= 2;
  FieldIndex table(slots, kFree);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::size_t slot = fields[i].hash & (slots - 1);
    for (std::size_t steps = 0; table[slot] != kFree; slot = (slot + 1) & (slots - 1)) {
      if (++steps > kLongestRun) return {};
    }
    table[slot] = static_cast<std::uint16_t>(i);
  }
  std::size_t run = 0;
  for (std::size_t i = 0; i < 2 * slots; ++i) {  // twice: a run may go round the end
    run = table[i & (slots - 1)] == kFree ? 0 : run + 1;
    if (run > kLongestRun) return {};
  }
  return table;
}

FieldIndex MakeOrdered(std::span<const Field> fields) {
  std::vector<std::uint32_t> positions(fields.size());
  std::iota(positions.begin(), positions.end(), 0U);
  std::sort(positions.begin(), positions.end(), [&](std::uint32_t a, std::uint32_t b) {
    return fields[a].hash != fields[b].hash ? fields[a].hash < fields[b].hash
                                            : fields[a].name < fields[b].name;
  });
  FieldIndex ordered;
  ordered.reserve(2 * positions.size() + 1);
  for (const std::uint32_t position : positions) {
    ordered.push_back(static_cast<std::uint16_t>(position >> 16));
    ordered.push_back(static_cast<std::uint16_t>(position & 0xFFFF));
  }
  ordered.push_back(0);
  return ordered;
}

const Field* FindOrdered(const FieldIndex& index, std::span<const Field> fields,
                         std::string_view name, std::uint32_t hash) {
  const auto at = [&](std::size_t i) -> const Field& {
    return fields[static_cast<std::size_t>(index[2 * i]) << 16 | index[2 * i + 1]];
  };
  std::size_t first = 0;
  for (std::size_t count = index.size() / 2; count > 0;) {
    const std::size_t half = count / 2;
    const Field& field = at(first + half);
    const bool before = field.hash != hash ? field.hash < hash : field.name < name;
    if (before) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first < index.size() / 2 && at(first).name == name ? &at(first) : nullptr;
}

}  // namespace

FieldIndex MakeFieldIndex(std::span<const Field> fields) {
  if (fields.size() <= kLinearFields) return {};
  FieldIndex index;
  if (fields.size() < kFree) index = MakeTable(fields);
  return index.empty() ? MakeOrdered(fields) : index;
}

const Field* FindInIndex(const FieldIndex& index, std::span<const Field> fields,
                         std::string_view name, std::uint32_t hash) {
  if (index.empty()) {
    for (const Field& field : fields) {
      if (Is(field, name, hash)) return &field;
    }
    return nullptr;
  }
  if (index.size() % 2 != 0) return FindOrdered(index, fields, name, hash);
  const std::size_t mask = index.size() - 1;
  for (std::size_t slot = hash & mask; index[slot] != kFree; slot = (slot + 1) & mask) {
    const Field& field = fields[index[slot]];
    if (Is(field, name, hash)) return &field;
  }
  return nullptr;
}

}  // namespace portcullis::api::schema

// SPDX-License-Identifier: Apache-2.0

// What Schema::field_index holds: how a struct's field is found by its name; private to this folder.
//
// Names come from the authors of CustomResourceDefinitions, and the hash of names has no key: where
// many of them collide, and where there are very many, the index is an ordered list instead of a
// hash table, so that no look-up takes more than logarithmic time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"

namespace portcullis::api::schema {

// Empty: the fields are few and compared one by one. Of even size: a hash table of positions, open-
// addressed. Of odd size: positions ordered by hash, then name, two entries for each, and one more.
using FieldIndex = std::vector<std::uint16_t>;

// REQUIRES: names are distinct, and each field has its hash.
FieldIndex MakeFieldIndex(std::span<const Field> fields);
// `index` was made of `fields`.
const Field* FindInIndex(const FieldIndex& index, std::span<const Field> fields,
                         std::string_view name, std::uint32_t hash);

}  // namespace portcullis::api::schema

// SPDX-License-Identifier: Apache-2.0

// Searching a text in a text in time linear in both, whatever they say: std::string_view::find()
// takes the product of their sizes for texts such as "aaaa…" and "aaaa…b".
#pragma once

#include <cstddef>
#include <string_view>

namespace portcullis::base {

// As text.find(wanted, from).
std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from = 0);
// As text.rfind(wanted, from). Copies both texts where `wanted` is longer than a few bytes.
std::size_t FindLastText(std::string_view text, std::string_view wanted,
                         std::size_t from = std::string_view::npos);

}  // namespace portcullis::base

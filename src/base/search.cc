// SPDX-License-Identifier: Apache-2.0

#include "base/search.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace portcullis::base {

std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  // The C library's is linear: Crochemore and Perrin's two-way algorithm for long texts.
  const void* found =
      ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t FindLastText(std::string_view text, std::string_view wanted, std::size_t from) {
  constexpr std::size_t kShort = 16;
  if (wanted.size() <= kShort) return text.rfind(wanted, from);
  if (wanted.size() > text.size()) return std::string_view::npos;
  // The first occurrence in the text read backwards.
  const std::size_t end = std::min(from, text.size() - wanted.size()) + wanted.size();
  const std::string backwards(text.rend() - static_cast<std::ptrdiff_t>(end), text.rend());
  const std::string wanted_backwards(wanted.rbegin(), wanted.rend());
  const std::size_t found = FindText(backwards, wanted_backwards);
  return found == std::string_view::npos ? found : end - found - wanted.size();
}

}  // namespace portcullis::base

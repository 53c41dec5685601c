// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_as_json.h"

#include <algorithm>
#include <cstddef>

#include "json/reader.h"
#include "json/scan.h"

namespace portcullis::json::internal {
namespace {

// A backslash and what follows it, where that means the same to both languages; null otherwise.
const char* SkipEscape(const char* p, const char* end) {
  const std::string_view rest(p, static_cast<std::size_t>(end - p));
  for (const std::string_view escape : {"n", "\"", "\\", "t", "r", "b", "f"}) {
    if (rest.starts_with(escape)) return p + escape.size();
  }
  for (const std::string_view escape : {"u003c", "u003e", "u0026"}) {
    if (rest.starts_with(escape)) return p + escape.size();
  }
  return nullptr;
}

// Whether YAML reads the text as JSON does, provided that it is JSON: it has one line of ASCII, blanks behind
// commas and colons alone, and no name that is too long for a key.
bool ReadsLikeJson(std::string_view text) {
  constexpr std::ptrdiff_t kLongestName = 1000;  // YAML takes 1024 characters with quotes
  if (!text.starts_with('{') || text.find('\x7F') != std::string_view::npos) return false;
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    const char c = *p++;
    if (c == ' ' && p[-2] != ',' && p[-2] != ':') return false;
    if (c < ' ') return false;  // and bytes beyond ASCII
    if (c != '"') continue;
    const char* const begin = p;
    while (true) {
      const StringScan scan = ScanString(p, end);
      if (scan.stop == end || scan.non_ascii) return false;
      p = scan.stop + 1;
      if (*scan.stop == '"') break;
      if (*scan.stop != '\\') return false;
      p = SkipEscape(p, end);
      if (p == nullptr) return false;
    }
    if (p != end && *p == ':' && p - begin > kLongestName) return false;
  }
  return true;
}

bool HasDouble(const Value& value) {
  const auto members = value.members();
  const auto elements = value.elements();
  return value.is_double() || std::any_of(elements.begin(), elements.end(), HasDouble) ||
         std::any_of(members.begin(), members.end(),
                     [](const Member& member) { return HasDouble(member.value); });
}

}  // namespace

std::optional<Value> ReadAsJson(Arena& arena, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (!ReadsLikeJson(text)) return std::nullopt;
  bool repeats_keys = false;
  ParseOptions options;
  options.repeats_keys = &repeats_keys;
  options.max_depth = 100;
  const auto value = Parse(arena, text, options);
  if (!value.ok() || repeats_keys || HasDouble(*value)) return std::nullopt;
  return *value;
}

}  // namespace portcullis::json::internal

// SPDX-License-Identifier: Apache-2.0

#include "json/pointer.h"

#include "base/strings.h"

namespace portcullis::json {
namespace {

bool ValidTildes(std::string_view token) {
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') continue;
    if (i + 1 == token.size() || (token[i + 1] != '0' && token[i + 1] != '1')) return false;
  }
  return true;
}

// Indices are decimal without leading zeros.
std::optional<std::size_t> ParseIndex(std::string_view token) {
  if (token.empty() || token.size() > 9 || (token.size() > 1 && token[0] == '0')) return {};
  std::size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return {};
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index;
}

}  // namespace

base::Result<std::vector<std::string>> ParsePointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer[0] != '/') return base::BadRequest("JSON pointer does not begin with \"/\"");
  for (const std::string_view token : base::Split(pointer.substr(1), '/')) {
    if (!ValidTildes(token)) {
      return base::BadRequest("JSON pointer has a \"~\" that is not followed by 0 or 1");
    }
    tokens.push_back(UnescapeToken(token));
  }
  return tokens;
}

std::optional<Value> Resolve(Value root, std::string_view pointer) {
  const auto tokens = ParsePointer(pointer);
  if (!tokens.ok()) return {};
  Value value = root;
  for (const std::string& token : *tokens) {
    if (value.is_object()) {
      const Value* member = value.Find(token);
      if (member == nullptr) return {};
      value = *member;
      continue;
    }
    const std::optional<std::size_t> index = ParseIndex(token);
    if (!index || *index >= value.elements().size()) return {};
    value = value.elements()[*index];
  }
  return value;
}

std::string EscapeToken(std::string_view token) {
  std::string out;
  for (const char c : token) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string UnescapeToken(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char next = i + 1 < token.size() ? token[i + 1] : '\0';
    if (token[i] == '~' && (next == '0' || next == '1')) {
      out += next == '0' ? '~' : '/';
      ++i;
    } else {
      out += token[i];
    }
  }
  return out;
}

}  // namespace portcullis::json

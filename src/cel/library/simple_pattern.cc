// SPDX-License-Identifier: Apache-2.0

#include "cel/library/simple_pattern.h"

namespace portcullis::cel {
namespace {

constexpr std::size_t kMaxItems = 16;
constexpr std::string_view kMeta = "\\.+*?()|[]{}^$";

bool IsPlain(char c) { return c > ' ' && c < 0x7f && kMeta.find(c) == std::string_view::npos; }
bool IsEscapable(char c) {  // punctuation stands for itself
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return c > ' ' && c < 0x7f && !letter && c != '_';
}

using Set = std::array<bool, 256>;

void AddRange(Set& set, char first, char last) {
  for (int c = first; c <= last; ++c) set[static_cast<std::size_t>(c)] = true;
}

// Reads `…]`; false if it is anything but plain characters and ranges of letters or digits.
bool ReadClass(std::string_view pattern, std::size_t& at, Set& set) {
  const auto is_member = [](char c) {
    return c > ' ' && c < 0x7f && c != '[' && c != ']' && c != '\\' && c != '^';
  };
  bool any = false;
  while (at < pattern.size() && pattern[at] != ']') {
    char c = pattern[at];
    if (c == '\\') {
      if (at + 1 >= pattern.size() || !IsEscapable(pattern[at + 1])) return false;
      set[static_cast<std::size_t>(pattern[at + 1])] = true;
      at += 2;
      if (at < pattern.size() && pattern[at] == '-' && at + 1 < pattern.size() &&
          pattern[at + 1] != ']') {
        return false;
      }
      any = true;
      continue;
    }
    if (!is_member(c)) return false;
    const bool range = at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    if (range) {
      const char last = pattern[at + 2];
      if (!is_member(last) || last < c || c == '-') return false;
      AddRange(set, c, last);
      at += 3;
    } else {
      set[static_cast<std::size_t>(c)] = true;
      ++at;
    }
    any = true;
  }
  if (at >= pattern.size() || !any) return false;
  ++at;
  return true;
}

bool Overlap(const Set& a, const Set& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] && b[i]) return true;
  }
  return false;
}

}  // namespace

std::optional<SimplePattern> SimplePattern::Parse(std::string_view pattern) {
  if (!pattern.starts_with('^')) return std::nullopt;
  SimplePattern result;
  for (std::size_t at = 1; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '$' && at + 1 == pattern.size()) {
      result.to_the_end_ = true;
      break;
    }
    if (result.items_.size() == kMaxItems) return std::nullopt;
    Item item;
    ++at;
    if (c == '[') {
      if (!ReadClass(pattern, at, item.set)) return std::nullopt;
    } else if (c == '\\') {
      if (at >= pattern.size()) return std::nullopt;
      if (pattern[at] == 'd') {
        AddRange(item.set, '0', '9');
      } else if (IsEscapable(pattern[at])) {
        item.set[static_cast<std::size_t>(pattern[at])] = true;
      } else {
        return std::nullopt;
      }
      ++at;
    } else if (IsPlain(c)) {
      item.set[static_cast<std::size_t>(c)] = true;
    } else {
      return std::nullopt;
    }
    if (at < pattern.size() &&
        std::string_view("*+?").find(pattern[at]) != std::string_view::npos) {
      item.optional = pattern[at] != '+';
      item.repeated = pattern[at] != '?';
      ++at;
    }
    result.items_.push_back(item);
  }
  // Greed is right only if what follows an item that may stop early cannot begin with what the item
  // would take.
  for (std::size_t i = 0; i < result.items_.size(); ++i) {
    const Item& item = result.items_[i];
    if (!item.optional && !item.repeated) continue;
    for (std::size_t next = i + 1; next < result.items_.size(); ++next) {
      if (Overlap(item.set, result.items_[next].set)) return std::nullopt;
      if (!result.items_[next].optional) break;
    }
  }
  return result;
}

bool SimplePattern::Matches(std::string_view text) const {
  std::size_t at = 0;
  for (const Item& item : items_) {
    const auto fits = [&] {
      return at < text.size() && item.set[static_cast<unsigned char>(text[at])];
    };
    if (!fits()) {
      if (!item.optional) return false;
      continue;
    }
    ++at;
    while (item.repeated && fits()) ++at;
  }
  return !to_the_end_ || at == text.size();
}

}  // namespace portcullis::cel

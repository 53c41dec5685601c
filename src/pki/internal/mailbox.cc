// SPDX-License-Identifier: Apache-2.0

#include "pki/internal/mailbox.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

bool IsAtomCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-/=?^_`{|}~.").find(c) != std::string_view::npos;
}

// Characters that may stand in a quoted part as they are; the blank by common errata.
bool IsQuotable(char c) {
  return c > 0 && c != '\t' && c != '\n' && c != '\r' && c != '"' && c != '\\';
}

bool IsEscapable(char c) { return c > 0 && c != '\n' && c != '\r'; }

// The local part up to the '@' or the closing quote; `text` moves past it.
std::optional<std::string> QuotedPart(std::string_view& text) {
  std::string local;
  text.remove_prefix(1);
  while (!text.empty() && text[0] != '"') {
    const bool escaped = text[0] == '\\';
    if (escaped) text.remove_prefix(1);
    if (text.empty() || !(escaped ? IsEscapable(text[0]) : IsQuotable(text[0]))) {
      return std::nullopt;
    }
    local.push_back(text[0]);
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  text.remove_prefix(1);
  return local;
}

std::optional<std::string> AtomPart(std::string_view& text) {
  std::string local;
  while (!text.empty() && (text[0] == '\\' || IsAtomCharacter(text[0]))) {
    if (text[0] == '\\') text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    local.push_back(text[0]);
    text.remove_prefix(1);
  }
  if (local.empty() || local.front() == '.' || local.back() == '.' ||
      local.find("..") != std::string::npos) {
    return std::nullopt;
  }
  return local;
}

bool IsDomain(std::string_view text) {
  if (text.empty()) return true;
  for (const std::string_view label : base::Split(text, '.')) {
    if (label.empty() ||
        !std::all_of(label.begin(), label.end(), [](char c) { return c >= 33 && c <= 126; })) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Mailbox> ParseMailbox(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto local = text[0] == '"' ? QuotedPart(text) : AtomPart(text);
  if (!local || !text.starts_with('@')) return std::nullopt;
  text.remove_prefix(1);
  if (!IsDomain(text)) return std::nullopt;
  return Mailbox{std::move(*local), std::string(text)};
}

}  // namespace portcullis::pki

// SPDX-License-Identifier: Apache-2.0

#include "pki/pem.h"

#include <optional>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kEnd = "\n-----END ";
constexpr std::string_view kDashes = "-----";

// The line at the front of `text`, without its end and the blanks before it; `text` moves past it.
std::string_view TakeLine(std::string_view& text) {
  const auto end = text.find('\n');
  auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
  return line;
}

// Whether the END line whose marker stands before `trailer` names the type and nothing else.
bool IsEndOf(std::string_view type, std::string_view trailer) {
  return TakeLine(trailer) == base::StrCat(type, kDashes);
}

std::optional<std::string> DecodeBody(std::string_view body) {
  std::string encoded;
  encoded.reserve(body.size());
  for (const char c : body) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') encoded.push_back(c);
  }
  return base::Base64Decode(encoded);
}

enum class Outcome { kBlock, kMalformed, kEndOfText };

// Reads a block from the text behind its BEGIN marker. `end` is where its END marker stands.
Outcome ReadBlock(std::string_view text, std::size_t end, PemBlock& block) {
  std::string_view rest = text;
  const std::string_view type = TakeLine(rest);
  if (!type.ends_with(kDashes)) return Outcome::kMalformed;
  block = {};
  block.type = type.substr(0, type.size() - kDashes.size());
  const auto position = [&] { return text.size() - rest.size(); };
  // Lines with a colon at the top are headers.
  for (std::string_view next = rest; TakeLine(next).find(':') != std::string_view::npos;
       rest = next) {
    if (position() > end) return Outcome::kEndOfText;  // Go gives up where END itself has a colon
    block.has_headers = true;
  }
  if (block.has_headers && position() > end) return Outcome::kMalformed;
  if (!IsEndOf(block.type, text.substr(end + kEnd.size()))) return Outcome::kMalformed;
  if (position() >= end) return Outcome::kBlock;
  auto bytes = DecodeBody(text.substr(position(), end - position()));
  if (!bytes) return Outcome::kMalformed;
  block.bytes = std::move(*bytes);
  return Outcome::kBlock;
}

}  // namespace

bool NextPemBlock(std::string_view& text, PemBlock& block) {
  std::string_view rest = text;
  for (auto end = rest.find(kEnd); end != std::string_view::npos; end = rest.find(kEnd)) {
    // The last BEGIN before the first END: one without an END is skipped.
    const auto begin = rest.substr(0, end).rfind(kBegin);
    if (begin != std::string_view::npos && (begin == 0 || rest[begin - 1] == '\n')) {
      const auto from = begin + kBegin.size();
      const Outcome outcome = ReadBlock(rest.substr(from), end - from, block);
      if (outcome == Outcome::kEndOfText) return false;
      if (outcome == Outcome::kBlock) {
        text = rest.substr(end + 1);
        TakeLine(text);
        return true;
      }
    }
    rest.remove_prefix(end + kEnd.size());
  }
  return false;
}

}  // namespace portcullis::pki

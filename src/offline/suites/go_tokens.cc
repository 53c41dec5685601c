// SPDX-License-Identifier: Apache-2.0

#include "offline/suites/go_tokens.h"

#include <algorithm>
#include <utility>

namespace portcullis::offline {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class GoLexer {
 public:
  explicit GoLexer(std::string_view source) : source_(source) {}

  std::vector<GoToken> Run() {
    while (at_ < source_.size()) Step();
    return std::move(tokens_);
  }

 private:
  void Step() {
    const char c = source_[at_];
    const std::size_t begin = at_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (source_.substr(at_, 2) == "//") {
      at_ = std::min(source_.find('\n', at_), source_.size());
    } else if (source_.substr(at_, 2) == "/*") {
      const std::size_t end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
    } else if (c == '`') {
      const std::size_t end = std::min(source_.find('`', at_ + 1), source_.size());
      Add(GoToken::Kind::kText, std::string(source_.substr(at_ + 1, end - at_ - 1)), begin);
      at_ = std::min(end + 1, source_.size());
    } else if (c == '"' || c == '\'') {
      std::string value = Quoted(c);
      Add(c == '"' ? GoToken::Kind::kText : GoToken::Kind::kSign, std::move(value), begin);
    } else if (IsWordCharacter(c)) {
      while (at_ < source_.size() && IsWordCharacter(source_[at_])) ++at_;
      Add(GoToken::Kind::kName, std::string(source_.substr(begin, at_ - begin)), begin);
    } else {
      Add(GoToken::Kind::kSign, std::string(1, c), begin);
      ++at_;
    }
  }

  // Up to the closing quote or the end of the line. Escapes by number stay as they are written.
  std::string Quoted(char quote) {
    std::string value;
    for (++at_; at_ < source_.size() && source_[at_] != '\n'; ++at_) {
      const char c = source_[at_];
      if (c == quote) {
        ++at_;
        break;
      }
      if (c != '\\' || at_ + 1 == source_.size()) {
        value.push_back(c);
        continue;
      }
      const char escaped = source_[++at_];
      switch (escaped) {
        case 'n':
          value.push_back('\n');
          break;
        case 't':
          value.push_back('\t');
          break;
        case '\\':
        case '"':
        case '\'':
          value.push_back(escaped);
          break;
        default:
          value += {'\\', escaped};
      }
    }
    // A sign is never empty.
    return quote == '\'' ? std::string(1, '\'') : value;
  }

  void Add(GoToken::Kind kind, std::string text, std::size_t offset) {
    tokens_.push_back({kind, std::move(text), offset});
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  std::vector<GoToken> tokens_;
};

}  // namespace

std::vector<GoToken> ReadGoTokens(std::string_view source) { return GoLexer(source).Run(); }

}  // namespace portcullis::offline

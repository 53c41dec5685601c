// SPDX-License-Identifier: Apache-2.0

#include "cel/library/regex.h"

#include <re2/re2.h>

#include <optional>

#include "base/strings.h"
#include "cel/library/go_pattern.h"
#include "cel/library/simple_pattern.h"

namespace portcullis::cel {
namespace {

std::string_view GoReason(re2::RE2::ErrorCode code, std::string_view error) {
  using re2::RE2;
  switch (code) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
      return "invalid character class";
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return error.starts_with("unexpected") ? "unexpected )" : "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    default:
      return "expression too large";
  }
}

}  // namespace

struct Regex::Compiled {
  explicit Compiled(std::string_view pattern, const re2::RE2::Options& options)
      : re(re2::StringPiece(pattern.data(), pattern.size()), options) {}
  re2::RE2 re;
  std::optional<SimplePattern> simple;
};

Regex::Regex() = default;
Regex::~Regex() = default;

base::Result<std::shared_ptr<const Regex>> Regex::Compile(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  std::shared_ptr<Regex> regex(new Regex());
  const auto translated = TranslateGoPattern(pattern);
  if (!translated.ok()) {
    return base::ConfigError(base::StrCat("error parsing regexp: ", translated.status().message()));
  }
  regex->compiled_ = std::make_unique<Compiled>(*translated, options);
  const re2::RE2& re = regex->compiled_->re;
  if (re.ok()) {
    regex->compiled_->simple = SimplePattern::Parse(pattern);
    return std::shared_ptr<const Regex>(std::move(regex));
  }
  // Go shows the whole expression where a closing parenthesis is missing, RE2 the same; a trailing
  // backslash is shown as nothing.
  const bool backslash = re.error_code() == re2::RE2::ErrorTrailingBackslash;
  const std::string shown = backslash ? "" : re.error_arg();
  return base::ConfigError(
      "error parsing regexp: " + std::string(GoReason(re.error_code(), re.error())) + ": `" +
      shown + "`");
}

bool Regex::Matches(std::string_view text) const {
  if (compiled_->simple) return compiled_->simple->Matches(text);
  const re2::StringPiece piece(text.data(), text.size());
  return compiled_->re.Match(piece, 0, piece.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

bool Regex::Find(std::string_view text, std::string_view& match) const {
  const re2::StringPiece piece(text.data(), text.size());
  re2::StringPiece found;
  if (!compiled_->re.Match(piece, 0, piece.size(), re2::RE2::UNANCHORED, &found, 1)) return false;
  match = text.substr(static_cast<std::size_t>(found.data() - text.data()), found.size());
  return true;
}

std::vector<std::string_view> Regex::FindAll(std::string_view text, std::int64_t limit) const {
  std::vector<std::string_view> matches;
  const re2::StringPiece piece(text.data(), text.size());
  std::size_t at = 0;
  std::size_t last_end = static_cast<std::size_t>(-1);
  while (at <= text.size() && (limit < 0 || matches.size() < static_cast<std::size_t>(limit))) {
    re2::StringPiece found;
    if (!compiled_->re.Match(piece, at, piece.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    const std::size_t end = begin + found.size();
    // An empty match right behind the last one does not count.
    if (!found.empty() || begin != last_end) matches.push_back(text.substr(begin, found.size()));
    last_end = end;
    if (!found.empty()) {
      at = end;
      continue;
    }
    at = end + 1;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return matches;
}

base::Result<std::shared_ptr<const Prepared>> PreparePattern(std::span<const Value> args) {
  if (args.size() < 2 || !args[1].is_string()) return std::shared_ptr<const Prepared>();
  return std::shared_ptr<const Prepared>(TRY(Regex::Compile(args[1].text())));
}

}  // namespace portcullis::cel

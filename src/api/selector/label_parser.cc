// SPDX-License-Identifier: Apache-2.0

#include "api/selector/label_parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/strings.h"

namespace portcullis::api {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

enum class Token : std::uint8_t {
  kError,
  kEnd,
  kClose,
  kComma,
  kNot,
  kDoubleEquals,
  kEquals,
  kGreater,
  kIdentifier,
  kIn,
  kLess,
  kNotEquals,
  kNotIn,
  kOpen,
};

struct Item {
  Token token = Token::kEnd;
  std::string text;
};

struct Symbol {
  std::string_view text;
  Token token;
};
constexpr std::array<Symbol, 11> kSymbols = {{{")", Token::kClose},
                                              {",", Token::kComma},
                                              {"!", Token::kNot},
                                              {"==", Token::kDoubleEquals},
                                              {"=", Token::kEquals},
                                              {">", Token::kGreater},
                                              {"in", Token::kIn},
                                              {"<", Token::kLess},
                                              {"!=", Token::kNotEquals},
                                              {"notin", Token::kNotIn},
                                              {"(", Token::kOpen}}};

std::optional<Token> SymbolOf(std::string_view text) {
  for (const Symbol& symbol : kSymbols) {
    if (symbol.text == text) return symbol.token;
  }
  return std::nullopt;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsSpecial(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

// A NUL ends the text, as it does for Kubernetes' lexer.
std::vector<Item> Scan(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  std::vector<Item> items;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && IsSpace(text[at])) ++at;
    if (at == text.size()) break;
    const std::size_t start = at;
    if (!IsSpecial(text[at])) {
      while (at < text.size() && !IsSpecial(text[at]) && !IsSpace(text[at])) ++at;
      const std::string_view word = text.substr(start, at - start);
      items.push_back({SymbolOf(word).value_or(Token::kIdentifier), std::string(word)});
      continue;
    }
    // The longest run of special characters that is an operator.
    std::optional<Token> last;
    std::size_t end = at;
    for (; end < text.size() && IsSpecial(text[end]); ++end) {
      const auto symbol = SymbolOf(text.substr(start, end + 1 - start));
      if (symbol) {
        last = symbol;
      } else if (last) {
        break;
      }
    }
    at = end;
    const std::string found(text.substr(start, end - start));
    items.push_back(last ? Item{*last, found}
                         : Item{Token::kError, "error expected: keyword found '" + found + "'"});
  }
  items.push_back({Token::kEnd, ""});
  return items;
}

base::Status Found(std::string_view text, std::string_view expected) {
  return base::BadRequest(base::StrCat("found '", text, "', expected: ", expected));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : items_(Scan(text)) {}

  base::Result<std::vector<Requirement>> Run() {
    std::vector<Requirement> requirements;
    while (true) {
      const Item& item = Peek();
      if (item.token == Token::kEnd) return requirements;
      if (!StartsRequirement(ValueToken(item))) {
        return Found(item.text, "!, identifier, or 'end of string'");
      }
      auto requirement = ParseRequirement();
      if (!requirement.ok()) {
        return requirement.status().Annotate("unable to parse requirement");
      }
      requirements.push_back(std::move(*requirement));
      const Item& next = Take();
      if (next.token == Token::kEnd) return requirements;
      if (next.token != Token::kComma) return Found(next.text, "',' or 'end of string'");
      if (!StartsRequirement(ValueToken(Peek()))) {
        return Found(Peek().text, "identifier after ','");
      }
    }
  }

 private:
  static bool StartsRequirement(Token token) {
    return token == Token::kIdentifier || token == Token::kNot;
  }
  // Where a key or a value stands, `in` and `notin` are words like others.
  static Token ValueToken(const Item& item) {
    return item.token == Token::kIn || item.token == Token::kNotIn ? Token::kIdentifier
                                                                   : item.token;
  }
  const Item& Peek() const { return items_[std::min(at_, items_.size() - 1)]; }
  const Item& Take() {
    const Item& item = Peek();
    ++at_;
    return item;
  }

  base::Result<Requirement> ParseRequirement() {
    const bool negated = Peek().token == Token::kNot;
    if (negated) Take();
    const Item& key = Take();
    if (ValueToken(key) != Token::kIdentifier) return Found(key.text, "identifier");
    const auto wrong = IsQualifiedName(key.text);
    if (!wrong.empty()) {
      return base::BadRequest(Invalid(FieldPath(), key.text, base::Join(wrong, "; ")).ToString());
    }
    const Token next = Peek().token;
    if (negated) return MakeRequirement(key.text, Operator::kDoesNotExist, {});
    if (next == Token::kEnd || next == Token::kComma) {
      return MakeRequirement(key.text, Operator::kExists, {});
    }
    const Operator op = TRY(ParseOperator());
    const bool set = op == Operator::kIn || op == Operator::kNotIn;
    std::set<std::string> values = TRY(set ? ParseValues() : ParseExactValue());
    return MakeRequirement(key.text, op, {values.begin(), values.end()});
  }

  base::Result<Operator> ParseOperator() {
    const Item& item = Take();
    switch (item.token) {
      case Token::kIn:
        return Operator::kIn;
      case Token::kNotIn:
        return Operator::kNotIn;
      case Token::kEquals:
        return Operator::kEquals;
      case Token::kDoubleEquals:
        return Operator::kDoubleEquals;
      case Token::kNotEquals:
        return Operator::kNotEquals;
      case Token::kGreater:
        return Operator::kGreaterThan;
      case Token::kLess:
        return Operator::kLessThan;
      default:
        return Found(item.text, "in, notin, =, ==, !=, gt, lt");
    }
  }

  base::Result<std::set<std::string>> ParseValues() {
    const Item& open = Take();
    if (open.token != Token::kOpen) {
      return base::BadRequest(base::StrCat("found '", open.text, "' expected: '('"));
    }
    const Item& first = Peek();
    const Token token = ValueToken(first);
    if (token == Token::kClose) {
      Take();
      return std::set<std::string>{""};
    }
    if (token != Token::kIdentifier && token != Token::kComma) {
      return Found(first.text, "',', ')' or identifier");
    }
    std::set<std::string> values = TRY(ParseList());
    if (Take().token != Token::kClose) return Found(first.text, "')'");
    return values;
  }

  base::Result<std::set<std::string>> ParseList() {
    std::set<std::string> values;
    while (true) {
      const Item& item = Take();
      const Token token = ValueToken(item);
      const Token next = Peek().token;
      if (token == Token::kIdentifier) {
        values.insert(item.text);
        if (next == Token::kComma) continue;
        if (next == Token::kClose) return values;
        return Found(Peek().text, "',' or ')'");
      }
      if (token != Token::kComma) return Found(item.text, "',', or identifier");
      // Commas with nothing between them stand for the empty value.
      if (values.empty() || next == Token::kClose || next == Token::kComma) values.insert("");
      if (next == Token::kClose) return values;
    }
  }

  base::Result<std::set<std::string>> ParseExactValue() {
    const Token next = Peek().token;
    if (next == Token::kEnd || next == Token::kComma) return std::set<std::string>{""};
    const Item& item = Take();
    if (ValueToken(item) != Token::kIdentifier) return Found(item.text, "identifier");
    return std::set<std::string>{item.text};
  }

  std::vector<Item> items_;
  std::size_t at_ = 0;
};

void CheckCount(Operator op, const std::vector<std::string>& values, FieldErrors& errors) {
  const FieldPath path("values");
  const auto wrong = [&](std::string_view detail) {
    errors.push_back(Invalid(path, BadValue(std::span<const std::string>(values)), detail));
  };
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      if (values.empty()) wrong("for 'in', 'notin' operators, values set can't be empty");
      break;
    case Operator::kEquals:
    case Operator::kDoubleEquals:
    case Operator::kNotEquals:
      if (values.size() != 1) wrong("exact-match compatibility requires one single value");
      break;
    case Operator::kExists:
    case Operator::kDoesNotExist:
      if (!values.empty()) wrong("values set must be empty for exists and does not exist");
      break;
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      if (values.size() != 1) wrong("for 'Gt', 'Lt' operators, exactly one value is required");
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (base::ParseInt(values[i])) continue;
        errors.push_back(Invalid(path.Index(i), values[i],
                                 "for 'Gt', 'Lt' operators, the value must be an integer"));
      }
      break;
  }
}

}  // namespace

base::Result<std::vector<Requirement>> ParseRequirements(std::string_view text) {
  return Parser(text).Run();
}

base::Result<Requirement> MakeRequirement(std::string_view key, Operator op,
                                          std::vector<std::string> values) {
  FieldErrors errors;
  const auto wrong_key = IsQualifiedName(key);
  if (!wrong_key.empty()) {
    errors.push_back(Invalid(FieldPath("key"), key, base::Join(wrong_key, "; ")));
  }
  CheckCount(op, values, errors);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto wrong = IsValidLabelValue(values[i]);
    if (wrong.empty()) continue;
    errors.push_back(
        Invalid(FieldPath("values").Index(i).Key(key), values[i], base::Join(wrong, "; ")));
  }
  if (!errors.empty()) return base::BadRequest(AggregateText(errors));
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return Requirement{std::string(key), op, std::move(values)};
}

}  // namespace portcullis::api

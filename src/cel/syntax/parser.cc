// SPDX-License-Identifier: Apache-2.0

#include "cel/syntax/parser.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/gotext.h"
#include "cel/syntax/ast_builder.h"
#include "cel/syntax/literals.h"
#include "cel/syntax/macros.h"
#include "cel/syntax/operators.h"
#include "cel/syntax/token_cursor.h"

namespace portcullis::cel {
namespace {

class Parser : private TokenCursor, private AstBuilder {
 public:
  Parser(Ast& ast, const ParseOptions& options, Issues& issues)
      : TokenCursor(ast.source(), issues), AstBuilder(ast), options_(options) {}

  void Run() {
    Expr* root = Expression();
    Match(Token::kEnd, 0, Place::kEnd);
    const bool too_high = height_ > options_.max_depth;
    Finish(/*with_reports=*/!too_high);
    if (!halted() && too_high) issues().Add({-1, -1}, "max recursion depth exceeded");
    ast_.set_root(root);
  }

 private:
  // Counts how deep a rule of the grammar is inside itself. cel-go limits that for every rule, and
  // then the height of the tree (see height_); only these rules can be the deepest.
  class Deeper {
   public:
    Deeper(Parser& parser, int& depth) : depth_(depth) {
      if (++depth_ <= parser.options_.max_depth) return;
      parser.HaltWith("expression recursion limit exceeded: " +
                      std::to_string(parser.options_.max_depth));
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    int& depth_;
  };

  Expr* Expand(Expr* call) {
    if (!options_.macros || std::any_of(call->args.begin(), call->args.end(), &IsErrorNode)) {
      return call;
    }
    const std::size_t receiver = call->member_call ? 1 : 0;
    const Macro* macro =
        options_.macros->FindMacro(call->name, call->member_call ? Style::kMember : Style::kGlobal,
                                   call->args.size() - receiver);
    if (!macro) return call;
    MacroContext context(ast_, reports(), call->offset);
    Expr* target = receiver ? call->args[0] : nullptr;
    Expr* expanded =
        macro->expand(context, target, std::span<Expr* const>(call->args).subspan(receiver));
    return expanded ? expanded : call;
  }

  // --- Rules ---

  Expr* Expression() {
    const Deeper deeper(*this, expression_depth_);
    if (halted()) return ErrorNode();
    Expr* condition = Or();
    if (La() != Token::kQuestion) return condition;
    int height = height_;
    const std::int32_t offset = Consume().offset;
    Expr* then = nullptr;
    {
      const Following following(*this, Bit(Token::kColon));
      then = Or();
    }
    height = std::max(height, height_);
    const bool is_whole = Match(Token::kColon, kExprStart, Place::kOtherwise);
    Expr* otherwise = is_whole ? Expression() : ErrorNode();
    height_ = std::max(height, height_) + 1;
    return NewCall(op::kConditional, offset, {condition, then, otherwise});
  }

  template <typename Next>
  Expr* Chain(Token token, std::string_view function, Next next) {
    Expr* first = next();
    if (La() != token) return first;
    std::vector<Expr*> terms = {first};
    std::vector<std::int32_t> offsets;
    int height = height_;
    while (La() == token) {
      offsets.push_back(Consume().offset);
      terms.push_back(next());
      height = std::max(height, height_);
    }
    height_ = height;
    return Balance(function, terms, offsets);
  }

  Expr* Or() {
    return Chain(Token::kOr, op::kOr, [this] { return And(); });
  }
  Expr* And() {
    return Chain(Token::kAnd, op::kAnd, [this] { return Relation(); });
  }

  // Right operands are one level deeper in the rule that has the operator.
  template <typename Next>
  Expr* LeftAssociative(Mask operators, int& depth, Next next) {
    Expr* left = next();
    while (Is(operators)) {
      int height = height_;
      const TokenAt operation = Consume();
      const Deeper deeper(*this, depth);
      Expr* right = next();
      left = NewCall(OperatorOf(operation.token), operation.offset, {left, right});
      height_ = std::max(height, height_) + 1;
    }
    return left;
  }

  Expr* Relation() {
    const Deeper deeper(*this, relation_depth_);
    return LeftAssociative(kRelation, relation_depth_, [this] { return Additive(); });
  }
  Expr* Additive() {
    const Deeper deeper(*this, calculation_depth_);
    return LeftAssociative(kAdditive, calculation_depth_, [this] { return Multiplicative(); });
  }
  Expr* Multiplicative() {
    return LeftAssociative(kMultiplicative, calculation_depth_, [this] { return Unary(); });
  }

  Expr* Unary() {
    if (!Sync(kExprStart, Place::kOperand)) return ErrorNode();
    if (La() == Token::kExclamation) return Not();
    if (La() == Token::kMinus && La(1) != Token::kInt && La(1) != Token::kFloat) return Negate();
    return Member();
  }

  Expr* Not() {
    const std::int32_t offset = Offset();
    int count = 0;
    while (La() == Token::kExclamation) {
      Consume();
      ++count;
      SyncRepetition(kExprStart);
    }
    Expr* operand = Member();
    return count % 2 == 0 ? operand : NewCall(op::kNot, offset, {operand});
  }

  Expr* Negate() {
    const std::int32_t offset = Offset();
    int count = 0;
    for (; La() == Token::kMinus; ++count) {
      // Of several signs only what is behind the last matters.
      const Mask wanted = kExprStart & ~Bit(Token::kExclamation);
      if ((Bit(La(1)) & wanted) == 0) {
        NoViable(1, Place::kOperand);
        return ErrorNode();
      }
      Consume();
    }
    Expr* operand = Member();
    return count % 2 == 0 ? operand : NewCall(op::kNegate, offset, {operand});
  }

  Expr* Member() {
    height_ = 0;
    Expr* expr = nullptr;
    {
      const Following following(*this, kPostfix | AfterPrimary());
      expr = Primary();
    }
    bool goes_on = true;
    while (goes_on && Is(kPostfix)) {
      const int height = height_;
      height_ = 0;
      goes_on = La() == Token::kDot ? AfterDot(expr) : Index(expr);
      height_ = std::max(height, height_) + 1;
    }
    return expr;
  }

  // These read what is behind an operand, which becomes part of `expr`. False if that could not be
  // read to its end.
  bool AfterDot(Expr*& expr) {
    constexpr Mask kNames = Bits(Token::kIdentifier, Token::kEscapedIdentifier);
    if ((Bit(La(1)) & (kNames | Bit(Token::kQuestion))) == 0) {
      NoViable(1, Place::kField);
      return false;
    }
    const std::int32_t dot = Consume().offset;
    bool optional = false;
    if (La() == Token::kQuestion) {
      Consume();
      optional = true;
      if (!options_.optional_syntax) Report(dot, "unsupported syntax '.?'");
      const Following following(*this, kPostfix | AfterPrimary());
      if (!Sync(kNames, Place::kFieldName)) return true;
    }
    const bool quoted = La() == Token::kEscapedIdentifier;
    if (quoted && !options_.quoted_fields) {
      Report(Offset(), "unsupported syntax: '`'");
      Consume();
      return true;
    }
    const TokenAt token = Consume();
    if (!quoted && !optional && La() == Token::kLeftParen) return MemberCall(expr, Text(token));
    const std::string_view name = FieldName(token);
    if (optional) {
      Expr* field = Const(Value::String(name), token.offset);
      expr = NewCall(op::kOptionalSelect, dot, {expr, field});
      return true;
    }
    Expr* select = New(ExprKind::kSelect, dot);
    select->operand = expr;
    select->name = name;
    expr = select;
    return true;
  }

  // Without the backticks around it.
  std::string_view FieldName(const TokenAt& token) const {
    const std::string_view text = Text(token);
    return token.token == Token::kEscapedIdentifier ? text.substr(1, text.size() - 2) : text;
  }

  bool MemberCall(Expr*& expr, std::string_view function) {
    const std::int32_t open = Offset();
    std::vector<Expr*> args = {expr};
    const bool complete = Arguments(args, Place::kMethodArguments, Place::kMethodArgumentsEnd);
    expr = Expand(NewCall(function, open, args, /*member=*/true));
    return complete;
  }

  // `(` already seen, not consumed.
  bool Arguments(std::vector<Expr*>& args, Place begin, Place end) {
    Consume();
    const Mask close = Bit(Token::kRightParen);
    if (!Sync(kExprStart | close, begin)) return false;
    if (La() != Token::kRightParen) {
      const Following following(*this, close | Bit(Token::kComma));
      args.push_back(Part());
      while (La() == Token::kComma) {
        Consume();
        args.push_back(Part());
      }
    }
    return Match(Token::kRightParen, AfterPrimary(), end);
  }

  bool Index(Expr*& expr) {
    const std::int32_t open = Consume().offset;
    bool optional = false;
    if (!Sync(kExprStart | Bit(Token::kQuestion), Place::kIndex)) return false;
    if (La() == Token::kQuestion) {
      Consume();
      optional = true;
      if (!options_.optional_syntax) Report(open, "unsupported syntax '[?'");
    }
    Expr* index = nullptr;
    {
      const Following following(*this, Bit(Token::kRightBracket));
      index = Expression();
    }
    expr = NewCall(optional ? op::kOptionalIndex : op::kIndex, open, {expr, index});
    return Match(Token::kRightBracket, AfterPrimary(), Place::kIndexEnd);
  }

  Expr* Primary() {
    switch (La()) {
      case Token::kLeftParen: {
        Consume();
        Expr* inner = nullptr;
        {
          const Following following(*this, Bit(Token::kRightParen));
          inner = Expression();
        }
        Match(Token::kRightParen, AfterPrimary(), Place::kNestedEnd);
        return inner;
      }
      case Token::kLeftBracket:
        return List();
      case Token::kLeftBrace:
        return Map();
      case Token::kDot:
      case Token::kIdentifier:
        return Name();
      case Token::kMinus:
        if (La(1) != Token::kInt && La(1) != Token::kFloat) {
          NoViable(1, Place::kPrimary);
          return ErrorNode();
        }
        return Literal();
      case Token::kInt:
      case Token::kUint:
      case Token::kFloat:
      case Token::kString:
      case Token::kBytes:
      case Token::kTrue:
      case Token::kFalse:
      case Token::kNull:
        return Literal();
      default:
        Mismatched(kExprStart, Place::kPrimary);
        return ErrorNode();
    }
  }

  // The end of a literal, in front of which a comma may be.
  void Close(Token close, Place place) {
    if (!recovering() && !Sync(Bits(close, Token::kComma), place)) return;
    if (La() == Token::kComma) Consume();
    Match(close, AfterPrimary(), place);
  }

  // One of several parts; the highest counts.
  Expr* Part() {
    const int height = height_;
    Expr* part = Expression();
    height_ = std::max(height, height_);
    return part;
  }

  Expr* OptionalElement() {
    bool optional = false;
    if (La() == Token::kQuestion) {
      const std::int32_t offset = Consume().offset;
      optional = true;
      if (!options_.optional_syntax) Report(offset, "unsupported syntax '?'");
    }
    Expr* element = Part();
    if (optional) element->optional_entry = true;
    return element;
  }

  Expr* List() {
    const std::int32_t open = Consume().offset;
    std::vector<Expr*> elements;
    const Mask close = Bits(Token::kRightBracket, Token::kComma);
    if (!Sync(kExprStart | close | Bit(Token::kQuestion), Place::kList)) return ErrorNode();
    if (!Is(close)) {
      const Following following(*this, close);
      elements.push_back(OptionalElement());
      while (La() == Token::kComma && (Bit(La(1)) & (kExprStart | Bit(Token::kQuestion))) != 0) {
        Consume();
        elements.push_back(OptionalElement());
      }
    }
    Close(Token::kRightBracket, Place::kListEnd);
    Expr* list = New(ExprKind::kList, open);
    list->args = ast_.Copy(std::span<Expr* const>(elements));
    return list;
  }

  Expr* Map() {
    const std::int32_t open = Consume().offset;
    std::vector<Entry> entries;
    const Mask close = Bits(Token::kRightBrace, Token::kComma);
    if (!Sync(kExprStart | close | Bit(Token::kQuestion), Place::kMap)) return ErrorNode();
    if (!Is(close)) {
      const Following following(*this, close);
      bool ok = MapEntry(entries);
      while (ok && La() == Token::kComma &&
             (Bit(La(1)) & (kExprStart | Bit(Token::kQuestion))) != 0) {
        Consume();
        ok = MapEntry(entries);
      }
    }
    Close(Token::kRightBrace, Place::kMapEnd);
    Expr* map = New(ExprKind::kMap, open);
    map->entries = ast_.Copy(std::span<const Entry>(entries));
    return map;
  }

  bool MapEntry(std::vector<Entry>& entries) {
    Entry entry;
    {
      const Following following(*this, Bit(Token::kColon));
      entry.key = OptionalElement();
    }
    entry.optional = entry.key->optional_entry;
    entry.key->optional_entry = false;
    entry.offset = Offset();
    if (!Match(Token::kColon, kExprStart, Place::kValue)) return false;
    entry.value = Part();
    entries.push_back(entry);
    return true;
  }

  // An identifier, a global call, or a message literal `a.b.C{…}`; with an optional leading dot.
  Expr* Name() {
    bool leading_dot = false;
    const std::int32_t start = Offset();
    if (La() == Token::kDot) {
      if (La(1) != Token::kIdentifier) {
        NoViable(1, Place::kPrimary);
        return ErrorNode();
      }
      Consume();
      leading_dot = true;
    }
    const TokenAt token = Next();
    if (MessageAhead()) return Message(leading_dot, start);
    Consume();
    std::string_view name = Text(token);
    if (IsReservedWord(name)) {
      if (La() == Token::kLeftParen) {
        std::vector<Expr*> args;
        Arguments(args, Place::kArguments, Place::kArgumentsEnd);
      }
      Report(start, "reserved identifier: " + std::string(name));
      return ErrorNode(start);
    }
    if (leading_dot) name = ast_.arena().Copy("." + std::string(name));
    if (La() == Token::kLeftParen) {
      const std::int32_t open = Offset();
      std::vector<Expr*> args;
      Arguments(args, Place::kArguments, Place::kArgumentsEnd);
      return Expand(NewCall(name, open, args));
    }
    Expr* ident = New(ExprKind::kIdent, leading_dot ? start : token.offset);
    ident->name = name;
    return ident;
  }

  // Is `IDENT {. IDENT} {` next?
  bool MessageAhead() const {
    std::size_t ahead = 0;
    while (La(ahead) == Token::kIdentifier) {
      if (La(ahead + 1) == Token::kLeftBrace) return true;
      if (La(ahead + 1) != Token::kDot) return false;
      ahead += 2;
    }
    return false;
  }

  Expr* Message(bool leading_dot, std::int32_t) {
    std::string name = leading_dot ? "." : "";
    while (La() == Token::kIdentifier || La() == Token::kDot) name += Text(Consume());
    const std::int32_t open = Consume().offset;
    std::vector<Entry> fields;
    const Mask close = Bits(Token::kRightBrace, Token::kComma);
    const Mask field = Bits(Token::kQuestion, Token::kIdentifier, Token::kEscapedIdentifier);
    if (!Sync(field | close, Place::kMessage)) return ErrorNode();
    if (!Is(close)) {
      const Following following(*this, close);
      bool ok = Field(fields);
      while (ok && La() == Token::kComma && (Bit(La(1)) & field) != 0) {
        Consume();
        ok = Field(fields);
      }
    }
    Close(Token::kRightBrace, Place::kMessageEnd);
    Expr* message = New(ExprKind::kStruct, open);
    message->name = ast_.arena().Copy(name);
    message->entries = ast_.Copy(std::span<const Entry>(fields));
    return message;
  }

  bool Field(std::vector<Entry>& fields) {
    Entry entry;
    FieldNameOf(entry);
    entry.offset = Offset();
    if (!Match(Token::kColon, kExprStart, Place::kFieldValue)) return false;
    entry.value = Part();
    fields.push_back(entry);
    return true;
  }

  void FieldNameOf(Entry& entry) {
    const Following following(*this, Bit(Token::kColon));
    if (La() == Token::kQuestion) {
      const std::int32_t offset = Consume().offset;
      entry.optional = true;
      if (!options_.optional_syntax) Report(offset, "unsupported syntax '?'");
    }
    if (!Sync(Bits(Token::kIdentifier, Token::kEscapedIdentifier), Place::kFieldName)) return;
    if (La() == Token::kEscapedIdentifier && !options_.quoted_fields) {
      Report(Offset(), "unsupported syntax: '`'");
      Consume();
      return;
    }
    entry.field = FieldName(Consume());
  }

  Expr* Literal() {
    const std::int32_t offset = Offset();
    bool negative = false;
    if (La() == Token::kMinus) {
      Consume();
      negative = true;
    }
    const TokenAt token = Consume();
    const std::string_view text = Text(token);
    switch (token.token) {
      case Token::kInt:
        return IntLiteral(text, negative, offset);
      case Token::kUint:
        return UintLiteral(text.substr(0, text.size() - 1), offset);
      case Token::kFloat:
        return DoubleLiteral(text, negative, offset);
      case Token::kString:
      case Token::kBytes:
        return TextLiteral(text, token.token == Token::kBytes, offset);
      case Token::kTrue:
        return Const(Value::Bool(true), offset);
      case Token::kFalse:
        return Const(Value::Bool(false), offset);
      default:
        return Const(Value::Null(), offset);
    }
  }

  Expr* Invalid(std::string_view what, std::int32_t offset) {
    Report(offset, "invalid " + std::string(what) + " literal");
    return ErrorNode();
  }

  Expr* IntLiteral(std::string_view text, bool negative, std::int32_t offset) {
    std::uint64_t value = 0;
    const std::uint64_t limit = std::uint64_t{1} << 63;
    if (!ParseDigits(text, value) || value > limit || (value == limit && !negative)) {
      return Invalid("int", offset);
    }
    return Const(Value::Int(static_cast<std::int64_t>(negative ? 0 - value : value)), offset);
  }

  Expr* UintLiteral(std::string_view text, std::int32_t offset) {
    std::uint64_t value = 0;
    if (!ParseDigits(text, value)) return Invalid("uint", offset);
    return Const(Value::Uint(value), offset);
  }

  Expr* DoubleLiteral(std::string_view text, bool negative, std::int32_t offset) {
    double value = 0;
    if (!ParseDouble(text, value)) return Invalid("double", offset);
    return Const(Value::Double(negative ? -value : value), offset);
  }

  Expr* TextLiteral(std::string_view text, bool bytes, std::int32_t offset) {
    std::string value;
    std::string error;
    if (!Unquote(text, bytes, value, error)) {
      Report(offset, error);
      return ErrorNode();
    }
    const std::string_view copy = ast_.arena().Copy(value);
    return Const(bytes ? Value::Bytes(copy) : Value::String(copy), offset);
  }

  const ParseOptions& options_;
  int expression_depth_ = 0;
  int relation_depth_ = 0;
  int calculation_depth_ = 0;
  int height_ = 0;  // of the tree just read: selections, indices, member calls, operators
};

}  // namespace

std::shared_ptr<Ast> Parse(std::string_view source, const ParseOptions& options, Issues& issues) {
  issues.set_source(source);
  const std::size_t runes = base::RuneCount(source);
  if (runes > static_cast<std::size_t>(options.max_code_points)) {
    issues.set_source("");
    issues.Add({-1, -1},
               "expression code point size exceeds limit: size: " + std::to_string(runes) +
                   ", limit " + std::to_string(options.max_code_points));
    return nullptr;
  }
  auto ast = std::make_shared<Ast>(source);
  Parser(*ast, options, issues).Run();
  issues.set_source(source);
  return issues.empty() ? ast : nullptr;
}

}  // namespace portcullis::cel

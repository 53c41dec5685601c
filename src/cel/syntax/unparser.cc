// SPDX-License-Identifier: Apache-2.0

#include "cel/syntax/unparser.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/gotext.h"
#include "cel/syntax/macros.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

struct Binary {
  std::string_view function;
  std::string_view text;
  int precedence;  // higher binds tighter
};

constexpr int kConditionalPrecedence = 1;
constexpr int kUnaryPrecedence = 7;
constexpr int kPrimary = 9;

constexpr std::array<Binary, 14> kBinaries = {{{op::kOr, " || ", 2},
                                               {op::kAnd, " && ", 3},
                                               {op::kEquals, " == ", 4},
                                               {op::kNotEquals, " != ", 4},
                                               {op::kLess, " < ", 4},
                                               {op::kLessEquals, " <= ", 4},
                                               {op::kGreater, " > ", 4},
                                               {op::kGreaterEquals, " >= ", 4},
                                               {op::kIn, " in ", 4},
                                               {op::kAdd, " + ", 5},
                                               {op::kSubtract, " - ", 5},
                                               {op::kMultiply, " * ", 6},
                                               {op::kDivide, " / ", 6},
                                               {op::kModulo, " % ", 6}}};

const Binary* FindBinary(const Expr& e) {
  if (e.kind != ExprKind::kCall || e.args.size() != 2) return nullptr;
  for (const Binary& binary : kBinaries) {
    if (binary.function == e.name) return &binary;
  }
  return nullptr;
}

bool IsPrefix(const Expr& e) {
  return e.kind == ExprKind::kCall && (e.name == op::kNot || e.name == op::kNegate);
}

int PrecedenceOf(const Expr& e) {
  if (const Binary* binary = FindBinary(e)) return binary->precedence;
  if (IsPrefix(e)) return kUnaryPrecedence;
  if (e.kind == ExprKind::kCall && e.name == op::kConditional) return kConditionalPrecedence;
  // A negative number is written with a sign, which binds like a prefix.
  const bool negative =
      e.kind == ExprKind::kConst &&
      ((e.constant.kind() == Kind::kInt && e.constant.int_value() < 0) ||
       (e.constant.kind() == Kind::kDouble && std::signbit(e.constant.double_value())));
  return negative ? kUnaryPrecedence : kPrimary;
}

// A string or bytes literal with escapes that CEL has.
std::string Quote(std::string_view text, bool bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = bytes ? "b\"" : "\"";
  while (!text.empty()) {
    std::size_t size = 1;
    const char32_t rune = base::DecodeRune(text, size);
    const auto c = static_cast<unsigned char>(text[0]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c == '\n') {
      out += "\\n";
    } else if (size > 1 && base::IsPrintable(rune)) {
      out += text.substr(0, size);
    } else if (c >= 0x20 && c < 0x7f) {
      out += text[0];
    } else {
      if (!bytes) size = std::max<std::size_t>(size, 1);
      for (const char byte : text.substr(0, bytes ? (size = 1) : size)) {
        const auto b = static_cast<unsigned char>(byte);
        if (bytes || b < 0x80) {
          out += "\\x";
          out += kDigits[b >> 4];
          out += kDigits[b & 15];
        } else {
          out += byte;
        }
      }
    }
    text.remove_prefix(size);
  }
  return out + '"';
}

// May it stand behind a dot without backticks?
bool IsFieldName(std::string_view name) {
  constexpr std::array<std::string_view, 4> kKeywords = {"true", "false", "null", "in"};
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  }) && std::find(kKeywords.begin(), kKeywords.end(), name) == kKeywords.end();
}

class Printer {
 public:
  std::string text;

  void Print(const Expr& e) {
    switch (e.kind) {
      case ExprKind::kConst:
        Constant(e.constant);
        return;
      case ExprKind::kIdent:
        text += e.name;
        return;
      case ExprKind::kSelect:
        if (e.test_only) text += "has(";
        Operand(*e.operand, kPrimary);
        text += '.';
        Field(e.name);
        if (e.test_only) text += ')';
        return;
      case ExprKind::kCall:
        Call(e);
        return;
      case ExprKind::kList:
        text += '[';
        for (std::size_t i = 0; i < e.args.size(); ++i) {
          if (i > 0) text += ", ";
          if (e.args[i]->optional_entry) text += '?';
          Print(*e.args[i]);
        }
        text += ']';
        return;
      case ExprKind::kMap:
      case ExprKind::kStruct:
        if (e.kind == ExprKind::kStruct) text += e.name;
        text += '{';
        for (std::size_t i = 0; i < e.entries.size(); ++i) {
          if (i > 0) text += ", ";
          if (e.entries[i].optional) text += '?';
          if (e.entries[i].key) {
            Print(*e.entries[i].key);
          } else {
            Field(e.entries[i].field);
          }
          text += ": ";
          Print(*e.entries[i].value);
        }
        text += '}';
        return;
      case ExprKind::kComprehension:
        Loop(*e.loop);
        return;
    }
  }

 private:
  void Field(std::string_view name) {
    const std::string_view quote = IsFieldName(name) ? "" : "`";
    text += quote;
    text += name;
    text += quote;
  }

  void Operand(const Expr& e, int at_least) {
    const bool parentheses = PrecedenceOf(e) < at_least;
    if (parentheses) text += '(';
    Print(e);
    if (parentheses) text += ')';
  }

  void Constant(Value value) {
    if (value.is_string() || value.kind() == Kind::kBytes) {
      text += Quote(value.text(), !value.is_string());
    } else {
      text += DebugString(value);
    }
  }

  void Args(std::span<Expr* const> args) {
    text += '(';
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (i > 0) text += ", ";
      Print(*args[i]);
    }
    text += ')';
  }

  void Call(const Expr& e) {
    if (const Binary* binary = FindBinary(e)) {
      Operand(*e.args[0], binary->precedence);
      text += binary->text;
      // Chains of && and || are balanced trees; how they are grouped does not matter.
      const bool chain = e.name == op::kAnd || e.name == op::kOr;
      Operand(*e.args[1], chain ? binary->precedence : binary->precedence + 1);
    } else if (IsPrefix(e)) {
      text += e.name == op::kNot ? '!' : '-';
      const std::size_t begin = text.size();
      Operand(*e.args[0], kPrimary);
      // `-1` would be read as one literal.
      if (e.name == op::kNegate && text[begin] >= '0' && text[begin] <= '9') {
        text.insert(begin, 1, '(');
        text += ')';
      }
    } else if (e.name == op::kConditional) {
      Operand(*e.args[0], kConditionalPrecedence + 1);
      text += " ? ";
      Operand(*e.args[1], kConditionalPrecedence + 1);
      text += " : ";
      Operand(*e.args[2], kConditionalPrecedence);
    } else if (e.name == op::kIndex || e.name == op::kOptionalIndex) {
      Operand(*e.args[0], kPrimary);
      text += e.name == op::kIndex ? "[" : "[?";
      Print(*e.args[1]);
      text += ']';
    } else if (e.name == op::kOptionalSelect) {
      Operand(*e.args[0], kPrimary);
      text += ".?";
      Field(e.args[1]->constant.text());
    } else if (e.member_call) {
      Operand(*e.args[0], kPrimary);
      text += '.';
      text += e.name;
      Args(std::span<Expr* const>(e.args).subspan(1));
    } else {
      text += e.name;
      Args(e.args);
    }
  }

  std::string_view MacroName(const Comprehension& loop) {
    const bool two = !loop.variable2.empty();
    switch (loop.form) {
      case LoopForm::kAll:
        return "all";
      case LoopForm::kExists:
        return "exists";
      case LoopForm::kExistsOne:
        return "exists_one";
      case LoopForm::kList:
        return two ? "transformList" : IsFilter(loop) ? "filter" : "map";
      case LoopForm::kMap:
        return "transformMap";
      default:
        return "transformMapEntry";
    }
  }

  static bool IsFilter(const Comprehension& loop) {
    return loop.filter && SimpleName(loop.body) == loop.variable && loop.variable2.empty();
  }

  void Loop(const Comprehension& loop) {
    if (loop.form == LoopForm::kGeneric) {
      // Made by sortBy() and optMap(): a name for a value.
      text += "let(";
      text += loop.accumulator;
      text += ", ";
      Print(*loop.init);
      text += ", ";
      Print(*loop.result);
      text += ')';
      return;
    }
    Operand(*loop.range, kPrimary);
    text += '.';
    text += MacroName(loop);
    text += '(';
    text += loop.variable;
    if (!loop.variable2.empty()) {
      text += ", ";
      text += loop.variable2;
    }
    text += ", ";
    if (loop.filter) Print(*loop.filter);
    if (!IsFilter(loop) || loop.form != LoopForm::kList) {
      if (loop.filter) text += ", ";
      Print(*loop.body);
    }
    text += ')';
  }
};

}  // namespace

std::string Unparse(const Expr& expr) {
  Printer printer;
  printer.Print(expr);
  return printer.text;
}

}  // namespace portcullis::cel

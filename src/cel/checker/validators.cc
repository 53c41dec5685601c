// SPDX-License-Identifier: Apache-2.0

// Checks of literals in well-typed expressions, as an environment may ask for them.
#include <string>

#include "cel/checker/checker.h"
#include "cel/checker/declarations.h"
#include "cel/library/format.h"
#include "cel/library/regex.h"
#include "cel/time_text.h"
#include "golang/time.h"

namespace portcullis::cel {
namespace {

FormatStyle FormatStyleOf(const Environment& environment) {
  const FunctionGroup* group = environment.declarations().FindFunction("format");
  if (group) {
    for (const Overload& overload : group->overloads) {
      if (overload.row->impl == &PlainFormatCall) return FormatStyle::kPlain;
    }
  }
  return FormatStyle::kLocalized;
}

class Validator {
 public:
  Validator(const Environment& environment, std::string_view source, Issues& issues)
      : options_(environment.options()),
        format_style_(FormatStyleOf(environment)),
        source_(source),
        issues_(issues) {}

  void One(const Expr* expr, bool in_format) {
    if (!expr) return;
    if (options_.homogeneous_literals && !in_format) {
      if (expr->kind == ExprKind::kList) List(expr);
      if (expr->kind == ExprKind::kMap) Map(expr);
    }
    if (expr->kind == ExprKind::kCall) Call(expr);
    in_format = in_format || (expr->kind == ExprKind::kCall && expr->name == "format");
    One(expr->operand, in_format);
    for (const Expr* arg : expr->args) One(arg, in_format);
    for (const Entry& entry : expr->entries) {
      One(entry.key, in_format);
      One(entry.value, in_format);
    }
    if (!expr->loop) return;
    One(expr->loop->range, in_format);
    One(expr->loop->init, in_format);
    One(expr->loop->condition, in_format);
    One(expr->loop->step, in_format);
    One(expr->loop->result, in_format);
  }

 private:
  void Report(const Expr* where, std::string message) {
    issues_.Add(PositionOf(source_, where->offset), std::move(message));
  }
  void Mismatch(const Expr* where, const Type* expected, const Type* found) {
    Report(where,
           "expected type '" + FormatType(expected) + "' but found '" + FormatType(found) + "'");
  }
  static const Type* Content(const Expr* expr, bool optional) {
    const Type* type = expr->type;
    return optional && type->is_optional() && !type->params.empty() ? type->param() : type;
  }

  void List(const Expr* expr) {
    const Type* first = nullptr;
    for (const Expr* element : expr->args) {
      const Type* type = Content(element, element->optional_entry);
      if (!first) {
        first = type;
      } else if (!SameType(first, type)) {
        Mismatch(element, first, type);
        return;
      }
    }
  }

  void Map(const Expr* expr) {
    const Type* key = nullptr;
    const Type* value = nullptr;
    for (const Entry& entry : expr->entries) {
      const Type* type = Content(entry.value, entry.optional);
      if (!key) {
        key = entry.key->type;
        value = type;
        continue;
      }
      if (!SameType(key, entry.key->type)) Mismatch(entry.key, key, entry.key->type);
      if (!SameType(value, type)) Mismatch(entry.value, value, type);
    }
  }

  static bool IsText(const Expr* expr) {
    return expr->kind == ExprKind::kConst && expr->constant.is_string();
  }

  void Call(const Expr* expr) {
    if (expr->name == "format" && expr->args.size() == 2) {
      if (options_.validate_formats) Format(expr);
      return;
    }
    if (!options_.validate_literals) return;
    const bool pattern = expr->name == "matches" && expr->args.size() == 2;
    const bool time =
        (expr->name == "duration" || expr->name == "timestamp") && expr->args.size() == 1;
    if (!pattern && !time) return;
    // The first argument that is no receiver: of matches(text, pattern), the text.
    const Expr* arg = expr->args[pattern && expr->member_call ? 1 : 0];
    if (arg->kind != ExprKind::kConst) return;
    const bool is_text = arg->constant.is_string();
    const std::string_view text = is_text ? arg->constant.text() : std::string_view();
    bool ok = true;
    if (pattern) {
      ok = !is_text || Regex::Compile(text).ok();
    } else if (expr->name == "duration") {
      ok = is_text ? golang::ParseDuration(text).ok() : arg->constant.kind() == Kind::kDuration;
    } else if (!is_text) {
      const Value value = arg->constant;
      ok = value.kind() != Kind::kInt ||
           (value.int_value() >= kMinTimestamp && value.int_value() <= kMaxTimestamp);
    } else {
      const auto instant = golang::ParseTime(text);
      ok = instant.ok() && instant->seconds >= kMinTimestamp && instant->seconds <= kMaxTimestamp;
    }
    if (!ok) Report(arg, "invalid " + std::string(expr->name) + " argument");
  }

  // The argument, or for %s the part of it, that cannot be formatted; null if there is none.
  const Expr* Unfit(char verb, const Expr* arg) const {
    if (!FormatComplaint(format_style_, verb, arg->type).empty()) return arg;
    if (verb != 's') return nullptr;
    if (arg->kind == ExprKind::kList) {
      for (const Expr* element : arg->args) {
        if (const Expr* bad = Unfit(verb, element)) return bad;
      }
    }
    if (arg->kind == ExprKind::kMap) {
      for (const Entry& entry : arg->entries) {
        if (const Expr* bad = Unfit(verb, entry.key)) return bad;
        if (const Expr* bad = Unfit(verb, entry.value)) return bad;
      }
    }
    return nullptr;
  }

  void Format(const Expr* expr) {
    const Expr* format = expr->args[0];
    const Expr* list = expr->args[1];
    if (!expr->member_call || !IsText(format) || list->kind != ExprKind::kList) return;
    const FormatTemplate parsed = ParseFormat(format->constant.text());
    const std::size_t given = list->args.size();
    const std::size_t wanted = parsed.clauses.size();
    for (std::size_t i = 0; i < wanted; ++i) {
      if (i >= given) {
        Report(expr, "index " + std::to_string(i) + " out of range");
        return;
      }
      const char verb = parsed.clauses[i].verb;
      const Expr* bad = Unfit(verb, list->args[i]);
      if (!bad) continue;
      Report(bad, "error during formatting: " +
                      std::string(FormatComplaint(format_style_, verb, bad->type)) +
                      ", was given " + std::string(bad->type->name));
      return;
    }
    if (!parsed.error.empty()) {
      const bool missing = wanted >= given && !parsed.ends_in_percent;
      Report(expr, missing ? "index " + std::to_string(wanted) + " out of range" : parsed.error);
      return;
    }
    if (given > wanted) {
      Report(expr, "too many arguments supplied to string.format (expected " +
                       std::to_string(wanted) + ", got " + std::to_string(given) + ")");
    }
  }

  const EnvironmentOptions& options_;
  const FormatStyle format_style_;
  std::string_view source_;
  Issues& issues_;
};

}  // namespace

void Validate(const Environment& environment, const Ast& ast, Issues& issues) {
  Validator(environment, ast.source(), issues).One(ast.root(), false);
}

}  // namespace portcullis::cel

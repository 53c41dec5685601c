// SPDX-License-Identifier: Apache-2.0

#include "offline/test_edits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "cel/environment.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/operators.h"
#include "json/writer.h"
#include "kube_cel/compiler.h"
#include "offline/lint/facts.h"
#include "offline/suites/reading.h"

namespace portcullis::offline {
namespace {

using api::schema::Kind;
using api::schema::Schema;
using cel::Expr;
using cel::ExprKind;

constexpr int kMaxDepth = 6;  // of required fields; schemas may be recursive
constexpr std::int64_t kMuch = 1'000'000;
constexpr std::int64_t kMostElements = 64;

// A value of the request: a variable and the steps to a part of it.
struct Path {
  std::string root;  // "object", "oldObject", "request"
  std::vector<std::string> steps;
};

bool IsIndex(const std::string& step) { return base::ParseInt(step).has_value(); }

// A value that a field of this type takes.
json::Value ValueFor(json::Arena& arena, const Schema* schema, int depth = 0) {
  if (schema == nullptr) return json::String(arena, "example");
  switch (schema->kind) {
    case Kind::kInteger:
    case Kind::kNumber:
    case Kind::kIntOrString:
      return json::Value::Int(1);
    case Kind::kBoolean:
      return json::Value::Bool(true);
    case Kind::kQuantity:
      return json::String(arena, "1");
    case Kind::kBytes:
      return json::String(arena, "ZXhhbXBsZQ==");
    case Kind::kTime:
      return json::String(arena, "2026-01-01T00:00:00Z");
    case Kind::kArray:
      return json::MakeArray(arena, {ValueFor(arena, schema->element, depth + 1)});
    case Kind::kMap:
      return json::MakeObject(arena, {{"example", ValueFor(arena, schema->element, depth + 1)}});
    case Kind::kStruct: {
      json::ObjectBuilder object(arena);
      for (const api::schema::Field& field : schema->fields) {
        if (!field.required || depth == kMaxDepth) continue;
        object.Set(arena.Copy(field.name), ValueFor(arena, field.schema, depth + 1));
      }
      return object.Build();
    }
    default:
      if (!schema->enum_values.empty()) return json::String(arena, schema->enum_values.front());
      return json::String(arena, "example");
  }
}

class Finder {
 public:
  Finder(const Schema* schema, json::Value object, TestEdits& out)
      : schema_(schema), object_(object), out_(out), arena_(*out.arena) {}

  void Variable(std::string_view name, const Expr& expr) {
    if (auto path = PathOf(expr)) variables_[std::string(name)] = *std::move(path);
    Visit(expr);
  }
  void Condition(const Expr& expr) {
    Boolean(expr);
    Visit(expr);
  }
  void Visit(const Expr& expr) {
    if (auto path = PathOf(expr)) {
      Presence(*path);
      return;
    }
    if (expr.kind == ExprKind::kCall) Call(expr);
    if (expr.operand != nullptr) Visit(*expr.operand);
    for (const Expr* argument : expr.args) Visit(*argument);
    for (const cel::Entry& entry : expr.entries) {
      if (entry.value != nullptr) Visit(*entry.value);
    }
    if (expr.loop != nullptr) Loop(*expr.loop);
  }

 private:
  std::optional<Path> Below(std::optional<Path> path, std::string_view step) const {
    if (path) path->steps.emplace_back(step);
    return path;
  }

  std::optional<Path> PathOf(const Expr& expr) const {
    if (expr.kind == ExprKind::kIdent) {
      const auto local = locals_.find(std::string(expr.name));
      if (local != locals_.end()) return local->second;
      const bool known =
          expr.name == "object" || expr.name == "oldObject" || expr.name == "request";
      return known ? std::optional<Path>({std::string(expr.name), {}}) : std::nullopt;
    }
    if (expr.kind == ExprKind::kSelect) {
      if (expr.operand->kind == ExprKind::kIdent && expr.operand->name == "variables") {
        const auto found = variables_.find(std::string(expr.name));
        return found == variables_.end() ? std::nullopt : std::optional<Path>(found->second);
      }
      return Below(PathOf(*expr.operand), expr.name);
    }
    if (expr.kind != ExprKind::kCall || expr.args.empty()) return std::nullopt;
    if (expr.name == cel::op::kOptionalSelect || expr.name == cel::op::kIndex ||
        expr.name == cel::op::kOptionalIndex) {
      const cel::Value step = expr.args[1]->constant;
      if (step.kind() == cel::Kind::kString) return Below(PathOf(*expr.args[0]), step.text());
      if (step.kind() == cel::Kind::kInt) {
        return Below(PathOf(*expr.args[0]), std::to_string(step.int_value()));
      }
      return std::nullopt;
    }
    const bool unwraps = expr.name == "orValue" || expr.name == "value" || expr.name == "hasValue";
    return unwraps ? PathOf(*expr.args[0]) : std::nullopt;
  }

  const Schema* SchemaAt(const std::vector<std::string>& steps) const {
    const Schema* schema = schema_;
    for (const std::string& step : steps) {
      if (schema == nullptr) return nullptr;
      if (schema->kind == Kind::kArray || schema->kind == Kind::kMap) {
        schema = schema->element;
      } else {
        const api::schema::Field* field = schema->FindField(step);
        schema = field == nullptr ? nullptr : field->schema;
      }
    }
    return schema;
  }

  static std::string Text(const std::vector<std::string>& steps) {
    std::string text;
    for (const std::string& step : steps) {
      const bool plain = !IsIndex(step) && step.find_first_of("./[]") == std::string::npos;
      text += plain ? base::StrCat(text.empty() ? "" : ".", step) : base::StrCat("[", step, "]");
    }
    return text;
  }

  void Add(const Path& path, json::Value value) {
    TestEdit edit;
    edit.value = value;
    if (path.root == "request") {
      if (path.steps.size() < 2 || path.steps[0] != "userInfo") return;
      edit.of = TestEdit::Of::kUser;
      edit.path = path.steps[1] == "username" ? "name" : path.steps[1];
      if (edit.path != "name" && edit.path != "groups") return;
      if (edit.path == "name" ? !value.is_string() : !value.is_array()) return;
    } else {
      edit.of = path.root == "object" ? TestEdit::Of::kObject : TestEdit::Of::kOldObject;
      if (path.steps.empty() || path.steps[0] == "kind" || path.steps[0] == "apiVersion") return;
      std::vector<std::string> steps = path.steps;
      FillElement(steps, edit.value);
      edit.path = Text(steps);
    }
    const std::string key = base::StrCat(std::to_string(static_cast<int>(edit.of)), " ", edit.path,
                                         " ", json::ToString(edit.value));
    if (known_.insert(key).second) out_.edits.push_back(std::move(edit));
  }

  // Where the list is absent, the edit gives it an element with all that has to be there.
  void FillElement(std::vector<std::string>& steps, json::Value& value) {
    json::Value at = object_;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (IsIndex(steps[i]) && !at.is_array() && i > 0) {
        const std::vector<std::string> list(steps.begin(),
                                            steps.begin() + static_cast<std::ptrdiff_t>(i));
        const Schema* element = SchemaAt(steps.size() > i ? Prefix(steps, i + 1) : list);
        const json::Value made =
            SetAt(arena_, ValueFor(arena_, element), std::span(steps).subspan(i + 1), value);
        value = value.is_null() && i + 1 == steps.size() ? json::Value()
                                                         : json::MakeArray(arena_, {made});
        steps = list;
        return;
      }
      at = at.is_array() ? at[static_cast<std::size_t>(base::ParseInt(steps[i]).value_or(0))]
                         : at[steps[i]];
    }
  }

  static std::vector<std::string> Prefix(const std::vector<std::string>& steps, std::size_t count) {
    return {steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  // The field is there, or it is not.
  void Presence(const Path& path) {
    if (path.root == "request") return;
    Add(path, ValueFor(arena_, SchemaAt(path.steps)));
    Add(path, json::Value());
  }

  void Boolean(const Expr& expr) {
    const auto path = PathOf(expr);
    if (!path || expr.test_only) return;
    Add(*path, json::Value::Bool(true));
    Add(*path, json::Value::Bool(false));
  }

  // Values around a constant: the same, and others.
  std::vector<json::Value> Around(cel::Value constant, bool as_text) {
    std::vector<json::Value> values;
    const auto number = [&](std::int64_t value) {
      values.push_back(as_text ? json::String(arena_, std::to_string(value))
                               : json::Value::Int(value));
    };
    if (constant.kind() == cel::Kind::kInt) {
      for (const std::int64_t by : {0, 1, -1}) {
        if (constant.int_value() < kMuch * kMuch && constant.int_value() > -kMuch * kMuch) {
          number(constant.int_value() + by);
        }
      }
    } else if (constant.kind() == cel::Kind::kString) {
      values.push_back(json::String(arena_, constant.text()));
      values.push_back(json::String(arena_, base::StrCat(constant.text(), "-other")));
    } else if (constant.kind() == cel::Kind::kBool) {
      values.push_back(json::Value::Bool(true));
      values.push_back(json::Value::Bool(false));
    } else {
      number(0);
      number(kMuch);
      values.push_back(json::String(arena_, "other"));
    }
    return values;
  }

  void Compare(const Expr& value, const Expr& other) {
    const cel::Value constant = other.kind == ExprKind::kConst ? other.constant : cel::Value();
    if (const auto path = PathOf(value)) {
      for (const json::Value& one : Around(constant, false)) Add(*path, one);
      return;
    }
    if (value.kind == ExprKind::kCall && value.args.size() == 2) {  // a sum, a difference
      for (const Expr* argument : value.args) {
        const auto part = PathOf(*argument);
        if (!part) continue;
        for (const json::Value& one : Around(constant, false)) Add(*part, one);
        for (const json::Value& one : Around({}, false)) Add(*part, one);
      }
    }
    if (value.kind != ExprKind::kCall || value.args.size() != 1) return;
    const auto path = PathOf(*value.args[0]);
    if (!path) return;
    if (value.name == "size") {
      if (constant.kind() == cel::Kind::kInt) Sizes(*path, constant.int_value());
    } else {
      for (const json::Value& one : Around(constant, true)) Add(*path, one);  // int(), quantity()
    }
  }

  // Lists, maps and texts about so long.
  void Sizes(const Path& path, std::int64_t size) {
    const Schema* schema = SchemaAt(path.steps);
    for (std::int64_t count = std::max<std::int64_t>(size - 1, 0);
         count <= std::min(size + 1, kMostElements); ++count) {
      const auto wanted = static_cast<std::size_t>(count);
      if (schema != nullptr && schema->kind == Kind::kArray) {
        json::ArrayBuilder list(arena_);
        for (std::size_t i = 0; i < wanted; ++i) list.Add(Element(*schema, i));
        Add(path, list.Build());
      } else if (schema != nullptr && schema->kind == Kind::kMap) {
        json::ObjectBuilder map(arena_);
        for (std::size_t i = 0; i < wanted; ++i) {
          map.Set(arena_.Copy(base::StrCat("key-", std::to_string(i))),
                  ValueFor(arena_, schema->element));
        }
        Add(path, map.Build());
      } else {
        Add(path, json::String(arena_, std::string(wanted, 'x')));
      }
    }
  }

  json::Value Element(const Schema& list, std::size_t index) {
    const json::Value element = ValueFor(arena_, list.element);
    if (!element.is_object() || list.element->FindField("name") == nullptr) return element;
    return json::With(arena_, element, "name",
                      json::String(arena_, base::StrCat("example-", std::to_string(index))));
  }

  void In(const Expr& value, const Expr& list) {
    if (const auto path = PathOf(value); path && list.kind == ExprKind::kList) {
      for (const Expr* one : list.args) {
        if (one->kind != ExprKind::kConst) continue;
        for (const json::Value& around : Around(one->constant, false)) Add(*path, around);
        break;
      }
    }
    const auto whole = PathOf(list);
    if (!whole || value.kind != ExprKind::kConst || value.constant.kind() != cel::Kind::kString) {
      return;
    }
    const json::Value text = json::String(arena_, value.constant.text());
    const Schema* schema = SchemaAt(whole->steps);
    if (schema != nullptr && schema->kind == Kind::kMap) {
      Path entry = *whole;
      entry.steps.emplace_back(value.constant.text());
      Add(entry, ValueFor(arena_, schema->element));
    } else {
      Add(*whole, json::MakeArray(arena_, {text}));
    }
  }

  void Call(const Expr& expr) {
    constexpr std::string_view kComparisons[] = {cel::op::kEquals,  cel::op::kNotEquals,
                                                 cel::op::kLess,    cel::op::kLessEquals,
                                                 cel::op::kGreater, cel::op::kGreaterEquals};
    const auto is = [&](std::string_view name) { return expr.name == name; };
    if (std::any_of(std::begin(kComparisons), std::end(kComparisons), is)) {
      Compare(*expr.args[0], *expr.args[1]);
      Compare(*expr.args[1], *expr.args[0]);
    } else if (is(cel::op::kIn)) {
      In(*expr.args[0], *expr.args[1]);
    } else if (is(cel::op::kAnd) || is(cel::op::kOr) || is(cel::op::kNot)) {
      for (const Expr* operand : expr.args) Boolean(*operand);
    } else if (is(cel::op::kConditional)) {
      Boolean(*expr.args[0]);
    } else if (expr.member_call && expr.args.size() == 2) {
      Text(expr);
    }
  }

  // startsWith(), endsWith(), contains(), matches() of a constant.
  void Text(const Expr& call) {
    const auto path = PathOf(*call.args[0]);
    const cel::Value constant = call.args[1]->constant;
    if (!path || call.args[1]->kind != ExprKind::kConst || constant.kind() != cel::Kind::kString) {
      return;
    }
    std::string text(constant.text());
    if (call.name == "matches") {
      // A pattern of plain characters matches itself.
      std::erase_if(text, [](char c) { return c == '^' || c == '$' || c == '\\'; });
    }
    Add(*path, json::String(arena_, text));
    for (const char* around : {"example", "UPPER_case", "0"}) {
      Add(*path, json::String(arena_, call.name == "endsWith" ? base::StrCat(around, text)
                                                              : base::StrCat(text, around)));
      Add(*path, json::String(arena_, around));
    }
  }

  void Loop(const cel::Comprehension& loop) {
    const auto range = PathOf(*loop.range);
    Visit(*loop.range);
    const Schema* schema = range ? SchemaAt(range->steps) : nullptr;
    const bool is_map = schema != nullptr && schema->kind == Kind::kMap;
    const std::string name(loop.variable2.empty() ? loop.variable : loop.variable2);
    std::optional<Path> outer;
    if (const auto hidden = locals_.find(name); hidden != locals_.end()) outer = hidden->second;
    if (range && !(is_map && loop.variable2.empty())) {
      Path element = *range;
      element.steps.emplace_back(is_map ? "example" : "0");
      locals_[name] = std::move(element);
    }
    for (const Expr* part : {loop.filter, loop.body}) {
      if (part != nullptr) Condition(*part);
    }
    if (loop.form == cel::LoopForm::kGeneric) {
      for (const Expr* part : {loop.init, loop.step, loop.result}) {
        if (part != nullptr) Visit(*part);
      }
    }
    locals_.erase(name);
    if (outer) locals_[name] = *outer;
  }

  const Schema* const schema_;
  const json::Value object_;
  TestEdits& out_;
  json::Arena& arena_;
  std::map<std::string, Path> variables_;
  std::map<std::string, Path> locals_;  // of loops
  std::set<std::string> known_;
};

}  // namespace

TestEdits EditsFor(const Manifest& policy, const Schema* schema, json::Value object) {
  TestEdits edits;
  cel::EnvironmentBuilder builder;
  kube_cel::AddKubernetesLibraries(builder);
  const auto macros = builder.Build();
  if (!macros.ok()) return edits;
  Finder finder(schema, object, edits);
  const json::Value variables = policy.object["spec"]["variables"];
  // Variables first: the others read them.
  std::vector<ExpressionFact> expressions = ExpressionsOf(policy);
  std::stable_partition(expressions.begin(), expressions.end(),
                        [](const ExpressionFact& one) { return one.section == "variables"; });
  for (const ExpressionFact& expression : expressions) {
    const cel::Compilation parsed = (*macros)->Compile(expression.text, {.check = false});
    if (parsed.ast == nullptr || parsed.ast->root() == nullptr) continue;
    if (expression.section == "variables") {
      const auto index = static_cast<std::size_t>(base::ParseInt(expression.steps[2]).value_or(0));
      finder.Variable(variables[index]["name"].AsString(), *parsed.ast->root());
    } else {
      finder.Condition(*parsed.ast->root());
    }
  }
  return edits;
}

}  // namespace portcullis::offline

// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/expressions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/operators.h"
#include "kube_cel/compiler.h"
#include "kube_cel/schema_rules.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::string_view kClaims = "claims";
constexpr std::string_view kUser = "user";
constexpr std::uint64_t kCostLimit = 1'000'000;  // of one evaluation

class UserTypes final : public cel::TypeProvider {
 public:
  static constexpr std::string_view kName = "kubernetes.UserInfo";

  UserTypes() : type_(cel::MakeStructType(arena_, kName)) {
    constexpr std::pair<std::string_view, std::string_view> kFields[] = {
        {"username", "string"},
        {"uid", "string"},
        {"groups", "list(string)"},
        {"extra", "map(string, list(string))"}};
    for (const auto& [name, text] : kFields) {
      const auto type = cel::ParseType(arena_, text);
      fields_[name] = type.ok() ? *type : &cel::kDynType;
    }
  }

  const cel::Type* FindStruct(std::string_view name) const override {
    return name == kName ? type_ : nullptr;
  }
  const cel::Type* FindField(const cel::Type& type, std::string_view field) const override {
    if (type.name != kName) return nullptr;
    const auto found = fields_.find(field);
    return found == fields_.end() ? nullptr : found->second;
  }

 private:
  json::Arena arena_;
  const cel::Type* type_;
  std::map<std::string_view, const cel::Type*> fields_;
};

bool IsIdentifier(const cel::Expr* expr, std::string_view name) {
  return expr != nullptr && expr->kind == cel::ExprKind::kIdent && expr->name == name;
}

// Whether `claims.<field>` or `claims.?<field>` is part of the expression.
bool Selects(const cel::Expr* expr, std::string_view field) {
  if (expr == nullptr) return false;
  const auto inside = [field](const cel::Expr* part) { return Selects(part, field); };
  switch (expr->kind) {
    case cel::ExprKind::kSelect:
      return (IsIdentifier(expr->operand, kClaims) && expr->name == field) || inside(expr->operand);
    case cel::ExprKind::kCall:
      if (expr->name == cel::op::kOptionalSelect && expr->args.size() == 2 &&
          IsIdentifier(expr->args[0], kClaims) && expr->args[1]->kind == cel::ExprKind::kConst &&
          expr->args[1]->constant.is_string() && expr->args[1]->constant.text() == field) {
        return true;
      }
      return std::any_of(expr->args.begin(), expr->args.end(), inside);
    case cel::ExprKind::kList:
      return std::any_of(expr->args.begin(), expr->args.end(), inside);
    case cel::ExprKind::kMap:
    case cel::ExprKind::kStruct:
      return std::any_of(expr->entries.begin(), expr->entries.end(), [&](const cel::Entry& entry) {
        return inside(entry.key) || inside(entry.value);
      });
    case cel::ExprKind::kComprehension: {
      const cel::Comprehension& loop = *expr->loop;
      return inside(loop.range) || inside(loop.init) || inside(loop.condition) ||
             inside(loop.step) || inside(loop.result);
    }
    default:
      return false;
  }
}

cel::Value ValueOf(json::Arena& arena, const json::Value& value);

class ClaimList final : public cel::List {
 public:
  explicit ClaimList(const json::Value& list) : list_(list) {}
  std::size_t size() const override { return list_.size(); }
  cel::Value At(json::Arena& arena, std::size_t index) const override {
    return ValueOf(arena, list_.elements()[index]);
  }

 private:
  const json::Value& list_;
};

// An object below the claims. A name that is no escaped one is looked up as it is.
class ClaimMap final : public cel::Map {
 public:
  explicit ClaimMap(const json::Value& object) : object_(object) {}
  std::size_t size() const override { return object_.size(); }
  cel::Value Find(json::Arena& arena, cel::Value key) const override {
    if (!key.is_string()) return {};
    const auto name = kube_cel::UnescapeFieldName(key.text());
    const json::Value* found = object_.Find(name ? std::string_view(*name) : key.text());
    return found == nullptr ? cel::Value() : ValueOf(arena, *found);
  }
  cel::Value KeyAt(json::Arena&, std::size_t index) const override {
    return cel::Value::String(object_.members()[index].name());
  }
  cel::Value ValueAt(json::Arena& arena, std::size_t index) const override {
    return ValueOf(arena, object_.members()[index].value);
  }

 private:
  const json::Value& object_;
};

// `claims` and `user` themselves: what looks like an escaped name and is none is no field.
class Fields final : public cel::Object {
 public:
  Fields(const json::Value& object, const cel::Type* type) : object_(object), type_(type) {}
  const cel::Type* type() const override { return type_; }
  cel::Value Equals(json::Arena&, cel::Value) const override { return cel::NoSuchOverload(); }
  bool is_struct() const override { return true; }
  bool HasField(std::string_view name) const override { return Find(name) != nullptr; }
  cel::Value Field(json::Arena& arena, std::string_view name) const override {
    const json::Value* found = Find(name);
    return found == nullptr ? cel::Value() : ValueOf(arena, *found);
  }

 private:
  const json::Value* Find(std::string_view escaped) const {
    const auto name = kube_cel::UnescapeFieldName(escaped);
    return name ? object_.Find(*name) : nullptr;
  }

  const json::Value& object_;
  const cel::Type* type_;
};

cel::Value ValueOf(json::Arena& arena, const json::Value& value) {
  if (value.is_object()) return cel::Value::FromMap(cel::New<ClaimMap>(arena, value));
  if (value.is_array()) return cel::Value::FromList(cel::New<ClaimList>(arena, value));
  if (value.is_number()) return cel::Value::Double(value.AsDouble());
  return cel::Value::FromJson(&value);
}

}  // namespace

bool Expression::MakesGoStrings() const {
  const cel::Expr* root = compilation_.ast->root();
  return root->kind == cel::ExprKind::kCall && (root->name == "split" || root->name == "findAll");
}

bool Expression::Uses(std::string_view field) const {
  return Selects(compilation_.ast->root(), field);
}

base::Result<cel::Value> Expression::Evaluate(json::Arena& arena, cel::Value input) const {
  cel::Activation activation(*environment_);
  activation.Bind(variable_, input);
  const cel::EvalOptions options{.cost_limit = kCostLimit};
  const cel::Value value = compilation_.program->Evaluate(activation, arena, options).value;
  if (!value.is_error()) return value;
  return base::Status(
      base::Reason::kUnauthorized,
      base::StrCat("expression '", text_, "' resulted in error: ", value.error()->text));
}

base::Result<ExpressionCompiler> ExpressionCompiler::Create() {
  const auto make = [](std::string_view variable, std::string_view type) {
    cel::EnvironmentBuilder builder;
    kube_cel::AddKubernetesLibraries(builder);
    builder.SetTypes(std::make_shared<UserTypes>());
    builder.AddVariable(variable, type);
    return builder.Build();
  };
  ExpressionCompiler compiler;
  compiler.claims_ = TRY(make(kClaims, "map(string, any)"));
  compiler.user_ = TRY(make(kUser, base::StrCat("#", UserTypes::kName)));
  return compiler;
}

base::Result<ExpressionPtr> ExpressionCompiler::Compile(const EnvironmentPtr& environment,
                                                        std::string_view variable,
                                                        std::string_view text) {
  auto expression = std::shared_ptr<Expression>(new Expression());
  expression->text_ = text;
  expression->variable_ = variable;
  expression->environment_ = environment;
  expression->compilation_ = environment->Compile(text);
  const cel::Compilation& compilation = expression->compilation_;
  if (!compilation.issues.empty()) {
    return base::ConfigError(base::StrCat("compilation failed: ", compilation.issues.ToString()));
  }
  if (!compilation.ok()) return base::ConfigError(compilation.ErrorText());
  return ExpressionPtr(std::move(expression));
}

base::Result<ExpressionPtr> ExpressionCompiler::CompileMapping(std::string_view text) const {
  return Compile(claims_, kClaims, text);
}

base::Result<ExpressionPtr> ExpressionCompiler::CompileClaimRule(std::string_view text) const {
  return CheckBool(TRY(Compile(claims_, kClaims, text)));
}

base::Result<ExpressionPtr> ExpressionCompiler::CompileUserRule(std::string_view text) const {
  return CheckBool(TRY(Compile(user_, kUser, text)));
}

base::Result<ExpressionPtr> ExpressionCompiler::CheckBool(ExpressionPtr expression) {
  const cel::Type* type = expression->compilation_.program->result_type();
  if (type->kind == cel::TypeKind::kBool) return expression;
  return base::ConfigError("must evaluate to bool");
}

cel::Value ClaimsValue(json::Arena& arena, const json::Value* claims) {
  const cel::Type* type = cel::MakeStructType(arena, "kubernetes.claims");
  return cel::Value::FromObject(cel::New<Fields>(arena, *claims, type));
}

cel::Value UserValue(json::Arena& arena, const api::UserInfo& user) {
  const auto list = [&arena](const std::vector<std::string>& texts) {
    json::ArrayBuilder out(arena);
    for (const std::string& text : texts) out.Add(text);
    return out.Build();
  };
  json::ObjectBuilder extra(arena);
  for (const auto& [key, values] : user.extra) extra.Set(arena.Copy(key), list(values));
  const json::Value object = json::ObjectBuilder(arena)
                                 .Set("username", std::string_view(user.name))
                                 .Set("uid", std::string_view(user.uid))
                                 .Set("groups", list(user.groups))
                                 .Set("extra", extra.Build())
                                 .Build();
  const auto* kept =
      new (arena.Allocate(sizeof(json::Value), alignof(json::Value))) json::Value(object);
  const cel::Type* type = cel::MakeStructType(arena, UserTypes::kName);
  return cel::Value::FromObject(cel::New<Fields>(arena, *kept, type));
}

}  // namespace portcullis::server::authentication

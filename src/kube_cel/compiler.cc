// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/compiler.h"

#include <utility>

#include "base/strings.h"
#include "cel/syntax/ast.h"
#include "kube_cel/admission_types.h"
#include "kube_cel/libraries.h"
#include "kube_cel/mutation_objects.h"
#include "kube_cel/rule_set.h"

namespace portcullis::kube_cel {
namespace {

struct InputRow {
  Input input;
  std::string_view name;
  std::string_view type;
};

constexpr InputRow kInputRows[] = {
    {Input::kObject, "object", "dyn"},
    {Input::kOldObject, "oldObject", "dyn"},
    {Input::kRequest, "request", "#kubernetes.AdmissionRequest"},
    {Input::kNamespaceObject, "namespaceObject", "#kubernetes.Namespace"},
    {Input::kParams, "params", "dyn"},
    {Input::kAuthorizer, "authorizer", "kubernetes.authorization.Authorizer"},
    {Input::kRequestResource, "authorizer.requestResource",
     "kubernetes.authorization.ResourceCheck"},
    {Input::kVariables, "variables", "#kubernetes.variables"},
};

bool IsDeclared(const Scope& scope, Input input) {
  switch (input) {
    case Input::kParams:
      return scope.params;
    case Input::kAuthorizer:
      return scope.authorizer;
    case Input::kRequestResource:
      return scope.authorizer && !scope.bare_authorizer;
    case Input::kVariables:
      return scope.variables;
    default:
      return true;
  }
}

// Types whose values later expressions may rely on; everything else is dyn.
bool IsKept(const cel::Type* type) {
  switch (type->kind) {
    case cel::TypeKind::kAny:
    case cel::TypeKind::kNull:
    case cel::TypeKind::kBool:
    case cel::TypeKind::kInt:
    case cel::TypeKind::kUint:
    case cel::TypeKind::kDouble:
    case cel::TypeKind::kString:
    case cel::TypeKind::kBytes:
    case cel::TypeKind::kTimestamp:
    case cel::TypeKind::kDuration:
      return true;
    default:
      return false;
  }
}

constexpr int kMaxTypeParts = 64;

// Appends the type's text; false if it has more parts than `left`.
bool AppendKept(const cel::Type* type, int& left, std::string& out) {
  if (--left < 0) return false;
  if (type->kind == cel::TypeKind::kList && type->params.size() == 1) {
    out += "list(";
    if (!AppendKept(type->params[0], left, out)) return false;
  } else if (type->kind == cel::TypeKind::kMap && type->params.size() == 2) {
    out += "map(";
    if (!AppendKept(type->params[0], left, out)) return false;
    out += ", ";
    if (!AppendKept(type->params[1], left, out)) return false;
  } else {
    out += IsKept(type) ? cel::TypeString(type) : "dyn";
    return true;
  }
  out += ')';
  return true;
}

std::string KeptType(const cel::Type* type) {
  int left = kMaxTypeParts;
  std::string text;
  return AppendKept(type, left, text) ? text : "dyn";
}

std::string CheckExpected(const cel::Type* type, Expected expected) {
  const std::string got = cel::TypeString(type);
  const auto mismatch = [&](std::string_view wanted) {
    return base::StrCat("must evaluate to ", wanted, " but got ", got);
  };
  switch (expected) {
    case Expected::kAnything:
      return "";
    case Expected::kBool:
      return got == "bool" ? "" : mismatch("bool");
    case Expected::kString:
      return got == "string" ? "" : mismatch("string");
    case Expected::kStringOrNull:
      if (got == "string" || got == "null_type") return "";
      return mismatch("one of [string null_type]");
    case Expected::kObject:
      return got == "Object" ? "" : mismatch("Object");
    case Expected::kPatch:
      return got == "list(JSONPatch)" ? "" : mismatch("list(JSONPatch)");
  }
  return "";
}

// `base` declares the same, with variables of other types; null: there is none.
std::shared_ptr<const ScopeEnvironment> MakeEnvironment(
    const Scope& scope, int minor, const std::shared_ptr<const ScopeEnvironment>& base) {
  base::Result<std::shared_ptr<const cel::Environment>> built = base::ConfigError("");
  if (base != nullptr) {
    built = cel::EnvironmentBuilder(base->environment)
                .SetTypes(MakeAdmissionTypes(scope, base->environment->types()))
                .Build();
  } else {
    cel::EnvironmentBuilder builder;
    AddKubernetesLibraries(builder, minor);
    if (scope.mutation) {
      builder.AddLibrary(kJsonPatchLibrary).SetObjects(MakeMutationObjects());
    }
    builder.SetTypes(MakeAdmissionTypes(scope, nullptr));
    for (const InputRow& row : kInputRows) {
      if (IsDeclared(scope, row.input)) builder.AddVariable(row.name, row.type);
    }
    built = builder.Build();
  }
  auto result = std::make_shared<ScopeEnvironment>();
  if (!built.ok()) return result;  // the tables are tested: cannot happen
  result->environment = *std::move(built);
  for (const InputRow& row : kInputRows) {
    result->indices[static_cast<std::size_t>(row.input)] =
        IsDeclared(scope, row.input) ? result->environment->VariableIndex(row.name) : -1;
  }
  return result;
}

}  // namespace

// In which release Kubernetes' environment got what the newest has
// (apiserver/pkg/cel/environment/base.go).
void AddKubernetesLibraries(cel::EnvironmentBuilder& builder, int minor) {
  struct Row {
    const cel::Library& library;
    int since;
    int version = cel::kNewest;
  };
  const Row rows[] = {
      {kListLibrary, 0},
      {kRegexLibrary, 0},
      {kUrlLibrary, 0},
      {kCostLibrary, 0},
      {kAuthorizerLibrary, 27},
      {cel::kOptionalLibrary, 28},
      {kQuantityLibrary, 28},
      {cel::kStringsLibrary, 0, 0},
      {cel::kStringsLibrary, 29, 2},
      {cel::kSetsLibrary, 29},
      {kIpLibrary, 30},
      {kCidrLibrary, 30},
      {kFormatLibrary, 31},
      {cel::kTwoVariableLibrary, 32},
      {kSemverLibrary, 33},
      {cel::kListsLibrary, 34, 3},
  };
  for (const Row& row : rows) {
    if (minor >= row.since) builder.AddLibrary(row.library, row.version);
  }
  builder.options().homogeneous_literals = true;
  builder.options().validate_literals = true;
}

std::string VariableTypeText(const cel::Type* type) { return KeptType(type); }

std::string Expression::VariableTypeText() const {
  return ok() ? KeptType(program_->result_type()) : "dyn";
}

bool Expression::IsExpectedLong() const {
  const std::uint8_t left = expected_long_.load(std::memory_order_relaxed);
  if (left == 0) return false;
  expected_long_.store(static_cast<std::uint8_t>(left - 1), std::memory_order_relaxed);
  return true;
}

Compiler::Compiler(int kubernetes_minor) : kubernetes_minor_(kubernetes_minor) {}
Compiler::~Compiler() = default;

int Compiler::MinorOf(const Scope& scope) const {
  // Nothing has been added to the environment since v1.34.
  constexpr int kLastAddition = 34;
  const int minor = kubernetes_minor_ - 1;
  return scope.is_new && minor < kLastAddition ? minor : kEveryRelease;
}

std::string Compiler::KeyOf(const Scope& scope) const {
  std::string key;
  key += scope.params ? 'p' : '-';
  key += scope.authorizer ? (scope.bare_authorizer ? 'b' : 'a') : '-';
  key += scope.mutation ? 'm' : '-';
  key += scope.variables ? 'v' : '-';
  key += std::to_string(MinorOf(scope));
  key += scope.variable_types.digest();
  return key;
}

std::shared_ptr<const ScopeEnvironment> Compiler::EnvironmentOf(const Scope& scope) {
  const std::string key = KeyOf(scope);
  {
    const std::lock_guard lock(mutex_);
    if (auto known = environments_[key].lock()) return known;
  }
  std::shared_ptr<const ScopeEnvironment> base;
  if (!scope.variable_types.empty()) {
    Scope plain = scope;
    plain.variable_types = {};
    base = EnvironmentOf(plain);
  }
  auto made = MakeEnvironment(scope, MinorOf(scope), base);
  const std::lock_guard lock(mutex_);
  auto& slot = environments_[key];
  if (auto known = slot.lock()) return known;
  slot = made;
  if (scope.variable_types.empty()) kept_.push_back(made);
  return made;
}

std::shared_ptr<const Expression> Compiler::CompileIn(std::shared_ptr<const ScopeEnvironment> scope,
                                                      std::string_view text, Expected expected) {
  auto expression = std::make_shared<Expression>();
  expression->text_ = text;
  cel::Compilation compilation = scope->environment->Compile(text);
  if (!compilation.issues.empty()) {
    expression->error_ = "compilation failed: " + compilation.issues.ToString();
    return expression;
  }
  // A type that is not wanted is told before what fails when the program is made.
  expression->error_ = CheckExpected(compilation.ast->type(), expected);
  if (!expression->error_.empty()) return expression;
  if (!compilation.ok()) {
    expression->internal_ = true;
    expression->error_ = compilation.ErrorText();
    return expression;
  }
  expression->program_ = std::move(compilation.program);
  expression->scope_ = std::move(scope);
  return expression;
}

std::shared_ptr<const Expression> Compiler::Compile(const Scope& scope, std::string_view text,
                                                    Expected expected) {
  const std::string key =
      base::StrCat(KeyOf(scope), "\n", std::to_string(static_cast<int>(expected)), "\n", text);
  {
    const std::lock_guard lock(mutex_);
    const auto known = expressions_.find(key);
    if (known != expressions_.end()) {
      if (auto expression = known->second.lock()) return expression;
    }
  }
  auto made = CompileIn(EnvironmentOf(scope), text, expected);
  const std::lock_guard lock(mutex_);
  auto& slot = expressions_[key];
  if (auto known = slot.lock()) return known;
  slot = made;
  if (expressions_.size() >= next_sweep_) {
    std::erase_if(expressions_, [](const auto& entry) { return entry.second.expired(); });
    std::erase_if(environments_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = expressions_.size() * 2 + 1024;
  }
  return made;
}

std::shared_ptr<const RuleSet> Compiler::RulesOf(const void* owner, json::Value props) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = rule_sets_.find(owner);
    if (known != rule_sets_.end() && known->second->props() == props) return known->second;
  }
  auto made = std::make_shared<const RuleSet>(props);
  const std::lock_guard lock(mutex_);
  if (rule_sets_.size() >= kMaxRuleSets) rule_sets_.clear();
  rule_sets_[owner] = made;
  return made;
}

void Compiler::ForgetRules() {
  std::unordered_map<const void*, std::shared_ptr<const RuleSet>> forgotten;
  const std::lock_guard lock(mutex_);
  forgotten.swap(rule_sets_);
}

}  // namespace portcullis::kube_cel

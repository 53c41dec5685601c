// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/policy_types.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cel/checker/cost_estimate.h"
#include "cel/environment.h"
#include "cel/syntax/ast.h"
#include "kube_cel/admission_types.h"
#include "kube_cel/object_sizes.h"
#include "kube_cel/object_types.h"

namespace portcullis::kube_cel {
namespace {

using api::GroupVersionKind;
using api::catalog::Catalog;
using api::catalog::ResourceInfo;

constexpr std::size_t kMaxKinds = 10;

struct ByParts {
  bool operator()(const GroupVersionKind& a, const GroupVersionKind& b) const {
    return std::tie(a.group, a.version, a.kind) < std::tie(b.group, b.version, b.kind);
  }
};
using Kinds = std::set<GroupVersionKind, ByParts>;

// The texts of a list, sorted; none if one is a wildcard.
std::vector<std::string_view> ExactTexts(json::Value list) {
  std::vector<std::string_view> out;
  for (const json::Value& item : list.elements()) {
    if (item.AsString().find('*') != std::string_view::npos) return {};
    out.push_back(item.AsString());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> PlainResources(json::Value list) {
  std::vector<std::string_view> out;
  for (const json::Value& item : list.elements()) {
    if (item.AsString().find_first_of("*/") == std::string_view::npos) {
      out.push_back(item.AsString());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// As a RESTMapper finds kinds: an empty group stands for any.
std::vector<GroupVersionKind> KindsFor(const Catalog& catalog, std::string_view group,
                                       std::string_view version, std::string_view resource) {
  std::vector<GroupVersionKind> out;
  for (const ResourceInfo* info : catalog.resources()) {
    if (info->resource.version != version) continue;
    if (!group.empty() && info->resource.group != group) continue;
    if (info->resource.resource == resource || info->singular == resource) {
      out.push_back(info->kind);
    }
  }
  return out;
}

// False once ten kinds have been found in one rule: then the search is over.
bool AddKindsOfRule(const Catalog& catalog, json::Value rule, Kinds& kinds) {
  std::size_t count = 0;
  for (const std::string_view group : ExactTexts(rule["apiGroups"])) {
    for (const std::string_view version : ExactTexts(rule["apiVersions"])) {
      for (const std::string_view resource : PlainResources(rule["resources"])) {
        for (GroupVersionKind& kind : KindsFor(catalog, group, version, resource)) {
          kinds.insert(std::move(kind));
          if (++count == kMaxKinds) return false;
        }
      }
    }
  }
  return true;
}

Kinds KindsToCheck(const Catalog& catalog, json::Value spec) {
  Kinds kinds;
  for (const json::Value& rule : spec["matchConstraints"]["resourceRules"].elements()) {
    if (!AddKindsOfRule(catalog, rule, kinds)) break;
  }
  return kinds;
}

// What is known of a policy's parameters. Without a schema they may be anything.
struct Params {
  bool declared = false;
  const api::schema::Schema* schema = nullptr;
};

Params FindParams(const Catalog& catalog, json::Value kind) {
  if (!kind.is_object()) return {};
  const auto version = api::ParseGroupVersion(kind["apiVersion"].AsString());
  if (!version.ok()) return {};
  return {true, catalog.FindSchema(
                    {version->group, version->version, std::string(kind["kind"].AsString())})};
}

// The environment of one policy with one kind: types of objects, parameters and variables.
class KindChecker {
 public:
  KindChecker(Compiler& compiler, const Catalog& catalog, const GroupVersionKind& kind,
              const api::schema::Schema& schema, Params params, json::Value variables)
      : catalog_(catalog), schema_(schema), params_(params.schema), kind_(kind) {
    scope_ = {.params = params.declared, .authorizer = true, .variables = true};
    scope_.bare_authorizer = true;
    base_ = compiler.EnvironmentOf(scope_);
    Declare();
    for (const json::Value& variable : variables.elements()) {
      const cel::Compilation checked = environment_->Check(variable["expression"].AsString());
      std::string type = "dyn";
      if (checked.issues.empty() && checked.ast != nullptr) {
        type = VariableTypeText(checked.ast->type());
      }
      scope_.variable_types.Add({std::string(variable["name"].AsString()), std::move(type)});
      Declare();
    }
  }

  // The smallest object of at most so many bytes for which the estimate exceeds the limit; nothing if there
  // is none, or the expression has the wrong types.
  std::optional<std::uint64_t> CostlySize(std::string_view expression, std::uint64_t limit,
                                          std::uint64_t most_bytes) const {
    const cel::Compilation checked = environment_->Check(expression);
    if (!checked.issues.empty() || checked.ast == nullptr) return std::nullopt;
    for (std::uint64_t bytes = 1024; bytes <= most_bytes; bytes *= 2) {
      const ObjectSizes sizes(schema_, bytes);
      const cel::Range cost = cel::EstimateCost(*environment_, *checked.ast, sizes);
      if (cost.max > limit) return bytes;
    }
    return std::nullopt;
  }
  const GroupVersionKind& kind() const { return kind_; }

  // What is wrong, or "".
  std::string Check(std::string_view expression) const {
    const cel::Compilation checked = environment_->Check(expression);
    return checked.issues.empty() ? "" : checked.issues.ToString();
  }

 private:
  // Owns what an environment's types point to.
  struct Types final : cel::TypeProvider {
    Types(const Scope& scope, const cel::TypeProvider* base, const api::schema::Schema* object_meta)
        : common(MakeAdmissionTypes(scope, base)), objects(common.get(), object_meta) {}
    const cel::Type* FindStruct(std::string_view name) const override {
      return objects.FindStruct(name);
    }
    const cel::Type* FindField(const cel::Type& type, std::string_view field) const override {
      return objects.FindField(type, field);
    }
    std::shared_ptr<const cel::TypeProvider> common;
    ObjectTypes objects;
  };

  void Declare() {
    auto types =
        std::make_shared<Types>(scope_, base_->environment->types(), catalog_.object_meta());
    cel::EnvironmentBuilder builder(base_->environment);
    const cel::Type* object = types->objects.Add(schema_, kind_.kind + "0");
    if (object == nullptr) object = &cel::kDynType;
    builder.AddVariable("object", object).AddVariable("oldObject", object);
    if (params_ != nullptr) {
      const cel::Type* params = types->objects.Add(*params_, kind_.kind + "1");
      builder.AddVariable("params", params == nullptr ? &cel::kDynType : params);
    }
    builder.SetTypes(types);
    auto built = builder.Build();
    environment_ = built.ok() ? *std::move(built) : base_->environment;
  }

  const Catalog& catalog_;
  const api::schema::Schema& schema_;
  const api::schema::Schema* const params_;
  const GroupVersionKind kind_;
  Scope scope_;
  std::shared_ptr<const ScopeEnvironment> base_;
  std::shared_ptr<const cel::Environment> environment_;
};

// One checker for each kind whose schema is known.
class PolicyTypeChecker {
 public:
  PolicyTypeChecker(Compiler& compiler, const Catalog& catalog, json::Value spec) {
    const Params params = FindParams(catalog, spec["paramKind"]);
    for (const GroupVersionKind& kind : KindsToCheck(catalog, spec)) {
      const api::schema::Schema* schema = catalog.FindSchema(kind);
      if (schema == nullptr) continue;
      checkers_.push_back({kind.ToString(), KindChecker(compiler, catalog, kind, *schema, params,
                                                        spec["variables"])});
    }
  }

  // The first kind for whose objects the expression may be costly.
  std::optional<CostlyExpression> FindCostly(std::string_view expression, std::uint64_t limit,
                                             std::uint64_t most_bytes) const {
    for (const Entry& entry : checkers_) {
      const auto bytes = entry.checker.CostlySize(expression, limit, most_bytes);
      if (bytes) return CostlyExpression{{}, entry.checker.kind().kind, *bytes};
    }
    return std::nullopt;
  }

  // The warning about one expression, or "".
  std::string Check(std::string_view expression) const {
    std::string out;
    for (const Entry& entry : checkers_) {
      const std::string issues = entry.checker.Check(expression);
      if (issues.empty()) continue;
      if (!out.empty()) out += '\n';
      out += base::StrCat(entry.kind, ": ", issues, "\n");
    }
    return out;
  }

 private:
  struct Entry {
    std::string kind;
    KindChecker checker;
  };
  std::vector<Entry> checkers_;
};

}  // namespace

json::Value CheckPolicyTypes(json::Arena& arena, Compiler& compiler, const Catalog& catalog,
                             json::Value policy) {
  const json::Value spec = policy["spec"];
  const PolicyTypeChecker checker(compiler, catalog, spec);
  json::ArrayBuilder warnings(arena);
  std::size_t index = 0;
  for (const json::Value& validation : spec["validations"].elements()) {
    const std::string path = base::StrCat("spec.validations[", std::to_string(index++), "].");
    for (const std::string_view field : {"expression", "messageExpression"}) {
      const std::string_view text = validation[field].AsString();
      if (text.empty() && field != "expression") continue;
      const std::string warning = checker.Check(text);
      if (warning.empty()) continue;
      json::ObjectBuilder entry(arena);
      entry.Set("fieldRef", json::String(arena, base::StrCat(path, field)));
      entry.Set("warning", json::String(arena, warning));
      warnings.Add(entry.Build());
    }
  }
  return warnings.Build();
}

std::vector<CostlyExpression> EstimateCosts(Compiler& compiler, const Catalog& catalog,
                                            json::Value policy, std::uint64_t limit,
                                            std::uint64_t most_bytes) {
  constexpr std::pair<std::string_view, std::string_view> kExpressions[] = {
      {"matchConditions", "expression"},
      {"variables", "expression"},
      {"validations", "expression"},
      {"auditAnnotations", "valueExpression"}};
  std::vector<CostlyExpression> found;
  const PolicyTypeChecker checker(compiler, catalog, policy["spec"]);
  for (const auto& [list, member] : kExpressions) {
    const json::Value entries = policy["spec"][list];
    for (std::size_t i = 0; i < entries.size(); ++i) {
      auto costly = checker.FindCostly(entries[i][member].AsString(), limit, most_bytes);
      if (!costly) continue;
      costly->steps = {"spec", std::string(list), std::to_string(i), std::string(member)};
      found.push_back(*std::move(costly));
    }
  }
  return found;
}

json::Value WithTypeChecking(json::Arena& arena, Compiler& compiler, const Catalog& catalog,
                             json::Value policy) {
  const json::Value warnings = CheckPolicyTypes(arena, compiler, catalog, policy);
  json::ObjectBuilder findings(arena);
  if (!warnings.empty()) findings.Set("expressionWarnings", warnings);
  json::ObjectBuilder status(arena, policy["status"]);
  status.Set("observedGeneration", policy["metadata"]["generation"]);
  status.Set("typeChecking", findings.Build());
  return json::With(arena, policy, "status", status.Build());
}

bool NeedsTypeChecking(json::Value policy) {
  return policy["metadata"]["generation"].AsInt() > policy["status"]["observedGeneration"].AsInt();
}

}  // namespace portcullis::kube_cel

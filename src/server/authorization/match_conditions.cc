// SPDX-License-Identifier: Apache-2.0

#include "server/authorization/match_conditions.h"

#include <map>

#include "api/field_error.h"
#include "base/strings.h"
#include "kube_cel/compiler.h"
#include "server/authorization/access_review.h"

namespace portcullis::server::authorization {
namespace {

struct FieldRow {
  std::string_view owner;
  std::string_view field;
  std::string_view type;
};

constexpr std::string_view kSpec = "kubernetes.SubjectAccessReviewSpec";
constexpr std::string_view kResource = "kubernetes.ResourceAttributes";
constexpr FieldRow kRows[] = {
    {kSpec, "resourceAttributes", "#kubernetes.ResourceAttributes"},
    {kSpec, "nonResourceAttributes", "#kubernetes.NonResourceAttributes"},
    {kSpec, "user", "string"},
    {kSpec, "groups", "list(string)"},
    {kSpec, "extra", "map(string, list(string))"},
    {kSpec, "uid", "string"},
    {kResource, "namespace", "string"},
    {kResource, "verb", "string"},
    {kResource, "group", "string"},
    {kResource, "version", "string"},
    {kResource, "resource", "string"},
    {kResource, "subresource", "string"},
    {kResource, "name", "string"},
    {kResource, "fieldSelector", "#kubernetes.FieldSelectorAttributes"},
    {kResource, "labelSelector", "#kubernetes.LabelSelectorAttributes"},
    {"kubernetes.NonResourceAttributes", "path", "string"},
    {"kubernetes.NonResourceAttributes", "verb", "string"},
    {"kubernetes.FieldSelectorAttributes", "rawSelector", "string"},
    {"kubernetes.FieldSelectorAttributes", "requirements", "list(#kubernetes.SelectorRequirement)"},
    {"kubernetes.LabelSelectorAttributes", "rawSelector", "string"},
    {"kubernetes.LabelSelectorAttributes", "requirements", "list(#kubernetes.SelectorRequirement)"},
    {"kubernetes.SelectorRequirement", "key", "string"},
    {"kubernetes.SelectorRequirement", "operator", "string"},
    {"kubernetes.SelectorRequirement", "values", "list(string)"},
};

class ReviewTypes final : public cel::TypeProvider {
 public:
  ReviewTypes() {
    for (const FieldRow& row : kRows) {
      const auto type = cel::ParseType(arena_, row.type);
      fields_[row.owner][row.field] = type.ok() ? *type : &cel::kDynType;
      if (!structs_.contains(row.owner)) {
        structs_[row.owner] = cel::MakeStructType(arena_, row.owner);
      }
    }
  }

  const cel::Type* FindStruct(std::string_view name) const override {
    const auto found = structs_.find(name);
    return found == structs_.end() ? nullptr : found->second;
  }
  const cel::Type* FindField(const cel::Type& type, std::string_view field) const override {
    const auto owner = fields_.find(type.name);
    if (owner == fields_.end()) return nullptr;
    const auto found = owner->second.find(field);
    return found == owner->second.end() ? nullptr : found->second;
  }

 private:
  json::Arena arena_;
  std::map<std::string_view, const cel::Type*> structs_;
  std::map<std::string_view, std::map<std::string_view, const cel::Type*>> fields_;
};

base::Result<std::shared_ptr<const cel::Environment>> MakeEnvironment() {
  cel::EnvironmentBuilder builder;
  kube_cel::AddKubernetesLibraries(builder);
  builder.SetTypes(std::make_shared<ReviewTypes>());
  builder.AddVariable("request", base::StrCat("#", kSpec));
  return builder.Build();
}

}  // namespace

base::Result<MatchCondition> MatchCondition::Compile(std::string_view expression) {
  const auto environment = TRY(MakeEnvironment());
  const cel::Compilation compilation = environment->Compile(expression);
  if (!compilation.issues.empty()) {
    return base::ConfigError(base::StrCat("compilation failed: ", compilation.issues.ToString()));
  }
  if (!compilation.ok()) return base::ConfigError(compilation.ErrorText());
  const cel::Type* type = compilation.program->result_type();
  if (type->kind != cel::TypeKind::kBool) {
    return base::ConfigError(base::StrCat("must evaluate to bool but got ", cel::TypeString(type)));
  }
  MatchCondition condition;
  condition.expression_ = std::string(expression);
  condition.environment_ = environment;
  condition.program_ = compilation.program;
  return condition;
}

base::Result<bool> Match(const std::vector<MatchCondition>& conditions, json::Arena& arena,
                         json::Value spec) {
  if (conditions.empty()) return true;
  const json::Value request = ConditionSpec(arena, spec);
  std::vector<std::string> errors;
  for (const MatchCondition& condition : conditions) {
    cel::Activation activation(condition.environment());
    activation.BindJson("request", &request);
    const cel::Outcome outcome = condition.program().Evaluate(activation, arena);
    if (outcome.value.is_error()) {
      errors.push_back(base::StrCat("cel evaluation error: expression '", condition.expression(),
                                    "' resulted in error: ", outcome.value.error()->text));
    } else if (!outcome.value.is_true()) {
      return false;
    }
  }
  if (errors.empty()) return true;
  return base::Status(base::Reason::kUnknown, api::AggregateText(errors));
}

}  // namespace portcullis::server::authorization

// SPDX-License-Identifier: Apache-2.0

#include "cli/cel_command_inputs.h"

#include "base/file.h"
#include "base/strings.h"
#include "json/yaml.h"

namespace portcullis::cli {
namespace {

using kube_cel::Input;

constexpr std::string_view kDecisionKeys[] = {"user",     "verb",        "path", "group",
                                              "resource", "subresource", "name", "namespace",
                                              "allowed",  "reason",      "error"};

bool IsKnownDecisionKey(std::string_view key) {
  for (const std::string_view known : kDecisionKeys) {
    if (known == key) return true;
  }
  return false;
}

// A text that begins like JSON can still be YAML: {a: b}.
base::Result<json::Value> ReadValue(json::Arena& arena, std::string_view text) {
  auto value = json::ParseYamlOrJson(arena, text);
  if (value.ok()) return value;
  auto yaml = json::ParseYaml(arena, text);
  return yaml.ok() ? std::move(yaml) : std::move(value);
}

}  // namespace

// Answers by the first entry that fits. What an entry does not say fits everything.
class CelInputs::Decisions final : public kube_cel::AccessChecker {
 public:
  explicit Decisions(std::vector<json::Value> entries) : entries_(std::move(entries)) {}

  const kube_cel::AccessAnswer& Check(const kube_cel::AccessQuestion& question) override {
    answer_ = {};
    for (const json::Value entry : entries_) {
      if (!Fits(entry, question)) continue;
      answer_.allowed = entry["allowed"].AsBool(true);
      answer_.reason = entry["reason"].AsString();
      answer_.error = entry["error"].AsString();
      break;
    }
    return answer_;
  }

 private:
  static bool Fits(json::Value entry, const kube_cel::AccessQuestion& question) {
    const auto fits = [&](std::string_view key, std::string_view asked) {
      const json::Value* wanted = entry.Find(key);
      return !wanted || wanted->AsString() == "*" || wanted->AsString() == asked;
    };
    if (entry.Has("path") == question.resource_request) return false;
    return fits("user", question.user ? question.user->name : "") && fits("verb", question.verb) &&
           fits("path", question.path) && fits("group", question.group) &&
           fits("resource", question.resource) && fits("subresource", question.subresource) &&
           fits("namespace", question.ns) && fits("name", question.name);
  }

  std::vector<json::Value> entries_;
  kube_cel::AccessAnswer answer_;
};

base::Status CelInputs::AddVariable(std::string_view text) {
  const auto cut = base::Cut(text, "=");
  if (!cut || cut->first.empty()) {
    return base::ConfigError(base::StrCat("--var ", text, ": NAME=YAML is needed"));
  }
  // No YAML begins with this sign.
  std::string content(cut->second);
  if (content.starts_with('@')) content = TRY(base::ReadFile(content.substr(1)));
  const auto value = ReadValue(arena_, content);
  if (!value.ok()) {
    return base::ConfigError(base::StrCat("--var ", cut->first, ": ", value.status().message()));
  }
  variables_.emplace_back(cut->first, *value);
  return base::OkStatus();
}

base::Status CelInputs::AddVariables(std::string_view text, const std::string& path) {
  const auto value = ReadValue(arena_, text);
  if (!value.ok()) return base::ConfigError(base::StrCat(path, ": ", value.status().message()));
  if (!value->is_object()) {
    return base::ConfigError(base::StrCat(path,
                                          ": an object with a member for each variable is "
                                          "needed"));
  }
  if (value->Has("apiVersion") && value->Has("kind")) {
    return base::ConfigError(base::StrCat(
        path, ": this is a Kubernetes object and no set of variables: --var object=@", path));
  }
  for (const json::Member& member : value->members()) {
    variables_.emplace_back(member.name(), member.value);
  }
  return base::OkStatus();
}

base::Status CelInputs::AddPolicyVariables(std::string_view text, const std::string& path) {
  const auto value = ReadValue(arena_, text);
  if (!value.ok()) return base::ConfigError(base::StrCat(path, ": ", value.status().message()));
  for (const json::Value entry : value->elements()) {
    const std::string_view name = entry["name"].AsString();
    const std::string_view expression = entry["expression"].AsString();
    if (name.empty() || expression.empty()) {
      return base::ConfigError(path + ": each variable needs name and expression");
    }
    policy_variables_.emplace_back(name, expression);
  }
  if (policy_variables_.empty()) {
    return base::ConfigError(path + ": a list of {name, expression} is needed");
  }
  return base::OkStatus();
}

base::Status CelInputs::AddDecisions(std::string_view text, const std::string& path) {
  const auto value = ReadValue(arena_, text);
  if (!value.ok()) return base::ConfigError(base::StrCat(path, ": ", value.status().message()));
  if (!value->is_array()) return base::ConfigError(path + ": a list of attributes is needed");
  for (const json::Value entry : value->elements()) {
    for (const json::Member& member : entry.members()) {
      if (IsKnownDecisionKey(member.name())) continue;
      return base::ConfigError(base::StrCat(path, ": unknown attribute \"", member.name(),
                                            "\"; known are ", base::Join(kDecisionKeys, ", ")));
    }
    decisions_.push_back(entry);
  }
  return base::OkStatus();
}

const json::Value* CelInputs::Find(std::string_view name) const {
  for (auto variable = variables_.rbegin(); variable != variables_.rend(); ++variable) {
    if (variable->first == name) return &variable->second;
  }
  return nullptr;
}

base::Status CelInputs::CompilePolicyVariables(kube_cel::Scope& scope) {
  scope.variables = !policy_variables_.empty();
  for (const auto& [name, text] : policy_variables_) {
    auto expression = compiler_.Compile(scope, text, kube_cel::Expected::kAnything);
    if (!expression->ok()) {
      return base::ConfigError(base::StrCat("variable ", name, ": ", expression->error()));
    }
    scope.variable_types.Add({name, expression->VariableTypeText()});
    named_.push_back({name, std::move(expression)});
  }
  return base::OkStatus();
}

base::Result<std::shared_ptr<const cel::Environment>> CelInputs::Declare() {
  cel::EnvironmentBuilder builder;
  if (admission) {
    kube_cel::Scope scope{.params = true, .authorizer = true};
    TRY(CompilePolicyVariables(scope));
    scope_ = compiler_.EnvironmentOf(scope);
    builder = cel::EnvironmentBuilder(scope_->environment);
    if (const json::Value* request = Find("request")) {
      user_.name = (*request)["userInfo"]["username"].AsString();
    }
    checker_ = std::make_shared<Decisions>(decisions_);
  } else if (kubernetes) {
    kube_cel::AddKubernetesLibraries(builder);
  } else {
    builder.AddLibrary(cel::kStringsLibrary)
        .AddLibrary(cel::kOptionalLibrary)
        .AddLibrary(cel::kTwoVariableLibrary);
    builder.options().quoted_fields = true;
    builder.options().follows_specification = true;
  }
  for (const auto& [name, value] : variables_) {
    if (!scope_ || scope_->environment->VariableIndex(name) < 0) {
      builder.AddVariable(name, &cel::kDynType);
    }
  }
  environment_ = TRY(builder.Build());
  return environment_;
}

CelInputs::Bound CelInputs::Bind(json::Arena& evaluation_arena) {
  Bound bound{cel::Activation(*environment_), nullptr};
  if (admission) {
    kube_cel::Inputs inputs;
    for (const auto& [input, name] : {std::pair<Input, std::string_view>{Input::kObject, "object"},
                                      {Input::kOldObject, "oldObject"},
                                      {Input::kRequest, "request"},
                                      {Input::kNamespaceObject, "namespaceObject"},
                                      {Input::kParams, "params"}}) {
      const json::Value* value = Find(name);
      inputs.Set(input, value ? cel::Value::FromJson(value) : cel::Value::Null());
    }
    if (!Find("request")) {
      inputs.Set(Input::kRequest,
                 cel::MakeFromJson(evaluation_arena, json::ObjectBuilder(arena_).Build()));
    }
    const json::Value* given = Find("request");
    const json::Value request = given ? *given : json::Value();
    kube_cel::AccessQuestion question;
    question.user = &user_;
    question.group = request["resource"]["group"].AsString();
    question.resource = request["resource"]["resource"].AsString();
    question.subresource = request["subResource"].AsString();
    question.ns = request["namespace"].AsString();
    question.name = request["name"].AsString();
    inputs.Set(Input::kAuthorizer, kube_cel::MakeAuthorizer(evaluation_arena, *checker_, user_));
    inputs.Set(Input::kRequestResource,
               kube_cel::MakeResourceCheck(evaluation_arena, *checker_, std::move(question)));
    bound.evaluation = std::make_unique<kube_cel::Evaluation>(evaluation_arena, inputs, named_);
    inputs.Set(Input::kVariables, bound.evaluation->variables());
    for (std::size_t i = 0; i < kube_cel::kInputs; ++i) {
      if (scope_->indices[i] >= 0) bound.activation.Set(scope_->indices[i], inputs.values[i]);
    }
  }
  for (const auto& [name, value] : variables_) {
    const bool own = !scope_ || scope_->environment->VariableIndex(name) < 0;
    if (own) bound.activation.BindJson(name, &value);
  }
  return bound;
}

}  // namespace portcullis::cli

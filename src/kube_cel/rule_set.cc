// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/rule_set.h"

#include "base/strings.h"
#include "golang/strings.h"
#include "kube_cel/schema_rules.h"

namespace portcullis::kube_cel {
namespace {

void Compile(RuleNode& node, bool is_resource) {
  node.is_resource = is_resource;
  std::shared_ptr<const ScopeEnvironment> scopes[2];
  for (const json::Value& item : node.props["x-kubernetes-validations"].elements()) {
    Rule rule;
    rule.optional_old = item["optionalOldSelf"].AsBool();
    auto& scope = scopes[rule.optional_old ? 1 : 0];
    if (scope == nullptr) scope = MakeRuleEnvironment(node.props, is_resource, rule.optional_old);
    rule.expression = Compiler::CompileIn(scope, item["rule"].AsString(), Expected::kBool);
    if (const auto text = item["messageExpression"].AsString(); !text.empty()) {
      rule.message_expression = Compiler::CompileIn(scope, text, Expected::kString);
    }
    rule.message = golang::TrimSpace(item["message"].AsString());
    rule.reason = item["reason"].AsString();
    rule.field_path = golang::TrimSpace(item["fieldPath"].AsString());
    rule.uses_old = rule.expression->ok() &&
                    rule.expression->program().Uses(scope->environment->VariableIndex("oldSelf"));
    node.rules.push_back(std::move(rule));
  }
  node.has_any = !node.rules.empty();
  const auto embedded = [](json::Value props) {
    return props["x-kubernetes-embedded-resource"].AsBool();
  };
  for (const json::Member& member : node.props["properties"].members()) {
    RuleNode below;
    below.props = member.value;
    Compile(below, embedded(member.value));
    if (!below.has_any) continue;
    node.has_any = true;
    node.fields.push_back({std::string(member.name()), std::move(below)});
  }
  for (const auto& [name, slot] :
       {std::pair<std::string_view, std::unique_ptr<RuleNode>*>{"items", &node.items},
        std::pair<std::string_view, std::unique_ptr<RuleNode>*>{"additionalProperties",
                                                                &node.additional}}) {
    const json::Value props = node.props[name];
    if (!props.is_object()) continue;
    auto below = std::make_unique<RuleNode>();
    below->props = props;
    Compile(*below, embedded(props));
    if (!below->has_any) continue;
    node.has_any = true;
    *slot = std::move(below);
  }
}

}  // namespace

RuleSet::RuleSet(json::Value props, bool is_resource) : props_(json::DeepCopy(arena_, props)) {
  root_.props = props_;
  Compile(root_, is_resource);
}

}  // namespace portcullis::kube_cel

// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/policy_set.h"

#include <algorithm>
#include <utility>

#include "admission/match/request_inputs.h"
#include "base/strings.h"
#include "golang/strings.h"

namespace portcullis::policy {
namespace {

namespace match = admission::match;
using kube_cel::Expected;
using kube_cel::Scope;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

// Later variables may use earlier ones.
void CompileVariables(kube_cel::Compiler& compiler, json::Value variables, Scope& scope,
                      Policy& policy) {
  for (const json::Value& variable : variables.elements()) {
    const std::string name(variable["name"].AsString());
    ExpressionPtr expression =
        compiler.Compile(scope, variable["expression"].AsString(), Expected::kAnything);
    scope.variable_types.Add({name, expression->VariableTypeText()});
    policy.variables.push_back({name, std::move(expression)});
  }
}

void CompileValidations(kube_cel::Compiler& compiler, json::Value spec, const Scope& scope,
                        Policy& policy) {
  Scope message_scope = scope;
  message_scope.authorizer = false;
  for (const json::Value& item : spec["validations"].elements()) {
    Validation validation;
    validation.expression = compiler.Compile(scope, item["expression"].AsString(), Expected::kBool);
    if (const auto text = item["messageExpression"].AsString(); !text.empty()) {
      validation.message_expression = compiler.Compile(message_scope, text, Expected::kString);
    }
    validation.message = golang::TrimSpace(item["message"].AsString());
    validation.reason = item["reason"].AsString();
    policy.validations.push_back(std::move(validation));
  }
  for (const json::Value& item : spec["auditAnnotations"].elements()) {
    policy.audit_annotations.push_back(
        {std::string(item["key"].AsString()),
         compiler.Compile(scope, item["valueExpression"].AsString(), Expected::kStringOrNull)});
  }
}

void CompileMutations(kube_cel::Compiler& compiler, json::Value spec, Scope scope, Policy& policy) {
  scope.mutation = true;
  for (const json::Value& item : spec["mutations"].elements()) {
    Mutation mutation;
    mutation.is_json_patch = item["patchType"].AsString() == "JSONPatch";
    const json::Value body = item[mutation.is_json_patch ? "jsonPatch" : "applyConfiguration"];
    mutation.expression =
        compiler.Compile(scope, body["expression"].AsString(),
                         mutation.is_json_patch ? Expected::kPatch : Expected::kObject);
    policy.mutations.push_back(std::move(mutation));
  }
}

static_assert(kube_cel::kInputs <= 8 * sizeof(Policy::inputs));

void NoteInputs(const ExpressionPtr& expression, Policy& policy) {
  if (expression == nullptr) return;
  for (unsigned i = 0; i < kube_cel::kInputs; ++i) {
    if (!match::Mentions(*expression, static_cast<kube_cel::Input>(i))) continue;
    policy.inputs = static_cast<std::uint8_t>(policy.inputs | 1U << i);
  }
}

void NoteAllInputs(Policy& policy) {
  for (const auto& variable : policy.variables) NoteInputs(variable.expression, policy);
  for (const auto& condition : policy.conditions) NoteInputs(condition.expression, policy);
  for (const Validation& validation : policy.validations) {
    NoteInputs(validation.expression, policy);
    NoteInputs(validation.message_expression, policy);
  }
  for (const auto& annotation : policy.audit_annotations) NoteInputs(annotation.expression, policy);
  for (const Mutation& mutation : policy.mutations) NoteInputs(mutation.expression, policy);
}

// In the order of Binding::Action.
constexpr std::array<std::string_view, 4> kActions = {"", "Deny", "Warn", "Audit"};

}  // namespace

std::string Binding::ActionsJson() const {
  std::string out = "[";
  for (const Action action : actions) {
    if (action == kNone) continue;
    out += base::StrCat(out.size() > 1 ? "," : "", "\"", kActions[action], "\"");
  }
  return out + "]";
}

std::shared_ptr<const Policy> CompilePolicy(kube_cel::Compiler& compiler, SelectorPool& selectors,
                                            PolicyType type, json::Value object) {
  auto policy = std::make_shared<Policy>();
  const json::Value spec = object["spec"];
  policy->name = object["metadata"]["name"].AsString();
  const std::string_view failure = spec["failurePolicy"].AsString("Fail");
  policy->ignore_failures = failure == "Ignore";
  if (failure != "Ignore" && failure != "Fail") policy->unknown_failure_policy = failure;
  policy->reinvoke_if_needed = spec["reinvocationPolicy"].AsString() == "IfNeeded";
  policy->param_kind = ParseParamKind(spec["paramKind"]);
  policy->has_constraints = spec["matchConstraints"].is_object();
  policy->constraints = ParseMatchResources(spec["matchConstraints"], selectors);

  Scope scope{.params = policy->param_kind.has_value(), .authorizer = true};
  scope.variables = spec["variables"].size() != 0;
  CompileVariables(compiler, spec["variables"], scope, *policy);
  for (const json::Value& condition : spec["matchConditions"].elements()) {
    policy->conditions.push_back(
        {std::string(condition["name"].AsString()),
         compiler.Compile(scope, condition["expression"].AsString(), Expected::kBool)});
  }
  if (type == PolicyType::kValidating) {
    CompileValidations(compiler, spec, scope, *policy);
  } else {
    CompileMutations(compiler, spec, scope, *policy);
  }
  NoteAllInputs(*policy);
  return policy;
}

std::shared_ptr<const Binding> CompileBinding(SelectorPool& selectors, json::Value object) {
  auto binding = std::make_shared<Binding>();
  const json::Value spec = object["spec"];
  binding->name = object["metadata"]["name"].AsString();
  if (auto ref = ParseParamRef(spec["paramRef"], selectors)) {
    binding->param_ref = std::make_unique<const ParamRef>(*std::move(ref));
  }
  if (spec["matchResources"].is_object()) {
    binding->resources = std::make_unique<const MatchResources>(
        ParseMatchResources(spec["matchResources"], selectors));
  }
  std::size_t count = 0;
  for (const json::Value& item : spec["validationActions"].elements()) {
    const auto known = std::find(kActions.begin(), kActions.end(), item.AsString());
    if (known == kActions.end() || count == binding->actions.size()) continue;
    binding->actions[count++] = static_cast<Binding::Action>(known - kActions.begin());
  }
  return binding;
}

PolicySource::PolicySource(admission::ObjectFeed& feed, PolicyType type,
                           kube_cel::Compiler& compiler, SelectorPool& selectors)
    : type_(type), compiler_(compiler), selectors_(selectors) {
  const bool validating = type == PolicyType::kValidating;
  policy_watch_ =
      feed.Watch(kGroup, validating ? "validatingadmissionpolicies" : "mutatingadmissionpolicies",
                 [this](const Changes& changes) { TakePolicies(changes); });
  binding_watch_ = feed.Watch(
      kGroup, validating ? "validatingadmissionpolicybindings" : "mutatingadmissionpolicybindings",
      [this](const Changes& changes) { TakeBindings(changes); });
}

void PolicySource::TakePolicies(const Changes& changes) {
  for (const auto& change : changes) {
    std::shared_ptr<const Policy> policy;
    if (!change.object.root().is_null()) {
      policy = CompilePolicy(compiler_, selectors_, type_, change.object.root());
    }
    const base::MutexLock lock(mutex_);
    const auto group = groups_.try_emplace(std::string(change.name)).first;
    group->second.policy = std::move(policy);
    DropIfEmpty(group);
  }
  stale_.store(true, std::memory_order_release);
}

void PolicySource::TakeBindings(const Changes& changes) {
  const base::MutexLock lock(mutex_);
  for (const auto& change : changes) {
    RemoveBinding(change.name);
    const json::Value object = change.object.root();
    if (object.is_null()) continue;
    AddBinding(std::string(object["spec"]["policyName"].AsString()),
               CompileBinding(selectors_, object));
  }
  stale_.store(true, std::memory_order_release);
}

Bindings& PolicySource::Changeable(Group& group) {
  if (group.bindings == nullptr) {
    group.bindings = std::make_shared<Bindings>();
  } else if (std::exchange(group.published, false)) {
    group.bindings = std::make_shared<Bindings>(*group.bindings);
  }
  return *group.bindings;
}

namespace {

Bindings::iterator LowerBound(Bindings& bindings, std::string_view name) {
  return std::lower_bound(
      bindings.begin(), bindings.end(), name,
      [](const auto& binding, std::string_view wanted) { return binding->name < wanted; });
}

}  // namespace

void PolicySource::AddBinding(const std::string& policy, std::shared_ptr<const Binding> binding) {
  const auto group = groups_.try_emplace(policy).first;
  Bindings& bindings = Changeable(group->second);
  // Grow by 1/8: many policies have few bindings; doubling would waste memory.
  if (bindings.size() == bindings.capacity()) bindings.reserve(bindings.size() * 9 / 8 + 1);
  places_.Insert({binding.get(), group});
  bindings.insert(LowerBound(bindings, binding->name), std::move(binding));
}

void PolicySource::RemoveBinding(std::string_view name) {
  if (places_.Find(name) == nullptr) return;
  const Place place = places_.Take(name);
  Bindings& bindings = Changeable(place.group->second);
  bindings.erase(LowerBound(bindings, name));
  DropIfEmpty(place.group);
}

void PolicySource::DropIfEmpty(Groups::iterator group) {
  auto& [policy, bindings, published] = group->second;
  if (bindings != nullptr && bindings->empty()) {
    bindings = nullptr;
    published = false;
  }
  if (policy == nullptr && bindings == nullptr) groups_.erase(group);
}

std::shared_ptr<const PolicySet> MakePolicySet(std::vector<ActivePolicy> policies,
                                               std::vector<std::shared_ptr<const Policy>> unbound) {
  auto set = std::make_shared<PolicySet>();
  match::RuleIndex::Builder builder;
  std::uint32_t place = 0;
  for (const ActivePolicy& active : policies) {
    builder.Add(place++, active.policy->constraints.rules, active.policy->constraints.policy);
  }
  set->index = builder.Build();
  set->policies = std::move(policies);
  set->unbound = std::move(unbound);
  return set;
}

std::shared_ptr<const PolicySet> PolicySource::Build(const PolicySet* files) const {
  std::vector<ActivePolicy> active;
  if (files != nullptr) active = files->policies;
  std::vector<std::shared_ptr<const Policy>> unbound;
  for (const auto& [name, group] : groups_) {
    if (group.policy == nullptr) continue;
    if (group.bindings == nullptr) {
      unbound.push_back(group.policy);
      continue;
    }
    active.push_back({group.policy, group.bindings});
    group.published = true;
  }
  return MakePolicySet(std::move(active), std::move(unbound));
}

std::shared_ptr<const PolicySet> PolicySource::Get(
    const std::shared_ptr<const PolicySet>& files) const {
  const auto fresh = [&]() -> std::shared_ptr<const PolicySet> {
    if (stale_.load(std::memory_order_acquire)) return nullptr;
    const auto combined = published_.Get();
    return combined->files == files ? combined->all : nullptr;
  };
  if (auto set = fresh()) return set;
  const base::MutexLock lock(mutex_);
  if (auto set = fresh()) return set;
  auto combined = std::make_shared<Combined>(Combined{files, Build(files.get())});
  auto all = combined->all;
  published_.Set(std::move(combined));
  stale_.store(false, std::memory_order_release);
  return all;
}

namespace {

bool Is(const admission::Request& request, std::string_view group,
        std::initializer_list<std::string_view> resources) {
  if (request.resource().group != group) return false;
  for (const std::string_view resource : resources) {
    if (request.resource().resource == resource) return true;
  }
  return false;
}

}  // namespace

bool IsExempt(const admission::Request& request) {
  return Is(request, "authentication.k8s.io", {"selfsubjectreviews", "tokenreviews"}) ||
         Is(request, "authorization.k8s.io",
            {"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews",
             "subjectaccessreviews"});
}

bool IsPolicyResource(const admission::Request& request) {
  return Is(request, kGroup,
            {"validatingadmissionpolicies", "validatingadmissionpolicybindings",
             "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"});
}

}  // namespace portcullis::policy

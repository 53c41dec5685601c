// SPDX-License-Identifier: Apache-2.0

#include "offline/blame.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/strings.h"
#include "json/go_errors.h"

namespace portcullis::offline {
namespace {

using Kind = admission::TraceActor::Kind;

constexpr std::string_view kRuleGroup = "admissionregistration.k8s.io";

// Fields that the refusals of a plugin are about when they name no other.
struct PluginField {
  std::string_view plugin;
  std::string_view message;  // that is part of the refusal's
  std::string_view path;
};
constexpr PluginField kPluginFields[] = {
    {"ServiceAccount", "error looking up service account", "spec.serviceAccountName"},
    {"Priority", "", "spec.priorityClassName"},
    {"RuntimeClass", "", "spec.runtimeClassName"},
    {"NamespaceLifecycle", "", "metadata.namespace"},
    {"NamespaceExists", "", "metadata.namespace"},
    {"PodNodeSelector", "", "spec.nodeSelector"},
    {"PodTolerationRestriction", "", "spec.tolerations"},
    {"DefaultStorageClass", "", "spec.storageClassName"},
    {"DenyServiceExternalIPs", "", "spec.externalIPs"},
    {"CertificateSubjectRestriction", "", "spec.request"},
    {"ResourceQuota", "", "spec.containers"},
    {"LimitRanger", "", "spec.containers"},
};

struct Advice {
  std::string_view source;  // that the failure's begins with; "": any
  std::string_view message;
  std::string_view advice;
};
constexpr Advice kAdvice[] = {
    {"NamespaceLifecycle", "not found",
     "give the Namespace with -f, or leave --strict out: missing namespaces are made then"},
    {"ServiceAccount", "error looking up service account",
     "give the ServiceAccount with -f, or leave --strict out"},
    {"Priority", "no PriorityClass", "give the PriorityClass with -f"},
    {"RuntimeClass", "not found", "give the RuntimeClass with -f"},
    {"PodSecurity", "violates PodSecurity",
     "change the fields that the message names, or label the namespace "
     "pod-security.kubernetes.io/enforce with another level"},
    {"LimitRanger", "", "compare with spec.limits of the LimitRange in the namespace"},
    {"ResourceQuota", "exceeded quota",
     "lower replicas or requests, or raise spec.hard of the ResourceQuota"},
    {"ResourceQuota", "must specify",
     "set requests and limits in the containers, or give the namespace a LimitRange with defaults"},
    {"decode", "unknown field",
     "correct the field's name; --validate=warn only warns of unknown fields"},
    {"decode", "no kind \"", "the API version is not served: see the kind's current version"},
    {"", "no matches for kind",
     "give the CustomResourceDefinition with -f, or check apiVersion and kind"},
    {"", "already exists", "two manifests have this kind, namespace and name"},
    {"ValidatingAdmissionPolicy", "no such key",
     "the expression reads a field that may be absent: guard it with has() or .?"},
    {"", "failed to find resource referenced by paramKind",
     "give the CustomResourceDefinition of spec.paramKind with -f, or check its apiVersion and "
     "kind"},
    {"ValidatingAdmissionPolicy", "no params found",
     "give the object that spec.paramRef of the binding names"},
    {"webhook", "failed to call webhook: Post",
     "no answer came from the webhook: --webhooks=skip passes over webhooks, --webhooks=FILE says "
     "where they are"},
    {"webhook", "failed calling webhook",
     "the webhook has answered, but not with an AdmissionReview that an API server takes"},
};

Failure NewFailure(const admission::Refusal& refusal, const Blamed& blamed) {
  Failure failure;
  failure.subject = blamed.subject;
  failure.message = refusal.status.message();
  failure.code = refusal.status.http_code();
  const admission::TraceActor& actor = refusal.actor;
  switch (actor.kind) {
    case Kind::kStage:
    case Kind::kPlugin:
      failure.source = actor.name;
      break;
    case Kind::kWebhook:
      failure.source = base::StrCat("webhook ", actor.name, "/", actor.member);
      break;
    case Kind::kPolicy:
      failure.policy = actor.name;
      failure.source = base::StrCat(
          failure.message.find("ValidatingAdmissionPolicy '") != std::string::npos
              ? "ValidatingAdmissionPolicy "
              : "MutatingAdmissionPolicy ",
          actor.name, actor.member.empty() ? "" : base::StrCat(", binding ", actor.member));
      break;
  }
  return failure;
}

std::vector<std::string> Prefixed(const Blamed& blamed, std::vector<std::string> steps) {
  steps.insert(steps.begin(), blamed.prefix.begin(), blamed.prefix.end());
  return steps;
}

// Points the failure at the field, as far as the manifest has it.
void PointAt(Failure& failure, const Blamed& blamed, std::string_view path) {
  failure.path = path;
  failure.place = blamed.manifest.Find(Prefixed(blamed, FieldSteps(path)));
}

// Of fields the one of which most steps exist; the first of several.
void PointAtBest(Failure& failure, const Blamed& blamed, const std::vector<std::string>& paths) {
  std::size_t most = 0;
  for (const std::string& path : paths) {
    std::size_t found = 0;
    blamed.manifest.Find(Prefixed(blamed, FieldSteps(path)), &found);
    if (found <= most) continue;
    most = found;
    PointAt(failure, blamed, path);
  }
}

// The names behind `container "a"` and `containers "a", "b"`.
std::vector<std::string_view> ContainersIn(std::string_view message) {
  std::vector<std::string_view> names;
  std::size_t at = message.find("container");
  if (at == std::string_view::npos) return names;
  at = message.find('"', at);
  while (at != std::string_view::npos) {
    const std::size_t end = message.find('"', at + 1);
    if (end == std::string_view::npos) break;
    names.push_back(message.substr(at + 1, end - at - 1));
    if (message.substr(end + 1, 3) != ", \"") break;
    at = end + 3;
  }
  return names;
}

// The path of a container that the message names; "" if it names none of the manifest's.
std::string ContainerPath(std::string_view message, const Blamed& blamed) {
  json::Value pod = blamed.manifest.object;
  for (const std::string& step : blamed.prefix) pod = pod[step];
  for (const std::string_view name : ContainersIn(message)) {
    for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
      const json::Value containers = pod["spec"][list];
      for (std::size_t i = 0; i < containers.size(); ++i) {
        if (containers[i]["name"].AsString() != name) continue;
        return base::StrCat("spec.", list, "[", std::to_string(i), "]");
      }
    }
  }
  return "";
}

void BlamePlugin(Failure& failure, const Blamed& blamed) {
  if (const std::string path = ContainerPath(failure.message, blamed); !path.empty()) {
    return PointAt(failure, blamed, path);
  }
  for (const PluginField& field : kPluginFields) {
    if (field.plugin != failure.source) continue;
    if (failure.message.find(field.message) == std::string::npos) continue;
    return PointAt(failure, blamed, field.path);
  }
}

// The fields that an expression of the policy reads, those of its variables included.
void AddFields(json::Value spec, std::string_view expression, int depth,
               std::vector<std::string>& paths) {
  for (std::string& path : FieldsOf(expression)) paths.push_back(std::move(path));
  if (depth == 0) return;
  for (const json::Value& variable : spec["variables"].elements()) {
    const std::string use = base::StrCat("variables.", variable["name"].AsString());
    if (expression.find(use) == std::string_view::npos) continue;
    AddFields(spec, variable["expression"].AsString(), depth - 1, paths);
  }
}

// Whether the refusal says what it says when messageExpression gives nothing.
bool HasFallbackMessage(const Failure& failure, json::Value validation) {
  const std::string_view message = validation["message"].AsString();
  return message.empty()
             ? failure.message.find("denied request: failed expression: ") != std::string::npos
             : failure.message.ends_with(base::StrCat("denied request: ", message));
}

void BlamePolicy(Failure& failure, const admission::Refusal& refusal, const Blamed& blamed,
                 const Rules& rules) {
  constexpr int kVariableDepth = 4;
  const bool validates = failure.source.starts_with("Validating");
  const Manifest* policy = rules.Find(
      validates ? "ValidatingAdmissionPolicy" : "MutatingAdmissionPolicy", refusal.actor.name);
  if (policy == nullptr) return;
  const json::Value spec = policy->object["spec"];
  if (refusal.index < 0) {
    failure.rule = policy->Find(std::vector<std::string>{"spec"});
    return;
  }
  const auto index = static_cast<std::size_t>(refusal.index);
  std::vector<std::string> steps = {"spec", validates ? "validations" : "mutations",
                                    std::to_string(index)};
  json::Value rule = spec[steps[1]][index];
  if (validates && !rule["messageExpression"].AsString().empty() &&
      HasFallbackMessage(failure, rule)) {
    failure.advice =
        "messageExpression gave no message: it failed, or what it gives is empty, of several lines "
        "or longer than 5 KiB; `portcullis lint` says what fails";
  }
  if (!validates) {
    steps.emplace_back(rule["jsonPatch"].is_object() ? "jsonPatch" : "applyConfiguration");
    rule = rule[steps.back()];
  }
  steps.emplace_back("expression");
  failure.rule = policy->Find(steps);
  failure.expression = base::Trim(rule["expression"].AsString());
  std::vector<std::string> paths;
  AddFields(spec, failure.expression, kVariableDepth, paths);
  PointAtBest(failure, blamed, paths);
}

void BlameWebhook(Failure& failure, const admission::Refusal& refusal, const Rules& rules) {
  for (std::string_view kind : {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}) {
    const Manifest* configuration = rules.Find(kind, refusal.actor.name);
    if (configuration == nullptr) continue;
    const json::Value webhooks = configuration->object["webhooks"];
    for (std::size_t i = 0; i < webhooks.size(); ++i) {
      if (webhooks[i]["name"].AsString() != refusal.actor.member) continue;
      failure.rule = configuration->Find(std::vector<std::string>{"webhooks", std::to_string(i)});
      return;
    }
  }
}

// The text of a refusal about several fields: each cause is a failure of its own.
std::vector<Failure> BlameCauses(const Failure& failure, const base::StatusDetails& details,
                                 const Blamed& blamed) {
  std::vector<Failure> failures;
  for (const base::Cause& cause : details.causes) {
    if (cause.field.empty()) continue;
    Failure one = failure;
    if (details.causes.size() > 1) one.message = base::StrCat(cause.field, ": ", cause.message);
    PointAt(one, blamed, cause.field);
    failures.push_back(std::move(one));
  }
  return failures;
}

// The path of the first value below the fields `names` that Go calls `what`, or of the first such member of
// the map there. Lists on the way, of which the names do not tell, are looked through.
std::optional<std::string> PathOfType(json::Value value, std::string_view what,
                                      std::span<const std::string_view> names) {
  if (names.empty() && json::GoTypeName(value) == what) return "";
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    const auto path = PathOfType(value[i], what, names);
    if (path) return base::StrCat("[", std::to_string(i), "]", *path);
  }
  if (!names.empty()) {
    if (!value.Has(names[0])) return std::nullopt;
    const auto path = PathOfType(value[names[0]], what, names.subspan(1));
    return path ? std::optional(base::StrCat(".", names[0], *path)) : std::nullopt;
  }
  for (const json::Member& member : value.members()) {
    if (json::GoTypeName(member.value) == what) return base::StrCat("[", member.name(), "]");
  }
  return std::nullopt;
}

// `cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string`: the value's
// place.
void BlameType(Failure& failure, const Blamed& blamed) {
  const auto what = base::Cut(failure.message, "cannot unmarshal ");
  const auto value = what ? base::Cut(what->second, " into Go struct field ") : std::nullopt;
  const auto field = value ? base::Cut(value->second, " of type ") : std::nullopt;
  if (!field) return;
  json::Value object = blamed.manifest.object;
  for (const std::string& step : blamed.prefix) object = object[step];
  const auto names = base::Split(field->first, '.');
  const std::string_view type = value->first.substr(0, value->first.find(' '));  // "number 1.5"
  if (const auto path = PathOfType(object, type, std::span(names).subspan(1))) {
    PointAt(failure, blamed, path->substr(path->starts_with('.') ? 1 : 0));
  }
  if (field->second == "string" && (type == "number" || type == "bool")) {
    failure.advice = "the field takes a text: quote the value";
  }
}

// `unknown field "spec.replica"` of strict decoding: the field's place.
void BlameDecoder(Failure& failure, const Blamed& blamed) {
  for (std::string_view before : {"unknown field \"", "duplicate field \""}) {
    const auto cut = base::Cut(failure.message, before);
    if (!cut) continue;
    const auto field = base::Cut(cut->second, "\"");
    if (field) return PointAt(failure, blamed, field->first);
  }
  BlameType(failure, blamed);
}

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// One step of a path in an expression at `at`: `.name`, `.?name`, `['name']`. "" if there is none.
std::string_view StepAt(std::string_view text, std::size_t& at) {
  if (text.substr(at).starts_with("['") || text.substr(at).starts_with("[\"")) {
    const std::size_t end = text.find(text[at + 1], at + 2);
    if (end == std::string_view::npos || text.substr(end + 1, 1) != "]") return {};
    const std::string_view name = text.substr(at + 2, end - at - 2);
    at = end + 2;
    return name;
  }
  std::size_t begin = at;
  if (text.substr(begin, 1) != ".") return {};
  ++begin;
  if (text.substr(begin, 1) == "?") ++begin;
  std::size_t end = begin;
  while (end < text.size() && IsNamePart(text[end])) ++end;
  if (end == begin || text.substr(end, 1) == "(") return {};  // a function
  at = end;
  return text.substr(begin, end - begin);
}

}  // namespace

Rules::Rules(std::span<const Manifest> manifests, std::span<const Manifest> given) {
  for (const std::span<const Manifest> some : {manifests, given}) {
    for (const Manifest& manifest : some) {
      if (manifest.group() == kRuleGroup) rules_.push_back(&manifest);
    }
  }
}

const Manifest* Rules::Find(std::string_view kind, std::string_view name) const {
  for (const Manifest* rule : rules_) {
    if (rule->kind == kind && rule->name == name) return rule;
  }
  return nullptr;
}

std::vector<std::string> Rules::NotesOnBindings() const {
  constexpr std::string_view kSuffix = "Binding";
  std::vector<std::string> notes;
  for (const Manifest* rule : rules_) {
    std::string_view kind = rule->kind;
    if (!kind.ends_with(kSuffix)) continue;
    kind.remove_suffix(kSuffix.size());
    const std::string_view policy = rule->object["spec"]["policyName"].AsString();
    if (Find(kind, policy) != nullptr) continue;
    notes.push_back(
        base::StrCat("binding ", rule->name, " has no effect: no file has the policy ", policy));
  }
  return notes;
}

std::vector<std::string> FieldSteps(std::string_view path) {
  std::vector<std::string> steps;
  std::string step;
  const auto finish = [&] {
    if (!step.empty()) steps.push_back(std::move(step));
    step.clear();
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') {
      finish();
    } else if (path[i] == '[') {
      finish();
      const std::size_t end = std::min(path.find(']', i), path.size());
      step = base::ReplaceAll(path.substr(i + 1, end - i - 1), "\"", "");
      finish();
      i = end;
    } else {
      step += path[i];
    }
  }
  finish();
  return steps;
}

std::vector<std::string> FieldsOf(std::string_view expression) {
  constexpr std::string_view kObject = "object";
  std::vector<std::string> paths;
  for (std::size_t at = expression.find(kObject); at != std::string_view::npos;
       at = expression.find(kObject, at + 1)) {
    if (at > 0 && (IsNamePart(expression[at - 1]) || expression[at - 1] == '.')) continue;
    std::size_t end = at + kObject.size();
    std::string path;
    for (std::string_view step = StepAt(expression, end); !step.empty();
         step = StepAt(expression, end)) {
      const bool plain = step.find_first_of("./") == std::string_view::npos;
      path += plain ? base::StrCat(path.empty() ? "" : ".", step) : base::StrCat("[", step, "]");
    }
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<Failure> Blame(const admission::Refusal& refusal, const Blamed& blamed,
                           const Rules& rules) {
  Failure failure = NewFailure(refusal, blamed);
  failure.place = blamed.manifest.Find(blamed.prefix);
  failure.advice = AdviceFor(failure.source, failure.message);
  switch (refusal.actor.kind) {
    case Kind::kStage: {
      const base::StatusDetails* details = refusal.status.details();
      auto failures =
          details == nullptr ? std::vector<Failure>() : BlameCauses(failure, *details, blamed);
      if (!failures.empty()) return failures;
      BlameDecoder(failure, blamed);
      break;
    }
    case Kind::kPlugin:
      BlamePlugin(failure, blamed);
      break;
    case Kind::kWebhook:
      BlameWebhook(failure, refusal, rules);
      break;
    case Kind::kPolicy:
      BlamePolicy(failure, refusal, blamed, rules);
      break;
  }
  return {failure};
}

std::string_view AdviceFor(std::string_view source, std::string_view message) {
  for (const Advice& advice : kAdvice) {
    if (source.starts_with(advice.source) &&
        message.find(advice.message) != std::string_view::npos) {
      return advice.advice;
    }
  }
  return "";
}

}  // namespace portcullis::offline

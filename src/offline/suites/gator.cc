// SPDX-License-Identifier: Apache-2.0

// Suites of `gator verify` (test.gatekeeper.sh/v1alpha1): constraint templates with CEL. The template
// becomes the definition of its constraints and a ValidatingAdmissionPolicy, the constraint's match the
// conditions and the binding of the policy, as Gatekeeper makes them. Templates in Rego need Gatekeeper:
// they are counted by name and not run.
#include <optional>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kEngine = "K8sNativeValidation";
constexpr std::string_view kConstraints = "constraints.gatekeeper.sh";

json::Value Texts(json::Arena& arena, std::initializer_list<std::string_view> texts) {
  json::ArrayBuilder array(arena);
  for (const std::string_view text : texts) array.Add(text);
  return array.Build();
}

// The source of the template's CEL; null if it has none.
json::Value SourceOf(json::Value constraint_template) {
  for (const json::Value& target : constraint_template["spec"]["targets"].elements()) {
    for (const json::Value& code : target["code"].elements()) {
      if (code["engine"].AsString() == kEngine) return code["source"];
    }
  }
  return {};
}

std::string_view KindOf(json::Value constraint_template) {
  return constraint_template["spec"]["crd"]["spec"]["names"]["kind"].AsString();
}

// The CustomResourceDefinition of the template's constraints.
json::Value MakeDefinition(json::Arena& arena, json::Value constraint_template) {
  const std::string_view kind = KindOf(constraint_template);
  const std::string plural = base::ToLower(kind);
  const json::Value loose = json::ObjectBuilder(arena)
                                .Set("type", "object")
                                .Set("x-kubernetes-preserve-unknown-fields", true)
                                .Build();
  json::ObjectBuilder parameters(
      arena, constraint_template["spec"]["crd"]["spec"]["validation"]["openAPIV3Schema"]);
  parameters.Set("type", "object").Set("x-kubernetes-preserve-unknown-fields", true);
  const json::Value spec =
      json::ObjectBuilder(arena)
          .Set("type", "object")
          .Set("properties", json::ObjectBuilder(arena)
                                 .Set("enforcementAction",
                                      json::ObjectBuilder(arena).Set("type", "string").Build())
                                 .Set("match", loose)
                                 .Set("parameters", parameters.Build())
                                 .Build())
          .Set("x-kubernetes-preserve-unknown-fields", true)
          .Build();
  const json::Value schema =
      json::ObjectBuilder(arena)
          .Set("type", "object")
          .Set("properties", json::ObjectBuilder(arena).Set("spec", spec).Build())
          .Build();
  const json::Value version =
      json::ObjectBuilder(arena)
          .Set("name", "v1beta1")
          .Set("served", true)
          .Set("storage", true)
          .Set("schema", json::ObjectBuilder(arena).Set("openAPIV3Schema", schema).Build())
          .Build();
  const json::Value names = json::ObjectBuilder(arena)
                                .Set("kind", kind)
                                .Set("plural", plural)
                                .Set("singular", plural)
                                .Build();
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "apiextensions.k8s.io/v1")
      .Set("kind", "CustomResourceDefinition")
      .Set("metadata",
           json::ObjectBuilder(arena).Set("name", base::StrCat(plural, ".", kConstraints)).Build())
      .Set("spec", json::ObjectBuilder(arena)
                       .Set("group", kConstraints)
                       .Set("scope", "Cluster")
                       .Set("names", names)
                       .Set("versions", json::MakeArray(arena, {version}))
                       .Build())
      .Build();
}

// `["a", "b"]` in CEL.
std::string ListOf(json::Value texts) {
  std::vector<std::string> quoted;
  for (const json::Value& text : texts.elements()) quoted.push_back(base::GoQuote(text.AsString()));
  return base::StrCat("[", base::Join(quoted, ", "), "]");
}

bool Contains(json::Value list, std::string_view text) {
  for (const json::Value& one : list.elements()) {
    if (one.AsString() == text) return true;
  }
  return false;
}

// The namespaces of a list, in which `*` may begin or end a name.
std::string NamespaceCondition(json::Value names) {
  std::vector<std::string> conditions;
  for (const json::Value& one : names.elements()) {
    std::string_view name = one.AsString();
    const bool begins = name.ends_with('*');
    const bool ends = name.starts_with('*');
    if (begins) name.remove_suffix(1);
    if (ends && !name.empty()) name.remove_prefix(1);
    const std::string quoted = base::GoQuote(name);
    conditions.push_back(begins && ends ? base::StrCat("request.namespace.contains(", quoted, ")")
                         : begins       ? base::StrCat("request.namespace.startsWith(", quoted, ")")
                         : ends         ? base::StrCat("request.namespace.endsWith(", quoted, ")")
                                        : base::StrCat("request.namespace == ", quoted));
  }
  return base::Join(conditions, " || ");
}

// spec.match of a constraint but for its selectors, as an expression; "" if all matches.
std::string MatchExpression(json::Value match) {
  std::vector<std::string> parts;
  std::vector<std::string> kinds;
  bool every_kind = false;
  for (const json::Value& one : match["kinds"].elements()) {
    std::vector<std::string> both;
    for (const auto& [member, field] :
         {std::pair<std::string_view, std::string_view>{"apiGroups", "request.kind.group"},
          {"kinds", "request.kind.kind"}}) {
      const json::Value list = one[member];
      if (list.empty() || Contains(list, "*")) continue;
      both.push_back(base::StrCat(field, " in ", ListOf(list)));
    }
    every_kind = every_kind || both.empty();
    kinds.push_back(base::StrCat("(", base::Join(both, " && "), ")"));
  }
  if (!kinds.empty() && !every_kind) {
    parts.push_back(base::StrCat("(", base::Join(kinds, " || "), ")"));
  }
  const std::string in_namespace = "has(request.namespace) && request.namespace != ''";
  if (!match["namespaces"].empty()) {
    parts.push_back(
        base::StrCat("(!(", in_namespace, ") || (", NamespaceCondition(match["namespaces"]), "))"));
  }
  if (!match["excludedNamespaces"].empty()) {
    parts.push_back(base::StrCat("!(", in_namespace, " && (",
                                 NamespaceCondition(match["excludedNamespaces"]), "))"));
  }
  if (match["scope"].AsString() == "Cluster") {
    parts.push_back(base::StrCat("!(", in_namespace, ")"));
  } else if (match["scope"].AsString() == "Namespaced") {
    parts.push_back(base::StrCat("(", in_namespace, ")"));
  }
  return base::Join(parts, " && ");
}

// The policy that the template and the match of the constraint stand for.
json::Value MakePolicy(json::Arena& arena, json::Value constraint_template, json::Value match) {
  const json::Value source = SourceOf(constraint_template);
  const auto variable = [&](std::string_view name, std::string_view expression) {
    return json::ObjectBuilder(arena).Set("name", name).Set("expression", expression).Build();
  };
  json::ArrayBuilder variables(arena);
  variables.Add(variable("params",
                         "!has(params.spec) ? null : !has(params.spec.parameters) ? null : "
                         "params.spec.parameters"));
  variables.Add(variable("anyObject",
                         "has(request.operation) && request.operation == \"DELETE\" && object == "
                         "null ? oldObject : object"));
  for (const json::Value& one : source["variables"].elements()) variables.Add(one);
  json::ArrayBuilder conditions(arena);
  if (const std::string expression = MatchExpression(match); !expression.empty()) {
    conditions.Add(variable("gatekeeper_match", expression));
  }
  for (const json::Value& one : source["matchCondition"].elements()) conditions.Add(one);
  for (const json::Value& one : source["matchConditions"].elements()) conditions.Add(one);
  const json::Value rule = json::ObjectBuilder(arena)
                               .Set("apiGroups", Texts(arena, {"*"}))
                               .Set("apiVersions", Texts(arena, {"*"}))
                               .Set("operations", Texts(arena, {"CREATE", "UPDATE", "DELETE"}))
                               .Set("resources", Texts(arena, {"*"}))
                               .Build();
  json::ObjectBuilder spec(arena);
  spec.Set("failurePolicy", source["failurePolicy"].AsString("Fail"))
      .Set("paramKind", json::ObjectBuilder(arena)
                            .Set("apiVersion", base::StrCat(kConstraints, "/v1beta1"))
                            .Set("kind", KindOf(constraint_template))
                            .Build())
      .Set("matchConstraints",
           json::ObjectBuilder(arena).Set("resourceRules", json::MakeArray(arena, {rule})).Build())
      .Set("variables", variables.Build())
      .Set("validations", source["validations"]);
  if (conditions.size() > 0) spec.Set("matchConditions", conditions.Build());
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "admissionregistration.k8s.io/v1")
      .Set("kind", "ValidatingAdmissionPolicy")
      .Set("metadata",
           json::ObjectBuilder(arena)
               .Set("name",
                    base::StrCat("gatekeeper-", constraint_template["metadata"]["name"].AsString()))
               .Build())
      .Set("spec", spec.Build())
      .Build();
}

class GatorReader {
 public:
  GatorReader(const Manifest& document, Location& wrong, Suites& suites)
      : reading_(document, wrong, *suites.files), suites_(suites) {}

  base::Status Run() {
    const json::Value root = reading_.root();
    TRY(reading_.CheckNames(root, {}, {"apiVersion", "kind", "metadata", "tests", "skip"}));
    if (root["tests"].empty()) return reading_.Wrong({}, "the Suite has no tests");
    for (std::size_t i = 0; i < root["tests"].size(); ++i) {
      TRY(ReadTest(root["tests"][i], {"tests", std::to_string(i)}));
    }
    return base::OkStatus();
  }

 private:
  base::Status ReadTest(json::Value test, const Steps& steps) {
    TRY(reading_.CheckNames(
        test, steps, {"name", "template", "constraint", "expansion", "cases", "skip", "invalid"}));
    if (test["cases"].empty()) return reading_.Wrong(steps, "the test has no cases");
    const Manifest made =
        TRY(One(test["template"], Below(steps, "template"), "a ConstraintTemplate"));
    Suite& suite = suites_.suites.emplace_back();
    const Manifest& document = reading_.document();
    suite.name = base::StrCat(document.name.empty() ? document.source->path() : document.name, "/",
                              test["name"].AsString());
    suite.arena = arena_;
    const std::string not_ours = WhyNot(test, made);
    Manifest constraint;
    if (not_ours.empty()) {
      constraint = TRY(One(test["constraint"], Below(steps, "constraint"), "a constraint"));
      GiveRules(suite, made, constraint);
    }
    for (std::size_t i = 0; i < test["cases"].size(); ++i) {
      Case one = TRY(ReadCase(test["cases"][i], Below(Below(steps, "cases"), i), not_ours));
      one.expect.policy = base::StrCat("gatekeeper-", made.name);
      suite.cases.push_back(std::move(one));
    }
    return base::OkStatus();
  }

  static std::string WhyNot(json::Value test, const Manifest& made) {
    if (test["skip"].AsBool()) return "the suite skips it";
    if (test.Has("expansion")) return base::StrCat("expansion templates need Gatekeeper");
    if (!SourceOf(made.object).is_object()) {
      return base::StrCat("template ", made.name, " (Rego) needs Gatekeeper");
    }
    return "";
  }

  base::Result<Manifest> One(json::Value path, const Steps& steps, std::string_view what) const {
    const Inputs inputs = TRY(reading_.File(path, steps));
    if (!inputs.problems.empty()) return reading_.Wrong(steps, inputs.problems.front().message);
    if (inputs.manifests.empty()) {
      return reading_.Wrong(steps, base::StrCat("the file does not hold ", what));
    }
    return inputs.manifests.front();
  }

  void GiveRules(Suite& suite, const Manifest& made, const Manifest& constraint) {
    json::Arena& arena = *arena_;
    const json::Value match = constraint.object["spec"]["match"];
    json::ObjectBuilder spec(arena);
    json::ObjectBuilder resources(arena);
    if (match.Has("labelSelector")) resources.Set("objectSelector", match["labelSelector"]);
    if (match.Has("namespaceSelector")) {
      resources.Set("namespaceSelector", match["namespaceSelector"]);
    }
    const std::string name = base::StrCat("gatekeeper-", made.name);
    spec.Set("policyName", name)
        .Set("validationActions", Texts(arena, {"Deny"}))
        .Set("paramRef", json::ObjectBuilder(arena)
                             .Set("name", constraint.name)
                             .Set("parameterNotFoundAction", "Deny")
                             .Build());
    if (!resources.empty()) spec.Set("matchResources", resources.Build());
    const json::Value binding =
        json::ObjectBuilder(arena)
            .Set("apiVersion", "admissionregistration.k8s.io/v1")
            .Set("kind", "ValidatingAdmissionPolicyBinding")
            .Set("metadata", json::ObjectBuilder(arena).Set("name", name).Build())
            .Set("spec", spec.Build())
            .Build();
    auto& given = suite.inputs.given;
    given.push_back(MakeManifest(made, arena_, MakeDefinition(arena, made.object)));
    given.push_back(constraint);
    given.push_back(MakeManifest(made, arena_, MakePolicy(arena, made.object, match)));
    given.push_back(MakeManifest(made, arena_, binding));
  }

  base::Result<Case> ReadCase(json::Value value, const Steps& steps,
                              const std::string& not_ours) const {
    TRY(reading_.CheckNames(value, steps, {"name", "object", "inventory", "assertions", "skip"}));
    Case one = reading_.NewCase(std::string(value["name"].AsString()), steps);
    one.not_ours = value["skip"].AsBool() ? "the suite skips it" : not_ours;
    TRY(ReadAssertions(value["assertions"], Below(steps, "assertions"), one.expect));
    if (!one.not_ours.empty()) return one;
    const Manifest object = TRY(One(value["object"], Below(steps, "object"), "an object"));
    if (IsReview(object)) {
      one.review = ReadReview(object);
      one.review.resource = {};  // reviews of suites seldom name it
      if (one.review.ns.empty()) one.review.ns = "default";
    } else {
      SetRequest(one, &object, nullptr);
    }
    return one;
  }

  base::Status ReadAssertions(json::Value assertions, const Steps& steps,
                              Expectation& expect) const {
    if (assertions.empty()) return reading_.Wrong(steps, "a case has assertions, at least one");
    expect.verdict = Expected::kAny;
    expect.accepts_skip = true;
    for (std::size_t i = 0; i < assertions.size(); ++i) {
      const Steps at = Below(steps, i);
      TRY(reading_.CheckNames(assertions[i], at, {"violations", "message"}));
      ViolationCount count;
      const json::Value violations = assertions[i]["violations"];
      const bool none = (violations.is_bool() && !violations.AsBool()) ||
                        violations.AsString() == "no" ||
                        (violations.is_int() && !violations.AsInt());
      if (none) count.least = 0;
      if (none || violations.is_int()) count.most = static_cast<std::size_t>(violations.AsInt());
      if (violations.is_int()) count.least = *count.most;
      const std::string_view message = assertions[i]["message"].AsString();
      TRY(reading_.CheckPattern(assertions[i]["message"], Below(at, "message")));
      count.message = {TextMatch::Kind::kRegex, std::string(message)};
      expect.violations.push_back(std::move(count));
    }
    return base::OkStatus();
  }

  const Reading reading_;
  Suites& suites_;
  std::shared_ptr<json::Arena> arena_ = std::make_shared<json::Arena>();
};

}  // namespace

bool IsGatorSuite(const Manifest& document) {
  return document.group() == "test.gatekeeper.sh" && document.kind == "Suite";
}

base::Status ReadGatorSuite(std::span<const Manifest> documents, Location& wrong, Suites& suites) {
  for (const Manifest& document : documents) {
    TRY(GatorReader(document, wrong, suites).Run());
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline

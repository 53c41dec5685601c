// SPDX-License-Identifier: Apache-2.0

// Facts about Kubernetes' environment: every example of every table, texts of errors, costs.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"
#include "kube_cel/access.h"
#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/libraries.h"
#include "kube_cel/mutation_objects.h"
#include "kube_cel/mutation_values.h"

namespace portcullis::kube_cel {
namespace {

class FakeChecker final : public AccessChecker {
 public:
  const AccessAnswer& Check(const AccessQuestion& question) override {
    ++asked;
    answer_.allowed = question.verb != "delete";
    answer_.reason = "because";
    return answer_;
  }
  int asked = 0;

 private:
  AccessAnswer answer_;
};

class KubeCelTest : public testing::Test {
 protected:
  KubeCelTest() {
    object_ = json::Parse(arena_,
                          R"({"metadata":{"name":"web","labels":{"app":"a"}},"spec":{"replicas":3,)"
                          R"("items":[1,2,3],"names":["a","b"]},"subsets":[1,2,3]})")
                  .value();
    user_.name = "alice";
    inputs_.Set(Input::kObject, cel::MakeFromJson(arena_, object_));
    inputs_.Set(Input::kOldObject, cel::Value::Null());
    inputs_.Set(Input::kNamespaceObject, cel::Value::Null());
    inputs_.Set(Input::kParams, cel::Value::Null());
    inputs_.Set(Input::kRequest, cel::MakeFromJson(arena_, json::MakeObject(arena_, {})));
    inputs_.Set(Input::kAuthorizer, MakeAuthorizer(arena_, checker_, user_));
    scope_.authorizer = true;
    scope_.params = true;
  }

  // The value as text, or "error: …".
  std::string Run(std::string_view text) {
    const auto expression = compiler_.Compile(scope_, text, Expected::kAnything);
    if (!expression->ok()) return "compile: " + expression->error();
    Evaluation evaluation(arena_, inputs_);
    Budget budget(kPolicyBudget);
    const Evaluated result = evaluation.Evaluate(*expression, budget);
    cost_ = kPolicyBudget - budget.left();
    if (!result.error.empty()) return "error: " + result.error;
    return cel::DebugString(result.value);
  }

  json::Arena arena_;
  json::Value object_;
  api::UserInfo user_;
  FakeChecker checker_;
  Inputs inputs_;
  Scope scope_;
  Compiler compiler_;
  std::uint64_t cost_ = 0;
};

TEST_F(KubeCelTest, ExamplesOfAllTablesAreTrue) {
  scope_.mutation = true;
  for (const cel::Library* library :
       {&kListLibrary, &kRegexLibrary, &kUrlLibrary, &kQuantityLibrary, &kIpLibrary, &kCidrLibrary,
        &kFormatLibrary, &kSemverLibrary, &kAuthorizerLibrary, &kJsonPatchLibrary}) {
    for (const cel::Function& row : library->functions) {
      EXPECT_EQ(Run(row.example), "true") << row.id << ": " << row.example;
      EXPECT_FALSE(row.doc.empty()) << row.id;
    }
  }
}

TEST_F(KubeCelTest, ErrorsHaveKubernetesTexts) {
  const std::pair<std::string_view, std::string_view> facts[] = {
      {"ip('192.168.0.1.0').family()",
       "error: IP Address \"192.168.0.1.0\" parse error during conversion from string: "
       "ParseAddr(\"192.168.0.1.0\"): IPv4 address too long"},
      {"cidr('10.0.0.0/8').containsIP('bad')", "error: no such overload"},
      {"cidr('10.0.0.0/8').containsCIDR('bad')",
       "error: network address parse error during conversion from string: network address parse "
       "error during conversion from string: netip.ParsePrefix(\"bad\"): no '/'"},
      {"semver('v1.2')", "error: No Major.Minor.Patch elements found"},
      {"url('../x')",
       "error: URL parse error during conversion from string: parse \"../x\": invalid URI for "
       "request"},
      {"url('https://[fe80::1%25eth0]:80/').getHostname()", "\"fe80::1%eth0\""},
      {"url('https://[1.2.3.4]/')",
       "error: URL parse error during conversion from string: parse \"https://[1.2.3.4]/\": "
       "invalid "
       "IP-literal"},
      {"url('https://[x]/')",
       "error: URL parse error during conversion from string: parse \"https://[x]/\": invalid "
       "host: "
       "ParseAddr(\"x\"): unable to parse IP"},
      {"url('https://a:1:2/')",
       "error: URL parse error during conversion from string: parse \"https://a:1:2/\": invalid "
       "port "
       "\":1:2\" after host"},
      {"url('postgres://a:1,b:2/').getHost()", "\"a:1,b:2\""},
      {"isQuantity(' 1') || isQuantity('1 ')", "false"},
      {"quantity('1.0').isInteger() || quantity('1000m').isInteger()", "false"},
      // What cannot be compared counts as being in order.
      {"[dyn(1), dyn('a'), dyn(0)].min()", "0"},
      {"[2.0, double('NaN'), 1.0].isSorted() && [dyn(2), dyn('a'), dyn(1)].isSorted()", "true"},
      {"[dyn(1), dyn(null)].max()", "error: no such overload"},
      {"''.findAll('1.5', dyn('x'))", "error: no such overload"},
      {"dyn(1).find('a')", "error: no such overload"},
      {"'a'.find(dyn(1))", "error: no such overload: find(string, int)"},
      {"[dyn(null)].max()", "error: no such overload: max(list)"},
      {"quantity('10Mm')", "error: unable to parse quantity's suffix"},
      {"quantity('500m').add(quantity('500m')) == quantity('1')", "true"},
      {"quantity('1') == quantity('500m').add(quantity('500m'))", "error: no such overload"},
      {"quantity('1') == dyn(1)", "error: no such overload"},
      {"quantity('1') != dyn(1)", "true"},
      {"quantity('1') == null || dyn(1) == quantity('1')", "false"},
      {"url('https://a') == dyn('https://a')", "error: no such overload"},
      {"ip('::1') == dyn(cidr('::1/128'))", "error: no such overload"},
      {"dyn(quantity('1')) in [dyn(1)]", "false"},
      {"[dyn(quantity('1'))] == [dyn(1)]", "true"},
      {"authorizer == authorizer", "error: no such overload"},
      {"authorizer.group('').resource('')", "error: resource must not be empty"},
      {"authorizer.path('')", "error: path must not be empty"},
      {"[].min()", "error: min called on empty list"},
      {"object.metadata.labels['x']", "error: no such key: x"},
      {"params.x", "error: no such key: x"},
  };
  for (const auto& [text, wanted] : facts) EXPECT_EQ(Run(text), wanted) << text;
}

// As keys of Go's maps; recorded from kube-apiserver.
TEST_F(KubeCelTest, AFieldOfAUrlIsAnError) {
  const std::string begin =
      "compile: compilation failed: ERROR: <input>:1:17: unexpected failed resolution of "
      "'kubernetes.URL'\n | url('https://a').x.join(1)\n | ................^\nERROR: "
      "<input>:1:24: ";
  EXPECT_EQ(Run("url('https://a').x.join(1)"),
            begin +
                "found no matching overload for 'join' applied to '!error!.(int)'\n"
                " | url('https://a').x.join(1)\n | .......................^");
}

TEST_F(KubeCelTest, ObjectsAsKeysOfMaps) {
  constexpr std::string_view kSemver =
      "error: internal error: runtime error: hash of unhashable type cel.Semver";
  const std::pair<std::string_view, std::string_view> facts[] = {
      {"{ip('1.2.3.4'): 1, ip('1.2.3.4'): 2}.size()", "1"},
      {"ip('::1') in {ip('0:0::1'): 1}", "true"},
      {"ip('1.2.3.5') in {ip('1.2.3.4'): 1}", "false"},
      {"{ip('1.2.3.4'): 1} == {ip('1.2.3.4'): 1}", "true"},
      {"cidr('10.0.0.0/8') in {cidr('10.0.0.0/8'): 1}", "true"},
      {"{cidr('10.0.0.0/8'): 1, cidr('10.0.0.1/8'): 2}.size()", "2"},
      {"{dyn(cidr('10.0.0.0/8')): 1, dyn(ip('10.0.0.0')): 2}.size()", "2"},
      {"{quantity('1'): 1, quantity('1'): 2}.size()", "2"},
      {"{url('https://a'): 1, url('https://a'): 2}.size()", "2"},
      {"[1, 2].transformMapEntry(k, v, {ip('1.2.3.4'): k})",
       "error: insert failed: key 1.2.3.4 already exists"},
      {"{ip('1.2.3.4'): 1}[ip('1.2.3.4')]", "error: invalid qualifier type: cel.IP"},
      {"{dyn('a'): 1}[dyn(quantity('1'))]", "error: invalid qualifier type: cel.Quantity"},
      {"dyn(url('https://a')).all(x, true)", "error: got 'cel.URL', expected iterable type"},
      {"{semver('1.2.3'): 1}.size()", kSemver},
      {"{semver('1.2.3'): 1}.size() == 1 || true", kSemver},
      {"{1: semver('1.2.3')}.transformMapEntry(k, v, {v: k})", kSemver},
      {"{?semver('1.2.3'): optional.of(1)}", kSemver},
      {"{?semver('1.2.3'): optional.none()}",
       "error: internal error: hash of unhashable type: cel.Semver"},
      {"dyn(semver('1.2.3')) in {'a': 1}", kSemver},
      {"dyn(semver('1.2.3')) in dyn({})", "false"},
      {"dyn(semver('1.2.3')) in object.metadata", "false"},
      {"{format.dns1123Label(): 1}",
       "error: internal error: runtime error: hash of unhashable type cel.Format"},
      {"dyn(b'a') in {'a': 1}",
       "error: internal error: runtime error: hash of unhashable type types.Bytes"},
  };
  for (const auto& [text, wanted] : facts) EXPECT_EQ(Run(text), wanted) << text;
}

TEST_F(KubeCelTest, CostsAreThoseOfKubernetes) {
  const std::pair<std::string_view, std::uint64_t> facts[] = {
      {"object.metadata.name", 3},
      {"has(object.subsets)", 1},
      {"true", 0},
      {"oldObject != null", 2},
      {"object.subsets.size() > 2", 4},
      {"[1,2,3,4].isSorted()", 4},
      {"url('https:://kubernetes.io/').getHostname() == 'kubernetes.io'", 4},
      {"size('abc 123 def 123'.split(' ')) > 0", 5},
      {"size('abc 123 def 123'.find('123')) > 0", 4},
      {"quantity(\"200M\") == quantity(\"0.2G\") && quantity(\"0.2G\") == quantity(\"200M\")", 6},
      {"!authorizer.group('').resource('endpoints').check('create').allowed()", 350005},
      {"authorizer.path('/healthz').check('get').allowed()", 350003},
      {"cidr('192.168.0.0/16').containsCIDR('192.168.0.0/16')", 7},
      {"format.named(\"dns1123Label\").value().validate(\"my-name\")", 10},
  };
  for (const auto& [text, wanted] : facts) {
    const std::string result = Run(text);
    EXPECT_EQ(cost_, wanted) << text << " -> " << result;
  }
}

TEST_F(KubeCelTest, OutputTypesAreChecked) {
  const auto error = [&](std::string_view text, Expected expected) {
    return compiler_.Compile(scope_, text, expected)->error();
  };
  EXPECT_EQ(error("object.x", Expected::kBool), "must evaluate to bool but got dyn");
  EXPECT_EQ(error("1", Expected::kString), "must evaluate to string but got int");
  EXPECT_EQ(error("true", Expected::kStringOrNull),
            "must evaluate to one of [string null_type] but got bool");
  EXPECT_EQ(error("request.uid == ''", Expected::kBool),
            "compilation failed: ERROR: <input>:1:8: undefined field 'uid'\n | request.uid == ''\n "
            "| .......^");
  EXPECT_EQ(error("int('abc') == 1", Expected::kBool),
            "program instantiation failed: type conversion error from 'string' to 'int'");
  EXPECT_EQ(error("int('abc')", Expected::kBool), "must evaluate to bool but got int");
  scope_.mutation = true;
  EXPECT_EQ(error("\"I'm a teapot!\"", Expected::kObject),
            "must evaluate to Object but got string");
  EXPECT_EQ(error("Object.spec.metadata{}", Expected::kObject),
            "must evaluate to Object but got Object.spec.metadata");
  EXPECT_EQ(error("JSONPatch{op: 'add', path: '/x'}", Expected::kPatch),
            "must evaluate to list(JSONPatch) but got JSONPatch");
  EXPECT_EQ(error("[JSONPatch{op: 'add', path: '/x', value: Object.spec{a: 1}}]", Expected::kPatch),
            "");
  EXPECT_EQ(
      error("[JSONPatch{operation: 'add'}]", Expected::kPatch),
      "compilation failed: ERROR: <input>:1:21: expected type of field 'operation' is '' but "
      "provided type is 'string'\n | [JSONPatch{operation: 'add'}]\n | ....................^");
}

TEST_F(KubeCelTest, EqualExpressionsShareOneProgram) {
  const auto a = compiler_.Compile(scope_, "object.x == 1", Expected::kBool);
  const auto b = compiler_.Compile(scope_, "object.x == 1", Expected::kBool);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, compiler_.Compile(Scope{}, "object.x == 1", Expected::kBool));
}

TEST_F(KubeCelTest, VariablesAreEvaluatedOnceWhenRead) {
  std::vector<NamedExpression> variables;
  variables.push_back(
      {"n", compiler_.Compile(scope_, "object.spec.replicas", Expected::kAnything)});
  variables.push_back({"bad", compiler_.Compile(scope_, "object.none", Expected::kAnything)});
  Scope scope = scope_;
  scope.variables = true;
  scope.variable_types = {{"n", "dyn"}, {"bad", "dyn"}};
  const auto twice = compiler_.Compile(scope, "variables.n + variables.n == 6", Expected::kBool);
  ASSERT_TRUE(twice->ok()) << twice->error();
  Evaluation evaluation(arena_, inputs_, variables);
  Budget budget(100);
  EXPECT_TRUE(evaluation.Evaluate(*twice, budget).value.is_true());
  EXPECT_EQ(budget.left(), 100u - 3 - 6);
  const auto bad = compiler_.Compile(scope, "variables.bad == 1", Expected::kBool);
  EXPECT_EQ(evaluation.Evaluate(*bad, budget).error,
            "composited variable \"bad\" fails to evaluate: no such key: none");
  const auto unknown = compiler_.Compile(scope, "variables.x == 1", Expected::kBool);
  EXPECT_NE(unknown->error().find("undefined field 'x'"), std::string::npos);
}

// v0 is 1, each later one reads the one before.
class ChainOfVariables : public KubeCelTest {
 protected:
  static constexpr int kLength = 20000;

  void SetUp() override {
    scope_.variables = true;
    for (int i = 0; i < kLength; ++i) {
      const std::string text = i == 0 ? "1" : base::StrCat("variables.", Name(i - 1));
      Add(Name(i), text);
    }
  }
  static std::string Name(int i) { return base::StrCat("v", std::to_string(i)); }
  void Add(const std::string& name, std::string_view text) {
    auto expression = compiler_.Compile(scope_, text, Expected::kAnything);
    ASSERT_TRUE(expression->ok()) << expression->error();
    scope_.variable_types.Add({name, expression->VariableTypeText()});
    variables_.push_back({name, std::move(expression)});
  }
  std::string Error(Evaluation& evaluation, int i) {
    const auto expression =
        compiler_.Compile(scope_, base::StrCat("variables.", Name(i), " == 1"), Expected::kBool);
    EXPECT_TRUE(expression->ok()) << expression->error();
    Budget budget(kPolicyBudget);
    const Evaluated result = evaluation.Evaluate(*expression, budget);
    EXPECT_TRUE(!result.error.empty() || result.value.is_true());
    return result.error;
  }

  std::vector<NamedExpression> variables_;
};

TEST_F(ChainOfVariables, IsReadStepByStep) {
  Evaluation evaluation(arena_, inputs_, variables_);
  for (int i = 0; i < kLength; i += 200) EXPECT_EQ(Error(evaluation, i), "");
}

TEST_F(ChainOfVariables, ThatTakesTooMuchStackFails) {
  Evaluation evaluation(arena_, inputs_, variables_);
  const std::string error = Error(evaluation, kLength - 1);
  EXPECT_NE(error.find("fails to evaluate: variables are nested too deeply"), std::string::npos);
  // Of the variables on the way only the innermost are named.
  EXPECT_LT(error.size(), 10000U);
}

TEST_F(KubeCelTest, AVariableThatReadsItselfFails) {
  Scope scope = scope_;
  scope.variables = true;
  std::vector<NamedExpression> variables;
  for (const std::string_view text : {"1", "variables.v + 1"}) {
    variables.push_back({"v", compiler_.Compile(scope, text, Expected::kAnything)});
    scope.variable_types.Add({"v", variables.back().expression->VariableTypeText()});
  }
  const auto expression = compiler_.Compile(scope, "variables.v == 2", Expected::kBool);
  ASSERT_TRUE(expression->ok()) << expression->error();
  Evaluation evaluation(arena_, inputs_, variables);
  Budget budget(kPolicyBudget);
  EXPECT_NE(evaluation.Evaluate(*expression, budget).error, "");
}

TEST_F(KubeCelTest, TypesOfVariablesThatDoubleBecomeDyn) {
  Scope scope = scope_;
  scope.variables = true;
  scope.variable_types.Add({"v0", "int"});
  for (int i = 1; i < 100; ++i) {
    const std::string before = base::StrCat("variables.v", std::to_string(i - 1));
    const auto expression = compiler_.Compile(
        scope, base::StrCat("{'a': [", before, "]}.a.map(x, {x: x})[0]"), Expected::kAnything);
    ASSERT_TRUE(expression->ok()) << expression->error();
    EXPECT_LT(expression->VariableTypeText().size(), 2000U);
    scope.variable_types.Add(
        {base::StrCat("v", std::to_string(i)), expression->VariableTypeText()});
  }
}

TEST(VariableTypesTest, FindsTheLastOfAName) {
  VariableTypes types;
  EXPECT_TRUE(types.empty());
  for (int i = 0; i < 100; ++i) types.Add({std::to_string(i % 30), std::to_string(i)});
  for (int i = 0; i < 30; ++i) {
    const VariableType* found = types.Find(std::to_string(i));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->type, std::to_string(i < 10 ? i + 90 : i + 60));
  }
  EXPECT_EQ(types.Find("30"), nullptr);
}

TEST(VariableTypesTest, ACopyDoesNotSeeWhatIsAddedLater) {
  VariableTypes types{{"a", "int"}, {"b", "int"}};
  const VariableTypes before = types;
  EXPECT_EQ(before.digest(), types.digest());
  types.Add({"a", "string"});
  types.Add({"c", "string"});
  EXPECT_EQ(before.Find("a")->type, "int");
  EXPECT_EQ(before.Find("c"), nullptr);
  EXPECT_EQ(types.Find("a")->type, "string");
  EXPECT_NE(before.digest(), types.digest());
}

TEST_F(KubeCelTest, ConstructedObjectsBecomeJson) {
  scope_.mutation = true;
  const auto expression = compiler_.Compile(
      scope_, "Object{spec: Object.spec{replicas: 1, list: [Object.spec.list{a: 'b'}]}}",
      Expected::kObject);
  ASSERT_TRUE(expression->ok()) << expression->error();
  Evaluation evaluation(arena_, inputs_);
  Budget budget(kPolicyBudget);
  const Evaluated result = evaluation.Evaluate(*expression, budget);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_TRUE(CheckTypeNames(arena_, result.value, "Object").ok());
  const auto json = ApplyConfigurationOf(arena_, result.value);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["spec"]["list"][0]["a"].AsString(), "b");
}

TEST(Compiler, CompilesRulesAgainOnceTheyAreForgotten) {
  Compiler compiler;
  json::Arena arena;
  const json::Value props =
      *json::Parse(arena, R"({"type":"object","x-kubernetes-validations":[{"rule":"true"}]})");
  const auto rules = compiler.RulesOf(&arena, props);
  EXPECT_EQ(compiler.RulesOf(&arena, props), rules);
  compiler.ForgetRules();
  EXPECT_NE(compiler.RulesOf(&arena, props), rules);
}

}  // namespace
}  // namespace portcullis::kube_cel

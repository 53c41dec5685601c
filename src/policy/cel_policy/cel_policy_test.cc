// SPDX-License-Identifier: Apache-2.0

// Facts about policies of both kinds, on a cluster in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/cel_policy/testing/cluster.h"

namespace portcullis::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kMap =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},)"
    R"("data":{"x":"1"}})";

class CelPolicyTest : public ::testing::Test {
 protected:
  std::string Refusal() { return cluster_.Validate(kMap).message(); }
  static std::string Denied(std::string_view text) {
    return base::StrCat(
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied "
        "request: ",
        text);
  }
  testing::Cluster cluster_;
};

TEST_F(CelPolicyTest, RefusesWithTheExpressionTheMessageOrTheMessageExpression) {
  cluster_.Validating("p", R"("validations":[{"expression":" object.data.x == '2' "}])");
  EXPECT_EQ(Refusal(), Denied("failed expression: object.data.x == '2'"));
  cluster_.Validating("p", R"("validations":[{"expression":"false","message":" no "}])");
  EXPECT_EQ(Refusal(), Denied("no"));
  cluster_.Validating("p", R"("validations":[{"expression":"false","message":"no",)"
                           R"("messageExpression":"'x is ' + object.data.x"}])");
  EXPECT_EQ(Refusal(), Denied("x is 1"));
  cluster_.Validating("p", R"("validations":[{"expression":"false","message":"no",)"
                           R"("messageExpression":"object.data.none"}])");
  EXPECT_EQ(Refusal(), Denied("no"));
}

TEST_F(CelPolicyTest, SeesWhatIsMentionedAnywhere) {
  cluster_.Validating("p", R"("validations":[{"expression":"false",)"
                           R"("messageExpression":"request.operation"}])");
  EXPECT_EQ(Refusal(), Denied("CREATE"));
  cluster_.Validating("p", R"("variables":[{"name":"v","expression":"request.kind.kind"}],)"
                           R"("validations":[{"expression":"variables.v == 'Secret'"}])");
  EXPECT_EQ(Refusal(), Denied("failed expression: variables.v == 'Secret'"));
  cluster_.Validating("p", R"x("matchConditions":[{"name":"c","expression":)x"
                           R"x("!authorizer.requestResource.check('get').allowed()"}],)x"
                           R"x("validations":[{"expression":"false","message":"no"}])x");
  EXPECT_EQ(Refusal(), Denied("no"));
}

// Nor does dyn() show more of a Namespace than kube-apiserver copies of it.
TEST_F(CelPolicyTest, SeesOfANamespaceWhatIsCopied) {
  cluster_.Put("", "namespaces", "",
               R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default","uid":"u",)"
               R"("labels":{"a":"b"},"managedFields":[{"manager":"m"}],"ownerReferences":[{}]}})");
  cluster_.Validating("p", R"x("validations":[{"expression":"false","messageExpression":)x"
                           R"x("'%s %s %s %s %s %s'.format([has(dyn(namespaceObject).kind),)x"
                           R"x(has(dyn(namespaceObject).apiVersion),)x"
                           R"x(has(dyn(namespaceObject).metadata.managedFields),)x"
                           R"x(has(dyn(namespaceObject).metadata.ownerReferences),)x"
                           R"x(has(dyn(namespaceObject).metadata.uid),)x"
                           R"x(namespaceObject.metadata.labels.a == 'b'])"}])x");
  EXPECT_EQ(Refusal(), Denied("false false false false true true"));
}

TEST_F(CelPolicyTest, BindingsApplyToThePolicyTheyNameNow) {
  constexpr std::string_view kPolicies = "validatingadmissionpolicies";
  constexpr std::string_view kBindings = "validatingadmissionpolicybindings";
  constexpr std::string_view kDeny = R"("validationActions":["Deny"])";
  constexpr std::string_view kFalse = R"("validations":[{"expression":"false","message":"no"}])";
  const auto text = [](std::string_view policy, std::string_view binding) {
    return base::StrCat("configmaps \"a\" is forbidden: ValidatingAdmissionPolicy '", policy,
                        "' with binding '", binding, "' denied request: no");
  };
  cluster_.Binding(kBindings, "b2", "p", kDeny);
  EXPECT_EQ(Refusal(), "");
  cluster_.Policy(kPolicies, "q", kFalse);
  cluster_.Policy(kPolicies, "p", kFalse);
  EXPECT_EQ(Refusal(), text("p", "b2"));
  cluster_.Binding(kBindings, "b1", "p", kDeny);
  EXPECT_EQ(Refusal(), text("p", "b1"));
  cluster_.Binding(kBindings, "b1", "q", kDeny);
  EXPECT_EQ(Refusal(), text("p", "b2"));
  cluster_.Remove(testing::Cluster::kGroup, kPolicies, "", "p");
  EXPECT_EQ(Refusal(), text("q", "b1"));
  cluster_.Remove(testing::Cluster::kGroup, kBindings, "", "b1");
  EXPECT_EQ(Refusal(), "");
  cluster_.Policy(kPolicies, "p", kFalse);
  EXPECT_EQ(Refusal(), text("p", "b2"));
  cluster_.Remove(testing::Cluster::kGroup, kBindings, "", "b2");
  EXPECT_EQ(Refusal(), "");
}

TEST_F(CelPolicyTest, EachPolicySeesTheVersionOfItsRules) {
  const auto put = [this](const std::string& name, std::string_view version,
                          std::string_view seen) {
    cluster_.Put(testing::Cluster::kGroup, "validatingadmissionpolicies", "",
                 base::StrCat(R"({"metadata":{"name":")", name,
                              R"("},"spec":{"matchConstraints":{"matchPolicy":"Equivalent",)"
                              R"("namespaceSelector":{},"objectSelector":{},"resourceRules":[{)"
                              R"("apiGroups":["autoscaling"],"operations":["CREATE"],)"
                              R"("resources":["horizontalpodautoscalers"],"apiVersions":[")",
                              version, R"("]}]},"validations":[{"expression":)",
                              R"("object.apiVersion == 'autoscaling/)", seen,
                              R"(' && request.resource.version == ')", seen, R"('"}]}})"));
    cluster_.Binding("validatingadmissionpolicybindings", name, name,
                     R"("validationActions":["Deny"])");
  };
  const auto validate = [this] {
    return cluster_.Validate(
        R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},)"
        R"("spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"Deployment","name":"d"}}})",
        {"autoscaling", "v2", "horizontalpodautoscalers"},
        {"autoscaling", "v2", "HorizontalPodAutoscaler"});
  };
  for (const std::string name : {"a", "c", "d"}) put(name, "v1", "v1");
  for (const std::string name : {"b", "e"}) put(name, "v2", "v2");
  EXPECT_TRUE(validate().ok()) << validate().message();
  put("f", "v1", "v2");
  EXPECT_THAT(validate().message(), ::testing::HasSubstr("ValidatingAdmissionPolicy 'f'"));
}

TEST_F(CelPolicyTest, PatchesCannotMakeAnotherKind) {
  cluster_.Mutating("m", R"("mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":)"
                         R"("[JSONPatch{op: 'replace', path: '/kind', value: 'Pod'}]"}}])");
  const base::Status status = cluster_.Mutate(kMap);
  EXPECT_EQ(status.http_code(), 500);
  EXPECT_NE(status.message().find("no kind \"Pod\" is registered for version \"v1\""),
            std::string::npos)
      << status.message();
}

TEST_F(CelPolicyTest, ReasonsHaveTheirCodes) {
  const std::pair<std::string_view, int> facts[] = {
      {"Forbidden", 403}, {"Invalid", 422}, {"RequestEntityTooLarge", 413}, {"", 422}};
  for (const auto& [reason, code] : facts) {
    cluster_.Validating(
        "p", base::StrCat(R"("validations":[{"expression":"false","reason":")", reason, "\"}]"));
    EXPECT_EQ(cluster_.Validate(kMap).http_code(), code) << reason;
  }
}

TEST_F(CelPolicyTest, ErrorsFollowTheFailurePolicyAndTheActions) {
  constexpr std::string_view kBad = R"("validations":[{"expression":"object.none == 1"}])";
  cluster_.Validating("p", kBad);
  EXPECT_EQ(Refusal(),
            Denied("expression 'object.none == 1' resulted in error: no such key: none"));
  cluster_.Validating("p", kBad, R"("validationActions":["Warn"])");
  EXPECT_TRUE(cluster_.Validate(kMap).ok());
  EXPECT_THAT(cluster_.recorder().warnings(),
              ElementsAre("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': "
                          "expression 'object.none == 1' resulted in error: no such key: none"));
  cluster_.Validating("p", base::StrCat(kBad, R"(,"failurePolicy":"Ignore")"));
  EXPECT_TRUE(cluster_.Validate(kMap).ok());
}

TEST_F(CelPolicyTest, AuditAnnotationsOfAllBindingsAreJoined) {
  cluster_.Validating("p",
                      R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)"
                      "\"auditAnnotations\":[{\"key\":\"k\",\"valueExpression\":"
                      "\"string(params.data.v)\"}]",
                      R"("validationActions":["Deny"],"paramRef":{"selector":{},)"
                      R"("namespace":"params","parameterNotFoundAction":"Deny"})");
  EXPECT_EQ(Refusal(), Denied("failed to configure binding: no params found for policy binding "
                              "with `Deny` parameterNotFoundAction"));
  for (const std::string_view value : {"a", "b"}) {
    cluster_.Put("", "configmaps", "params",
                 base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")",
                              value, R"(","namespace":"params"},"data":{"v":")", value, "\"}}"));
  }
  EXPECT_TRUE(cluster_.Validate(kMap).ok());
  ASSERT_EQ(cluster_.recorder().annotations().size(), 1U);
  EXPECT_EQ(cluster_.recorder().annotations()[0].key, "p/k");
  EXPECT_EQ(cluster_.recorder().annotations()[0].value, "a, b");
}

TEST_F(CelPolicyTest, FalseConditionsWinOverErrors) {
  constexpr std::string_view kFalse = R"("validations":[{"expression":"false"}],)";
  cluster_.Validating("p", base::StrCat(kFalse, R"("matchConditions":[{"name":"e","expression":)"
                                                R"("object.none == 1"},{"name":"f","expression":)"
                                                R"("false"}])"));
  EXPECT_EQ(Refusal(), "");
  cluster_.Validating("p", base::StrCat(kFalse, R"("matchConditions":[{"name":"e","expression":)"
                                                R"("object.none == 1"}])"));
  EXPECT_EQ(Refusal(),
            Denied("expression 'object.none == 1' resulted in error: no such key: none"));
}

TEST_F(CelPolicyTest, BudgetsEndTheEvaluation) {
  std::string loop = "true";
  for (const std::string_view name : {"a", "b", "c", "d", "e", "f", "g"}) {
    loop = base::StrCat("lists.range(10).all(", name, ", ", loop, ")");
  }
  cluster_.Validating("p", base::StrCat(R"("validations":[{"expression":")", loop, "\"}]"));
  EXPECT_EQ(Refusal(), Denied(base::StrCat("expression '", loop,
                                           "' resulted in error: operation cancelled: actual cost "
                                           "limit exceeded")));
  std::string checks;
  for (int i = 0; i < 29; ++i) {
    checks += base::StrCat(checks.empty() ? "" : ",", "{\"expression\":\"!authorizer.path('/",
                           std::to_string(i), "').check('get').allowed()\"}");
  }
  cluster_.Validating("p", base::StrCat(R"("validations":[)", checks, "]"));
  EXPECT_EQ(Refusal(), Denied(kube_cel::kOutOfBudget));
}

TEST_F(CelPolicyTest, PoliciesWithoutBindingsAreNotInForce) {
  cluster_.Policy("validatingadmissionpolicies", "p", R"("validations":[{"expression":"false"}])");
  EXPECT_EQ(Refusal(), "");
  cluster_.Binding("validatingadmissionpolicybindings", "p", "p",
                   R"("validationActions":["Deny"])");
  EXPECT_EQ(Refusal(), Denied("failed expression: false"));
}

TEST_F(CelPolicyTest, ParamsThatCannotBeReadAreErrors) {
  const auto bind = [this](std::string_view param) {
    cluster_.Validating("p",
                        R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)"
                        R"("validations":[{"expression":"params.data.v == 'good'"}])",
                        base::StrCat(R"("validationActions":["Deny"],"paramRef":{"namespace":)"
                                     R"("params","parameterNotFoundAction":"Allow",)",
                                     param, "}"));
  };
  const auto put = [this](std::string_view name) {
    cluster_.Put("", "configmaps", "params",
                 base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
                              R"(","namespace":"params"},"data":{"v":"good"}})"));
  };
  const std::string error = Denied("failed to configure binding: Internal error occurred: no key");
  put("other");
  bind(R"("name":"named")");
  cluster_.reader().unreadable = "configmaps";
  cluster_.reader().unreadable_name = "named";
  EXPECT_EQ(Refusal(), error);
  put("named");
  EXPECT_EQ(Refusal(), error) << "its former state decides nothing";
  // Others say nothing about it, whether it is there or not.
  cluster_.reader().unreadable_name = "other";
  EXPECT_EQ(Refusal(), "");
  cluster_.Remove("", "configmaps", "params", "named");
  EXPECT_EQ(Refusal(), "");
  EXPECT_EQ(cluster_.reader().lists, 0) << "what it costs does not depend on them either";
  // Of a selector, each may be one.
  bind(R"("selector":{})");
  EXPECT_EQ(Refusal(), error);
  cluster_.reader().unreadable.clear();
  EXPECT_EQ(Refusal(), "");
}

TEST_F(CelPolicyTest, UnknownParamKindIsAMistakeOfThePolicy) {
  cluster_.Validating("p", R"("paramKind":{"apiVersion":"example.com/v1","kind":"BadParamKind"},)"
                           R"("validations":[{"expression":"true"}])");
  EXPECT_EQ(Refusal(),
            "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed "
            "to configure policy: failed to find resource referenced by paramKind: "
            "'example.com/v1, Kind=BadParamKind'");
}

std::string Apply(std::string_view expression) {
  return base::StrCat(R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":")",
                      expression, "\"}}");
}
std::string JsonPatch(std::string_view expression) {
  return base::StrCat(R"({"patchType":"JSONPatch","jsonPatch":{"expression":")", expression,
                      "\"}}");
}

TEST_F(CelPolicyTest, MutationsSeeWhatEarlierOnesDid) {
  cluster_.Mutating("p", base::StrCat(R"("mutations":[)", Apply("Object{data: {'y': '2'}}"), ",",
                                      JsonPatch("[JSONPatch{op: 'add', path: '/data/z', value: "
                                                "object.data.y + '3'}]"),
                                      "]"));
  EXPECT_TRUE(cluster_.Mutate(kMap).ok());
  const json::Value data = cluster_.request().object()["data"];
  EXPECT_EQ(data["x"].AsString(), "1");
  EXPECT_EQ(data["z"].AsString(), "23");
  EXPECT_TRUE(cluster_.request().reinvocation().should_reinvoke());
}

TEST_F(CelPolicyTest, MutationErrorsSayWhichPolicy) {
  const std::pair<std::string, std::string_view> facts[] = {
      {Apply("Object{none: 1}"),
       "error applying patch: failed to convert patch object to typed object: .none: field not "
       "declared in schema"},
      {Apply("Object{data: Object.dat{a: '1'}}"),
       "type mismatch: unexpected type name \"Object.dat\", expected \"Object.data\", which "
       "matches "
       "field name path from root Object type"},
      {JsonPatch("[JSONPatch{op: 'remove', path: '/data/none'}]"),
       "JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: "
       "none: missing value"},
      // What only looks like JSON.
      {Apply("Object{data: {'a': dyn(null)}}"),
       "error applying patch: failed to convert patch object to typed object: .data.a: expected "
       "string, got &value.valueUnstructured{Value:0}"},
      {Apply("Object{data: {'a': {'b': 'c'}}}"),
       "error applying patch: failed to convert patch object to typed object: .data.a: expected "
       "string, got &value.valueUnstructured{Value:map[ref.Val]ref.Val{\"b\":\"c\"}}"},
      {Apply("Object{binaryData: {'b': b'xy'}}"),
       "error applying patch: failed to convert patch object to typed object: .binaryData.b: "
       "expected string, got &value.valueUnstructured{Value:[]uint8{0x78, 0x79}}"},
      {Apply("Object{data: {'a': [b'xy', b'']}}"),
       "error applying patch: failed to convert patch object to typed object: .data.a: expected "
       "string, got &value.valueUnstructured{Value:[]ref.Val{types.Bytes{0x78, 0x79}, "
       "types.Bytes{}}}"},
      {Apply("Object{immutable: null}"),
       "error applying patch: failed to convert patch object to typed object: .immutable: expected "
       "boolean, got &{NULL_VALUE}"},
      {Apply("Object{metadata: Object.metadata{finalizers: [{'a': 'b'}]}}"),
       "error applying patch: failed to convert patch object to typed object: "
       ".metadata.finalizers[={{undefined}}]: expected string, got "
       "&value.valueUnstructured{Value:map[ref.Val]ref.Val{\"a\":\"b\"}}"},
      {Apply("Object{data: {1: 'a'}}"), "invalid return type: *dynamic.ObjectVal"},
      {JsonPatch("[JSONPatch{op: 'add', path: '/data', value: {1: 'a'}}]"),
       "JSONPath valueExpression evaluated to a type that could not marshal to JSON: unsupported "
       "type conversion from 'int' to string"},
      {JsonPatch("[JSONPatch{op: 'add', path: '/data/a', value: quantity('1')}]"),
       "JSONPath valueExpression evaluated to a type that could not marshal to JSON: type "
       "conversion error from 'Quantity' to '*structpb.Value'"},
      {JsonPatch("[JSONPatch{op: 'add', path: '/data/a', value: optional.none()}]"),
       "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
       "optional.none() dereference"},
      {JsonPatch("[JSONPatch{path: '/data/a'}]"), "JSON Patch: Unexpected kind: "},
      {JsonPatch("[JSONPatch{op: 'remove'}]"),
       "JSON Patch: remove operation does not apply: doc is missing path: \"\": missing value"},
  };
  for (const auto& [mutation, text] : facts) {
    cluster_.Mutating("p", base::StrCat(R"("mutations":[)", mutation, "]"));
    const base::Status status = cluster_.Mutate(kMap);
    EXPECT_EQ(status.message(), base::StrCat("policy 'p' with binding 'p' denied request: ", text));
    EXPECT_EQ(status.http_code(), 403);
    EXPECT_EQ(status.reason_text(), "Invalid");
  }
}

TEST_F(CelPolicyTest, ARefusalNamesTheObjectAsMutationsHaveLeftIt) {
  cluster_.Mutating(
      "p", base::StrCat(R"("mutations":[)",
                        JsonPatch("[JSONPatch{op: 'add', path: '/metadata/name', value: 'other'}]"),
                        ",", JsonPatch("[JSONPatch{op: 'remove', path: '/none'}]"), "]"));
  const base::Status status = cluster_.Mutate(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-"}})");
  ASSERT_NE(status.details(), nullptr);
  EXPECT_EQ(status.details()->name, "other");
}

TEST_F(CelPolicyTest, NumbersOfPatchesHaveNoType) {
  cluster_.Mutating(
      "p", base::StrCat(R"("mutations":[)",
                        JsonPatch("[JSONPatch{op: 'add', path: '/metadata/generation', value: "
                                  "3.0}, JSONPatch{op: 'add', path: '/data/big', value: "
                                  "9007199254740993}]"),
                        "]"));
  EXPECT_TRUE(cluster_.Mutate(kMap).ok());
  EXPECT_EQ(cluster_.request().object()["metadata"]["generation"].AsInt(), 3);
  EXPECT_EQ(cluster_.request().object()["data"]["big"].AsString(), "9007199254740993");
}

TEST_F(CelPolicyTest, WhatExpressionsTakeOnTheirWayDoesNotStayWithTheRequest) {
  const std::string text(100'000, 'x');
  const std::string map =
      base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":")",
                   text, "\"}}");
  constexpr std::string_view kTakesMuch =
      "[1, 2, 3, 4, 5].all(i, (object.data.x + object.data.x).size() > 0)";
  const auto taken = [&] { return cluster_.request().arena().bytes_used(); };

  cluster_.Validating(
      "p", base::StrCat(R"("variables":[{"name":"v","expression":")", kTakesMuch,
                        R"("}],"matchConditions":[{"name":"c","expression":")", kTakesMuch,
                        R"("}],"validations":[{"expression":"!variables.v","messageExpression":")",
                        kTakesMuch, R"( ? 'no' : ''"}],"auditAnnotations":[{"key":"k",)",
                        R"("valueExpression":")", kTakesMuch, R"( ? 'yes' : ''"}])"));
  EXPECT_EQ(cluster_.Validate(map).message(), Denied("no"));
  EXPECT_LT(taken(), 2 * text.size());

  const std::string value = base::StrCat(kTakesMuch, " ? 'y' + object.metadata.name : ''");
  cluster_.Mutating(
      "p",
      base::StrCat(
          R"("matchConditions":[{"name":"c","expression":")", kTakesMuch, R"("}],"mutations":[)",
          Apply(base::StrCat("Object{data: {'y': ", value, "}}")), ",",
          JsonPatch(base::StrCat("[JSONPatch{op: 'add', path: '/data/z', value: ", value, "}]")),
          "]"));
  EXPECT_TRUE(cluster_.Mutate(map).ok());
  EXPECT_EQ(cluster_.request().object()["data"]["y"].AsString(), "ya");
  EXPECT_EQ(cluster_.request().object()["data"]["z"].AsString(), "ya");
  EXPECT_LT(taken(), 2 * text.size());
}

TEST_F(CelPolicyTest, MutationsThatTakeMuchKeepTheTextsOfOtherParts) {
  std::string mutations;
  for (int i = 0; i < 8; ++i) {
    mutations +=
        base::StrCat(i == 0 ? "" : ",",
                     JsonPatch(base::StrCat("[JSONPatch{op: 'add', path: '/metadata/labels/x', "
                                            "value: object.metadata.labels.x + '",
                                            std::to_string(i), "'}]")));
  }
  cluster_.Mutating("p", base::StrCat(R"("mutations":[)", mutations, "]"));
  const std::string text(300'000, 'x');
  EXPECT_TRUE(
      cluster_
          .Mutate(base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":)",
                               R"("a","labels":{"x":")", text, R"("}},"data":{"x":"\u0061"}})"))
          .ok());
  const json::Value object = cluster_.request().object();
  EXPECT_EQ(object["metadata"]["labels"]["x"].AsString(), text + "01234567");
  EXPECT_EQ(object["data"]["x"].AsString(), "a");
  EXPECT_EQ(json::ToString(object["data"]), R"({"x":"\u0061"})");
}

TEST_F(CelPolicyTest, AFailedTestSkipsTheWholePatch) {
  cluster_.Mutating("p", base::StrCat(R"("mutations":[)",
                                      JsonPatch("[JSONPatch{op: 'test', path: '/data/x', value: "
                                                "'9'}, JSONPatch{op: 'remove', path: '/data'}]"),
                                      "]"));
  EXPECT_TRUE(cluster_.Mutate(kMap).ok());
  EXPECT_EQ(cluster_.request().object()["data"]["x"].AsString(), "1");
  EXPECT_THAT(cluster_.recorder().warnings(), IsEmpty());
}

}  // namespace
}  // namespace portcullis::policy

// SPDX-License-Identifier: Apache-2.0

// `portcullis cel`: what it prints, where, and how it ends.
#include "cli/cel_command.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temporary_folder.h"

namespace portcullis::cli {
namespace {

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

class CelCommandTest : public testing::Test {
 protected:
  Said Run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Said said;
    said.code = kCel.run(arguments);
    std::fflush(stdout);
    said.out = testing::internal::GetCapturedStdout();
    said.err = testing::internal::GetCapturedStderr();
    return said;
  }
  std::string File(const std::string& name, std::string_view text) {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

 private:
  const base::TemporaryFolder folder_;
};

TEST_F(CelCommandTest, PrintsAValueForEachExpression) {
  const Said said = Run({"1 + 2", "-1", "'a'.upperAscii()"});
  EXPECT_EQ(said.code, kExitOk);
  EXPECT_EQ(said.out, "3\n-1\n\"A\"\n");
  EXPECT_EQ(said.err, "");
}

TEST_F(CelCommandTest, TellsTypeAndCost) {
  const Said said = Run({"--types", "--cost", "--var", "x=[1, 2]", "x.all(i, i > 0)"});
  EXPECT_EQ(said.out, "true\n  type: bool\n  cost: 12, estimated 2 to unbounded\n");
}

TEST_F(CelCommandTest, TracesSubExpressions) {
  const Said said = Run({"--trace", "--cost", "--var", "x=3", "x + 1 > 3"});
  EXPECT_NE(said.out.find("cost: 3, estimated 3 to 3\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("x = 3\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("x + 1 = 4\n"), std::string::npos) << said.out;
}

TEST_F(CelCommandTest, ReadsSeveralExpressionsFromAFile) {
  const std::string path =
      File("many.cel", "// the first\n1 +\n  1\n---\n\n---\n1 / 0\n---\n1 +\n nope\n");
  const Said said = Run({"-f", path});
  EXPECT_EQ(said.code, kExitRefused);
  EXPECT_EQ(said.out, "2\n");
  EXPECT_EQ(said.err,
            path + ":7: error: division by zero\n" + path +
                ":10:2: undeclared reference to 'nope' (in container '')\n |  nope\n | .^\n");
}

TEST_F(CelCommandTest, SeesWhatAPolicySees) {
  const std::string review = File("review.yaml", R"(
object: {metadata: {name: web}, spec: {replicas: 3}}
request:
  operation: CREATE
  resource: {group: apps, version: v1, resource: deployments}
  namespace: default
  name: web
  userInfo: {username: alice}
params: {max: 5}
)");
  const std::string variables = File("variables.yaml", R"(
- {name: replicas, expression: object.spec.replicas}
- {name: enough, expression: "variables.replicas <= params.max"}
)");
  const std::string allowed = File("allowed.yaml", R"(
- {resource: secrets, allowed: false, reason: never}
- {user: alice, group: apps, resource: deployments, verb: create, namespace: default}
- {path: /healthz, verb: get}
- {user: "system:serviceaccount:default:sa", resource: pods, error: no answer}
)");
  const Said said =
      Run({"--as", "admission", "--vars", review, "--variables", variables, "--authorizer", allowed,
           "object.metadata.name == 'web' && oldObject == null && namespaceObject == null",
           "variables.enough && request.operation == 'CREATE'",
           "authorizer.requestResource.check('create').allowed()",
           "authorizer.requestResource.check('delete').allowed()",
           "authorizer.group('').resource('secrets').check('get').reason()",
           "authorizer.path('/healthz').check('get').allowed()",
           "authorizer.serviceAccount('default', 'sa').group('').resource('pods')"
           ".check('get').error()"});
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.out, "true\ntrue\ntrue\nfalse\n\"never\"\ntrue\n\"no answer\"\n");
  EXPECT_EQ(said.code, kExitOk);
}

TEST_F(CelCommandTest, VariablesAreYaml) {
  const Said said = Run({"--var", "a={b: [1, 2], c: x}", "--var", R"(d={"e": 1})", "--var", "f=x",
                         "a.b[1] == 2 && a.c == f && d.e == 1"});
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.out, "true\n");
}

TEST_F(CelCommandTest, TakesAManifestAsAVariable) {
  const std::string path = File("web.yaml", "apiVersion: v1\nkind: Pod\nspec: {replicas: 3}\n");
  const Said said = Run({"--as", "admission", "--var", "object=@" + path, "object.spec.replicas"});
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.out, "3\n");
  EXPECT_NE(Run({"--vars", path, "1"}).err.find("--var object=@" + path), std::string::npos);
}

TEST_F(CelCommandTest, HintsAtAnObjectThatWasNotGiven) {
  EXPECT_EQ(Run({"--as", "admission", "object.spec.replicas"}).err,
            "error: no such key: spec\nHint: object is null: give it with --var object=@FILE\n");
}

TEST_F(CelCommandTest, SaysWhatIsWrongWithTheCommand) {
  const std::pair<std::vector<std::string>, const char*> rows[] = {
      {{"--typs", "1"}, "unknown flag: --typs (did you mean --types?)"},
      {{"--var"}, "flag needs an argument: --var"},
      {{"--var", "x", "1"}, "--var x: NAME=YAML is needed"},
      {{"--as", "king", "1"}, "invalid argument \"king\" for \"--as\" flag: must be admission"},
      {{"-f", "/nope/x"}, "open /nope/x: no such file or directory"},
      {{"--vars", File("list.yaml", "[1]"), "1"}, "an object with a member for each variable"},
      {{"--authorizer", File("verbs.yaml", "[{verbs: get}]"), "1"}, "unknown attribute \"verbs\""},
      {{"--as", "admission", "--variables", File("bad.yaml", "[{name: a, expression: nope}]"), "1"},
       "variable a: compilation failed: "},
      {{}, "no expression given"},
  };
  for (const auto& [arguments, text] : rows) {
    const Said said = Run(arguments);
    EXPECT_EQ(said.code, kExitUsage) << text;
    EXPECT_NE(said.err.find(text), std::string::npos) << said.err;
  }
}

TEST_F(CelCommandTest, HelpTeaches) {
  const Said said = Run({"--help"});
  EXPECT_EQ(said.code, kExitOk);
  for (const char* text : {"Examples:", "--authorizer FILE", "--batch", "Exit status"}) {
    EXPECT_NE(said.out.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace portcullis::cli

// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "json/reader.h"
#include "offline/correct_files.h"
#include "offline/judge.h"
#include "offline/testing/limit_policy.h"

namespace portcullis::offline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TestFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("offline_native_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "policy.yaml") << kPolicy;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Report Run(const std::string& cases, const std::string& files = "[policy.yaml]") {
    std::ofstream(folder_ / "t.yaml")
        << "apiVersion: portcullis.dev/v1\nkind: Test\n"
           "metadata: {name: limit}\nfiles: "
        << files << "\nobject:\n  " << Indented(kDeployment) << "\ncases:\n"
        << cases;
    InputOptions options;
    options.paths = {(folder_ / "t.yaml").string()};
    auto report = RunTests(ReadInputs(options), judge_);
    EXPECT_TRUE(report.ok());
    return report.ok() ? *std::move(report) : Report();
  }

  static std::string Indented(std::string text) {
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
      text.insert(at + 1, "  ");
    }
    return text;
  }

  // Steps with a policy of ConfigMaps.
  Report RunSteps(const std::string& steps) {
    std::ofstream(folder_ / "t.yaml") << "apiVersion: portcullis.dev/v1\nkind: Test\n"
                                         "metadata: {name: s}\nsteps:\n"
                                      << steps;
    InputOptions options;
    options.paths = {(folder_ / "t.yaml").string()};
    auto report = RunTests(ReadInputs(options), judge_);
    EXPECT_TRUE(report.ok());
    return report.ok() ? *std::move(report) : Report();
  }

  std::filesystem::path folder_;
  JudgeOptions judge_;
};

TEST_F(TestFiles, CasesPassOrTellWhatDiffers) {
  const Report report =
      Run("- {name: few, set: {spec.replicas: 2, metadata.labels: {owner: a}}, expect: allow}\n"
          "- {name: many, set: {metadata.labels: {owner: a}}, expect: {verdict: deny, message: "
          "{contains: not 7}}}\n"
          "- {name: wrong, set: {spec.replicas: 3}, expect: allow}\n"
          "- {name: text, expect: {verdict: deny, message: {contains: nothing}, code: 403}}\n"
          "- {name: shape, set: {spec.replicas: 2, metadata.labels: {owner: a}}, expect: {object: "
          "{spec: {replicas: 4}}}}\n");
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_THAT(report.results, SizeIs(5));
  EXPECT_EQ(report.results[0].verdict, Verdict::kPass);
  EXPECT_EQ(report.results[0].name, "limit/few");
  EXPECT_EQ(report.results[1].verdict, Verdict::kPass);
  EXPECT_THAT(report.results[2].message, HasSubstr("expected allow, got deny: "));
  ASSERT_GE(report.results[3].failures.size(), 2U);
  EXPECT_THAT(report.results[3].failures[0].message, HasSubstr("code is 422, not 403: "));
  EXPECT_THAT(report.results[3].failures[1].message, HasSubstr("no failure contains \"nothing\""));
  EXPECT_EQ(report.results[4].message, "spec.replicas is 2, not 4");
  EXPECT_EQ(report.refusals(), 3U);
}

TEST_F(TestFiles, MistakesHaveTheirPlaces) {
  const Report unknown = Run("- {name: a, expects: allow}\n");
  ASSERT_THAT(unknown.problems, SizeIs(1));
  EXPECT_EQ(unknown.problems[0].message, "unknown field \"expects\" (did you mean expect?)");
  EXPECT_EQ(unknown.problems[0].place.line, 19U);
  EXPECT_THAT(Run("  []\n").problems[0].message, HasSubstr("at least one"));
  EXPECT_THAT(Run("- {expect: maybe}\n").problems[0].message,
              HasSubstr("a verdict is allow, deny"));
  EXPECT_THAT(Run("- {expect: allow}\n", "[absent.yaml]").problems[0].message,
              HasSubstr("no such file"));
}

// The fields that the published schema allows are those that are read.
TEST_F(TestFiles, FieldsAreThoseOfTheSchema) {
  json::Arena arena;
  const auto text = base::ReadFile(std::string(PC_SOURCE_DIR) + "/docs/offline-tests.schema.json");
  ASSERT_TRUE(text.ok());
  const auto schema = json::Parse(arena, *text);
  ASSERT_TRUE(schema.ok());
  const json::Value definitions = (*schema)["definitions"];
  const auto unknown = [&](const std::string& one) {
    const Report report = Run("- " + one + "\n");
    return !report.problems.empty() && report.problems[0].message.starts_with("unknown field");
  };
  for (const json::Member& member : definitions["case"]["properties"].members()) {
    EXPECT_FALSE(unknown("{" + std::string(member.name()) + ": null}")) << member.name();
  }
  for (const json::Member& member : definitions["expect"]["properties"].members()) {
    EXPECT_FALSE(unknown("{expect: {" + std::string(member.name()) + ": null}}")) << member.name();
  }
  for (const json::Member& member : definitions["user"]["properties"].members()) {
    EXPECT_FALSE(unknown("{expect: allow, user: {" + std::string(member.name()) + ": null}}"));
  }
  for (const std::string_view place :
       {"{x: 1}", "{expect: {x: 1}}", "{expect: allow, user: {x: 1}}",
        "{expect: {message: {x: 1}}}"}) {
    EXPECT_TRUE(unknown(std::string(place))) << place;
  }
}

TEST_F(TestFiles, RefusedFilesAreProblems) {
  std::ofstream(folder_ / "bad.yaml") << "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_}\n";
  const Report report = Run("- {set: {spec.replicas: 2}, expect: allow}\n", "[bad.yaml]");
  ASSERT_THAT(report.problems, SizeIs(1));
  EXPECT_THAT(report.problems[0].message, HasSubstr("Invalid value: \"A_\""));
  EXPECT_EQ(report.results[0].verdict, Verdict::kPass);
}

TEST_F(TestFiles, CasesAreRequestsOfEveryVerb) {
  const Report report = Run(
      "- name: json patch\n  operation: PATCH\n  oldSet: {spec.replicas: 2}\n"
      "  patch: [{op: replace, path: /spec/replicas, value: 3}]\n"
      "  expect: {code: 200, object: {spec: {replicas: 3}}}\n"
      "- name: merge patch\n  operation: PATCH\n  oldSet: {spec.replicas: 2}\n"
      "  patch: {metadata: {labels: {owner: b}}}\n"
      "  expect: {object: {metadata: {labels: {owner: b}}}}\n"
      "- name: strategic merge patch\n  operation: PATCH\n  patchType: strategic\n"
      "  patch: {spec: {template: {spec: {containers: [{name: web, image: b}]}}}}\n"
      "  expect: {object: {spec: {template: {spec: {containers: [{name: web, image: b}]}}}}}\n"
      "- name: apply of something new\n  operation: APPLY\n  set: {spec.replicas: 1, "
      "metadata.labels: {owner: a}}\n  fieldManager: me\n  expect: {code: 201}\n"
      "- name: apply against a manager\n  operation: APPLY\n  set: {spec.replicas: 1}\n  oldSet: "
      "{spec.replicas: 2}\n  expect: {verdict: deny, code: 409, message: {contains: conflict}}\n"
      "- name: scale\n  operation: UPDATE\n  subresource: scale\n"
      "  object: {apiVersion: autoscaling/v1, kind: Scale, metadata: {name: web}, spec: {replicas: "
      "9}}\n  oldObject: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: "
      "{replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
      "{containers: [{name: a, image: a}]}}}}\n  expect: {object: {spec: {replicas: 9}}}\n"
      "- name: exec\n  operation: CONNECT\n  subresource: exec\n"
      "  object: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, "
      "image: a}]}}\n  options: {command: [sh], stdin: true}\n  expect: allow\n");
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_THAT(report.results, SizeIs(7));
  for (const Result& result : report.results) {
    EXPECT_EQ(result.verdict, Verdict::kPass) << result.name << ": " << result.message;
  }
}

TEST_F(TestFiles, StepsFindWhatThoseBeforeThemHaveLeft) {
  const Report report = RunSteps(
      "- object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}\n"
      "- name: patched\n  operation: PATCH\n  patch: {data: {y: '2'}}\n"
      "  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
      "  expect: {object: {data: {x: '1', y: '2'}}}\n"
      "- name: as HTTP\n  request: {method: GET, path: /api/v1/namespaces/default/configmaps/a}\n"
      "  expect: {code: 200, object: {data: {y: '2'}}}\n"
      "- request: {method: DELETE, path: '/api/v1/namespaces/default/configmaps/a'}\n"
      "- name: gone\n  request: {method: PUT, path: /api/v1/namespaces/default/configmaps/a, body: "
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}\n"
      "  expect: {verdict: deny, code: 404, message: 'configmaps \"a\" not found'}\n");
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_THAT(report.results, SizeIs(5));
  for (const Result& result : report.results) {
    EXPECT_EQ(result.verdict, Verdict::kPass) << result.name << ": " << result.message;
  }
}

TEST_F(TestFiles, ExpectsWhatOnePolicyMakesOfIt) {
  const Report report = Run(
      "- {name: a, expect: {policy: limit, verdict: deny, message: {matches: 'not [0-9]'}}}\n"
      "- {name: b, operation: DELETE, expect: {policy: limit, matched: false, reason: Rules}}\n"
      "- {name: c, set: {spec.replicas: 1, metadata.labels: {owner: a}}, expect: {policy: limit, "
      "matched: true, costBelow: 100}}\n"
      "- {name: d, set: {spec.replicas: 1, metadata.labels: {owner: a}}, expect: {policy: limit, "
      "costBelow: 1}}\n"
      "- {name: e, expect: {policy: other, verdict: deny}}\n");
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_THAT(report.results, SizeIs(5));
  EXPECT_EQ(report.results[0].verdict, Verdict::kPass) << report.results[0].message;
  EXPECT_EQ(report.results[1].verdict, Verdict::kPass) << report.results[1].message;
  EXPECT_EQ(report.results[2].verdict, Verdict::kPass) << report.results[2].message;
  EXPECT_THAT(report.results[3].message, HasSubstr("not less than 1"));
  EXPECT_THAT(report.results[4].message, HasSubstr("policy other, which was not asked"));
}

TEST_F(TestFiles, CorrectsWhatDoesNotHoldAndNothingElse) {
  judge_.corrects = true;
  const std::string before =
      "# kept\n"
      "- {name: right, expect: {verdict: deny, message: {contains: not 7}}}\n"
      "- {name: verdict, set: {spec.replicas: 2, metadata.labels: {owner: a}}, expect: deny}\n"
      "- name: texts   # kept\n  expect:\n    verdict: deny\n    code: 403  # kept\n"
      "    message: {matches: 'not [89]'}\n"
      "- name: object\n  set: {spec.replicas: 2, metadata.labels: {owner: a}}\n"
      "  expect: {object: {spec: {replicas: 4, minReadySeconds: 3}, kind: Deployment}}\n"
      "- {name: policy, expect: {policy: limit, verdict: allow}}\n"
      "- {name: match, operation: DELETE, expect: {policy: limit, matched: true}}\n"
      "- {name: absent, expect: {policy: other, verdict: deny}}\n";
  const Report report = Run(before);
  EXPECT_EQ(report.refusals(), 6U);
  std::vector<Problem> problems;
  const auto files = CorrectFiles(report.corrections, problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_THAT(files, SizeIs(1));
  const std::string& text = files[0].text;
  const std::string after = text.substr(text.find("# kept"));
  EXPECT_EQ(after,
            "# kept\n"
            "- {name: right, expect: {verdict: deny, message: {contains: not 7}}}\n"
            "- {name: verdict, set: {spec.replicas: 2, metadata.labels: {owner: a}}, expect: "
            "allow}\n"
            "- name: texts   # kept\n  expect:\n    verdict: deny\n    code: 422  # kept\n"
            "    message:\n"
            "      contains: 'deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy "
            "''limit''\n        with binding ''limit'' denied request: not 7'\n"
            "- name: object\n  set: {spec.replicas: 2, metadata.labels: {owner: a}}\n"
            "  expect: {object: {spec: {replicas: 2}, kind: Deployment}}\n"
            "- {name: policy, expect: {policy: limit, verdict: deny}}\n"
            "- {name: match, operation: DELETE, expect: {policy: limit, matched: false}}\n"
            "- {name: absent, expect: {policy: other, verdict: deny}}\n");
  EXPECT_THAT(files[0].lines, ::testing::Contains("  - expect.code: 403"));
  EXPECT_THAT(files[0].lines, ::testing::Contains("  + expect.code: 422"));
}

TEST_F(TestFiles, RunsTheCasesThatAreChosen) {
  judge_.run = *Pattern::Read("limit/b");
  const Report report = Run("- {name: a, expect: deny}\n- {name: b, expect: deny}\n");
  ASSERT_THAT(report.results, SizeIs(1));
  EXPECT_EQ(report.results[0].name, "limit/b");
}

}  // namespace
}  // namespace portcullis::offline

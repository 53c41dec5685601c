// SPDX-License-Identifier: Apache-2.0

#include "offline/test_draft.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "offline/cluster.h"
#include "offline/suites/reading.h"

namespace portcullis::offline {
namespace {

// Plain objects that an API server takes, by resource.
struct Sample {
  std::string_view resource;
  std::string_view version;
  std::string_view kind;
  std::string_view fields;  // behind metadata, each line with its indentation
};

constexpr std::string_view kPodSpec =
    "  spec: {containers: [{name: app, image: example.com/app:1}]}\n";
constexpr std::string_view kWorkload =
    "  spec:\n    replicas: 1\n    selector: {matchLabels: {app: example}}\n    template:\n"
    "      metadata: {labels: {app: example}}\n"
    "      spec: {containers: [{name: app, image: example.com/app:1}]}\n";
constexpr std::string_view kDaemon =
    "  spec:\n    selector: {matchLabels: {app: example}}\n    template:\n"
    "      metadata: {labels: {app: example}}\n"
    "      spec: {containers: [{name: app, image: example.com/app:1}]}\n";
constexpr Sample kSamples[] = {
    {"pods", "v1", "Pod", kPodSpec},
    {"deployments", "apps/v1", "Deployment", kWorkload},
    {"statefulsets", "apps/v1", "StatefulSet", kWorkload},
    {"replicasets", "apps/v1", "ReplicaSet", kWorkload},
    {"daemonsets", "apps/v1", "DaemonSet", kDaemon},
    {"services", "v1", "Service", "  spec: {ports: [{port: 80}]}\n"},
    {"configmaps", "v1", "ConfigMap", "  data: {}\n"},
    {"secrets", "v1", "Secret", "  stringData: {}\n"},
    {"serviceaccounts", "v1", "ServiceAccount", ""},
    {"namespaces", "v1", "Namespace", ""},
};

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE"};

bool Names(json::Value list, std::string_view text) {
  for (const json::Value& one : list.elements()) {
    if (one.AsString() == text || one.AsString() == "*") return true;
  }
  return false;
}

const Sample* SampleOf(json::Value rules) {
  for (const json::Value& rule : rules.elements()) {
    for (const Sample& sample : kSamples) {
      if (Names(rule["resources"], sample.resource)) return &sample;
    }
  }
  return nullptr;
}

bool HasOperation(json::Value rules, std::string_view operation) {
  for (const json::Value& rule : rules.elements()) {
    if (Names(rule["operations"], operation)) return true;
  }
  return false;
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::string_view trimmed = base::Trim(line);
    if (!out.empty() && !trimmed.empty()) out += " ";
    out += trimmed;
  }
  return out;
}

// A case, its operation, and a line above it.
struct NewCase {
  std::string name;
  std::string_view operation;
  std::string comment;
};

std::vector<NewCase> CasesOf(json::Value spec, std::string_view kind) {
  std::vector<NewCase> cases;
  const json::Value rules = spec["matchConstraints"]["resourceRules"];
  for (const std::string_view operation : kOperations) {
    if (!HasOperation(rules, operation)) continue;
    cases.push_back({base::StrCat(operation, " of a plain ", kind), operation, ""});
  }
  const std::string_view first = cases.empty() ? "CREATE" : cases.front().operation;
  const json::Value validations = spec["validations"];
  for (std::size_t i = 0; i < validations.size(); ++i) {
    const std::string index = std::to_string(i);
    cases.push_back({base::StrCat("against validation ", index), first,
                     base::StrCat("  # set what makes it false: ",
                                  OneLine(validations[i]["expression"].AsString()), "\n")});
  }
  return cases;
}

// What the policy makes of the case today.
std::string_view VerdictOf(const Result& judged, const std::string& policy) {
  using admission::TraceOutcome;
  std::string_view verdict = "skip";
  for (const PolicyStep& step : judged.policies) {
    if (step.policy != policy || step.outcome == TraceOutcome::kSkipped) continue;
    if (step.outcome == TraceOutcome::kDenied || step.outcome == TraceOutcome::kFailed) {
      return "deny";
    }
    verdict = step.outcome == TraceOutcome::kNotEnforced ? "violated" : "allow";
  }
  return verdict;
}

std::string CaseText(const NewCase& one, const std::string& policy, const Result* judged) {
  std::string out = base::StrCat("- name: ", base::GoQuote(one.name), "\n");
  if (one.operation != "CREATE") out += base::StrCat("  operation: ", one.operation, "\n");
  out += one.comment;
  if (!one.comment.empty()) out += "  set: {}\n";
  if (judged == nullptr) return out + "  expect: any\n";
  return out + base::StrCat("  expect: {policy: ", policy,
                            ", verdict: ", VerdictOf(*judged, policy), "}\n");
}

std::string TestText(const std::string& file, const Manifest& policy, const Sample& sample,
                     std::span<const NewCase> cases, std::span<const Result> judged) {
  std::string out = base::StrCat(
      "apiVersion: portcullis.dev/v1\nkind: Test\nmetadata: {name: ", policy.name, "}\nfiles: [",
      file, "]\nobject:\n  apiVersion: ", sample.version, "\n  kind: ", sample.kind,
      "\n  metadata: {name: example}\n", sample.fields, "cases:\n");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    out += CaseText(cases[i], policy.name, i < judged.size() ? &judged[i] : nullptr);
  }
  return out;
}

}  // namespace

base::Result<InitialTest> MakeInitialTest(const std::string& file, const JudgeOptions& options) {
  InputOptions paths;
  paths.paths = {file};
  const Inputs inputs = ReadInputs(paths);
  if (!inputs.problems.empty()) {
    const Problem& problem = inputs.problems.front();
    return base::ConfigError(base::StrCat(problem.place.ToString(), ": ", problem.message));
  }
  const auto found = std::find_if(inputs.manifests.begin(), inputs.manifests.end(), &IsPolicy);
  if (found == inputs.manifests.end()) {
    return base::ConfigError(base::StrCat(file,
                                          ": holds no ValidatingAdmissionPolicy or "
                                          "MutatingAdmissionPolicy"));
  }
  const json::Value spec = found->object["spec"];
  const Sample* sample = SampleOf(spec["matchConstraints"]["resourceRules"]);
  if (sample == nullptr) sample = std::begin(kSamples);
  const std::vector<NewCase> cases = CasesOf(spec, sample->kind);
  const std::filesystem::path path(file);
  InitialTest made;
  made.path = (path.parent_path() / path.stem()).string() + ".test.yaml";
  const std::string name = path.filename().string();
  // The verdicts are those that the cases have today.
  Inputs draft;
  ReadText(made.path, TestText(name, *found, *sample, cases, {}), true, draft);
  const Report report = TRY(RunTests(draft, options));
  made.text = TestText(name, *found, *sample, cases, report.results);
  return made;
}

}  // namespace portcullis::offline

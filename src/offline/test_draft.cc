// SPDX-License-Identifier: Apache-2.0

#include "offline/test_draft.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "offline/cluster.h"
#include "offline/coverage.h"
#include "offline/judging.h"
#include "offline/report/format.h"
#include "offline/samples.h"
#include "offline/spot.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"
#include "offline/test_edits.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE"};

bool Names(json::Value list, std::string_view text) {
  for (const json::Value& one : list.elements()) {
    if (one.AsString() == text || one.AsString() == "*") return true;
  }
  return false;
}

bool NamesOperation(json::Value rules, std::string_view operation) {
  for (const json::Value& rule : rules.elements()) {
    if (Names(rule["operations"], operation)) return true;
  }
  return false;
}

constexpr std::size_t kMostCandidates = 2000;  // of a round
constexpr std::size_t kMostCases = 60;
constexpr int kMostEdits = 3;  // of a case
constexpr std::size_t kMaxName = 100;

struct NewCase {
  std::string name;
  std::string_view operation;
  std::vector<const TestEdit*> edits;
  std::vector<std::string> comments;
  bool is_open = false;  // for the user to complete
};

std::string Shortened(std::string text) {
  if (text.size() <= kMaxName) return text;
  return base::StrCat(base::CutUtf8(text, kMaxName), "…");
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

// `  set: {spec.replicas: 6}`, of the edits of one kind; "" if there are none.
std::string EditsText(const NewCase& one, TestEdit::Of of, std::string_view member) {
  std::string out;
  for (const TestEdit* edit : one.edits) {
    if (edit->of != of) continue;
    const bool plain = edit->path.find_first_of("[]{},:#\"'&*!|>%@` ") == std::string::npos;
    out += base::StrCat(out.empty() ? "" : ", ", plain ? edit->path : base::GoQuote(edit->path),
                        ": ", json::ToString(edit->value));
  }
  return out.empty() ? out : base::StrCat("  ", member, ": {", out, "}\n");
}

std::string UserText(const NewCase& one) {
  std::string text = EditsText(one, TestEdit::Of::kUser, "user");
  if (!text.empty() && text.find("{name: ") == std::string::npos) {
    text = base::ReplaceAll(text, "user: {", "user: {name: example, ");
  }
  return text;
}

std::string CaseText(const NewCase& one, const std::string& policy, const Result* judged) {
  std::string out = base::StrCat("- name: ", base::GoQuote(one.name), "\n");
  if (one.operation != "CREATE") out += base::StrCat("  operation: ", one.operation, "\n");
  for (const std::string& comment : one.comments) out += base::StrCat("  # ", comment, "\n");
  out += one.is_open ? "  set: {}\n" : EditsText(one, TestEdit::Of::kObject, "set");
  out += EditsText(one, TestEdit::Of::kOldObject, "oldSet");
  out += UserText(one);
  if (judged == nullptr) return out + "  expect: any\n";
  return out + base::StrCat("  expect: {policy: ", policy,
                            ", verdict: ", VerdictOf(*judged, policy), "}\n");
}

// The first binding of the policy; null: there is none.
json::Value BindingOf(const Manifest& policy, std::span<const Manifest> manifests) {
  for (const Manifest& manifest : manifests) {
    if (IsBinding(manifest) && manifest.object["spec"]["policyName"].AsString() == policy.name) {
      return manifest.object;
    }
  }
  return {};
}

// Looks for cases that send the expressions of a policy every way.
class Draft {
 public:
  // `manifests`: what the files hold.
  Draft(const Manifest& policy, std::span<const Manifest> manifests, std::string path,
        std::vector<std::string> files, const JudgeOptions& options)
      : policy_(policy),
        sample_(SampleOf(policy)),
        spot_(FindSpot(policy, manifests, arena_)),
        path_(std::move(path)),
        files_(std::move(files)),
        options_(options) {
    options_.coverage = &counter_;
    options_.expand = false;
    const json::Value rules = policy.object["spec"]["matchConstraints"]["resourceRules"];
    for (const std::string_view operation : kOperations) {
      if (NamesOperation(rules, operation)) operations_.push_back(operation);
    }
    if (operations_.empty()) operations_.emplace_back("CREATE");
    ReadText(path_, SampleText(sample_, spot_.labels), true, object_);
  }

  base::Status Search() {
    std::vector<NewCase> plain;
    for (const std::string_view operation : operations_) {
      plain.push_back({base::StrCat(operation, " of a plain ", sample_.kind), operation, {}, {}});
    }
    TRY(Try(plain));
    for (int count = 1; count <= kMostEdits && !IsComplete(); ++count) TRY(Try(Extended(count)));
    AddOpenCases();
    return base::OkStatus();
  }

  // The whole test file; `judged`: what the cases come to.
  std::string Text(std::span<const Result> judged) const { return TextOf(cases_, judged); }

 private:
  static const Sample& SampleOf(const Manifest& policy) {
    const Sample* sample = SampleFor(policy.object["spec"]["matchConstraints"]["resourceRules"]);
    return sample == nullptr ? Samples().front() : *sample;
  }

  static Spot FindSpot(const Manifest& policy, std::span<const Manifest> manifests,
                       json::Arena& arena) {
    return SpotOf(arena, manifests,
                  {policy.object["spec"]["matchConstraints"],
                   BindingOf(policy, manifests)["spec"]["matchResources"]},
                  policy.name);
  }

  std::string NamespaceText() const {
    std::string text;
    if (spot_.ns_labels.is_object()) {
      text =
          base::StrCat("objects:\n- {apiVersion: v1, kind: Namespace, metadata: {name: ", spot_.ns,
                       ", labels: ", json::ToString(spot_.ns_labels), "}}\n");
    }
    if (spot_.ns != "default") text += base::StrCat("namespace: ", spot_.ns, "\n");
    return text;
  }

  std::string TextOf(std::span<const NewCase> cases, std::span<const Result> judged) const {
    std::string out =
        base::StrCat("apiVersion: portcullis.dev/v1\nkind: Test\nmetadata: {name: ", policy_.name,
                     "}\nfiles: [", base::Join(files_, ", "), "]\n", NamespaceText(), "object:\n",
                     SampleText(sample_, spot_.labels), "cases:\n");
    for (std::size_t i = 0; i < cases.size(); ++i) {
      out += CaseText(cases[i], policy_.name, i < judged.size() ? &judged[i] : nullptr);
    }
    return out;
  }

  bool IsComplete() const {
    return reached_.goals() == reached_.reached() || cases_.size() >= kMostCases;
  }

  // Each edit added to cases that have one less.
  std::vector<NewCase> Extended(int count) const {
    std::vector<NewCase> out;
    for (const NewCase& base : cases_) {
      if (base.edits.size() + 1 != static_cast<std::size_t>(count)) continue;
      for (const TestEdit& edit : edits_.edits) {
        if (out.size() == kMostCandidates) return out;
        if (base.operation == "DELETE" && edit.of == TestEdit::Of::kObject) continue;
        if (base.operation == "CREATE" && edit.of == TestEdit::Of::kOldObject) continue;
        const bool known =
            std::any_of(base.edits.begin(), base.edits.end(), [&](const TestEdit* other) {
              return other->of == edit.of && other->path == edit.path;
            });
        if (known) continue;
        NewCase one{"", base.operation, base.edits, {}};
        one.edits.push_back(&edit);
        out.push_back(std::move(one));
      }
    }
    return out;
  }

  // Keeps those that reach something new.
  base::Status Try(std::span<const NewCase> candidates) {
    if (candidates.empty()) return base::OkStatus();
    Inputs draft;
    ReadText(path_, TextOf(candidates, {}), true, draft);
    Suites suites = ReadSuites(draft.tests);
    if (!suites.problems.empty() || suites.suites.empty()) {
      return base::InternalError(base::StrCat(
          "a draft of the test cannot be read",
          suites.problems.empty() ? "" : base::StrCat(": ", suites.problems.front().message)));
    }
    Suite& suite = suites.suites.front();
    Judging judging(suite.inputs, options_);
    TRY(judging.Begin());
    if (edits_.edits.empty()) FindEdits(judging);
    for (std::size_t i = 0; i < suite.cases.size() && !IsFull(); ++i) {
      Result judged;
      judging.JudgeReview(suite.cases[i].review, false, judged);
      PolicyCoverage now = counter_.Of(policy_);
      const bool is_plain = candidates[i].edits.empty();
      if (is_plain || now.reached() > reached_.reached()) {
        cases_.push_back(Described(candidates[i], now));
      }
      reached_ = std::move(now);
    }
    return base::OkStatus();
  }
  bool IsFull() const { return cases_.size() >= kMostCases; }

  void FindEdits(const Judging& judging) {
    const auto catalog = judging.cluster().world().catalog->Get();
    const api::schema::Schema* schema = catalog->FindSchema(
        {std::string(sample_.group()), std::string(sample_.version()), std::string(sample_.kind)});
    edits_ = EditsFor(policy_, schema, object_.manifests.front().object);
  }

  // With a name and comments that say what it is the first to reach.
  NewCase Described(NewCase one, const PolicyCoverage& now) const {
    for (std::size_t i = 0; i < now.points.size(); ++i) {
      const CoveragePoint& point = now.points[i];
      if (!point.decides) continue;
      const CoveragePoint before =
          i < reached_.points.size() ? reached_.points[i] : CoveragePoint();
      const std::string text = OneLine(point.text);
      if (point.held > 0 && before.held == 0) {
        one.comments.push_back(base::StrCat(point.path, " is true: ", text));
        if (one.name.empty()) one.name = Shortened(base::StrCat(text, " is true"));
      }
      if (point.failed > 0 && before.failed == 0) {
        one.comments.push_back(base::StrCat(point.path, " is false: ", text));
        if (one.name.empty()) one.name = Shortened(base::StrCat(text, " is false"));
      }
    }
    if (one.name.empty()) one.name = base::StrCat("case ", std::to_string(cases_.size()));
    if (one.operation != "CREATE" && !one.edits.empty()) {
      one.name = base::StrCat(one.operation, ": ", one.name);
    }
    return one;
  }

  // For what no case reaches.
  void AddOpenCases() {
    std::set<std::string> known;
    for (const CoveragePoint& point : reached_.points) {
      if (!point.decides || IsFull()) continue;
      const std::string text = OneLine(point.text);
      const auto add = [&](std::string_view result) {
        if (!known.insert(base::StrCat(text, " ", result)).second) return;
        NewCase one{Shortened(base::StrCat(text, " is ", result)), operations_.front(), {}, {}};
        one.comments.push_back(base::StrCat("set what makes it ", result, ": ", text));
        one.is_open = true;
        cases_.push_back(std::move(one));
      };
      if (point.held == 0) add("true");
      if (point.failed == 0) add("false");
    }
  }

  json::Arena arena_;  // of the spot
  const Manifest& policy_;
  const Sample& sample_;
  const Spot spot_;
  const std::string path_;
  const std::vector<std::string> files_;
  JudgeOptions options_;
  std::vector<std::string_view> operations_;
  Inputs object_;  // the sample
  TestEdits edits_;
  CoverageCounter counter_;
  PolicyCoverage reached_;
  std::vector<NewCase> cases_;
};

// The files as the test file names them.
std::vector<std::string> FilesOf(const std::filesystem::path& policy,
                                 std::span<const std::string> more) {
  std::vector<std::string> files = {policy.filename().string()};
  const std::filesystem::path folder =
      policy.has_parent_path() ? policy.parent_path() : std::filesystem::path(".");
  for (const std::string& file : more) {
    std::error_code error;
    files.push_back(std::filesystem::proximate(file, folder, error).string());
  }
  return files;
}

}  // namespace

base::Result<InitialTest> MakeInitialTest(const std::string& file,
                                          std::span<const std::string> more,
                                          const JudgeOptions& options) {
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
  const std::filesystem::path path(file);
  InitialTest made;
  made.path = (path.parent_path() / path.stem()).string() + ".test.yaml";
  InputOptions all = paths;
  all.filenames.assign(more.begin(), more.end());
  const Inputs known = ReadInputs(all);
  if (BindingOf(*found, known.manifests).is_null()) {
    return base::ConfigError(base::StrCat(file, ": no binding of ", found->kind, " ", found->name,
                                          " is there, and without one it judges nothing: give "
                                          "the binding's file with -f"));
  }
  Draft draft(*found, known.manifests, made.path, FilesOf(path, more), options);
  TRY(draft.Search());
  // The verdicts are those that the cases have today.
  Inputs written;
  ReadText(made.path, draft.Text({}), true, written);
  const Report report = TRY(RunTests(written, options));
  made.text = draft.Text(report.results);
  return made;
}

}  // namespace portcullis::offline

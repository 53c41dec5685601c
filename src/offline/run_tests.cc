// SPDX-License-Identifier: Apache-2.0

// RunTests(): suites of test files, each in a cluster of its own, on several threads if asked for.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/strings.h"
#include "offline/judge.h"
#include "offline/judging.h"
#include "offline/lint/never_matching.h"
#include "offline/suites/compare.h"
#include "offline/suites/correct.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

std::string PathOf(const Manifest& manifest) {
  return std::filesystem::path(manifest.source->path()).lexically_normal().string();
}

// What became of one suite.
struct SuiteReport {
  base::Status status;  // not OK: flags that do not fit
  Report report;
};

// Of cases: nothing of their objects but the objects themselves is judged.
JudgeOptions OptionsOf(const JudgeOptions& options, CoverageCounter& counter) {
  JudgeOptions own = options;
  own.coverage = options.covers ? &counter : nullptr;
  own.asks = Asks::kCreateOrUpdate;
  own.traces = false;
  own.expand = false;
  own.run.reset();
  return own;
}

class SuiteRun {
 public:
  SuiteRun(Suite& suite, std::span<const Manifest> shared, const JudgeOptions& options)
      : suite_(suite), shared_(shared), options_(OptionsOf(options, counter_)) {
    if (suite.drops_unknown_fields) options_.cluster.validation = engine::FieldValidation::kWarn;
  }

  SuiteReport Run(const std::optional<Pattern>& chosen) {
    SuiteReport out;
    Inputs& inputs = suite_.inputs;
    inputs.manifests.insert(inputs.manifests.end(), shared_.begin(), shared_.end());
    out.report.files = inputs.files;
    out.report.problems = inputs.problems;
    const bool runs = std::any_of(suite_.cases.begin(), suite_.cases.end(), [&](const Case& one) {
      return one.not_ours.empty() && IsChosen(one, chosen);
    });
    std::optional<Judging> judging;
    if (runs) {
      judging.emplace(inputs, options_);
      out.status = judging->Begin();
      if (!out.status.ok()) return out;
      for (const Problem& problem : judging->report().problems) {
        out.report.problems.push_back(problem);
      }
      for (const Result& given : judging->report().results) {
        if (IsRefusal(given.verdict)) out.report.problems.push_back({given.place, given.message});
      }
      NoteRulesWithoutResources(*judging, out.report);
    }
    if (options_.progress != nullptr) options_.progress->Expect(suite_.cases.size());
    for (Case& one : suite_.cases) {
      if (options_.progress != nullptr) options_.progress->Done();
      // Steps follow from each other: all are carried out.
      if (!IsChosen(one, chosen) && !suite_.steps) continue;
      Result judged = one.not_ours.empty() ? JudgeCase(*judging, one) : Result();
      if (!IsChosen(one, chosen)) continue;
      out.report.results.push_back(Compare(one, suite_.name, judged));
      if (!options_.corrects || !IsRefusal(out.report.results.back().verdict)) continue;
      if (auto correction = Correct(one, suite_.name, judged)) {
        out.report.corrections.push_back(*std::move(correction));
      }
    }
    if (options_.covers) AddCoverage(out.report);
    return out;
  }

 private:
  // A policy that never matches lets everything pass, and so do its tests.
  void NoteRulesWithoutResources(const Judging& judging, Report& report) const {
    const auto catalog = judging.cluster().world().catalog->Get();
    for (const auto* manifests : {&suite_.inputs.manifests, &suite_.inputs.given}) {
      for (const Manifest& manifest : *manifests) {
        if (!IsPolicy(manifest)) continue;
        const json::Value rules = manifest.object["spec"]["matchConstraints"]["resourceRules"];
        for (std::size_t i = 0; i < rules.size(); ++i) {
          if (!MatchesNothing(*catalog, rules[i])) continue;
          report.problems.push_back(
              {manifest.Find(std::vector<std::string>{"spec", "matchConstraints", "resourceRules",
                                                      std::to_string(i)}),
               base::StrCat("the rule of ", manifest.kind, " ", manifest.name,
                            " matches nothing: no resource that is served has this group, "
                            "version and name")});
        }
      }
    }
  }

  void AddCoverage(Report& report) const {
    for (const auto* manifests : {&suite_.inputs.manifests, &suite_.inputs.given}) {
      for (const Manifest& manifest : *manifests) {
        if (IsPolicy(manifest)) MergeCoverage(report.coverage, {counter_.Of(manifest)});
      }
    }
  }

  bool IsChosen(const Case& one, const std::optional<Pattern>& chosen) const {
    return !chosen || chosen->Finds(base::StrCat(suite_.name, "/", one.name));
  }

  Result JudgeCase(Judging& judging, Case& one) const {
    Result judged;
    if (!one.request) {
      judging.JudgeReview(one.review, suite_.steps, judged);
      return judged;
    }
    judging.JudgeHttp(*one.request, one.review.user, one.review.manifest, judged);
    bool again = one.may_meet_own && judged.code == 409 && judging.GiveWayTo(*one.request);
    if (one.may_lack_object && judged.code == 404) {
      again = judging.GiveObjectOf(*one.request, one.review.old_object);
      if (!again) one.not_ours = "requests about objects that were created before";
    }
    if (!again) return judged;
    judged = Result();
    judging.JudgeHttp(*one.request, one.review.user, one.review.manifest, judged);
    return judged;
  }

  Suite& suite_;
  const std::span<const Manifest> shared_;
  CoverageCounter counter_;
  JudgeOptions options_;
};

// Runs all suites; the order of the reports is theirs.
std::vector<SuiteReport> RunAll(std::vector<Suite>& suites, std::span<const Manifest> shared,
                                const JudgeOptions& options) {
  std::vector<SuiteReport> reports(suites.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> ended = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < suites.size() && !ended; i = next++) {
      reports[i] = SuiteRun(suites[i], shared, options).Run(options.run);
      ended = ended || (options.fail_fast && reports[i].report.refusals() > 0);
    }
  };
  const std::size_t wanted =
      options.threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : options.threads;
  const std::size_t threads = std::min(wanted, suites.size());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return reports;
}

// Manifests that stand beside tests and in no test.
void NoteOthers(std::span<const Manifest> own, const std::set<std::string>& used, Report& report) {
  const auto others = std::count_if(own.begin(), own.end(), [&](const Manifest& manifest) {
    return !used.contains(PathOf(manifest));
  });
  if (others == 0) return;
  report.notes.push_back(base::StrCat(std::to_string(others),
                                      others == 1 ? " manifest is" : " manifests are",
                                      " not judged beside tests: name files without tests"));
}

}  // namespace

void NoteNotRun(Report& report) {
  std::map<std::string, std::size_t> reasons;
  std::size_t count = 0;
  for (const Result& result : report.results) {
    if (result.verdict != Verdict::kSkip) continue;
    ++count;
    ++reasons[result.message];
  }
  if (count == 0) return;
  // The most frequent reasons; -v and the other forms have that of each case.
  constexpr std::size_t kMost = 12;
  std::vector<std::pair<std::size_t, std::string_view>> order;
  for (const auto& [reason, times] : reasons) order.emplace_back(times, reason);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (const auto& [times, reason] : order) {
    if (texts.size() == kMost) break;
    texts.push_back(base::StrCat(reason, " (", std::to_string(times), ")"));
  }
  if (order.size() > kMost) {
    texts.push_back(base::StrCat(std::to_string(order.size() - kMost), " other reasons"));
  }
  report.notes.push_back(base::StrCat(
      std::to_string(count),
      count == 1 ? " case is not run: " : " cases are not run: ", base::Join(texts, ", ")));
}

base::Result<Report> RunTests(const Inputs& inputs, const JudgeOptions& options) {
  Report report;
  report.problems = inputs.problems;
  report.files = inputs.files;
  report.ignored = inputs.ignored;
  Suites suites = ReadSuites(inputs.tests);
  report.problems.insert(report.problems.end(), suites.problems.begin(), suites.problems.end());
  std::set<std::string> used;  // the files that tests name
  std::set<std::string> noted;
  for (const Suite& suite : suites.suites) {
    for (const Manifest& given : suite.inputs.manifests) used.insert(PathOf(given));
    for (const Manifest& given : suite.inputs.given) used.insert(PathOf(given));
    for (const Case& one : suite.cases) used.insert(PathOf(one.review.manifest));
    for (const std::string& note : suite.notes) {
      if (noted.insert(note).second) report.notes.push_back(note);
    }
  }
  // Files of --filename belong to the cluster of every test.
  const std::span<const Manifest> shared = std::span(inputs.manifests).subspan(inputs.own);
  for (SuiteReport& one : RunAll(suites.suites, shared, options)) {
    TRY(one.status);
    Report& added = one.report;
    report.files += added.files;
    for (Problem& problem : added.problems) {
      const std::string key = base::StrCat(problem.place.ToString(), problem.message);
      if (noted.insert(key).second) report.problems.push_back(std::move(problem));
    }
    std::move(added.results.begin(), added.results.end(), std::back_inserter(report.results));
    MergeCoverage(report.coverage, std::move(added.coverage));
    std::move(added.corrections.begin(), added.corrections.end(),
              std::back_inserter(report.corrections));
  }
  NoteNotRun(report);
  NoteOthers(std::span(inputs.manifests).first(inputs.own), used, report);
  return report;
}

}  // namespace portcullis::offline

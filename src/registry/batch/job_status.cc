// SPDX-License-Identifier: Apache-2.0

#include "registry/batch/job_status.h"

#include <algorithm>
#include <set>

#include "api/condition.h"
#include "base/strings.h"
#include "registry/batch/job_indexes.h"

namespace portcullis::registry {

namespace {

// The conditions by which a job ends.
struct Conditions {
  explicit Conditions(json::Value job)
      : complete(api::HasTrueCondition(job, "Complete")),
        failed(api::HasTrueCondition(job, "Failed")),
        failing(api::HasTrueCondition(job, "FailureTarget")),
        succeeding(api::HasTrueCondition(job, "SuccessCriteriaMet")) {}

  bool finished() const { return complete || failed; }

  const bool complete;
  const bool failed;
  const bool failing;
  const bool succeeding;
};

class Checker {
 public:
  Checker(const Context& ctx, json::Value job, json::Value old, FieldErrors& errors)
      : job_(job),
        old_(old),
        status_(job["status"]),
        is_(job),
        was_(old),
        of_others_(ctx.release->GateEnabled("JobManagedBy")),
        success_of_all_(of_others_ || ctx.release->GateEnabled("JobPodReplacementPolicy") ||
                        was_.succeeding),
        errors_(errors) {}

  // In the order of Kubernetes.
  void Run() {
    for (const std::string_view field : {"active", "succeeded", "failed", "ready", "terminating"}) {
      CheckNonNegative(status_[field], Path(field), errors_);
    }
    UncountedPods();
    if (of_others_) {
      Conclusions();
      FinishedJob();
      Indexes();
      Pods();
    }
    Success();
    if (of_others_) Transitions();
    RefuseConditions(was_.succeeding && !is_.succeeding,
                     "cannot disable the SuccessCriteriaMet=True condition");
    RefuseConditions(was_.complete && !was_.succeeding && is_.succeeding,
                     "cannot set SuccessCriteriaMet=True for Job already has Complete=true "
                     "conditions");
  }

 private:
  static FieldPath Path(std::string_view field) { return FieldPath("status", field); }

  bool Changed(std::string_view field) const { return !(status_[field] == old_["status"][field]); }
  bool FinishChanged() const { return is_.finished() != was_.finished(); }
  bool CompleteChanged() const { return is_.complete != was_.complete; }

  void Refuse(std::string_view field, api::BadValue value, std::string_view text) {
    errors_.push_back(api::Invalid(Path(field), std::move(value), text));
  }
  void RefuseConditions(bool wrong, std::string_view text) {
    if (wrong) Refuse("conditions", api::BadValue::Omitted(), text);
  }

  void UncountedPods() {
    std::set<std::string_view> seen;
    for (const std::string_view list : {"succeeded", "failed"}) {
      std::size_t index = 0;
      for (const json::Value& uid : status_["uncountedTerminatedPods"][list].elements()) {
        const FieldPath at = Path("uncountedTerminatedPods").Child(list).Index(index++);
        if (uid.AsString().empty()) {
          errors_.push_back(api::Invalid(at, "", "must not be empty"));
        } else if (!seen.insert(uid.AsString()).second) {
          errors_.push_back(api::Duplicate(at, uid.AsString()));
        }
      }
    }
  }

  void Conclusions() {
    const bool complete_changed = CompleteChanged();
    RefuseConditions((complete_changed || is_.failed != was_.failed) && is_.complete && is_.failed,
                     "cannot set Complete=True and Failed=true conditions");
    RefuseConditions(
        (complete_changed || is_.failing != was_.failing) && is_.complete && is_.failing,
        "cannot set Complete=True and FailureTarget=true conditions");
    const json::Value end = status_["completionTime"];
    const json::Value start = status_["startTime"];
    if (complete_changed || Changed("completionTime")) {
      if (!end.is_null() && !is_.complete) {
        Refuse("completionTime", end,
               "cannot set completionTime when there is no Complete=True condition");
      }
      if (end.is_null() && is_.complete) {
        errors_.push_back(
            api::Required(Path("completionTime"), "completionTime is required for Complete jobs"));
      }
    }
    if ((Changed("startTime") || Changed("completionTime")) && !start.is_null() && !end.is_null() &&
        end.AsString() < start.AsString()) {
      Refuse("completionTime", end, "must be equal to or after `startTime`");
    }
    RefuseConditions(
        (is_.failed != was_.failed || Changed("failedIndexes")) && is_.failed && !is_.failing,
        "cannot set Failed=True condition without the FailureTarget=true condition");
    RefuseConditions(
        (complete_changed || is_.succeeding != was_.succeeding) && is_.complete && !is_.succeeding,
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
  }

  void FinishedJob() {
    if (!is_.finished()) return;
    if ((FinishChanged() || Changed("active")) && status_["active"].AsInt() > 0) {
      Refuse("active", status_["active"].AsInt(), "active>0 is invalid for finished job");
    }
    const json::Value spec = job_["spec"];
    const bool nothing_to_do = spec["suspend"].AsBool() && !spec["completions"].is_null() &&
                               spec["completions"].AsInt() == 0;
    if ((FinishChanged() || Changed("startTime")) && !nothing_to_do &&
        status_["startTime"].is_null()) {
      errors_.push_back(api::Required(Path("startTime"), "startTime is required for finished job"));
    }
    const json::Value pods = status_["uncountedTerminatedPods"];
    if ((FinishChanged() || Changed("uncountedTerminatedPods")) &&
        !(pods["succeeded"].empty() && pods["failed"].empty())) {
      Refuse("uncountedTerminatedPods",
             api::BadValue::Raw(StructJson(
                 {{"Succeeded", Json(pods["succeeded"])}, {"Failed", Json(pods["failed"])}})),
             "must be empty for finished job");
    }
  }

  void Indexes() {
    const json::Value spec = job_["spec"];
    const json::Value completed = status_["completedIndexes"];
    const json::Value failed = status_["failedIndexes"];
    const bool by_index = !spec["backoffLimitPerIndex"].is_null();
    const bool counted = !spec["completions"].is_null();
    const JobIndexes done = ParseJobIndexes(completed.AsString(), spec["completions"].AsInt());
    const JobIndexes lost = ParseJobIndexes(failed.AsString(), spec["completions"].AsInt());
    const auto check_format = [&](std::string_view field, const JobIndexes& indexes) {
      if (indexes.wrong.empty()) return;
      Refuse(field, status_[field].AsString(),
             base::StrCat("error parsing ", field, ": ", indexes.wrong));
    };
    if (Changed("completedIndexes") && counted) check_format("completedIndexes", done);
    if (Changed("failedIndexes") && counted && by_index) check_format("failedIndexes", lost);
    if (Changed("completedIndexes") && !completed.AsString().empty() &&
        spec["completionMode"].AsString() != "Indexed") {
      Refuse("completedIndexes", completed.AsString(),
             "cannot set non-empty completedIndexes when non-indexed completion mode");
    }
    if (Changed("failedIndexes") && !by_index && !failed.is_null()) {
      Refuse("failedIndexes", failed.AsString(),
             "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if (!(Changed("failedIndexes") || Changed("completedIndexes")) || !counted) return;
    for (const auto& [first, last] : done.intervals) {
      for (const auto& [other_first, other_last] : lost.intervals) {
        if (first > other_last || other_first > last) continue;
        Refuse("failedIndexes", failed.AsString(),
               base::StrCat("failedIndexes and completedIndexes overlap at index: ",
                            std::to_string(std::max(first, other_first))));
        return;
      }
    }
  }

  void Pods() {
    if ((FinishChanged() || Changed("terminating")) && is_.finished() &&
        status_["terminating"].AsInt() > 0) {
      Refuse("terminating", status_["terminating"].AsInt(),
             "terminating>0 is invalid for finished job");
    }
    if ((Changed("ready") || Changed("active")) && !status_["ready"].is_null() &&
        status_["ready"].AsInt() > status_["active"].AsInt()) {
      Refuse("ready", status_["ready"].AsInt(), "cannot set more ready pods than active");
    }
  }

  void Success() {
    const json::Value spec = job_["spec"];
    RefuseConditions(
        !success_of_all_ && spec["completionMode"].AsString() != "Indexed" && is_.succeeding,
        "cannot set SuccessCriteriaMet to NonIndexed Job");
    RefuseConditions(is_.succeeding && is_.failed,
                     "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    RefuseConditions(is_.succeeding && is_.failing,
                     "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    RefuseConditions(!success_of_all_ && spec["successPolicy"].is_null() && is_.succeeding,
                     "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy");
    RefuseConditions(!spec["successPolicy"].is_null() && !is_.succeeding && is_.complete,
                     "cannot set Complete=True for Job with SuccessPolicy unless "
                     "SuccessCriteriaMet=True");
  }

  void Transitions() {
    for (const std::string_view type : {"Failed", "Complete", "FailureTarget"}) {
      RefuseConditions(api::HasTrueCondition(old_, type) && !api::HasTrueCondition(job_, type),
                       base::StrCat("cannot disable the terminal ", type, "=True condition"));
    }
    const json::Value spec = job_["spec"];
    const bool elastic = spec["completionMode"].AsString() == "Indexed" &&
                         spec["completions"] == spec["parallelism"];
    for (const std::string_view field : {"failed", "succeeded"}) {
      if (field == "succeeded" && elastic) continue;
      if (status_[field].AsInt() >= old_["status"][field].AsInt()) continue;
      Refuse(field, status_[field].AsInt(),
             base::StrCat("cannot decrease the ", field, " counter"));
    }
    const json::Value end = status_["completionTime"];
    if (!end.is_null() && !old_["status"]["completionTime"].is_null() &&
        Changed("completionTime")) {
      Refuse("completionTime", end, "field is immutable");
    }
    const bool resumes = api::HasTrueCondition(old_, "Suspended") &&
                         api::ConditionOf(job_, "Suspended")["status"].AsString() == "False";
    if (!old_["status"]["startTime"].is_null() && Changed("startTime") &&
        !spec["suspend"].AsBool() && !resumes) {
      Refuse("startTime", status_["startTime"], "field is immutable for unsuspended job once set");
    }
  }

  const json::Value job_;
  const json::Value old_;
  const json::Value status_;
  const Conditions is_;
  const Conditions was_;
  const bool of_others_;       // controllers of others may write it: everything is checked
  const bool success_of_all_;  // any Job may be said to have succeeded
  FieldErrors& errors_;
};

}  // namespace

void CheckJobStatus(const Context& ctx, json::Value job, json::Value old, FieldErrors& errors) {
  Checker(ctx, job, old, errors).Run();
}

}  // namespace portcullis::registry

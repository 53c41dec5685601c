// SPDX-License-Identifier: Apache-2.0

// The name of a Job is made of the minute for which it is made, so that none is made twice. What was
// missed is made up for once, with the latest time. Schedules are in UTC: a CronJob with another
// timeZone makes no Jobs (pkg/controller/cronjob).
#include "controllers/workloads/cron_job.h"

#include <algorithm>
#include <utility>

#include "api/condition.h"
#include "base/strings.h"
#include "controllers/workloads/workload.h"
#include "golang/time.h"
#include "registry/batch/schedule.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::NameOf;

constexpr workloads::OwnerKind kCronJobs{"batch", "v1", "cronjobs", "CronJob",
                                         "cronjob-controller"};
const api::GroupVersionResource kJobs{"batch", "v1", "jobs"};
constexpr std::string_view kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr int kMostMissed = 100000;  // looked at to find the latest

// "Complete" or "Failed" of a Job that has ended, "" of others.
std::string_view EndOf(Value job) {
  for (const std::string_view type : {"Complete", "Failed"}) {
    if (api::HasTrueCondition(job, type)) return type;
  }
  return {};
}

bool IsUtc(Value zone) {
  const std::string_view name = zone.AsString("UTC");
  return name == "UTC" || name == "Etc/UTC" || name == "Etc/GMT" || name == "GMT";
}

class CronJobs final : public workloads::WorkloadController {
 public:
  explicit CronJobs(const ControllerContext& context) : WorkloadController(context, kCronJobs) {}

 private:
  struct State {
    Value cron;
    std::vector<Value> active;
    Value last_schedule;
    Value last_success;
  };

  base::Result<std::optional<base::Duration>> Sync(Value cron) override {
    State state;
    state.cron = cron;
    state.last_schedule = cron["status"]["lastScheduleTime"];
    state.last_success = cron["status"]["lastSuccessfulTime"];
    TRY(LookAtJobs(state));
    std::optional<base::Duration> again;
    if (!workloads::IsEnding(cron)) again = TRY(MakeDueJob(state));
    TRY(UpdateStatus(cron, StatusOf(state)));
    return again;
  }

  base::Status LookAtJobs(State& state) {
    std::vector<Value> complete;
    std::vector<Value> failed;
    for (const store::ObjectPtr& object :
         context().store.List({"batch", "jobs"}, workloads::NamespaceOf(state.cron))) {
      const Value job = Root(object);
      if (!workloads::IsControlledBy(job, state.cron)) continue;
      const std::string_view end = EndOf(job);
      if (end.empty()) {
        if (!workloads::IsEnding(job)) state.active.push_back(job);
        continue;
      }
      (end == "Complete" ? complete : failed).push_back(job);
      if (WasActive(state.cron, job)) {
        Record(state.cron, "Normal", "SawCompletedJob",
               {"Saw completed job: ", NameOf(job), ", condition: ", end});
      }
      const Value time = job["status"]["completionTime"];
      if (workloads::SecondsOf(time) > workloads::SecondsOf(state.last_success)) {
        state.last_success = time;
      }
    }
    const Value spec = state.cron["spec"];
    TRY(KeepLatest(state.cron, complete, spec["successfulJobsHistoryLimit"].AsInt(3)));
    return KeepLatest(state.cron, failed, spec["failedJobsHistoryLimit"].AsInt(1));
  }

  static bool WasActive(Value cron, Value job) {
    for (const Value& active : cron["status"]["active"].elements()) {
      if (active["uid"].AsString() == job["metadata"]["uid"].AsString()) return true;
    }
    return false;
  }

  base::Status DeleteJob(Value cron, Value job) {
    base::Status done = Delete(kJobs, job, "Background");
    if (done.ok()) {
      Record(cron, "Normal", "SuccessfulDelete", {"Deleted job ", NameOf(job)});
    } else {
      // The words of kube-controller-manager.
      Record(cron, "Warning", "FailedDelete", {"Deleted job: ", done.message()});
    }
    return done;
  }

  base::Status KeepLatest(Value cron, std::vector<Value> jobs, std::int64_t limit) {
    std::stable_sort(jobs.begin(), jobs.end(), [](Value a, Value b) {
      return workloads::SecondsOf(a["status"]["startTime"]) <
             workloads::SecondsOf(b["status"]["startTime"]);
    });
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(jobs.size()) - limit; ++i) {
      const Value job = jobs[static_cast<std::size_t>(i)];
      if (!workloads::IsEnding(job)) TRY(DeleteJob(cron, job));
    }
    return base::OkStatus();
  }

  base::Result<std::optional<base::Duration>> MakeDueJob(State& state) {
    const Value spec = state.cron["spec"];
    const auto schedule = registry::Schedule::Parse(spec["schedule"].AsString());
    if (spec["suspend"].AsBool() || !schedule || !IsUtc(spec["timeZone"])) {
      return std::optional<base::Duration>();
    }
    std::int64_t earliest = workloads::SecondsOf(state.last_schedule.is_null()
                                                     ? state.cron["metadata"]["creationTimestamp"]
                                                     : state.last_schedule);
    const Value deadline = spec["startingDeadlineSeconds"];
    if (!deadline.is_null()) earliest = std::max(earliest, now() - deadline.AsInt());
    std::optional<std::int64_t> due;
    std::optional<std::int64_t> next = schedule->Next(earliest);
    for (int missed = 0; next && *next <= now() && missed < kMostMissed; ++missed) {
      due = next;
      next = schedule->Next(*next);
    }
    if (due) TRY(MakeJob(state, *due));
    if (!next) return std::optional<base::Duration>();
    return std::optional<base::Duration>(
        std::chrono::seconds(std::max<std::int64_t>(*next - now(), 1)));
  }

  base::Status MakeJob(State& state, std::int64_t due) {
    const std::string_view policy = state.cron["spec"]["concurrencyPolicy"].AsString();
    if (policy == "Forbid" && !state.active.empty()) {
      Record(
          state.cron, "Normal", "JobAlreadyActive",
          {"Not starting job because prior execution is running and concurrency policy is Forbid"});
      return base::OkStatus();
    }
    if (policy == "Replace") {
      for (const Value& job : state.active) TRY(DeleteJob(state.cron, job));
      state.active.clear();
    }
    const std::string time = golang::FormatTime({due, 0});
    const Value template_ = state.cron["spec"]["jobTemplate"];
    json::ObjectBuilder metadata = Metadata(state.cron);
    metadata.Set("name", base::StrCat(NameOf(state.cron), "-", std::to_string(due / 60)));
    if (!template_["metadata"]["labels"].is_null()) {
      metadata.Set("labels", template_["metadata"]["labels"]);
    }
    metadata.Set("annotations", json::ObjectBuilder(arena(), template_["metadata"]["annotations"])
                                    .Set(kScheduledAt, time)
                                    .Build());
    const auto made = Create(kJobs, json::ObjectBuilder(arena())
                                        .Set("apiVersion", "batch/v1")
                                        .Set("kind", "Job")
                                        .Set("metadata", metadata.Build())
                                        .Set("spec", template_["spec"])
                                        .Build());
    if (!made.ok() && made.status().reason() != base::Reason::kAlreadyExists) {
      if (!workloads::IsOfEndingNamespace(made.status())) {
        Record(state.cron, "Warning", "FailedCreate",
               {"Error creating job: ", made.status().message()});
      }
      return made.status();
    }
    if (made.ok()) {
      Record(state.cron, "Normal", "SuccessfulCreate", {"Created job ", NameOf(*made)});
      state.active.push_back(*made);
    }
    state.last_schedule = json::String(arena(), time);
    return base::OkStatus();
  }

  Value StatusOf(const State& state) {
    json::ArrayBuilder active(arena());
    for (const Value& job : state.active) {
      active.Add(json::ObjectBuilder(arena())
                     .Set("kind", "Job")
                     .Set("namespace", workloads::NamespaceOf(job))
                     .Set("name", NameOf(job))
                     .Set("uid", job["metadata"]["uid"])
                     .Set("apiVersion", "batch/v1")
                     .Build());
    }
    json::ObjectBuilder status(arena());
    if (active.size() > 0) status.Set("active", active.Build());
    if (!state.last_schedule.is_null()) status.Set("lastScheduleTime", state.last_schedule);
    if (!state.last_success.is_null()) status.Set("lastSuccessfulTime", state.last_success);
    return status.Build();
  }
};

constexpr store::Collection kHears[] = {{"batch", "cronjobs"}, {"batch", "jobs"}};

}  // namespace

const ControllerInfo kCronJob = {
    .name = "cronjob-controller",
    .account = "cronjob-controller",
    .summary = "makes Jobs when CronJobs are due",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<CronJobs>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers

// SPDX-License-Identifier: Apache-2.0

#include "plugins/resource_quota/quota_rounds.h"

#include <algorithm>
#include <utility>

#include "plugins/common/state.h"

namespace portcullis::plugins::resource_quota {
namespace {

constexpr int kRetries = 3;

}  // namespace

base::Status QuotaRounds::Ask(const admission::Request& request,
                              const api::quota::Evaluator& evaluator,
                              std::chrono::steady_clock::time_point deadline)
    PC_NO_THREAD_SAFETY_ANALYSIS {  // the lock is given up while this thread does the work
  const std::shared_ptr<Line> line = LineOf(request.namespace_name());
  Asker self{&request, &evaluator, {}, false, false};
  base::MutexLock lock(line->mutex);
  line->waiting.push_back(&self);
  while (!self.done) {
    if (!line->busy) {
      std::vector<Asker*> round = std::exchange(line->waiting, {});
      line->busy = true;
      line->mutex.unlock();
      RunRound(request.namespace_name(), round);
      line->mutex.lock();
      line->busy = false;
      for (Asker* asker : round) asker->done = true;
      line->changed.NotifyAll();
      continue;
    }
    const bool in_time = line->changed.WaitUntil(line->mutex, deadline);
    if (in_time || self.done) continue;
    auto place = std::find(line->waiting.begin(), line->waiting.end(), &self);
    if (place == line->waiting.end()) {
      // Somebody is at it: the verdict must be awaited, for they hold a pointer to us.
      deadline = std::chrono::steady_clock::time_point::max();
      continue;
    }
    line->waiting.erase(place);
    return base::InternalError("resource quota evaluation timed out");
  }
  return self.verdict;
}

std::shared_ptr<QuotaRounds::Line> QuotaRounds::LineOf(const std::string& ns) {
  base::MutexLock lock(mutex_);
  std::shared_ptr<Line> line = lines_[ns].lock();
  if (line != nullptr) return line;
  std::erase_if(lines_, [](const auto& entry) { return entry.second.expired(); });
  line = std::make_shared<Line>();
  lines_[ns] = line;
  return line;
}

std::vector<RunningQuota> QuotaRounds::Load(const std::string& ns) const {
  std::vector<RunningQuota> quotas;
  for (store::ObjectPtr& object : common::List(reader_, "", "resourcequotas", ns)) {
    quotas.emplace_back(std::move(object));
  }
  return quotas;
}

void QuotaRounds::RunRound(const std::string& ns, const std::vector<Asker*>& askers) const {
  std::vector<RunningQuota> quotas = Load(ns);
  for (int retries = kRetries;; --retries) {
    for (Asker* asker : askers) {
      if (asker->decided) continue;
      bool charged = false;
      asker->verdict = checker_.Charge(*asker->request, *asker->evaluator, quotas, charged);
      asker->decided = !asker->verdict.ok() || !charged || asker->request->dry_run();
    }
    base::Status error;
    const std::vector<std::string> failed = Write(ns, quotas, error);
    if (failed.empty()) return;
    if (retries == 0) {
      for (Asker* asker : askers) {
        if (!asker->decided) asker->verdict = error;
      }
      return;
    }
    quotas = Load(ns);
    std::erase_if(quotas, [&](const RunningQuota& quota) {
      return std::find(failed.begin(), failed.end(), quota.name()) == failed.end();
    });
  }
}

std::vector<std::string> QuotaRounds::Write(const std::string& ns,
                                            const std::vector<RunningQuota>& quotas,
                                            base::Status& error) const {
  std::vector<std::string> failed;
  if (writer_ == nullptr) return failed;
  for (const RunningQuota& quota : quotas) {
    if (!quota.charged) continue;
    json::Arena arena;
    const json::Value object = json::SetPath(arena, quota.value(), {"status", "used"},
                                             api::quota::ResourcesToJson(arena, quota.used));
    const base::Result<json::Document> written =
        writer_->UpdateStatus({"", "v1", "resourcequotas"}, ns, quota.name(), object);
    if (written.ok()) continue;
    error = written.status();
    failed.emplace_back(quota.name());
  }
  return failed;
}

}  // namespace portcullis::plugins::resource_quota

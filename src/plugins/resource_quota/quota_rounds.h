// SPDX-License-Identifier: Apache-2.0

// Requests of one namespace are charged in rounds: all that wait are taken together, checked in the
// order of their arrival against one running copy of the quotas, and each changed quota is written
// once. One of the waiting threads does the work for all. A quota is thereby never exceeded by
// requests that run side by side in this server, and a write by somebody else shows as a conflict,
// after which the round is repeated on the new state.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "base/mutex.h"
#include "plugins/resource_quota/quota_checker.h"
#include "store/store.h"

namespace portcullis::plugins::resource_quota {

// Thread-safe.
class QuotaRounds {
 public:
  // All of them outlive the rounds; without a writer nothing is charged, only checked.
  QuotaRounds(const store::Reader* reader, admission::ClusterWriter* writer,
              const QuotaChecker& checker)
      : reader_(reader), writer_(writer), checker_(checker) {}

  // Waits for the request's verdict; `Internal error occurred: resource quota evaluation timed out`
  // if its round has not begun by the deadline.
  base::Status Ask(const admission::Request& request, const api::quota::Evaluator& evaluator,
                   std::chrono::steady_clock::time_point deadline);

 private:
  struct Asker {
    const admission::Request* request;
    const api::quota::Evaluator* evaluator;
    base::Status verdict;
    bool decided = false;  // by the round's checks; the others wait for the quotas to be written
    bool done = false;
  };
  struct Line {
    base::Mutex mutex;
    base::CondVar changed;
    std::vector<Asker*> waiting PC_GUARDED_BY(mutex);
    bool busy PC_GUARDED_BY(mutex) = false;
  };

  std::shared_ptr<Line> LineOf(const std::string& ns);
  std::vector<RunningQuota> Load(const std::string& ns) const;
  void RunRound(const std::string& ns, const std::vector<Asker*>& askers) const;
  // The names of the quotas that could not be written; `error` is the last failure.
  std::vector<std::string> Write(const std::string& ns, const std::vector<RunningQuota>& quotas,
                                 base::Status& error) const;

  const store::Reader* reader_;
  admission::ClusterWriter* writer_;
  const QuotaChecker& checker_;
  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<Line>> lines_ PC_GUARDED_BY(mutex_);  // by namespace
};

}  // namespace portcullis::plugins::resource_quota

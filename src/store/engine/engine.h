// SPDX-License-Identifier: Apache-2.0

// Engine is the Cache with a Journal behind it, into which one thread at a time commits; the memory
// and the embedded store are this with different journals.
//
// A write joins a queue; the first one to find no other at work becomes the leader, commits
// everything queued as one batch, publishes it, hands the lead to the first writer that came
// meanwhile, and wakes the writers of its batch. While one batch waits for the disk the next one
// gathers, so the number of disk syncs per second stays the same however many writers there are,
// and a lone writer pays for no thread switch. Writers that do not wait (Submit) are led by a
// thread of the engine's own. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "store/cache/cache.h"
#include "store/engine/journal.h"
#include "store/options.h"
#include "store/store.h"

namespace portcullis::store {

struct PendingWrite;

class Engine final : public Cache {
 public:
  Engine(std::unique_ptr<Journal> journal, Content content, const Options& options);
  ~Engine() override;

  void Submit(Change change, Done done) override;
  base::Status DeleteVersions(std::span<const Version> versions) override;
  base::Status Health() const override;
  bool IsStale(const Object& object) const override { return journal_->IsStale(object); }
  base::Status Backup(const std::string& path) override PC_EXCLUDES(journal_mutex_);

 private:
  struct Write;

  base::Result<ObjectPtr> Wait(Change change) override PC_EXCLUDES(queue_mutex_);
  // Waits until the writes, of which there is at least one, have been committed as part of one
  // batch, by this or another thread.
  void Await(std::span<Write> writes) PC_EXCLUDES(queue_mutex_);
  void Await(Write& write) PC_EXCLUDES(queue_mutex_);
  // Commits what is queued; `own` is among it.
  void Lead(Write& own) PC_EXCLUDES(queue_mutex_);
  std::vector<Write*> TakeQueue() PC_EXCLUDES(queue_mutex_);
  // The thread that leads when the first in the queue does not wait.
  base::Status StartCommitter() PC_REQUIRES(queue_mutex_);
  void WakeCommitter(int signal);
  void RunCommitter() PC_EXCLUDES(queue_mutex_);
  // Commits until the queue is empty.
  void LeadAll() PC_EXCLUDES(queue_mutex_);
  // Tells the writer, who may destroy the write at once.
  static void Answer(Write& write);
  void Process(const std::vector<Write*>& writes);
  // Commits and publishes the writes as one batch. A write that cannot be stored fails alone and is
  // returned: what the others were judged by has not happened then.
  PendingWrite* CommitBatch(std::span<Write* const> writes);
  void SetHealth(const base::Status& committed);
  // But for the deletions of what could not be read.
  void PublishReadable(const std::vector<EventPtr>& events);

  // Used by the leader, and by a backup between two commits.
  base::Mutex journal_mutex_;
  const std::unique_ptr<Journal> journal_;

  base::Mutex queue_mutex_;
  std::vector<Write*> queue_ PC_GUARDED_BY(queue_mutex_);
  bool has_leader_ PC_GUARDED_BY(queue_mutex_) = false;
  std::thread committer_ PC_GUARDED_BY(queue_mutex_);
  std::atomic<int> committer_signal_{0};

  mutable base::Mutex health_mutex_;
  base::Status health_ PC_GUARDED_BY(health_mutex_);
};

}  // namespace portcullis::store

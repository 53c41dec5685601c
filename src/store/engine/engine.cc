// SPDX-License-Identifier: Apache-2.0

#include "store/engine/engine.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/futex.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "store/engine/batch.h"
#include "store/engine/turn.h"

namespace portcullis::store {
namespace {

// What the committer is told.
enum : int { kIdle, kLeadAll, kEnd };

}  // namespace

// A write in the queue. Its writer waits for its turn, or has left behind what is to be called;
// then the queue owns it.
struct Engine::Write : PendingWrite {
  Turn turn;
  Done done;
};

Engine::Engine(std::unique_ptr<Journal> journal, Content content, const Options& options)
    : Cache(std::move(content), options), journal_(std::move(journal)) {}

Engine::~Engine() {
  std::thread committer;
  {
    base::MutexLock lock(queue_mutex_);
    committer.swap(committer_);
  }
  if (!committer.joinable()) return;
  WakeCommitter(kEnd);
  committer.join();
}

base::Result<ObjectPtr> Engine::Wait(Change change) {
  Write write;
  static_cast<Change&>(write) = std::move(change);
  Await(write);
  return std::move(write.result);
}

base::Status Engine::DeleteVersions(std::span<const Version> versions) {
  if (versions.empty()) return base::OkStatus();
  std::vector<Write> writes(versions.size());
  for (std::size_t i = 0; i < versions.size(); ++i) {
    writes[i].kind = Change::Kind::kDelete;
    writes[i].key = versions[i].key;
    writes[i].preconditions.revision = versions[i].revision;
  }
  Await(writes);
  for (const Write& write : writes) {
    const base::Reason reason = write.result.status().reason();
    const bool is_gone = reason == base::Reason::kNotFound || reason == base::Reason::kConflict;
    if (!write.result.ok() && !is_gone) return write.result.status();
  }
  return base::OkStatus();
}

void Engine::Submit(Change change, Done done) {
  auto write = std::make_unique<Write>();
  static_cast<Change&>(*write) = std::move(change);
  write->done = std::move(done);
  base::Status started;
  bool lead = false;
  {
    base::MutexLock lock(queue_mutex_);
    started = StartCommitter();
    if (started.ok()) {
      queue_.push_back(write.get());
      (void)write.release();  // the queue's from here on
      lead = !std::exchange(has_leader_, true);
    }
  }
  if (!started.ok()) return write->done(std::move(started));
  if (lead) WakeCommitter(kLeadAll);
}

void Engine::Await(Write& write) { Await(std::span<Write>(&write, 1)); }

void Engine::Await(std::span<Write> writes) {
  const base::NeedsMemory needs;  // what is in the queue must stay where it is
  Write& first = writes.front();
  bool lead = false;
  {
    base::MutexLock lock(queue_mutex_);
    for (Write& write : writes) queue_.push_back(&write);
    lead = !std::exchange(has_leader_, true);
  }
  // They are taken from the queue together, so only the first of them can be given the lead.
  if (!lead) lead = first.turn.Wait() == Turn::kLead;
  if (lead) Lead(first);
  for (Write& write : writes.subspan(1)) write.turn.Wait();
}

std::vector<Engine::Write*> Engine::TakeQueue() {
  base::MutexLock lock(queue_mutex_);
  return std::exchange(queue_, {});
}

void Engine::Answer(Write& write) {
  if (!write.done) return write.turn.Set(Turn::kDone);
  const std::unique_ptr<Write> owned(&write);
  const base::NeedsMemory needs;  // the thread that answers belongs to another request, or to none
  owned->done(std::move(owned->result));
}

base::Status Engine::StartCommitter() {
  if (committer_.joinable()) return base::OkStatus();
  try {
    committer_ = std::thread([this] { RunCommitter(); });
  } catch (const std::system_error& error) {
    return base::InternalError(base::StrCat("cannot start a thread: ", error.what()));
  }
  return base::OkStatus();
}

void Engine::WakeCommitter(int signal) {
  committer_signal_.store(signal, std::memory_order_release);
  base::FutexWake(committer_signal_);
}

void Engine::RunCommitter() {
  pthread_setname_np(pthread_self(), "committer");
  const base::NeedsMemory needs;
  while (true) {
    base::FutexWait(committer_signal_, kIdle);
    if (committer_signal_.exchange(kIdle, std::memory_order_acq_rel) == kEnd) return;
    LeadAll();
  }
}

void Engine::LeadAll() {
  while (true) {
    const std::vector<Write*> writes = TakeQueue();
    Process(writes);
    for (Write* write : writes) Answer(*write);
    base::MutexLock lock(queue_mutex_);
    if (queue_.empty()) {
      has_leader_ = false;
      return;
    }
  }
}

void Engine::Lead(Write& own) {
  const std::vector<Write*> writes = TakeQueue();
  Process(writes);
  Write* next = nullptr;
  {
    base::MutexLock lock(queue_mutex_);
    if (queue_.empty()) {
      has_leader_ = false;
    } else {
      next = queue_.front();
    }
  }
  // The next batch goes to the disk first, then this one's writers get their answers. A write may
  // be gone as soon as its turn is set.
  if (next != nullptr && next->done) {
    WakeCommitter(kLeadAll);
  } else if (next != nullptr) {
    next->turn.Set(Turn::kLead);
  }
  for (Write* write : writes) {
    if (write != &own) Answer(*write);
  }
}

PendingWrite* Engine::CommitBatch(std::span<Write* const> writes) {
  Batch batch(revision(), [this](const Key& key) {
    Place place = PlaceOf(key);
    if (!place.unreadable.ok()) place.stored = StubOf(key);
    return place;
  });
  for (Write* write : writes) batch.Add(*write);
  if (batch.events().empty()) return nullptr;
  std::optional<std::size_t> culprit;
  base::Status committed;
  {
    base::MutexLock lock(journal_mutex_);
    committed = journal_->Commit(batch.events(), culprit);
  }
  if (culprit) {
    PendingWrite* write = batch.writer(*culprit);
    write->result = std::move(committed);
    return write;
  }
  SetHealth(committed);
  if (committed.ok()) {
    PublishReadable(batch.events());
  } else {
    // Even a refusal may have been judged by a write of this batch that has not happened.
    for (Write* write : writes) write->result = committed;
  }
  return nullptr;
}

// Logs the first write that fails, and the first one after those that does not.
void Engine::SetHealth(const base::Status& committed) {
  base::MutexLock lock(health_mutex_);
  const bool changes = committed.ok() != health_.ok();
  health_ = committed;
  if (!changes) return;
  if (committed.ok()) {
    base::LogInfo("the store can be written again");
  } else {
    base::LogError("the store cannot be written", {{"error", committed.message()}});
  }
}

void Engine::PublishReadable(const std::vector<EventPtr>& events) {
  const auto key_of = [](const Event& event) {
    const Object& object = *event.object;
    return Key{object.group(), object.resource(), object.ns(), object.name()};
  };
  const auto is_unread = [&](const EventPtr& event) {
    return event->type == EventType::kDeleted && !WhyUnreadable(key_of(*event)).ok();
  };
  if (std::none_of(events.begin(), events.end(), is_unread)) return Publish(events);
  std::vector<EventPtr> told;
  for (const EventPtr& event : events) {
    if (is_unread(event)) {
      NoteReadable(key_of(*event));
    } else {
      told.push_back(event);
    }
  }
  if (!told.empty()) Publish(told);
}

void Engine::Process(const std::vector<Write*>& writes) {
  // A failure in the middle could leave memory behind what is on the disk.
  const base::NeedsMemory needs;
  std::vector<Write*> left = writes;
  while (PendingWrite* failed = CommitBatch(left)) std::erase(left, failed);
}

base::Status Engine::Backup(const std::string& path) {
  std::unique_ptr<JournalBackup> backup;
  {
    base::MutexLock lock(journal_mutex_);
    backup = TRY(journal_->StartBackup(path));
  }
  base::Result<bool> done = false;
  while (done.ok() && !*done) {
    // Lets a leader in that waits; releasing the lock alone does not.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    base::MutexLock lock(journal_mutex_);
    done = backup->Step();
  }
  base::MutexLock lock(journal_mutex_);
  base::Status finished = done.ok() ? backup->Finish() : std::move(done).status();
  backup.reset();
  return finished;
}

base::Status Engine::Health() const {
  base::MutexLock lock(health_mutex_);
  return health_;
}

}  // namespace portcullis::store

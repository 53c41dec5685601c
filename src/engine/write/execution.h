// SPDX-License-Identifier: Apache-2.0

// Execution: an operation as a sequence of steps that stops at each commit, so that no thread has
// to be held while the store writes.
//
//   while (auto write = execution.Advance()) execution.Committed(Commit(op, *std::move(write)));
//   return execution.TakeOutcome();
//
// That loop is Finish(), which waits. A caller that must not wait hands each write to the store and
// goes on with Committed() and Advance() when it has answered, on whatever thread that is.
//
// Confined to one thread at a time. The operation and what came with it outlive the execution.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/outcome.h"
#include "store/store.h"

namespace portcullis::engine {

// One write that an operation has come to.
struct PendingWrite {
  using Kind = store::Change::Kind;
  Kind kind = Kind::kCreate;
  const api::catalog::ResourceInfo* resource = nullptr;  // of the object; null: the operation's
  std::string ns;
  std::string name;
  store::Encoded encoded;     // of creates and updates
  std::int64_t expected = 0;  // the revision that updates and deletes replace
};

class Execution {
 public:
  virtual ~Execution() = default;
  // Runs to the next commit, or to the end: then nothing, and the outcome is known.
  virtual std::optional<PendingWrite> Advance() = 0;
  // What the store has answered to the write that Advance() returned last.
  virtual void Committed(base::Result<store::ObjectPtr> stored) = 0;
  // Once, after the end.
  virtual base::Result<Outcome> TakeOutcome() = 0;
};

// Writes, and waits for the store.
base::Result<store::ObjectPtr> Commit(const Operation& op, PendingWrite write);

// Writes all of them, in as few batches as the store will, and waits for all; the answers are in the
// order of the writes.
std::vector<base::Result<store::ObjectPtr>> CommitAll(const Operation& op,
                                                      std::vector<PendingWrite> writes);

// Runs to the end, waiting for each commit.
base::Result<Outcome> Finish(const Operation& op, Execution& execution);

// Runs to the end without waiting for a commit, and calls `done` with the outcome, once: before it
// returns, or later on the thread that `resume` chooses. `resume` is called on a thread of the store
// when that has answered; it runs the function that it is given, soon and on one thread at a time,
// or drops it, and with it the execution. `done` is destroyed when nothing else of it is left.
using Resume = std::function<void(std::function<void()>)>;
using Done = std::function<void(base::Result<Outcome>)>;
void Finish(Operation& op, std::unique_ptr<Execution> execution, Resume resume, Done done);

// An execution that has ended before it began: it writes nothing.
std::unique_ptr<Execution> MakeFinished(base::Result<Outcome> outcome);

}  // namespace portcullis::engine

// SPDX-License-Identifier: Apache-2.0

#include "engine/write/execution.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <latch>
#include <utility>

#include "engine/write/write.h"

namespace portcullis::engine {
namespace {

class FinishedExecution final : public Execution {
 public:
  explicit FinishedExecution(base::Result<Outcome> outcome) : outcome_(std::move(outcome)) {}
  std::optional<PendingWrite> Advance() override { return std::nullopt; }
  void Committed(base::Result<store::ObjectPtr>) override {}
  base::Result<Outcome> TakeOutcome() override { return std::move(outcome_); }

 private:
  base::Result<Outcome> outcome_;
};

// Takes the bytes out of the write; views its names.
store::Change ChangeOf(const Operation& op, PendingWrite& write) {
  store::Change change;
  change.kind = write.kind;
  change.key = KeyOf(write.resource ? *write.resource : *op.resource, write.ns, write.name);
  change.object = std::move(write.encoded);
  if (write.kind != PendingWrite::Kind::kCreate) change.preconditions.revision = write.expected;
  change.rules_revision = op.rules_revision;
  return change;
}

// Whether the store has judged a change by what it has, which may be old.
bool IsJudged(const base::Status& status) {
  constexpr base::Reason kReasons[] = {base::Reason::kAlreadyExists, base::Reason::kNotFound,
                                       base::Reason::kConflict, base::Reason::kExpired};
  return std::find(std::begin(kReasons), std::end(kReasons), status.reason()) != std::end(kReasons);
}

// An execution between its commits. The step that comes next holds it.
class Running : public std::enable_shared_from_this<Running> {
 public:
  Running(Operation& op, std::unique_ptr<Execution> execution, Resume resume, Done done)
      : op_(op),
        done_(std::move(done)),
        resume_(std::move(resume)),
        execution_(std::move(execution)) {}

  void Go() {
    write_ = execution_->Advance();
    if (!write_) return done_(execution_->TakeOutcome());
    op_.world.store->Submit(ChangeOf(op_, *write_),
                            [self = shared_from_this()](base::Result<store::ObjectPtr> stored) {
                              self->resume_([self, stored = std::move(stored)]() mutable {
                                if (stored.ok() || !IsJudged(stored.status())) {
                                  self->op_.is_settled = true;
                                }
                                self->execution_->Committed(std::move(stored));
                                self->Go();
                              });
                            });
  }

 private:
  Operation& op_;
  // Goes last: the caller may take its end for a sign that nothing of the execution is left. The
  // thread of the store may be the last to hold it, after the step that it has handed on.
  const Done done_;
  const Resume resume_;
  std::optional<PendingWrite> write_;  // the store views its names until it has answered
  // Goes first: it refers to the operation, which the functions may hold.
  const std::unique_ptr<Execution> execution_;
};

}  // namespace

base::Result<store::ObjectPtr> Commit(const Operation& op, PendingWrite write) {
  store::Store& store = *op.world.store;
  store::Change change = ChangeOf(op, write);
  switch (change.kind) {
    case store::Change::Kind::kCreate:
      return store.Create(change.key, std::move(change.object));
    case store::Change::Kind::kUpdate:
      return store.Update(change.key, std::move(change.object), change.preconditions);
    case store::Change::Kind::kDelete:
      return store.Delete(change.key, change.preconditions);
  }
  return base::InternalError("unknown write");
}

std::vector<base::Result<store::ObjectPtr>> CommitAll(const Operation& op,
                                                      std::vector<PendingWrite> writes) {
  std::vector<base::Result<store::ObjectPtr>> stored(writes.size(), store::ObjectPtr());
  std::latch left(static_cast<std::ptrdiff_t>(writes.size()));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    op.world.store->Submit(ChangeOf(op, writes[i]), [&, i](base::Result<store::ObjectPtr> answer) {
      stored[i] = std::move(answer);
      left.count_down();
    });
  }
  left.wait();
  return stored;
}

base::Result<Outcome> Finish(const Operation& op, Execution& execution) {
  while (auto write = execution.Advance()) execution.Committed(Commit(op, *std::move(write)));
  return execution.TakeOutcome();
}

void Finish(Operation& op, std::unique_ptr<Execution> execution, Resume resume, Done done) {
  const auto running =
      std::make_shared<Running>(op, std::move(execution), std::move(resume), std::move(done));
  running->Go();
}

std::unique_ptr<Execution> MakeFinished(base::Result<Outcome> outcome) {
  return std::make_unique<FinishedExecution>(std::move(outcome));
}

}  // namespace portcullis::engine

#include "engine/write/execution.h"

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

}  // namespace

base::Result<store::ObjectPtr> Commit(const Operation& op, PendingWrite write) {
  store::Store& store = *op.world.store;
  const api::catalog::ResourceInfo& resource = write.resource ? *write.resource : *op.resource;
  const store::Key key = KeyOf(resource, write.ns, write.name);
  store::Preconditions preconditions;
  preconditions.revision = write.expected;
  switch (write.kind) {
    case PendingWrite::Kind::kCreate:
      return store.Create(key, std::move(write.encoded));
    case PendingWrite::Kind::kUpdate:
      return store.Update(key, std::move(write.encoded), preconditions);
    case PendingWrite::Kind::kDelete:
      return store.Delete(key, preconditions);
  }
  return base::InternalError("unknown write");
}

base::Result<Outcome> Finish(const Operation& op, Execution& execution) {
  while (auto write = execution.Advance()) execution.Committed(Commit(op, *std::move(write)));
  return execution.TakeOutcome();
}

void Finish(const Operation& op, std::unique_ptr<Execution> execution, const Done& done) {
  done(Finish(op, *execution));
}

std::unique_ptr<Execution> MakeFinished(base::Result<Outcome> outcome) {
  return std::make_unique<FinishedExecution>(std::move(outcome));
}

}  // namespace portcullis::engine

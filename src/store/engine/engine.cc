// SPDX-License-Identifier: Apache-2.0

#include "store/engine/engine.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "api/api_status.h"
#include "base/futex.h"
#include "base/strings.h"
#include "store/engine/batch.h"
#include "store/engine/turn.h"
#include "store/shrink.h"

namespace portcullis::store {
namespace {

// What the committer is told.
enum : int { kIdle, kLeadAll, kEnd };

std::string PositionOf(const Key& key) {
  return key.ns.empty() ? std::string(key.name) : base::StrCat(key.ns, "/", key.name);
}

base::Status TooOld(std::int64_t asked, std::int64_t oldest) {
  return api::ResourceExpiredStatus(base::StrCat(
      "too old resource version: ", std::to_string(asked), " (", std::to_string(oldest), ")"));
}

base::Status ListTooOld(bool continued) {
  if (!continued) {
    return api::ResourceExpiredStatus("The resourceVersion for the provided list is too old.");
  }
  return api::ResourceExpiredStatus(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this "
      "response to retrieve the remainder of the results. Continuing with the provided token "
      "results in an inconsistent list - objects that were created, modified, or deleted between "
      "the time the first chunk was returned and now may show up in the list.");
}

base::Status TooLarge(std::int64_t asked, std::int64_t current) {
  auto status =
      api::TimeoutStatus(base::StrCat("Too large resource version: ", std::to_string(asked),
                                      ", current: ", std::to_string(current)),
                         1);
  base::StatusDetails details = status.details() ? *status.details() : base::StatusDetails();
  details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  return status.WithDetails(std::move(details));
}

}  // namespace

// A write in the queue. Its writer waits for its turn, or has left behind what is to be called;
// then the queue owns it.
struct Engine::Write : PendingWrite {
  Turn turn;
  Done done;
};

// A watch: where it stands in the history of its collection.
class Engine::WatchCursor final : public Watch {
 public:
  WatchCursor(Engine& engine, const CollectionState& collection, std::string_view ns,
              std::int64_t after, std::function<void()> ready)
      : engine_(engine),
        collection_(collection),
        ns_(ns),
        position_(after),
        listener_(std::make_shared<FanOut::Listener>(std::move(ready))) {
    engine_.fan_out_.Add(&collection_, ns_, listener_);
    listener_->Arm();
    // What has happened since `after` is announced at once; so is what happened while we came in.
    if (engine_.revision() > after) engine_.fan_out_.Wake(listener_);
  }
  ~WatchCursor() override { engine_.fan_out_.Remove(&collection_, ns_, *listener_); }

  base::Result<std::size_t> Poll(std::size_t max, std::vector<EventPtr>& out) override {
    std::size_t found = TRY(Look(max, out));
    if (found != 0) return found;
    // Armed before looking again, so that no change between the two is missed.
    listener_->Arm();
    return Look(max, out);
  }
  std::int64_t revision() const override { return position_; }

 private:
  base::Result<std::size_t> Look(std::size_t max, std::vector<EventPtr>& out) {
    base::ReaderLock lock(engine_.state_mutex_);
    if (std::int64_t floor = collection_.Floor(ns_); position_ < floor) {
      return TooOld(position_, floor);
    }
    std::size_t found = collection_.Events(ns_, position_, max, out);
    if (found < max) position_ = std::max(position_, engine_.revision());
    return found;
  }

  Engine& engine_;
  const CollectionState& collection_;
  const std::string ns_;
  std::int64_t position_;
  const std::shared_ptr<FanOut::Listener> listener_;
};

class Engine::Observation final : public Subscription {
 public:
  Observation(Engine& engine, const std::vector<Collection>& collections, Observer& observer)
      : engine_(engine), observer_(observer) {
    for (const Collection& c : collections) {
      names_.push_back({std::string(c.group), std::string(c.resource)});
    }
  }
  ~Observation() override {
    base::MutexLock lock(engine_.observers_mutex_);
    std::erase(engine_.observers_, this);
  }

  void Tell(const std::vector<EventPtr>& events) {
    if (names_.empty()) return observer_.OnCommit(events);
    std::vector<EventPtr> wanted;
    for (const EventPtr& event : events) {
      if (Wants(*event->object)) wanted.push_back(event);
    }
    if (!wanted.empty()) observer_.OnCommit(wanted);
  }

 private:
  bool Wants(const Object& object) const {
    for (const Name& name : names_) {
      if (name.resource == object.resource() && name.group == object.group()) return true;
    }
    return false;
  }

  Engine& engine_;
  Observer& observer_;
  std::vector<Name> names_;
};

std::size_t Engine::NameHash::operator()(const Collection& c) const {
  const std::hash<std::string_view> hash;
  return hash(c.resource) * 31 + hash(c.group);
}

Engine::Engine(std::unique_ptr<Journal> journal, Content content, const Options& options)
    : options_(options),
      journal_(std::move(journal)),
      first_revision_(content.revision),
      revision_(content.revision) {
  base::WriterLock lock(state_mutex_);
  for (ObjectPtr& object : content.objects) {
    const Collection name{object->group(), object->resource()};
    auto it = collections_.find(name);
    if (it == collections_.end()) {
      auto state = std::make_unique<CollectionState>(name, first_revision_);
      it = collections_.emplace(Name{object->group(), object->resource()}, std::move(state)).first;
    }
    it->second->Load(std::move(object));
  }
}

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

CollectionState* Engine::Find(const Collection& name) const {
  auto it = collections_.find(name);
  return it == collections_.end() ? nullptr : it->second.get();
}

CollectionState& Engine::FindOrAdd(const Collection& name) {
  {
    base::ReaderLock lock(state_mutex_);
    if (CollectionState* found = Find(name)) return *found;
  }
  base::WriterLock lock(state_mutex_);
  auto& state = collections_[Name{std::string(name.group), std::string(name.resource)}];
  if (state == nullptr) state = std::make_unique<CollectionState>(name, first_revision_);
  return *state;
}

ObjectPtr Engine::Get(const Key& key) const {
  const std::string position = PositionOf(key);
  base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(key.collection());
  return state == nullptr ? nullptr : state->Find(position);
}

std::vector<ObjectPtr> Engine::List(const Collection& collection, std::string_view ns) const {
  base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(collection);
  return state == nullptr ? std::vector<ObjectPtr>() : state->All(ns);
}

base::Result<Page> Engine::ListPage(const ListRequest& request) const {
  Page page;
  base::ReaderLock lock(state_mutex_);
  const std::int64_t current = revision();
  if (request.revision > current) return TooLarge(request.revision, current);
  page.revision = request.revision == 0 ? current : request.revision;
  const CollectionState* state = Find(request.collection);
  const std::int64_t floor = state == nullptr ? first_revision_ : state->Floor(request.ns);
  if (page.revision < floor) return ListTooOld(!request.after.empty());
  if (state == nullptr) return page;
  if (page.revision == current) {
    state->Newest(request, page);
  } else {
    state->AsOf(request, page);
  }
  return page;
}

std::size_t Engine::Count(const Collection& collection) const {
  base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(collection);
  return state == nullptr ? 0 : state->size();
}

base::Result<ObjectPtr> Engine::Create(const Key& key, Encoded object) {
  return Wait({Change::Kind::kCreate, key, std::move(object), {}});
}

base::Result<ObjectPtr> Engine::Update(const Key& key, Encoded object,
                                       const Preconditions& preconditions) {
  return Wait({Change::Kind::kUpdate, key, std::move(object), preconditions});
}

base::Result<ObjectPtr> Engine::Delete(const Key& key, const Preconditions& preconditions) {
  return Wait({Change::Kind::kDelete, key, {}, preconditions});
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
  Batch batch(revision(), [this](const Key& key, std::string_view position) {
    CollectionState& state = FindOrAdd(key.collection());
    base::ReaderLock lock(state_mutex_);
    return Batch::Place{state.name(), state.Find(position)};
  });
  for (Write* write : writes) batch.Add(*write);
  if (batch.events().empty()) return nullptr;
  std::optional<std::size_t> culprit;
  base::Status committed = journal_->Commit(batch.events(), culprit);
  if (culprit) {
    PendingWrite* write = batch.writer(*culprit);
    write->result = std::move(committed);
    return write;
  }
  {
    base::MutexLock lock(health_mutex_);
    health_ = committed;
  }
  if (committed.ok()) {
    Publish(batch.events());
  } else {
    // Even a refusal may have been judged by a write of this batch that has not happened.
    for (Write* write : writes) write->result = committed;
  }
  return nullptr;
}

void Engine::Process(const std::vector<Write*>& writes) {
  std::vector<Write*> left;
  left.reserve(writes.size());
  for (Write* write : writes) {
    if (write->call == nullptr) left.push_back(write);
  }
  while (PendingWrite* failed = CommitBatch(left)) std::erase(left, failed);
  for (Write* write : writes) {
    if (write->call != nullptr) (*write->call)();
  }
}

void Engine::Publish(const std::vector<EventPtr>& events) {
  std::vector<EventPtr> garbage;
  std::vector<FanOut::Change> changes;
  StaleVersions stale;
  {
    base::WriterLock lock(state_mutex_);
    for (const EventPtr& event : events) {
      CollectionState* state = Find({event->object->group(), event->object->resource()});
      changes.emplace_back(state, event->object->ns());
      state->Apply(event, options_, garbage);
      for (auto& version : state->TakeStale(options_)) stale.emplace_back(state, version);
    }
    revision_.store(events.back()->revision, std::memory_order_release);
  }
  NotifyObservers(events);
  Pack(stale, garbage);
  if (!fan_out_.idle()) fan_out_.Announce(std::move(changes));
}

void Engine::Pack(const StaleVersions& versions, std::vector<EventPtr>& garbage) {
  for (const auto& [state, stale] : versions) {
    // Only the leader changes what is stored, so nothing is missed between the two.
    const auto packed = PackedObject::Make(*stale.version);
    base::WriterLock lock(state_mutex_);
    state->Replace(stale, packed, garbage);
  }
}

void Engine::NotifyObservers(const std::vector<EventPtr>& events) {
  base::MutexLock lock(observers_mutex_);
  for (Observation* observation : observers_) observation->Tell(events);
}

base::Result<std::unique_ptr<Watch>> Engine::StartWatch(const WatchRequest& request,
                                                        std::function<void()> ready) {
  CollectionState& state = FindOrAdd(request.collection);
  std::int64_t after = request.after;
  {
    base::ReaderLock lock(state_mutex_);
    if (after == 0) after = revision();
    if (std::int64_t floor = state.Floor(request.ns); after < floor) return TooOld(after, floor);
  }
  return std::unique_ptr<Watch>(
      std::make_unique<WatchCursor>(*this, state, request.ns, after, std::move(ready)));
}

std::unique_ptr<Subscription> Engine::Subscribe(std::vector<Collection> collections,
                                                Observer& observer,
                                                const std::function<void()>& start) {
  auto observation = std::make_unique<Observation>(*this, collections, observer);
  const std::function<void()> begin = [&] {
    if (start) start();
    base::MutexLock lock(observers_mutex_);
    observers_.push_back(observation.get());
  };
  Write write;
  write.call = &begin;
  Await(write);
  return observation;
}

// Every store is an Engine.
void ShrinkHistory(Store& store) { static_cast<Engine&>(store).ShrinkHistory(); }

void ForgetDocuments(Store& store) { static_cast<Engine&>(store).ForgetDocuments(); }

void Engine::ForgetDocuments() {
  constexpr std::size_t kAtOnce = 4096;  // readers wait meanwhile: less than a millisecond
  std::vector<CollectionState*> states;  // there until the engine goes
  {
    base::ReaderLock lock(state_mutex_);
    for (const auto& [name, state] : collections_) states.push_back(state.get());
  }
  for (CollectionState* state : states) {
    std::string after;
    bool more = true;
    while (more) {
      base::WriterLock lock(state_mutex_);
      more = state->ForgetDocuments(kAtOnce, after);
    }
  }
}

void Engine::ShrinkHistory() {
  std::vector<EventPtr> garbage;  // destroyed outside the lock
  base::WriterLock lock(state_mutex_);
  for (const auto& [name, state] : collections_) {
    state->HalveHistory(options_.fresh_events, garbage);
  }
}

base::Status Engine::Health() const {
  base::MutexLock lock(health_mutex_);
  return health_;
}

}  // namespace portcullis::store

// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/etcd_store.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "etcd/await.h"
#include "store/cache/cache.h"
#include "store/cache/judge.h"
#include "store/encryption/transformer.h"
#include "store/etcd/barrier.h"
#include "store/etcd/compactor.h"
#include "store/etcd/errors.h"
#include "store/etcd/etcd_master_leases.h"
#include "store/etcd/etcd_range_allocation.h"
#include "store/etcd/etcd_write.h"
#include "store/etcd/follower.h"
#include "store/etcd/lease_manager.h"
#include "store/etcd/listing.h"
#include "store/etcd/own_values.h"
#include "store/etcd/revision_waiters.h"
#include "store/etcd/rules.h"
#include "store/etcd/value_reader.h"

namespace portcullis::store {
namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::seconds kVersionTimeout{5};
constexpr std::chrono::seconds kPageTimeout{30};
constexpr std::chrono::seconds kMeasureEvery{30};

void LogUnreadable(const UnreadableObject& object, std::string_view prefix) {
  base::LogError("an object in etcd cannot be read",
                 {{"key", StorageKey(object.key(), prefix)}, {"error", object.error}});
}

class StoreInEtcd final : public EtcdStore {
 public:
  StoreInEtcd(std::unique_ptr<etcd::Client> client, const EtcdOptions& etcd, const Options& options,
              std::unique_ptr<ValueReader> reader, Listing listing, bool has_exact_progress);
  ~StoreInEtcd() override;

  void Submit(Change change, Done done) override;
  base::Status DeleteVersions(std::span<const Version> versions) override;
  base::Status Health() const override { return base::OkStatus(); }  // see Probe()
  void Freshen(base::SteadyTime deadline, std::function<void(base::Status)> done) override;
  std::optional<std::int64_t> rules_revision() const override {
    const std::int64_t known = has_untold_rules_ ? 0 : rules_revision_.load();
    return known == 0 ? std::nullopt : std::optional(known);
  }
  void ReadUnreadable() override;
  base::Status Probe(base::Duration patience) const override;
  MasterLeases& master_leases() override { return master_leases_; }
  RangeAllocation& node_ports() override { return node_ports_; }
  bool IsStale(const Object& object) const override { return reader_->IsStale(object); }

 private:
  using WritePtr = std::shared_ptr<EtcdWrite>;
  // How far the events that come together have brought an object.
  struct Latest {
    Key key;
    ObjectPtr object;
    bool is_readable = true;
  };

  base::Result<ObjectPtr> Wait(Change change) override;

  // The steps of a write. Each ends with a call of the next one, or with the answer.
  void Attempt(const WritePtr& write);
  void Send(const WritePtr& write, std::int64_t lease);
  void OnAnswer(const WritePtr& write, const base::Result<etcd::TxnResponse>& answer);
  base::Result<std::string> Seal(const Collection& collection, const std::string& key,
                                 std::string value) const;
  void FreshenAndAttempt(const WritePtr& write);
  bool PublishOwn(const EtcdWrite& write, std::int64_t at) PC_EXCLUDES(mutex_);
  ObjectPtr OutcomeAt(const EtcdWrite& write, std::int64_t revision) const;
  void WaitFor(std::int64_t known, std::int64_t at, base::SteadyTime deadline,
               std::function<void(base::Status)> done);
  void CheckSetBack(std::int64_t known, std::int64_t at) PC_EXCLUDES(mutex_);

  // What the watch tells.
  void OnEvents(std::int64_t revision, const std::vector<etcd::WatchEvent>& events);
  void OnLost() PC_EXCLUDES(mutex_);
  bool IsLost() PC_EXCLUDES(mutex_);
  void NoteRules(std::int64_t revision);
  void NoteUntoldRule(std::string_view key);
  EventPtr MakeEventOf(const etcd::WatchEvent& event, Latest& latest);

  void KeepHouse() PC_EXCLUDES(mutex_);
  void MeasureDatabase();
  void ReadWhenLost() PC_EXCLUDES(mutex_);
  void ReadAgain(std::uint64_t losses) PC_EXCLUDES(mutex_);

  const EtcdOptions options_;
  const std::shared_ptr<const Transformer> transformer_;  // null: nothing is encrypted
  std::unique_ptr<etcd::Client> client_;
  const std::unique_ptr<ValueReader> reader_;
  RevisionWaiters waiters_;
  Follower follower_;
  Barrier barrier_;
  LeaseManager leases_;
  Compactor compactor_;
  EtcdMasterLeases master_leases_;
  EtcdRangeAllocation node_ports_;
  OwnValues own_;
  const std::string rules_key_;
  // Set after the rules are visible, so that who reads it first has all of them.
  std::atomic<std::int64_t> rules_revision_;
  std::atomic<bool> has_untold_rules_{false};
  std::atomic<bool> closing_{false};

  base::Mutex mutex_;
  base::CondVar changed_;
  // How often something has been missed, and how many of these times it has been read since.
  std::uint64_t losses_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t recoveries_ PC_GUARDED_BY(mutex_) = 0;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  std::thread housekeeper_;
  std::thread reader_of_all_;  // which may wait for etcd, while nothing else may
};

// A key of no object that is below the prefix: there may be no right to read others.
std::string HealthKey(std::string_view prefix) { return base::StrCat(prefix, "/health"); }

StoreInEtcd::StoreInEtcd(std::unique_ptr<etcd::Client> client, const EtcdOptions& etcd,
                         const Options& options, std::unique_ptr<ValueReader> reader,
                         Listing listing, bool has_exact_progress)
    : EtcdStore(std::move(listing.content), options),
      options_(etcd),
      transformer_(options.transformer),
      client_(std::move(client)),
      reader_(std::move(reader)),
      waiters_(revision()),
      follower_(
          *client_, base::StrCat(etcd.prefix, "/"), has_exact_progress,
          {[this](std::int64_t revision, const std::vector<etcd::WatchEvent>& events) {
             OnEvents(revision, events);
           },
           [this](const base::Status&) { OnLost(); },
           // Whether etcd has been set back meanwhile.
           [this] { Freshen(options_.clock->Steady() + kPageTimeout, [](base::Status) {}); }}),
      barrier_(*client_, HealthKey(etcd.prefix), waiters_,
               [this](std::int64_t known, std::int64_t at, base::SteadyTime deadline,
                      std::function<void(base::Status)> done) {
                 WaitFor(known, at, deadline, std::move(done));
               }),
      leases_(*client_, *etcd.clock, etcd.event_ttl.count(), etcd.lease_reuse_seconds),
      compactor_(*client_),
      master_leases_(*client_, *etcd.clock, etcd.prefix),
      node_ports_(*client_, *etcd.clock, etcd.prefix),
      rules_key_(RulesKey(etcd.prefix)),
      rules_revision_(listing.rules_revision) {
  follower_.Start(revision());
  housekeeper_ = std::thread([this] { KeepHouse(); });
  reader_of_all_ = std::thread([this] { ReadWhenLost(); });
}

StoreInEtcd::~StoreInEtcd() {
  closing_ = true;
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  client_->Cancel();  // or a page that is being read would be waited for
  housekeeper_.join();
  reader_of_all_.join();
  follower_.Stop();
  waiters_.Close();
  client_.reset();  // first, because its calls under way refer to the other parts
}

void StoreInEtcd::Freshen(base::SteadyTime deadline, std::function<void(base::Status)> done) {
  barrier_.Wait(deadline, std::move(done));
}

base::Status StoreInEtcd::Probe(base::Duration patience) const {
  etcd::RangeRequest request{.key = HealthKey(options_.prefix), .keys_only = true};
  const auto answer = etcd::Await<etcd::RangeResponse>([&](auto done) {
    client_->Range(std::move(request), options_.clock->Steady() + patience, std::move(done));
  });
  return answer.ok() ? base::OkStatus() : answer.status().Annotate("error getting data from etcd");
}

// Goes on when readers see the revision that etcd has answered. `known` was reached when it was asked.
void StoreInEtcd::WaitFor(std::int64_t known, std::int64_t at, base::SteadyTime deadline,
                          std::function<void(base::Status)> done) {
  CheckSetBack(known, at);
  const bool is_behind = waiters_.reached() < at;
  waiters_.Add(at, deadline, std::move(done));
  if (is_behind) follower_.Reach(at);
}

// Linearizable reads and transactions are not answered with an older revision than was known before,
// unless an older copy of etcd's data has been put in place: what came behind it never was.
void StoreInEtcd::CheckSetBack(std::int64_t known, std::int64_t at) {
  if (at >= known || !waiters_.Forget(known)) return;
  base::LogWarning("etcd has been set back to an older state; everything is read anew",
                   {{"known", std::to_string(known)}, {"revision", std::to_string(at)}});
  OnLost();
}

// --- Writes

void StoreInEtcd::Submit(Change change, Done done) {
  const auto write = std::make_shared<EtcdWrite>();
  write->change = std::move(change);
  write->done = std::move(done);
  write->deadline = options_.clock->Steady() + options_.request_timeout;
  write->key = StorageKey(write->change.key, options_.prefix);
  Attempt(write);
}

base::Result<ObjectPtr> StoreInEtcd::Wait(Change change) {
  std::promise<base::Result<ObjectPtr>> promise;
  Submit(std::move(change),
         [&](base::Result<ObjectPtr> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

base::Status StoreInEtcd::DeleteVersions(std::span<const Version> versions) {
  std::latch left(static_cast<std::ptrdiff_t>(versions.size()));
  base::Mutex mutex;
  base::Status failure;
  for (const Version& version : versions) {
    Change change;
    change.kind = Change::Kind::kDelete;
    change.key = version.key;
    change.preconditions.revision = version.revision;
    Submit(std::move(change), [&](const base::Result<ObjectPtr>& result) {
      const base::Reason reason = result.status().reason();
      const bool is_gone = reason == base::Reason::kNotFound || reason == base::Reason::kConflict;
      if (!result.ok() && !is_gone) {
        base::MutexLock lock(mutex);
        failure = result.status();
      }
      left.count_down();
    });
  }
  left.wait();
  base::MutexLock lock(mutex);
  return failure;
}

void StoreInEtcd::Attempt(const WritePtr& write) {
  const Change& change = write->change;
  const std::int64_t judged_before = write->place.stored ? write->place.stored->revision() : 0;
  write->place = PlaceOf(change.key);
  const Object* stored = write->place.stored.get();
  if (write->may_be_applied) {
    if (IsOutcomeOf(*write, stored)) return write->done(write->place.stored);
    // What is there now may have been written over this change.
    if ((stored != nullptr ? stored->revision() : 0) != judged_before) {
      return write->done(write->error);
    }
  }
  base::Status judged = write->place.unreadable.ok()
                            ? Judge(change, stored, options_.prefix)
                            : JudgeUnreadable(change, write->place.unreadable);
  if (!judged.ok()) {
    const auto& named = change.preconditions.revision;
    const bool may_lag = !write->is_fresh && named && *named > revision();
    return may_lag ? FreshenAndAttempt(write) : write->done(std::move(judged));
  }
  if (!write->place.unreadable.ok()) write->place.stored = StubOf(change.key);
  if (options_.clock->Steady() > write->deadline || closing_) {
    return write->done(RequestTimedOut());
  }
  if (change.rules_revision && *change.rules_revision != rules_revision_) {
    return write->done(write->may_be_applied ? write->error : RulesHaveChanged());
  }
  if (change.kind != Change::Kind::kDelete && options_.event_ttl.count() > 0 &&
      IsEvent(change.key)) {
    return leases_.Get(write->deadline, [this, write](const base::Result<std::int64_t>& lease) {
      lease.ok() ? Send(write, *lease) : write->done(lease.status());
    });
  }
  Send(write, 0);
}

void StoreInEtcd::FreshenAndAttempt(const WritePtr& write) {
  write->is_fresh = true;
  Freshen(write->deadline, [this, write](const base::Status& status) {
    if (status.ok()) return Attempt(write);
    write->done(write->may_be_applied ? write->error : status);
  });
}

// The value as it goes to etcd.
base::Result<std::string> StoreInEtcd::Seal(const Collection& collection, const std::string& key,
                                            std::string value) const {
  if (transformer_ == nullptr || !transformer_->Encrypts(collection)) return value;
  auto sealed = transformer_->ToStorage(collection, key, value);
  if (!sealed.ok()) return base::InternalError(sealed.status().message());
  return std::move(sealed->bytes);
}

void StoreInEtcd::Send(const WritePtr& write, std::int64_t lease) {
  etcd::Op op;
  op.key = write->key;
  if (write->change.kind == Change::Kind::kDelete) {
    op.kind = etcd::Op::Kind::kDelete;
  } else {
    op.kind = etcd::Op::Kind::kPut;
    const Key& key = write->change.key;
    std::string plain = ToEtcdValue(write->change.object);
    const bool is_other = options_.versioner && options_.versioner(key, plain);
    auto value = Seal(key.collection(), write->key, std::move(plain));
    if (!value.ok()) return write->done(std::move(value).status());
    op.value = *std::move(value);
    if (!is_other) own_.Add(op.key, op.value);
    op.lease = lease;
  }
  write->sent_at = options_.clock->Steady();
  write->known = waiters_.reached();
  client_->Txn(
      TransactionOf(*write, std::move(op), rules_key_), write->deadline,
      [this, write](const base::Result<etcd::TxnResponse>& answer) { OnAnswer(write, answer); });
}

void StoreInEtcd::OnAnswer(const WritePtr& write, const base::Result<etcd::TxnResponse>& answer) {
  if (options_.observer != nullptr) {
    options_.observer->OnRequest(NameOf(write->change.kind), write->change.key.collection(),
                                 answer.ok(), options_.clock->Steady() - write->sent_at);
  }
  if (!answer.ok()) {
    if (CanDoWithoutPut(*write, answer.status())) return Attempt(write);
    base::Status error = StoreError(answer.status());
    if (!etcd::IsUnknownOutcome(answer.status())) return write->done(std::move(error));
    // The same transaction can be sent again: of the two only one finds the revision it compares.
    write->may_be_applied = true;
    write->error = std::move(error);
    return FreshenAndAttempt(write);
  }
  const std::int64_t at = answer->revision;
  if (answer->succeeded && PublishOwn(*write, at)) return write->done(OutcomeAt(*write, at));
  WaitFor(write->known, at, write->deadline,
          [this, write, at, succeeded = answer->succeeded](base::Status seen) {
            if (!seen.ok()) return write->done(std::move(seen));
            if (!succeeded) return Attempt(write);  // judged by something that is no longer there
            write->done(OutcomeAt(*write, at));
          });
}

// A write whose revision is the next one is what the watch will tell next: readers need not wait for
// that. On the client's loop, as all that is published but by ReadAgain(), which runs only
// while IsLost(). What is encrypted is left to the watch, which tells with which key.
bool StoreInEtcd::PublishOwn(const EtcdWrite& write, std::int64_t at) {
  if (at != revision() + 1 || !write.place.unreadable.ok()) return false;
  if (transformer_ != nullptr && transformer_->Encrypts(write.change.key.collection())) {
    return false;
  }
  if (IsLost()) return false;
  if (write.place.stored != nullptr) reader_->Forget(write.place.stored->revision());
  Publish({MakeEvent(write.change, write.place, at)}, {&write.change.key, 1});
  if (ChangesRules(write.change)) NoteRules(write.is_etcd_full ? 0 : at);
  waiters_.Reached(at);
  return true;
}

ObjectPtr StoreInEtcd::OutcomeAt(const EtcdWrite& write, std::int64_t revision) const {
  ObjectPtr newest = Get(write.change.key);
  if (newest != nullptr && newest->revision() == revision) return newest;
  return MakeEvent(write.change, write.place, revision)->object;
}

// --- What the watch tells

void StoreInEtcd::OnEvents(std::int64_t revision, const std::vector<etcd::WatchEvent>& events) {
  if (IsLost()) return;  // everything is read anew
  std::vector<EventPtr> published;
  std::unordered_map<std::string_view, Latest> changed;  // by the earlier ones of these events
  std::optional<std::int64_t> rules_revision;
  const etcd::WatchEvent* untold = nullptr;  // a write of a rule without that of rules_key_
  for (const etcd::WatchEvent& event : events) {
    if (event.kv.key == rules_key_) {
      rules_revision = event.deleted ? 0 : event.kv.mod_revision;
      // A transaction puts the key behind the rule.
      if (untold != nullptr && untold->kv.mod_revision == event.kv.mod_revision) untold = nullptr;
      continue;
    }
    const auto key = ParseStorageKey(event.kv.key, options_.prefix);
    if (!key) continue;
    // A deletion in a full etcd cannot tell if the key is deleted already.
    const bool tells = !event.deleted || rules_revision.value_or(rules_revision_) != 0;
    if (untold == nullptr && tells && MayBeUntoldRule(key->collection())) untold = &event;
    if (options_.observer != nullptr) options_.observer->OnEvent(key->collection());
    if (event.kv.mod_revision <= this->revision()) continue;  // see PublishOwn()
    auto [it, is_new] = changed.try_emplace(event.kv.key);
    if (is_new) it->second = {*key, PlaceOf(*key).stored};
    if (EventPtr made = MakeEventOf(event, it->second)) published.push_back(std::move(made));
  }
  if (events.empty() && options_.observer != nullptr) options_.observer->OnBookmark();
  if (untold != nullptr) NoteUntoldRule(untold->kv.key);
  std::vector<Key> readable;
  for (const auto& [name, latest] : changed) {
    if (latest.is_readable && HasUnreadable()) readable.push_back(latest.key);
  }
  if (!published.empty() || !readable.empty()) Publish(published, readable);
  if (rules_revision) NoteRules(*rules_revision);
  Advance(revision);
  waiters_.Reached(revision);
}

// The watch may tell an older one than an own write that has been published already.
void StoreInEtcd::NoteRules(std::int64_t revision) {
  if (revision == 0 || revision > rules_revision_) rules_revision_ = revision;
}

// A kube-apiserver does not write the key of the rules, nor does an older release of this server.
void StoreInEtcd::NoteUntoldRule(std::string_view key) {
  if (has_untold_rules_.exchange(true)) return;
  base::LogInfo("another server writes rules without telling; each write asks etcd first",
                {{"key", std::string(key)}});
}

// Null if there is nothing to publish.
EventPtr StoreInEtcd::MakeEventOf(const etcd::WatchEvent& event, Latest& latest) {
  const Key& key = latest.key;
  const ObjectPtr previous = latest.object;
  Event made;
  made.revision = event.kv.mod_revision;
  made.previous = previous;
  latest.is_readable = true;
  if (event.deleted) {
    if (previous == nullptr) return nullptr;
    made.type = EventType::kDeleted;
    made.object = previous->WithRevision(made.revision);
    latest.object = nullptr;
  } else {
    std::optional<UnreadableObject> unreadable;
    made.object = reader_->Read(key, event.kv, own_.Take(event.kv.key, event.kv.value), unreadable);
    if (unreadable) {
      LogUnreadable(*unreadable, options_.prefix);
      if (options_.observer != nullptr) options_.observer->OnDecodeError(key.collection());
      NoteUnreadable(*std::move(unreadable));
      latest.is_readable = false;
      return nullptr;
    }
    latest.object = made.object;
    made.type = previous == nullptr ? EventType::kAdded : EventType::kModified;
  }
  if (previous != nullptr) reader_->Forget(previous->revision());
  return std::make_shared<const Event>(std::move(made));
}

void StoreInEtcd::OnLost() {
  {
    base::MutexLock lock(mutex_);
    ++losses_;
  }
  changed_.NotifyAll();
}

bool StoreInEtcd::IsLost() {
  base::MutexLock lock(mutex_);
  return losses_ != recoveries_;
}

void StoreInEtcd::ReadUnreadable() {
  // The loop answers when the events before have been decoded, which may have been begun with the
  // old keys.
  etcd::RangeRequest request;
  request.key = rules_key_;
  client_->Range(std::move(request), options_.clock->Steady() + kPageTimeout,
                 [this](const base::Result<etcd::RangeResponse>&) {
                   if (HasUnreadable() || IsLost()) OnLost();
                 });
}

void StoreInEtcd::ReadWhenLost() {
  pthread_setname_np(pthread_self(), "etcd-reader");
  const base::NeedsMemory needs;
  base::SteadyTime next{};  // an etcd that ends each watch at once is not read all the time
  while (true) {
    std::uint64_t losses = 0;
    {
      base::MutexLock lock(mutex_);
      while (!stopping_ && losses_ == recoveries_) changed_.Wait(mutex_);
      while (!stopping_ && options_.clock->Steady() < next) changed_.WaitUntil(mutex_, next);
      if (stopping_) return;
      losses = losses_;
    }
    ReadAgain(losses);
    next = options_.clock->Steady() + kTick;
  }
}

void StoreInEtcd::ReadAgain(std::uint64_t losses) {
  follower_.Stop();  // it publishes, as Replace() does
  const std::int64_t before = waiters_.reached();
  // What was unreadable may be older than what watches have seen: these have to end.
  auto listing = ReadAll(*client_, *reader_, *options_.clock, kPageTimeout, HasUnreadable());
  if (!listing.ok()) {
    if (closing_) return;
    return base::LogError("cannot read etcd", {{"error", listing.status().message()}});
  }
  Content& content = listing->content;
  CheckSetBack(before, content.revision);
  for (UnreadableObject& object : content.unreadable) {
    if (ObjectPtr last = Get(object.key())) content.objects.push_back(std::move(last));
    if (WhyUnreadable(object.key()).ok()) LogUnreadable(object, options_.prefix);
  }
  const std::int64_t known = std::max(this->revision(), listing->rules_revision);
  for (const ObjectPtr& object : content.objects) {
    const Collection collection{object->group(), object->resource()};
    if (object->revision() <= known || !MayBeUntoldRule(collection)) continue;
    NoteUntoldRule(StorageKey({object->group(), object->resource(), object->ns(), object->name()},
                              options_.prefix));
  }
  const std::int64_t revision = content.revision;
  Replace(std::move(content));
  rules_revision_ = listing->rules_revision;
  {
    base::MutexLock lock(mutex_);
    recoveries_ = losses;
  }
  // Else it may be the state that etcd has been set back from meanwhile.
  if (!IsLost()) waiters_.Reached(revision);
  follower_.Start(revision);
}

// Does not wait: the answer comes on the client's loop.
void StoreInEtcd::MeasureDatabase() {
  if (options_.observer == nullptr) return;
  client_->Status("", options_.clock->Steady() + kVersionTimeout,
                  [this](const base::Result<etcd::StatusResponse>& answer) {
                    options_.observer->OnDatabaseSize(answer.ok() ? answer->db_size : -1);
                  });
}

void StoreInEtcd::KeepHouse() {
  pthread_setname_np(pthread_self(), "etcd-upkeep");
  const base::NeedsMemory needs;
  base::SteadyTime next_compaction = options_.clock->Steady() + options_.compaction_interval;
  base::SteadyTime next_measurement{};
  while (true) {
    {
      base::MutexLock lock(mutex_);
      if (!stopping_) changed_.WaitUntil(mutex_, options_.clock->Steady() + kTick);
      if (stopping_) return;
    }
    const base::SteadyTime now = options_.clock->Steady();
    barrier_.Expire(now);
    waiters_.Expire(now);
    follower_.Remind();
    if (now >= next_measurement) {
      MeasureDatabase();
      next_measurement = now + kMeasureEvery;
    }
    if (options_.compaction_interval.count() > 0 && now >= next_compaction) {
      compactor_.Run(now + std::min<base::Duration>(options_.compaction_interval / 2,
                                                    options_.request_timeout));
      next_compaction = now + options_.compaction_interval;
    }
  }
}

}  // namespace

base::Result<std::unique_ptr<EtcdStore>> OpenEtcd(const EtcdOptions& etcd, const Options& options) {
  return OpenEtcd(TRY(etcd::Client::Make(etcd.client)), etcd, options);
}

base::Result<std::unique_ptr<EtcdStore>> OpenEtcd(std::unique_ptr<etcd::Client> client,
                                                  const EtcdOptions& etcd, const Options& options) {
  auto reader = std::make_unique<ValueReader>(etcd.prefix, etcd.decoder, options.transformer);
  auto listing = ReadAll(*client, *reader, *etcd.clock, etcd.request_timeout);
  if (!listing.ok()) {
    return base::ConfigError(base::StrCat("cannot open etcd at ",
                                          base::Join(etcd.client.endpoints, ", "), ": ",
                                          listing.status().message()));
  }
  for (const UnreadableObject& object : listing->content.unreadable)
    LogUnreadable(object, etcd.prefix);
  const bool has_exact_progress =
      HaveExactProgress(*client, etcd.client.endpoints, etcd.clock->Steady() + kVersionTimeout);
  return std::unique_ptr<EtcdStore>(
      std::make_unique<StoreInEtcd>(std::move(client), etcd, options, std::move(reader),
                                    *std::move(listing), has_exact_progress));
}

}  // namespace portcullis::store

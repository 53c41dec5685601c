// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/testing/fake_etcd.h"

#include <algorithm>

namespace portcullis::store::testing {
namespace {

bool Contains(const std::string& key, const std::string& range_end, const std::string& wanted) {
  if (range_end.empty()) return wanted == key;
  return wanted >= key && (range_end == std::string(1, '\0') || wanted < range_end);
}

// As etcd::IsUnknownOutcome() knows it.
base::Status UnknownOutcome() {
  base::StatusDetails details;
  details.causes.push_back({"OutcomeUnknown", "", ""});
  return base::Status::Custom(503, "Unavailable", "etcdserver: request timed out")
      .WithDetails(std::move(details));
}

}  // namespace

// All it does happens on its own thread, in order.
class FakeClient final : public etcd::Client {
 public:
  explicit FakeClient(FakeEtcd& server) : server_(server), loop_([this] { Run(); }) {
    base::MutexLock lock(server_.mutex_);
    server_.clients_.insert(this);
  }
  ~FakeClient() override {
    {
      base::MutexLock lock(server_.mutex_);
      server_.clients_.erase(this);
    }
    Post(nullptr);
    loop_.join();
  }

  void Range(etcd::RangeRequest request, base::SteadyTime,
             Done<etcd::RangeResponse> done) override {
    Post([this, request = std::move(request), done = std::move(done)] {
      ++server_.ranges_;
      const auto answer = [this, request, done] {
        cancels_ ? done(base::Status::Custom(499, "Canceled", "context canceled"))
                 : done(server_.Range(request));
      };
      server_.holds_ranges_ && !cancels_ ? held_.push_back(answer) : answer();
    });
  }
  // Of reads, which alone can be held.
  void Cancel() override {
    Post([this] { cancels_ = true; });
    Release();
  }
  // Answers the reads that wait.
  void Release() {
    Post([this] {
      for (const auto& answer : std::exchange(held_, {})) answer();
    });
  }
  void Txn(etcd::TxnRequest request, base::SteadyTime, Done<etcd::TxnResponse> done) override {
    Post([this, request = std::move(request), done = std::move(done)] {
      done(server_.Txn(request));
    });
  }
  void Compact(std::int64_t revision, base::SteadyTime, Done<Empty> done) override {
    Post([this, revision, done = std::move(done)] {
      server_.CompactTo(revision);
      done(Empty{});
    });
  }
  void LeaseGrant(std::int64_t ttl, base::SteadyTime,
                  Done<etcd::LeaseGrantResponse> done) override {
    Post([this, ttl, done = std::move(done)] {
      std::int64_t lease = 0;
      {
        base::MutexLock lock(server_.mutex_);
        lease = server_.next_lease_++;
      }
      done(etcd::LeaseGrantResponse{lease, ttl});
    });
  }
  void LeaseRevoke(std::int64_t id, base::SteadyTime, Done<Empty> done) override {
    Post([this, id, done = std::move(done)] {
      server_.Expire(id);
      done(Empty{});
    });
  }
  void LeaseKeepAlive(std::int64_t id, base::SteadyTime,
                      Done<etcd::LeaseGrantResponse> done) override {
    Post([id, done = std::move(done)] { done(etcd::LeaseGrantResponse{id, 1}); });
  }
  void Status(std::string, base::SteadyTime, Done<etcd::StatusResponse> done) override {
    Post([this, done = std::move(done)] {
      if (const base::Status allowed = server_.Allows("", ""); !allowed.ok()) return done(allowed);
      etcd::StatusResponse status;
      {
        base::MutexLock lock(server_.mutex_);
        status.version = server_.version_;
      }
      done(std::move(status));
    });
  }
  void MemberList(base::SteadyTime, Done<std::vector<etcd::Member>> done) override {
    Post([done = std::move(done)] { done(std::vector<etcd::Member>()); });
  }
  std::unique_ptr<etcd::Watch> StartWatch(etcd::WatchRequest request,
                                          etcd::WatchReceiver& receiver) override;
  etcd::ClientCounters counters() const override { return {}; }

  // Looks for news for each watch, soon.
  void Look() {
    Post([this] {
      if (server_.silent_) return;  // it may have become so since
      for (FakeWatch* watch : std::set(watches_)) Deliver(*watch, false);
    });
  }
  void Reconnect() {
    Post([this] {
      for (FakeWatch* watch : std::set(watches_)) watch->receiver.OnCreated(server_.revision());
    });
  }
  void EndWatches() {
    Post([this] {
      for (FakeWatch* watch : std::exchange(watches_, {})) {
        watch->receiver.OnEnd(base::Status::Custom(500, "OutOfRange", "compacted"), 1);
      }
    });
  }

 private:
  struct FakeWatch final : etcd::Watch {
    FakeWatch(FakeClient& c, etcd::WatchRequest r, etcd::WatchReceiver& to)
        : client(c), request(std::move(r)), receiver(to) {}
    ~FakeWatch() override { client.Forget(*this); }
    void RequestProgress() override {
      client.Post([this, &c = client] {
        if (c.server_.unanswered_ > 0) {
          --c.server_.unanswered_;
          return;
        }
        if (c.watches_.contains(this)) c.Deliver(*this, true);
      });
    }
    FakeClient& client;
    etcd::WatchRequest request;  // start_revision moves on
    etcd::WatchReceiver& receiver;
  };

  void Deliver(FakeWatch& watch, bool progress);
  void Forget(FakeWatch& watch);
  void Post(std::function<void()> task) {
    {
      base::MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.NotifyOne();
  }
  void Run() {
    while (true) {
      std::function<void()> task;
      {
        base::MutexLock lock(mutex_);
        while (tasks_.empty()) changed_.Wait(mutex_);
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      if (!task) return;
      task();
    }
  }

  FakeEtcd& server_;
  base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<std::function<void()>> tasks_ PC_GUARDED_BY(mutex_);
  std::set<FakeWatch*> watches_;             // the loop's
  std::vector<std::function<void()>> held_;  // likewise
  bool cancels_ = false;                     // likewise
  std::thread loop_;
};

std::unique_ptr<etcd::Watch> FakeClient::StartWatch(etcd::WatchRequest request,
                                                    etcd::WatchReceiver& receiver) {
  auto watch = std::make_unique<FakeWatch>(*this, std::move(request), receiver);
  Post([this, raw = watch.get()] {
    const base::Status allowed = server_.Allows(raw->request.key, raw->request.range_end);
    if (!allowed.ok()) return raw->receiver.OnEnd(allowed, 0);
    watches_.insert(raw);
    Deliver(*raw, false);
  });
  return watch;
}

void FakeClient::Forget(FakeWatch& watch) {
  base::Mutex mutex;
  base::CondVar gone;
  bool done = false;
  Post([&] {
    watches_.erase(&watch);
    base::MutexLock lock(mutex);
    done = true;
    gone.NotifyAll();
  });
  base::MutexLock lock(mutex);
  while (!done) gone.Wait(mutex);
}

void FakeClient::Deliver(FakeWatch& watch, bool progress) {
  std::vector<etcd::WatchEvent> events;
  std::int64_t seen = 0;
  std::int64_t compacted = 0;
  {
    base::MutexLock lock(server_.mutex_);
    for (const FakeEtcd::Change& change : server_.history_) {
      if (change.revision < watch.request.start_revision) continue;
      if (!Contains(watch.request.key, watch.request.range_end, change.event.kv.key)) continue;
      events.push_back(change.event);
    }
    if (watch.request.start_revision <= server_.compacted_) compacted = server_.compacted_;
    seen = server_.revision_;
  }
  if (compacted != 0) {
    watches_.erase(&watch);
    return watch.receiver.OnEnd(base::Status::Custom(500, "OutOfRange", "compacted"), compacted);
  }
  watch.request.start_revision = seen + 1;
  if (!events.empty()) {
    const std::int64_t last = events.back().kv.mod_revision;
    watch.receiver.OnEvents(last, std::move(events));
  }
  if (progress) watch.receiver.OnEvents(seen, {});
}

std::unique_ptr<etcd::Client> FakeEtcd::MakeClient() { return std::make_unique<FakeClient>(*this); }

std::int64_t FakeEtcd::revision() const {
  base::MutexLock lock(mutex_);
  return revision_;
}

void FakeEtcd::GrantOnly(std::string prefix) {
  base::MutexLock lock(mutex_);
  granted_ = std::move(prefix);
}

void FakeEtcd::set_version(std::string version) {
  base::MutexLock lock(mutex_);
  version_ = std::move(version);
}

void FakeEtcd::BeforeNextTxn(std::function<void()> action) {
  base::MutexLock lock(mutex_);
  before_txn_ = std::move(action);
}

std::string FakeEtcd::ValueOf(const std::string& key) const {
  base::MutexLock lock(mutex_);
  const auto it = keys_.find(key);
  return it == keys_.end() ? "" : it->second.value;
}

std::int64_t FakeEtcd::LeaseOf(const std::string& key) const {
  base::MutexLock lock(mutex_);
  const auto it = keys_.find(key);
  return it == keys_.end() ? 0 : it->second.lease;
}

std::int64_t FakeEtcd::Put(const std::string& key, const std::string& value, std::int64_t lease) {
  etcd::Op op;
  op.kind = etcd::Op::Kind::kPut;
  op.key = key;
  op.value = value;
  op.lease = lease;
  base::MutexLock lock(mutex_);
  Apply(op, ++revision_);
  Tell();
  return revision_;
}

void FakeEtcd::Expire(std::int64_t lease) {
  base::MutexLock lock(mutex_);
  const std::int64_t at = revision_ + 1;
  std::vector<std::string> expired;
  for (const auto& [key, kv] : keys_) {
    if (kv.lease == lease) expired.push_back(key);
  }
  if (expired.empty()) return;
  revision_ = at;
  for (const std::string& key : expired) {
    etcd::Op op;
    op.kind = etcd::Op::Kind::kDelete;
    op.key = key;
    Apply(op, at);
  }
  Tell();
}

void FakeEtcd::CompactTo(std::int64_t revision) {
  base::MutexLock lock(mutex_);
  compacted_ = std::max(compacted_, revision);
  std::erase_if(history_, [&](const Change& change) { return change.revision <= revision; });
}

void FakeEtcd::HoldRanges(bool hold) {
  holds_ranges_ = hold;
  if (hold) return;
  base::MutexLock lock(mutex_);
  for (FakeClient* client : clients_) client->Release();
}

void FakeEtcd::CancelWatches() {
  base::MutexLock lock(mutex_);
  for (FakeClient* client : clients_) client->EndWatches();
}

FakeEtcd::Data FakeEtcd::Copy() const {
  base::MutexLock lock(mutex_);
  return {revision_, keys_, history_};
}

void FakeEtcd::SetBack(Data data) {
  base::MutexLock lock(mutex_);
  revision_ = data.revision;
  keys_ = std::move(data.keys);
  history_ = std::move(data.history);
}

void FakeEtcd::Reconnect() {
  base::MutexLock lock(mutex_);
  for (FakeClient* client : clients_) client->Reconnect();
}

void FakeEtcd::Remove(const std::string& key) {
  etcd::Op op;
  op.kind = etcd::Op::Kind::kDelete;
  op.key = key;
  base::MutexLock lock(mutex_);
  Apply(op, ++revision_);
  Tell();
}

void FakeEtcd::Tell() {
  if (silent_) return;
  for (FakeClient* client : clients_) client->Look();
}

base::Status FakeEtcd::Allows(const std::string& key, const std::string& range_end) {
  base::MutexLock lock(mutex_);
  if (granted_.empty()) return base::OkStatus();
  const bool is_below = key.starts_with(granted_) && range_end <= etcd::PrefixEnd(granted_);
  return is_below ? base::OkStatus()
                  : base::Status::Custom(403, "PermissionDenied", "etcdserver: permission denied");
}

base::Result<etcd::RangeResponse> FakeEtcd::Range(const etcd::RangeRequest& request) {
  TRY(Allows(request.key, request.range_end));
  base::MutexLock lock(mutex_);
  etcd::RangeResponse response;
  response.revision = revision_;
  for (const auto& [key, kv] : keys_) {
    if (!Contains(request.key, request.range_end, key)) continue;
    ++response.count;
    if (request.limit != 0 && response.count > request.limit) {
      response.more = true;
    } else {
      response.kvs.push_back(kv);
    }
  }
  return response;
}

bool FakeEtcd::Holds(const etcd::Compare& compare) const {
  const auto it = keys_.find(compare.key);
  const etcd::KeyValue kv = it == keys_.end() ? etcd::KeyValue() : it->second;
  switch (compare.target) {
    case etcd::Compare::Target::kVersion:
      return kv.version == compare.number;
    case etcd::Compare::Target::kCreateRevision:
      return kv.create_revision == compare.number;
    case etcd::Compare::Target::kModRevision:
      return kv.mod_revision == compare.number;
  }
  return false;
}

base::Result<etcd::TxnResponse> FakeEtcd::Txn(const etcd::TxnRequest& request) {
  std::function<void()> before;
  {
    base::MutexLock lock(mutex_);
    before = std::exchange(before_txn_, nullptr);
  }
  if (before) before();
  if (lost_requests_ > 0) {
    --lost_requests_;
    return UnknownOutcome();
  }
  const auto puts = [](const etcd::Op& op) { return op.kind == etcd::Op::Kind::kPut; };
  if (full_ && std::any_of(request.success.begin(), request.success.end(), puts)) {
    return base::Status::Custom(503, "ResourceExhausted",
                                "etcdserver: mvcc: database space exceeded");
  }
  etcd::TxnResponse response;
  {
    base::MutexLock lock(mutex_);
    response.succeeded = std::all_of(request.compares.begin(), request.compares.end(),
                                     [this](const etcd::Compare& c)
                                         PC_NO_THREAD_SAFETY_ANALYSIS { return Holds(c); });
    const std::int64_t next = revision_ + 1;
    for (const etcd::Op& op : response.succeeded ? request.success : request.failure) {
      if (op.kind == etcd::Op::Kind::kRange) {
        etcd::OpResponse found;
        if (const auto it = keys_.find(op.key); it != keys_.end()) found.kvs.push_back(it->second);
        response.responses.push_back(std::move(found));
      } else {
        revision_ = next;
        Apply(op, next);
        response.responses.emplace_back();
      }
    }
    if (revision_ == next) Tell();
    response.revision = revision_;
  }
  if (lost_answers_ > 0) {
    --lost_answers_;
    return UnknownOutcome();
  }
  return response;
}

void FakeEtcd::Apply(const etcd::Op& op, std::int64_t revision) {
  Change change;
  change.revision = revision;
  change.event.deleted = op.kind == etcd::Op::Kind::kDelete;
  if (change.event.deleted) {
    change.event.kv.key = op.key;
    if (keys_.erase(op.key) == 0) return;
  } else {
    etcd::KeyValue& kv = keys_[op.key];
    kv.key = op.key;
    kv.value = op.value;
    if (kv.create_revision == 0) kv.create_revision = revision;
    kv.mod_revision = revision;
    ++kv.version;
    kv.lease = op.lease;
    change.event.kv = kv;
  }
  change.event.kv.mod_revision = revision;
  history_.push_back(std::move(change));
}

}  // namespace portcullis::store::testing

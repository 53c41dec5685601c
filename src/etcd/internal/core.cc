// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/core.h"

#include <algorithm>
#include <utility>

#include "base/allocation_failure.h"
#include "etcd/internal/call.h"
#include "etcd/internal/tls_files.h"

namespace portcullis::etcd::internal {

Core::Core(ClientOptions options, std::vector<Endpoint> endpoints, net::IoThreads& threads)
    : options_(std::move(options)),
      loop_(threads),
      http2_(net::Http2Client::Create(loop_)),
      channel_(options_, std::move(endpoints), loop_, *http2_) {}

Core::~Core() = default;

void Core::Cancel() {
  cancels_ = true;
  while (!calls_under_way_.empty()) {
    calls_under_way_.back()->Finish(Error(Code::kCanceled, "context canceled"));
  }
  // What callers have posted, and what callbacks begin now, ends in the same way.
  while (Drain()) {
  }
}

void Core::Close() {
  Cancel();
  for (const auto& channel : others_) channel->Close();
  channel_.Close();
}

void Core::Submit(std::unique_ptr<Call> call) {
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  bool first = false;
  {
    base::MutexLock lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(call));
  }
  if (first) loop_.Post([this] { Drain(); });
}

bool Core::Drain() {
  std::vector<std::unique_ptr<Call>> posted;
  {
    base::MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& owned : posted) {
    Call& call = *owned;
    call.place = calls_under_way_.size();
    calls_under_way_.push_back(std::move(owned));
    if (base::UnlessMemoryRunsOut([&] { call.Begin(*this); })) continue;
    call.Finish(Error(Code::kResourceExhausted, "cannot allocate memory"));
  }
  return !posted.empty();
}

std::unique_ptr<Call> Core::Remove(Call& call) {
  auto& all = calls_under_way_;
  std::unique_ptr<Call> removed = std::move(all[call.place]);
  if (call.place + 1 != all.size()) {
    all[call.place] = std::move(all.back());
    all[call.place]->place = call.place;
  }
  all.pop_back();
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  return removed;
}

base::Result<Channel*> Core::OpenChannel(const std::string& endpoint) {
  auto parsed = ParseEndpoint(endpoint, HasTlsFiles(options_));
  if (!parsed.ok()) return Error(Code::kInvalidArgument, parsed.status().message());
  auto& channel = others_.emplace_back(std::make_unique<Channel>(
      options_, std::vector<Endpoint>{std::move(parsed).value()}, loop_, *http2_));
  channel->Open();
  return channel.get();
}

void Core::CloseChannel(Channel& channel) {
  channel.Close();
  const auto found = std::find_if(others_.begin(), others_.end(),
                                  [&](const auto& entry) { return entry.get() == &channel; });
  // It may be below us on the stack.
  loop_.Defer([kept = std::shared_ptr<Channel>(std::move(*found))] {});
  others_.erase(found);
}

ClientCounters Core::counters() const {
  return {.connections = channel_.connections(), .calls = calls_, .in_flight = in_flight_};
}

}  // namespace portcullis::etcd::internal

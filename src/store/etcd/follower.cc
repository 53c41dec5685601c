// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/follower.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <future>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "etcd/await.h"

namespace portcullis::store {

Follower::Follower(etcd::Client& client, std::string prefix, bool has_exact_progress,
                   Receiver receiver)
    : client_(client),
      prefix_(std::move(prefix)),
      has_exact_progress_(has_exact_progress),
      receiver_(std::move(receiver)) {}

Follower::~Follower() { Stop(); }

void Follower::Start(std::int64_t revision) {
  etcd::WatchRequest request;
  request.start_revision = revision + 1;
  if (has_exact_progress_) {
    request.key = prefix_;
    request.range_end = etcd::PrefixEnd(prefix_);
  } else {
    request.key = std::string(1, '\0');
    request.range_end = request.key;
  }
  base::MutexLock lock(mutex_);
  seen_ = revision;
  is_requested_ = false;
  watch_ = client_.StartWatch(std::move(request), *this);
  if (wanted_ > seen_) RequestProgress();
}

void Follower::Stop() {
  std::unique_ptr<etcd::Watch> watch;
  {
    base::MutexLock lock(mutex_);
    watch.swap(watch_);
    wanted_ = 0;
  }
}

void Follower::Reach(std::int64_t revision) {
  base::MutexLock lock(mutex_);
  wanted_ = std::max(wanted_, revision);
  if (wanted_ > seen_ && !is_requested_) RequestProgress();
}

void Follower::Remind() {
  base::MutexLock lock(mutex_);
  if (wanted_ > seen_) RequestProgress();
}

void Follower::RequestProgress() {
  if (!has_exact_progress_ || watch_ == nullptr) return;
  is_requested_ = true;
  watch_->RequestProgress();
}

// They are not told again: none of them may be lost half way.
void Follower::OnEvents(std::int64_t revision, std::vector<etcd::WatchEvent> events) {
  const base::NeedsMemory needs;
  const bool is_progress = events.empty();
  receiver_.on_events(revision, std::move(events));
  base::MutexLock lock(mutex_);
  seen_ = std::max(seen_, revision);
  if (is_progress) is_requested_ = false;
  // The member that answered may be behind the one that has told the revision.
  if (wanted_ > seen_ && !is_requested_) RequestProgress();
}

void Follower::OnEnd(base::Status why, std::int64_t compact_revision) {
  base::LogWarning("the watch over etcd has ended; everything is read anew",
                   {{"error", why.message()}, {"compacted", std::to_string(compact_revision)}});
  receiver_.on_lost(why);
}

void Follower::OnCreated(std::int64_t) {
  receiver_.on_connected();
  base::MutexLock lock(mutex_);
  if (wanted_ > seen_) RequestProgress();
}

void Follower::OnInterrupted(const base::Status& why) {
  base::LogWarning("the watch over etcd is interrupted", {{"error", why.message()}});
  base::MutexLock lock(mutex_);
  is_requested_ = false;
}

bool HasExactProgress(std::string_view version) {
  std::array<int, 3> parts{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int& part : parts) {
    const auto parsed = std::from_chars(at, end, part);
    if (parsed.ec != std::errc()) return false;
    at = parsed.ptr == end ? end : parsed.ptr + 1;
  }
  const auto [major, minor, patch] = parts;
  if (major != 3) return major > 3;
  if (minor == 4) return patch >= 31;
  if (minor == 5) return patch >= 13;
  return minor > 5;
}

bool HaveExactProgress(etcd::Client& client, const std::vector<std::string>& endpoints,
                       base::SteadyTime deadline) {
  using Answer = base::Result<etcd::StatusResponse>;
  std::vector<std::future<Answer>> answers;
  for (const std::string& endpoint : endpoints) {
    answers.push_back(etcd::Begun<etcd::StatusResponse>(
        [&](auto done) { client.Status(endpoint, deadline, std::move(done)); }));
  }
  bool all = true;
  for (auto& answer : answers) {
    const Answer status = answer.get();
    // Those that tell their version to the role root alone are newer than all that are not exact.
    if (etcd::CodeOf(status.status()) == etcd::Code::kPermissionDenied) continue;
    all = all && status.ok() && HasExactProgress(status->version);
  }
  return all;
}

}  // namespace portcullis::store

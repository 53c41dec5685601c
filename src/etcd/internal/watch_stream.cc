// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/watch_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace portcullis::etcd::internal {
namespace {

constexpr std::string_view kPath = "/etcdserverpb.Watch/Watch";
constexpr std::string_view kNoLeader = "etcdserver: no leader";
// The answer to a progress request belongs to no watch in particular.
constexpr std::int64_t kNoWatch = -1;

}  // namespace

void WatchStream::Begin() {
  if (receiver_ == nullptr) return;
  reader_.Reset();
  events_.clear();
  head_ = {};
  Channel& channel = core_.channel();
  link_ = channel.link();
  if (link_) {
    stream_ = link_->Start(kPath, true, base::SteadyTime::max(), EncodeWatchCreate(request_), false,
                           *this);
    if (stream_ != 0) return core_.OnSent();
    channel.Leave(link_, "the connection takes no more requests");
    link_ = nullptr;
  }
  channel.Wait(*this);
}

void WatchStream::RequestProgress() {
  if (stream_ != 0) link_->connection().Send(stream_, EncodeWatchProgress(), false);
}

void WatchStream::End() {
  receiver_ = nullptr;
  core_.loop().Cancel(retry_);
  core_.channel().Forget(*this);
  if (stream_ != 0) link_->connection().Reset(std::exchange(stream_, 0));
  link_ = nullptr;
}

void WatchStream::OnData(std::string_view piece) {
  if (!head_.is_grpc) return;
  const auto self = shared_from_this();
  base::Status problem;
  const base::Status framing = reader_.Feed(piece, [&](std::string_view message) {
    auto response = DecodeWatch(message);
    if (response.ok()) return OnResponse(std::move(response).value());
    problem = NotUnderstood(response.status());
    return false;
  });
  if (!framing.ok()) problem = framing;
  if (!problem.ok()) Fail(problem, 0);
}

bool WatchStream::OnResponse(WatchResponse response) {
  attempts_ = 0;
  if (response.canceled) {
    OnCanceled(response);
    return false;
  }
  if (response.created) {
    core_.channel().OnAnswer();
    if (request_.start_revision == 0) request_.start_revision = response.revision + 1;
    receiver_->OnCreated(response.revision);
    return receiver_ != nullptr;
  }
  events_.insert(events_.end(), std::make_move_iterator(response.events.begin()),
                 std::make_move_iterator(response.events.end()));
  if (response.fragment) return true;
  // Where to go on from is told by events, and by progress that etcd reports by itself: what is asked
  // for may overtake events in old versions.
  // The revision of an answer with events may be ahead of them: a watch that is more than a thousand
  // revisions behind gets them in several answers, and each tells the newest revision.
  std::int64_t seen = response.revision;
  if (!events_.empty()) {
    seen = events_.back().kv.mod_revision;
    request_.start_revision = seen + 1;
  } else if (response.watch_id != kNoWatch) {
    request_.start_revision = std::max(request_.start_revision, response.revision + 1);
  }
  receiver_->OnEvents(seen, std::exchange(events_, {}));
  return receiver_ != nullptr;
}

void WatchStream::OnCanceled(const WatchResponse& response) {
  if (response.compact_revision != 0) {
    return Fail(Error(Code::kOutOfRange, "etcdserver: mvcc: required revision has been compacted"),
                response.compact_revision);
  }
  const bool named = !response.cancel_reason.empty();
  Fail(Error(Code::kUnknown, named ? response.cancel_reason : "etcdserver: watch canceled"), 0);
}

void WatchStream::OnEnd(const net::Http2End& end) {
  const auto self = shared_from_this();
  stream_ = 0;
  const std::shared_ptr<Link> link = std::move(link_);
  if (!end.complete) {
    return GoOn(Error(Code::kUnavailable, base::StrCat("error reading from server: ", end.cause)));
  }
  if (!head_.code) return GoOn(ErrorOfHttpStatus(head_.http_status));
  const base::Status status = Error(
      *head_.code == Code::kOk ? Code::kUnavailable : *head_.code,
      *head_.code == Code::kOk ? std::string("the server has ended the watch") : head_.message);
  if (status.message() == kNoLeader) core_.channel().Leave(link, status.message());
  // As etcd's Go client: all other errors will come again.
  const Code code = CodeOf(status);
  if (code == Code::kUnavailable || code == Code::kInternal) return GoOn(status);
  Fail(status, 0);
}

void WatchStream::GoOn(const base::Status& why) {
  receiver_->OnInterrupted(why);
  if (receiver_ == nullptr) return;
  if (!core_.channel().link()) return core_.channel().Wait(*this);
  constexpr auto kFirst = std::chrono::milliseconds(10);
  retry_ = core_.loop().At(core_.loop().now() + kFirst * (1 << std::min(attempts_++, 7)), [this] {
    retry_ = {};
    Begin();
  });
}

void WatchStream::Fail(const base::Status& why, std::int64_t compact_revision) {
  WatchReceiver* const receiver = receiver_;
  End();
  if (receiver != nullptr) receiver->OnEnd(why, compact_revision);
}

}  // namespace portcullis::etcd::internal

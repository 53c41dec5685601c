// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/call.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::etcd::internal {
namespace {

constexpr std::string_view kNoLeader = "etcdserver: no leader";
constexpr std::string_view kMessageTooLarge = "trying to send message larger than max (";

// Errors of a member that does not say whether it has begun to do what it was asked.
bool SaysNothing(Code code) {
  switch (code) {
    case Code::kCanceled:
    case Code::kUnknown:
    case Code::kDeadlineExceeded:
    case Code::kAborted:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kDataLoss:
      return true;
    default:
      return false;
  }
}

base::Duration RetryDelay(int attempts) {
  constexpr auto kFirst = std::chrono::milliseconds(25);
  constexpr auto kLongest = std::chrono::milliseconds(800);
  return std::min<base::Duration>(kFirst * (1 << std::min(attempts - 1, 5)), kLongest);
}

}  // namespace

void Call::Begin(Core& core) {
  core_ = &core;
  if (core.cancels()) return Finish(Error(Code::kCanceled, "context canceled"));
  const std::size_t size = spec_.message.size() - kFrameHead;
  if (const std::size_t limit = core.options().max_request_bytes; size > limit) {
    return Finish(Error(
        Code::kResourceExhausted,
        base::StrCat(kMessageTooLarge, std::to_string(size), " vs. ", std::to_string(limit), ")")));
  }
  if (spec_.endpoint.empty()) {
    channel_ = &core.channel();
  } else {
    const auto channel = core.OpenChannel(spec_.endpoint);
    if (!channel.ok()) return Finish(channel.status());
    channel_ = *channel;
  }
  deadline_ = core.loop().At(spec_.deadline, [this] {
    deadline_ = {};
    OnDeadline();
  });
  Send();
}

void Call::Send() {
  link_ = channel_->link();
  reader_.Reset();
  messages_ = 0;
  head_ = {};
  if (link_) {
    // What may be sent again is kept.
    std::string message = spec_.message;
    stream_ = link_->Start(spec_.path, spec_.require_leader, spec_.deadline, std::move(message),
                           true, *this);
  }
  if (stream_ == 0) {
    // A connection that takes no more streams is as good as none.
    if (link_) channel_->Leave(link_, "the connection takes no more requests");
    link_ = nullptr;
    channel_->Wait(*this);
    return;
  }
  core_->OnSent();
}

void Call::OnData(std::string_view piece) {
  if (!head_.is_grpc) return;
  base::Status problem;
  const base::Status framing = reader_.Feed(piece, [&](std::string_view message) {
    problem = ++messages_ > 1
                  ? Error(Code::kInternal, "there is more than one message in the answer")
                  : Decode(message);
    return problem.ok();
  });
  if (!framing.ok()) problem = framing;
  if (!problem.ok()) Finish(problem);
}

void Call::OnEnd(const net::Http2End& end) {
  stream_ = 0;
  if (end.complete) return OnComplete();
  if (end.not_processed) return Again(Error(Code::kUnavailable, end.cause));
  const base::Status error = Error(
      Code::kUnavailable,
      end.connection_lost ? base::StrCat("error reading from server: ", end.cause) : end.cause);
  if (spec_.repeatable) return Again(error);
  Finish(UnknownOutcome(error));
}

void Call::OnComplete() {
  base::Status status;
  if (!head_.code && (head_.http_status != "200" || !head_.is_grpc)) {
    status = ErrorOfHttpStatus(head_.http_status);
  } else if (!head_.code) {
    status = Error(Code::kInternal, "server closed the stream without sending trailers");
  } else if (*head_.code != Code::kOk) {
    status = Error(*head_.code, head_.message);
  } else if (!reader_.at_boundary()) {
    status = Error(Code::kInternal, "unexpected EOF");
  } else if (messages_ == 0) {
    status = Error(Code::kInternal, "there is no message in the answer");
  }
  if (status.ok()) {
    channel_->OnAnswer();
    return Finish(status);
  }
  // The member has refused before it has done anything.
  if (status.message() == kNoLeader) {
    channel_->Leave(link_, status.message());
    return Again(status);
  }
  if (spec_.repeatable && IsUnavailable(status)) return Again(status);
  Finish(!spec_.repeatable && SaysNothing(CodeOf(status)) ? UnknownOutcome(status) : status);
}

void Call::Again(const base::Status& why) {
  last_error_ = why;
  link_ = nullptr;
  ++attempts_;
  if (!channel_->link()) return channel_->Wait(*this);
  retry_ = core_->loop().At(core_->loop().now() + RetryDelay(attempts_), [this] {
    retry_ = {};
    Send();
  });
}

void Call::OnDeadline() {
  if (stream_ != 0) {
    const base::Status error = Error(Code::kDeadlineExceeded, "context deadline exceeded");
    return Finish(spec_.repeatable ? error : UnknownOutcome(error));
  }
  if (!last_error_.ok()) return Finish(last_error_);
  if (!channel_->link() && !channel_->last_failure().empty()) {
    return Finish(Error(Code::kUnavailable,
                        base::StrCat("connection error: desc = \"transport: Error while dialing: ",
                                     channel_->last_failure(), "\"")));
  }
  Finish(Error(Code::kDeadlineExceeded, "context deadline exceeded"));
}

void Call::LeaveStream() {
  if (stream_ != 0) link_->connection().Reset(std::exchange(stream_, 0));
  if (channel_ != nullptr) channel_->Forget(*this);
  core_->loop().Cancel(deadline_);
  core_->loop().Cancel(retry_);
}

void Call::Finish(const base::Status& status) {
  // A write that is cut off here may have been applied.
  const bool sent = stream_ != 0 && !spec_.repeatable;
  LeaveStream();
  if (channel_ != nullptr && channel_ != &core_->channel()) core_->CloseChannel(*channel_);
  const std::unique_ptr<Call> self = core_->Remove(*this);
  Deliver(sent && !status.ok() ? UnknownOutcome(status) : status);
}

}  // namespace portcullis::etcd::internal

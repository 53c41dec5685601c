// SPDX-License-Identifier: Apache-2.0

// Call is one request with one answer: on a stream, waiting for a connection, or waiting to be sent
// again.
//
// Made on any thread, then confined to the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "etcd/client.h"
#include "etcd/internal/channel.h"
#include "etcd/internal/core.h"
#include "etcd/internal/grpc.h"

namespace portcullis::etcd::internal {

struct CallSpec {
  std::string_view path;  // "/etcdserverpb.KV/Range"; lives for ever
  std::string message;    // with gRPC's head
  base::SteadyTime deadline;
  bool repeatable = false;     // twice does what once does
  bool require_leader = true;  // of the member that answers
  std::string endpoint;        // "": the client's connection
};

class Call : public net::Http2Receiver, public Waiter {
 public:
  Call(const ClientOptions& options, CallSpec spec)
      : spec_(std::move(spec)), reader_(options.max_response_bytes) {}

  void Begin(Core& core);
  // Ends it now.
  void Finish(const base::Status& status);

  void OnField(std::string_view name, std::string_view value) override {
    head_.OnField(name, value);
  }
  void OnData(std::string_view piece) override;
  void OnEnd(const net::Http2End& end) override;
  void OnConnection() override { Send(); }

  std::size_t place = 0;  // of Core

 protected:
  // The answer, before Deliver.
  virtual base::Status Decode(std::string_view message) = 0;
  virtual void Deliver(const base::Status& status) = 0;

 private:
  void Send();
  void OnDeadline();
  void OnComplete();
  void Again(const base::Status& why);
  void LeaveStream();

  CallSpec spec_;
  Core* core_ = nullptr;
  Channel* channel_ = nullptr;
  std::shared_ptr<Link> link_;  // that it was sent on
  std::int32_t stream_ = 0;
  int attempts_ = 0;
  net::IoLoop::Timer deadline_;
  net::IoLoop::Timer retry_;
  base::Status last_error_;

  // Of the answer that is coming.
  MessageReader reader_;
  int messages_ = 0;
  AnswerHead head_;
};

// A call whose answer is a T, made of a message by `decode`.
template <typename T, typename Decoder>
class CallOf final : public Call {
 public:
  CallOf(const ClientOptions& options, CallSpec spec, Decoder decode, Client::Done<T> done)
      : Call(options, std::move(spec)), decode_(std::move(decode)), done_(std::move(done)) {}

 private:
  base::Status Decode(std::string_view message) override {
    auto answer = decode_(message);
    if (!answer.ok()) return NotUnderstood(answer.status());
    answer_ = std::move(answer).value();
    return base::OkStatus();
  }
  void Deliver(const base::Status& status) override {
    if (status.ok()) return done_(std::move(*answer_));
    done_(status);
  }

  Decoder decode_;
  Client::Done<T> done_;
  std::optional<T> answer_;
};

}  // namespace portcullis::etcd::internal

// SPDX-License-Identifier: Apache-2.0

// WatchStream is one watch over as many streams as it takes: each has a create request of its own,
// from the revision after the last event that was delivered.
//
// Confined to the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/client.h"
#include "etcd/internal/channel.h"
#include "etcd/internal/core.h"
#include "etcd/internal/grpc.h"
#include "etcd/internal/messages.h"

namespace portcullis::etcd::internal {

class WatchStream final : public net::Http2Receiver,
                          public Waiter,
                          public std::enable_shared_from_this<WatchStream> {
 public:
  WatchStream(Core& core, WatchRequest request, WatchReceiver& receiver)
      : core_(core),
        request_(std::move(request)),
        receiver_(&receiver),
        reader_(core.options().max_response_bytes) {}

  void Begin();
  void RequestProgress();
  // The receiver is not called any more.
  void End();

  void OnField(std::string_view name, std::string_view value) override {
    head_.OnField(name, value);
  }
  void OnData(std::string_view piece) override;
  void OnEnd(const net::Http2End& end) override;
  void OnConnection() override { Begin(); }

 private:
  // False: the watch is over.
  bool OnResponse(WatchResponse response);
  void OnCanceled(const WatchResponse& response);
  void Deliver(std::int64_t revision);
  void GoOn(const base::Status& why);
  void Fail(const base::Status& why, std::int64_t compact_revision);

  Core& core_;
  WatchRequest request_;     // with the revision to go on from
  WatchReceiver* receiver_;  // null: it has ended
  std::shared_ptr<Link> link_;
  std::int32_t stream_ = 0;
  int attempts_ = 0;  // since something has come
  net::IoLoop::Timer retry_;
  std::vector<WatchEvent> events_;  // of an answer in pieces

  MessageReader reader_;
  AnswerHead head_;
};

}  // namespace portcullis::etcd::internal

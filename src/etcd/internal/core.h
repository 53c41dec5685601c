// SPDX-License-Identifier: Apache-2.0

// Core is what the calls and watches of a Client share: the loop, the channels, and what other threads
// have posted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "etcd/client.h"
#include "etcd/internal/channel.h"
#include "net/http2_client.h"

namespace portcullis::etcd::internal {

class Call;

// Confined to the loop's thread but for Submit and the counters. Outlives its loop.
class Core {
 public:
  Core(ClientOptions options, std::vector<Endpoint> endpoints, net::IoThreads& threads);
  ~Core();

  const net::IoLoop& loop() const { return loop_; }
  const ClientOptions& options() const { return options_; }
  Channel& channel() { return channel_; }

  void Open() { channel_.Open(); }
  // Ends all calls with Canceled, also those that come later.
  void Cancel();
  // The same, and ends the connections.
  void Close();

  // Any thread. Calls that come while the loop is busy are begun together, in their order.
  void Submit(std::unique_ptr<Call> call);
  ClientCounters counters() const;

  bool cancels() const { return cancels_; }
  // For Call: a channel to that endpoint alone, closed again with Done.
  base::Result<Channel*> OpenChannel(const std::string& endpoint);
  void CloseChannel(Channel& channel);
  void OnSent() { ++calls_; }
  // Takes the call out; it is destroyed when the caller lets go of it.
  std::unique_ptr<Call> Remove(Call& call);

 private:
  // Begins what has been posted. False: there was nothing.
  bool Drain();

  const ClientOptions options_;
  const net::IoLoop loop_;
  const std::unique_ptr<net::Http2Client> http2_;
  Channel channel_;
  std::vector<std::unique_ptr<Channel>> others_;
  std::vector<std::unique_ptr<Call>> calls_under_way_;  // each knows its place
  bool cancels_ = false;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> in_flight_{0};

  base::Mutex mutex_;
  std::vector<std::unique_ptr<Call>> posted_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::etcd::internal

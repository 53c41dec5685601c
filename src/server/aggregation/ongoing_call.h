// SPDX-License-Identifier: Apache-2.0

// A call to an aggregated API server while it is under way: to be given up, and left to wait while the client does
// not take what has come.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "net/tunnel.h"

namespace portcullis::server {

class OngoingCall {
 public:
  // Callbacks may have come before HttpsClient::Begin has returned it.
  void Set(std::shared_ptr<net::PendingCall> pending) {
    bool cancelled = false;
    {
      const base::MutexLock lock(mutex_);
      if (is_done_) return;
      pending_ = pending;
      cancelled = cancelled_;
    }
    if (cancelled) pending->Cancel();
  }

  void Done() {
    const base::MutexLock lock(mutex_);
    is_done_ = true;
    pending_.reset();
  }

  void Cancel() {
    {
      const base::MutexLock lock(mutex_);
      cancelled_ = true;
    }
    if (const auto pending = Get()) pending->Cancel();
  }

  // Passes a piece of an answer on. The next ones wait in the server's socket while the client leaves more than
  // `most` bytes.
  void Write(net::Exchange& exchange, std::string_view piece, std::size_t most) {
    exchange.Write(std::string(piece));
    const auto pending = exchange.buffered_bytes() > most ? Get() : nullptr;
    if (pending == nullptr) return;
    net::SetPaused(*pending, true);
    if (exchange.buffered_bytes() == 0) Resume();  // it has taken them meanwhile
  }

  void Resume() {
    if (const auto pending = Get()) net::SetPaused(*pending, false);
  }

  std::shared_ptr<net::PendingCall> Get() const {
    const base::MutexLock lock(mutex_);
    return pending_;
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<net::PendingCall> pending_ PC_GUARDED_BY(mutex_);
  bool cancelled_ PC_GUARDED_BY(mutex_) = false;
  bool is_done_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

// IoThreads are the few threads that own sockets: everything servers and clients of this module do
// with the network happens on them.
//
// Thread-safe. Servers and clients keep a reference: they must be destroyed first. The destructor
// stops and joins the threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"

namespace portcullis::net {

namespace internal {
class Loop;
}

class IoThreads {
 public:
  // For a server that carries out requests on them: one for each core; at least two, so that a request
  // that takes long does not hold up every connection.
  static int DefaultCount();
  explicit IoThreads(int count = 1);
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  // Why sockets cannot be waited for ("…: too many open files"), or OK: check before serving.
  base::Status status() const;

  // For the classes of this module.
  const std::shared_ptr<internal::Loop>& Next();  // round robin
  const std::shared_ptr<internal::Loop>& At(std::size_t index) { return loops_[index]; }
  std::size_t size() const { return loops_.size(); }

 private:
  struct Threads;
  std::vector<std::shared_ptr<internal::Loop>> loops_;
  std::unique_ptr<Threads> threads_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace portcullis::net

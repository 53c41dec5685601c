// SPDX-License-Identifier: Apache-2.0

// Waits on the calling thread for a call of etcd::Client. Not on the client's own loop, which would
// wait for itself.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "base/status.h"
#include "etcd/client.h"

namespace portcullis::etcd {

// What the call that `begin` (given a Client::Done<T>) begins will be answered with.
template <typename T, typename Begin>
std::future<base::Result<T>> Begun(Begin&& begin) {
  // Shared: who waits may be gone before the client's thread has let go of it.
  const auto promise = std::make_shared<std::promise<base::Result<T>>>();
  auto answer = promise->get_future();
  begin([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
  return answer;
}

template <typename T, typename Begin>
base::Result<T> Await(Begin&& begin) {
  return Begun<T>(std::forward<Begin>(begin)).get();
}

}  // namespace portcullis::etcd

// SPDX-License-Identifier: Apache-2.0

// Runs work on a fiber of an I/O thread and waits for its end, from a thread that is none.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/fiber.h"
#include "net/internal/loop.h"
#include "net/io_threads.h"
#include "net/testing/test_server.h"

namespace portcullis::net::testing {

// `work` returns something. It is run on loop number `loop` of `threads`, and must end by itself.
template <typename Work>
auto OnFiber(IoThreads& threads, std::size_t loop, Work work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  Signal done;
  threads.At(loop)->RunOnFiber([&] {
    EXPECT_NE(base::Fiber::Current(), nullptr);
    result.emplace(work());
    done.Set();
  });
  while (!done.Wait(std::chrono::seconds(60))) ADD_FAILURE() << "the work does not end";
  return *std::move(result);
}

}  // namespace portcullis::net::testing

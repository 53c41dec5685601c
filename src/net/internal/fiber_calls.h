// SPDX-License-Identifier: Apache-2.0

// FiberCalls are the calls of a fiber of an I/O loop: the loop carries them, on connections of its
// own, and the fiber is left while it waits for an answer. So no other thread takes part, and none is
// held. A fiber that has got a large answer, which takes long to judge, moves to another thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "net/client.h"

namespace portcullis::net::internal {

class ClientCall;
class ClientCore;
class Loop;

// Confined to the fibers of its loop, one at a time.
class FiberCalls final : public CallSet {
 public:
  FiberCalls(std::shared_ptr<ClientCore> core, Loop& loop);
  ~FiberCalls() override;

  void Start(std::size_t id, SharedRequest request, base::SteadyTime deadline,
             RequestBody body) override;
  std::optional<Arrival> Next(std::optional<base::SteadyTime> until) override;

 private:
  struct Inbox;
  class FiberCall;

  std::optional<Arrival> Take();
  void Move();
  // Leaves the fiber until a result has come, or `until`.
  void Wait(std::optional<base::SteadyTime> until);

  const std::shared_ptr<ClientCore> core_;
  Loop& loop_;
  const std::shared_ptr<Inbox> inbox_;  // shared with the calls: a late result finds it
  std::vector<std::weak_ptr<ClientCall>> calls_;
  std::size_t under_way_ = 0;
  bool any_large_ = false;
  std::unique_ptr<CallSet> elsewhere_;  // once the fiber has moved: calls of the other thread
};

}  // namespace portcullis::net::internal

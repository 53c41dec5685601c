// SPDX-License-Identifier: Apache-2.0

#include "net/io_loop.h"

#include <utility>

#include "net/internal/loop.h"

namespace portcullis::net {

IoLoop::IoLoop(IoThreads& threads) : loop_(threads.Next()) {}
IoLoop::~IoLoop() = default;
IoLoop::IoLoop(const IoLoop&) = default;

bool IoLoop::InThread() const { return loop_->InThread(); }
base::SteadyTime IoLoop::now() const { return loop_->now(); }
bool IoLoop::Post(std::function<void()> task) const { return loop_->Post(std::move(task)); }
void IoLoop::RunAndWait(const std::function<void()>& task) const { loop_->RunAndWait(task); }
void IoLoop::Defer(std::function<void()> task) const { loop_->Defer(std::move(task)); }

IoLoop::Timer IoLoop::At(base::SteadyTime time, std::function<void()> task) const {
  const auto key = loop_->At(time, std::move(task));
  return {key.time, key.id};
}

void IoLoop::Cancel(Timer& timer) const {
  if (timer.id != 0) loop_->Cancel({timer.time, timer.id});
  timer = {};
}

}  // namespace portcullis::net

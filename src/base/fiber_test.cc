// SPDX-License-Identifier: Apache-2.0

#include "base/fiber.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/allocation_failure.h"

namespace portcullis::base {
namespace {

class FiberTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
  }
  FiberStacks stacks_;
};

// Frames of 256 bytes or more, none of which the compiler may leave out.
int Deep(int levels) {
  volatile char frame[256] = {};
  frame[levels % 256] = 1;
  return levels == 0 ? frame[0] : Deep(levels - 1) + frame[levels % 256];
}

TEST_F(FiberTest, RunsWorkToItsEnd) {
  Fiber* seen = nullptr;
  EXPECT_TRUE(Fiber::Run(stacks_, [&] { seen = Fiber::Current(); }));
  EXPECT_NE(seen, nullptr);
  EXPECT_EQ(Fiber::Current(), nullptr);
  EXPECT_EQ(stacks_.in_use(), 0U);
}

TEST_F(FiberTest, LeavesAndGoesOnWhereItWas) {
  std::vector<std::string> steps;
  Fiber* fiber = nullptr;
  Fiber::Run(stacks_, [&] {
    const std::string local = "local";
    fiber = Fiber::Current();
    steps.emplace_back("begun");
    fiber->Leave();
    steps.push_back(local);
    fiber->Leave();
    steps.emplace_back("ended");
  });
  steps.emplace_back("outside");
  fiber->Resume();
  EXPECT_EQ(stacks_.in_use(), 1U);
  fiber->Resume();
  EXPECT_EQ(steps, (std::vector<std::string>{"begun", "outside", "local", "ended"}));
  EXPECT_EQ(stacks_.in_use(), 0U);
}

// More numbers over the call than there are registers for them: with optimisation they stay in those
// that a call must keep.
template <typename Number>
void ExpectKept(Number first, const std::function<void()>& call) {
  volatile Number source = first;
  const Number a = source, b = a + 1, c = source + 2, d = c + 1, e = source + 4, f = e + 1;
  const Number g = source + 6, h = g + 1, i = source + 8, j = i + 1, k = source + 10, l = k + 1;
  call();
  EXPECT_EQ(b - a + d - c + f - e + h - g + j - i + l - k, 6);
  EXPECT_EQ(a + b + c + d + e + f + g + h + i + j + k + l, 12 * first + 66);
}

TEST_F(FiberTest, KeepsWhatRegistersHold) {
  Fiber* fiber = nullptr;
  Fiber::Run(stacks_, [&] {
    fiber = Fiber::Current();
    ExpectKept<double>(1000, [&] { ExpectKept<long>(2000, [&] { fiber->Leave(); }); });
  });
  ExpectKept<double>(30000, [&] { ExpectKept<long>(40000, [&] { fiber->Resume(); }); });
  EXPECT_EQ(stacks_.in_use(), 0U);
}

TEST_F(FiberTest, DestroysItsWorkBeforeItGivesTheStackBack) {
  struct Held {
    explicit Held(std::vector<std::size_t>& seen, FiberStacks& all) : in_use(&seen), stacks(&all) {}
    ~Held() { in_use->push_back(stacks->in_use()); }
    std::vector<std::size_t>* in_use;
    FiberStacks* stacks;
  };
  std::vector<std::size_t> seen;
  Fiber::Run(stacks_, [held = std::make_shared<Held>(seen, stacks_)] {});
  EXPECT_EQ(seen, std::vector<std::size_t>{1});
}

TEST_F(FiberTest, ManyMayBeUnderWayAndEndInAnyOrder) {
  constexpr std::size_t kCount = 1000;
  std::vector<Fiber*> fibers;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(Fiber::Run(stacks_, [&, i] {
      fibers.push_back(Fiber::Current());
      Fiber::Current()->Leave();
      sum += i;
    }));
  }
  EXPECT_EQ(stacks_.in_use(), kCount);
  for (std::size_t i = 0; i < kCount; i += 2) fibers[i]->Resume();
  for (std::size_t i = 1; i < kCount; i += 2) fibers[kCount - i]->Resume();
  EXPECT_EQ(sum, kCount * (kCount - 1) / 2);
  EXPECT_EQ(stacks_.in_use(), 0U);
}

TEST_F(FiberTest, OneMayRunAnother) {
  Fiber* inner = nullptr;
  Fiber* outer = nullptr;
  std::string order;
  Fiber::Run(stacks_, [&] {
    outer = Fiber::Current();
    Fiber::Run(stacks_, [&] {
      inner = Fiber::Current();
      order += "a";
      inner->Leave();
      order += "d";
    });
    EXPECT_EQ(Fiber::Current(), outer);
    order += "b";
    outer->Leave();
    order += "e";
  });
  order += "c";
  inner->Resume();
  outer->Resume();
  EXPECT_EQ(order, "abcde");
}

TEST_F(FiberTest, HasRoomForWhatAThreadHasRoomFor) {
  for (int i = 0; i < 40; ++i) {  // and gives it back
    int depth = 0;
    Fiber::Run(stacks_, [&] { depth = Deep(10'000); });
    EXPECT_GE(depth, 0);
  }
}

TEST_F(FiberTest, MovesToAnotherThread) {
  std::function<void()> go_on;
  std::thread::id first;
  std::thread::id then;
  bool might_hold[3] = {};
  // Not called directly: compilers take the id of a thread for constant within a function.
  std::thread::id (*volatile id)() = std::this_thread::get_id;
  Fiber::Run(stacks_, [&] {
    Fiber* const fiber = Fiber::Current();
    fiber->Move();  // does nothing yet
    fiber->set_elsewhere([&](std::function<void()> run) { go_on = std::move(run); });
    first = id();
    might_hold[0] = Fiber::MayHoldThread();
    fiber->Move();
    then = id();
    might_hold[1] = Fiber::MayHoldThread();
  });
  might_hold[2] = Fiber::MayHoldThread();
  EXPECT_EQ(stacks_.in_use(), 1U);
  std::thread other(go_on);
  const std::thread::id expected = other.get_id();
  other.join();
  EXPECT_EQ(first, id());
  EXPECT_EQ(then, expected);
  EXPECT_FALSE(might_hold[0]);
  EXPECT_TRUE(might_hold[1]);
  EXPECT_TRUE(might_hold[2]);
  EXPECT_EQ(stacks_.in_use(), 0U);
}

TEST_F(FiberTest, MovesBeforeAStepIfThoseBeforeHaveTakenLong) {
  constexpr SteadyTime kStart{std::chrono::hours(1)};
  constexpr SteadyTime kLate = kStart + Fiber::kLong;
  std::function<void()> go_on;
  std::vector<bool> moved;
  Fiber* fiber = nullptr;
  Fiber::Run(stacks_, [&] {
    fiber = Fiber::Current();
    fiber->set_elsewhere([&](std::function<void()> run) { go_on = std::move(run); });
    moved.push_back(Fiber::BeginStep(kStart));
    moved.push_back(Fiber::BeginStep(kLate - std::chrono::nanoseconds(1)));
    fiber->Leave();  // it waits, and others have the thread
    moved.push_back(Fiber::BeginStep(kLate));
    moved.push_back(Fiber::BeginStep(kLate + Fiber::kLong));
    moved.push_back(Fiber::BeginStep(kLate + 3 * Fiber::kLong));
  });
  fiber->Resume();
  EXPECT_EQ(moved.size(), 3U);
  ASSERT_TRUE(go_on);
  go_on();
  EXPECT_EQ(moved, (std::vector<bool>{false, false, false, true, false}));
  EXPECT_FALSE(Fiber::BeginStep(kStart));
  EXPECT_FALSE(Fiber::BeginStep(kLate));
}

TEST_F(FiberTest, StaysWhereItIsWithoutMemoryForMoving) {
  bool may_hold = true;
  Fiber::Run(stacks_, [&] {
    Fiber::Current()->set_elsewhere([](const std::function<void()>&) { throw std::bad_alloc(); });
    Fiber::Current()->Move();
    may_hold = Fiber::MayHoldThread();
  });
  EXPECT_FALSE(may_hold);
  EXPECT_EQ(stacks_.in_use(), 0U);
}

TEST_F(FiberTest, ExceptionsAreCaughtWithinIt) {
  bool ran_out = false;
  Fiber* fiber = nullptr;
  Fiber::Run(stacks_, [&] {
    ran_out = !UnlessMemoryRunsOut([&] {
      fiber = Fiber::Current();
      fiber->Leave();
      throw std::bad_alloc();
    });
  });
  // Another one, of the thread itself, comes and goes meanwhile.
  EXPECT_FALSE(UnlessMemoryRunsOut([] { throw std::bad_alloc(); }));
  fiber->Resume();
  EXPECT_TRUE(ran_out);
}

}  // namespace
}  // namespace portcullis::base

#include "net/internal/loop.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace portcullis::net::internal {
namespace {

class LoopTest : public testing::Test {
 protected:
  LoopTest() : thread_([this] { loop_.Run(); }) {
    loop_.RunAndWait([] {});
  }
  ~LoopTest() override {
    loop_.Stop();
    if (thread_.joinable()) thread_.join();
  }

  // Runs `task` in the turn of the sleeping loop, on this thread.
  void RunWhileItSleeps(const std::function<void()>& task) {
    bool here = false;
    while (!here) {
      std::promise<void> ran;
      loop_.RunOrPost([&] {
        here = std::this_thread::get_id() == caller_;
        if (here) task();
        ran.set_value();
      });
      ran.get_future().wait();
    }
  }

  const std::thread::id caller_ = std::this_thread::get_id();
  Loop loop_;
  std::thread thread_;
};

TEST_F(LoopTest, SleepingLoopLetsTheCallerTakeItsTurn) {
  bool in_thread = false;
  RunWhileItSleeps([&] { in_thread = loop_.InThread(); });
  EXPECT_TRUE(in_thread);
  EXPECT_FALSE(loop_.InThread());
}

TEST_F(LoopTest, BusyLoopRunsTheTaskItself) {
  std::promise<void> busy;
  std::promise<void> go_on;
  loop_.Post([&] {
    busy.set_value();
    go_on.get_future().wait();
  });
  busy.get_future().wait();
  std::promise<std::thread::id> ran_on;
  loop_.RunOrPost([&] { ran_on.set_value(std::this_thread::get_id()); });
  go_on.set_value();
  EXPECT_EQ(ran_on.get_future().get(), thread_.get_id());
}

TEST_F(LoopTest, TaskOfTheLoopRunsAtOnce) {
  bool at_once = false;
  loop_.RunAndWait([&] {
    bool ran = false;
    loop_.RunOrPost([&] { ran = true; });
    at_once = ran;
  });
  EXPECT_TRUE(at_once);
}

TEST_F(LoopTest, DeferredTasksOfABorrowedTurnRunInIt) {
  bool ran = false;
  RunWhileItSleeps([&] { loop_.Defer([&] { ran = true; }); });
  EXPECT_TRUE(ran);
}

TEST_F(LoopTest, TimerSetInABorrowedTurnWakesTheLoop) {
  std::promise<std::thread::id> fired;
  RunWhileItSleeps(
      [&] { loop_.At(loop_.now(), [&] { fired.set_value(std::this_thread::get_id()); }); });
  EXPECT_EQ(fired.get_future().get(), thread_.get_id());
}

TEST_F(LoopTest, StoppedLoopTakesNothing) {
  loop_.Stop();
  thread_.join();
  EXPECT_FALSE(loop_.RunOrPost([] { FAIL(); }));
}

}  // namespace
}  // namespace portcullis::net::internal

// SPDX-License-Identifier: Apache-2.0

#include "net/internal/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "net/client.h"
#include "net/io_threads.h"
#include "net/server.h"

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

TEST_F(LoopTest, SocketThatCannotBeWatchedHasHungUp) {
  struct Ending final : Sink {
    void OnReady(Readiness readiness) override {
      if (readiness.hangup) ended.set_value();
    }
    std::promise<void> ended;
  } sink;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);  // epoll takes no files
  std::uint64_t token = 0;
  loop_.RunAndWait([&] { token = loop_.Add(file, sink); });
  sink.ended.get_future().wait();
  loop_.RunAndWait([&] { loop_.Remove(token, file); });
  close(file);
}

TEST_F(LoopTest, SaysWhyASocketCannotBeRegistered) {
  struct Deaf final : Sink {
    void OnReady(Readiness) override {}
  } sink;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  base::Result<std::uint64_t> token = 0;
  loop_.RunAndWait([&] { token = loop_.TryAdd(file, sink); });
  EXPECT_EQ(token.status().message(), "epoll_ctl: operation not permitted");
  close(file);
}

TEST_F(LoopTest, StoppedLoopTakesNothing) {
  loop_.Stop();
  thread_.join();
  EXPECT_FALSE(loop_.RunOrPost([] { FAIL(); }));
}

// No descriptor can be opened while this lives.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(DescriptorsTest, ALoopWithoutThemSaysSoAndStillRunsTasks) {
  NoMoreDescriptors none;
  IoThreads threads(1);

  EXPECT_EQ(threads.status().message(),
            "cannot wait for sockets: epoll_create1: too many open files");
  bool ran = false;
  threads.At(0)->RunAndWait([&] { ran = true; });
  EXPECT_TRUE(ran);
}

// Such a server would run and take no connections.
TEST(DescriptorsTest, AServerThatCannotWaitForConnectionsDoesNotStart) {
  std::unique_ptr<IoThreads> threads;
  {
    NoMoreDescriptors none;
    threads = std::make_unique<IoThreads>(1);
  }

  const auto server = HttpsServer::Listen(*threads, {}, [](std::shared_ptr<Exchange>) {});

  EXPECT_EQ(server.status().message(), "listen tcp 127.0.0.1:0: epoll_ctl: bad file descriptor");
}

TEST(DescriptorsTest, ACallWithoutThemFailsAndDoesNotHang) {
  IoThreads threads(1);
  EXPECT_TRUE(threads.status().ok());
  const auto client = HttpsClient::Create(threads);
  ClientRequest request;
  request.url = "https://127.0.0.1:1/";
  NoMoreDescriptors none;

  const auto result =
      client->Call(std::move(request), base::SystemClock().Steady() + std::chrono::seconds(20));

  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.failure->cause.find("too many open files"), std::string::npos)
      << result.failure->cause;
}

}  // namespace
}  // namespace portcullis::net::internal

// SPDX-License-Identifier: Apache-2.0

#include "net/internal/resolver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace portcullis::net::internal {
namespace {

// A name server that answers "slow-…" only when it is released, and everything else at once.
class FakeNames {
 public:
  ~FakeNames() { Release(); }

  Resolver::Lookup lookup() {
    return [this](const std::string& host, int) {
      ++questions_;
      if (host.starts_with("slow-")) released_.wait();
      return Resolution{{}, host};
    };
  }
  void Release() {
    if (!is_released_.exchange(true)) release_.set_value();
  }
  int questions() const { return questions_; }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::atomic<bool> is_released_{false};
  std::atomic<int> questions_{0};
};

class Answer {
 public:
  Resolver::Done Take() {
    return [promise = promise_](const Resolution& resolution) {
      promise->set_value(resolution.error);
    };
  }
  // "" if there is none within ten seconds.
  std::string Get() {
    return future_.wait_for(std::chrono::seconds(10)) == std::future_status::ready ? future_.get()
                                                                                   : "";
  }

 private:
  std::shared_ptr<std::promise<std::string>> promise_ =
      std::make_shared<std::promise<std::string>>();
  std::future<std::string> future_ = promise_->get_future();
};

TEST(ResolverTest, ASlowNameDoesNotHoldUpOthers) {
  FakeNames names;
  Resolver resolver(names.lookup());
  Answer slow;
  Answer fast;
  resolver.Resolve("slow-a", 1, slow.Take());
  resolver.Resolve("fast", 1, fast.Take());
  EXPECT_EQ(fast.Get(), "fast");
  names.Release();
  EXPECT_EQ(slow.Get(), "slow-a");
}

TEST(ResolverTest, QuestionsAboutOneNameShareAThreadAndAnAnswer) {
  FakeNames names;
  Resolver resolver(names.lookup(), 2);
  std::vector<Answer> slow(40);
  for (Answer& answer : slow) resolver.Resolve("slow-a", 1, answer.Take());
  Answer fast;
  resolver.Resolve("fast", 1, fast.Take());
  EXPECT_EQ(fast.Get(), "fast");
  names.Release();
  for (Answer& answer : slow) EXPECT_EQ(answer.Get(), "slow-a");
  EXPECT_EQ(names.questions(), 2);
}

TEST(ResolverTest, MoreSlowNamesThanThreadsAreAnsweredInTheEnd) {
  FakeNames names;
  Resolver resolver(names.lookup(), 2);
  std::vector<Answer> answers(10);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    resolver.Resolve("slow-" + std::to_string(i), 1, answers[i].Take());
  }
  names.Release();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].Get(), "slow-" + std::to_string(i));
  }
}

TEST(ResolverTest, EndsWithoutWaitingForASlowName) {
  const auto names = std::make_shared<FakeNames>();
  std::promise<void> asked;
  {
    Resolver resolver([names, &asked, lookup = names->lookup()](const std::string& host, int port) {
      asked.set_value();
      return lookup(host, port);
    });
    resolver.Resolve("slow-a", 1, [](const Resolution&) { FAIL() << "the resolver is gone"; });
    asked.get_future().wait();
  }
  names->Release();
}

TEST(ResolverTest, LiteralsNeedNoNameServer) {
  ASSERT_EQ(Resolver::Literal("127.0.0.1", 443).size(), 1U);
  EXPECT_EQ(Resolver::Literal("127.0.0.1", 443).front().text, "127.0.0.1:443");
  EXPECT_EQ(Resolver::Literal("::1", 443).front().text, "[::1]:443");
  EXPECT_TRUE(Resolver::Literal("localhost", 443).empty());
}

}  // namespace
}  // namespace portcullis::net::internal

// SPDX-License-Identifier: Apache-2.0

#include "server/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <string>

#include "base/fiber.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kMib = 1 << 20;
constexpr auto kWait = MemoryBudget::kPatience;

base::SteadyTime At(int milliseconds) {
  return base::SteadyTime() + std::chrono::milliseconds(milliseconds);
}

TEST(MemoryBudgetTest, RefusesBeforeTheLimitAndAdmitsAgainBelowIt) {
  std::size_t used = 50 * kMib;
  MemoryBudget budget(
      100 * kMib, [&] { return used; }, base::SystemClock());
  EXPECT_TRUE(budget.Admits(At(0)));

  used = 95 * kMib;
  EXPECT_TRUE(budget.Admits(At(1))) << "it need not look all the time";
  EXPECT_FALSE(budget.Admits(At(30)));
  EXPECT_FALSE(budget.Admits(At(60)));
  EXPECT_EQ(budget.refused(), 2U);
  EXPECT_EQ(budget.used(), 95 * kMib);

  used = 80 * kMib;
  EXPECT_TRUE(budget.Admits(At(90)));
}

TEST(MemoryBudgetTest, CachesShrinkBeforeMoreRequestsAreRefused) {
  std::atomic<std::size_t> used = 95 * kMib;
  MemoryBudget budget(
      100 * kMib, [&] { return used.load(); }, base::SystemClock());
  budget.AddCache([&] { used = 60 * kMib; });
  budget.Admits(At(0));
  budget.MakeRoom(At(1), kWait);  // waits for what that has begun
  EXPECT_EQ(budget.shrunk(), 1U);
  EXPECT_TRUE(budget.Admits(At(30)));

  used = 95 * kMib;
  EXPECT_FALSE(budget.Admits(At(100))) << "not more often than once a second";
  EXPECT_EQ(budget.shrunk(), 1U);
  EXPECT_TRUE(budget.is_short());
  budget.Admits(At(1100));
  budget.MakeRoom(At(1101), kWait);
  EXPECT_EQ(budget.shrunk(), 2U);
  EXPECT_TRUE(budget.Admits(At(1130)));
  EXPECT_FALSE(budget.is_short());
}

TEST(MemoryBudgetTest, CachesShrinkBeforeWhatIsUnderWayIsEnded) {
  std::string cache(64 * kMib, 'x');
  MemoryBudget budget(base::UsedMemory() + 32 * kMib, base::UsedMemory, base::SystemClock());
  budget.AddCache([&] { std::string().swap(cache); });
  base::LimitMemory(budget.limit(), &budget);
  EXPECT_NO_THROW(base::AskForMemory(64 * kMib));
  EXPECT_EQ(budget.shrunk(), 1U);
  EXPECT_THROW(base::AskForMemory(256 * kMib), std::bad_alloc);
  EXPECT_EQ(budget.shrunk(), 1U) << "not more often than once a second";
  base::LimitMemory(std::numeric_limits<std::size_t>::max());
}

TEST(MemoryBudgetTest, WhoAsksForRoomMayHoldWhatACacheNeeds) {
  base::Mutex mutex;
  std::atomic<int> shrunk = 0;
  MemoryBudget budget(
      100 * kMib, [] { return 0; }, base::SystemClock());
  budget.AddCache([&] {
    const base::MutexLock lock(mutex);
    ++shrunk;
  });
  {
    const base::MutexLock lock(mutex);
    budget.MakeRoom(At(0), kWait);
    EXPECT_EQ(shrunk, 0);
  }
  budget.MakeRoom(At(100), kWait);
  EXPECT_EQ(shrunk, 1) << "it is waited for";
  budget.MakeRoom(At(2000), kWait);
  EXPECT_EQ(shrunk, 2);
  budget.Stop();
  budget.MakeRoom(At(4000), kWait);
  EXPECT_EQ(shrunk, 2);
}

// Nor is a fiber held up, whose thread has other connections.
TEST(MemoryBudgetTest, ARequestThatArrivesIsNotHeldUp) {
  base::Mutex mutex;
  MemoryBudget budget(
      100 * kMib, [] { return 95 * kMib; }, base::SystemClock());
  budget.AddCache([&] { const base::MutexLock lock(mutex); });
  const base::MutexLock lock(mutex);  // the cache cannot shrink meanwhile
  const base::SteadyTime began = base::SystemClock().Steady();
  EXPECT_FALSE(budget.Admits(At(0)));
  base::FiberStacks stacks;
  EXPECT_TRUE(base::Fiber::Run(stacks, [&] { budget.MakeRoom(); }));
  EXPECT_LT(base::SystemClock().Steady() - began, kWait);
}

TEST(MemoryBudgetTest, LooksAgainAfterOneThatFailed) {
  std::size_t used = 0;
  MemoryBudget budget(
      100 * kMib, [&] { return used == 0 ? throw std::bad_alloc() : used; }, base::SystemClock());
  EXPECT_THROW(budget.Admits(At(0)), std::bad_alloc);
  used = 95 * kMib;
  EXPECT_FALSE(budget.Admits(At(30)));
}

TEST(MemoryBudgetTest, ReadsLimitsAsQuantities) {
  EXPECT_EQ(ReadMemoryLimit("512Mi").value(), 512 * kMib);
  EXPECT_EQ(ReadMemoryLimit("1G").value(), 1'000'000'000U);
  EXPECT_GE(ReadMemoryLimit("").value(), 64 * kMib);
  EXPECT_EQ(ReadMemoryLimit("1Mi").status().message(),
            "invalid argument \"1Mi\" for \"--memory-limit\" flag: must be at least 64Mi");
  EXPECT_EQ(
      ReadMemoryLimit("much").status().message(),
      "invalid argument \"much\" for \"--memory-limit\" flag: quantities must match the regular "
      "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

// Files that tell of cgroups.
class Machine {
 public:
  Machine() {
    std::string name = (std::filesystem::temp_directory_path() / "machine-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Machine() { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::size_t Available() const {
    return AvailableMemory((root_ / "proc").string(), (root_ / "cgroup").string());
  }

 private:
  std::filesystem::path root_;
};

TEST(MemoryBudgetTest, TheLeastLimitOfMachineAndCgroupsCounts) {
  Machine machine;
  machine.Write("proc/meminfo", "MemTotal:        1024 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(machine.Available(), kMib);
  machine.Write("proc/self/cgroup", "0::/pods/one\n");
  machine.Write("cgroup/pods/one/memory.max", "max\n");
  EXPECT_EQ(machine.Available(), kMib);
  machine.Write("cgroup/pods/memory.max", "500000\n");
  EXPECT_EQ(machine.Available(), 500'000U);
  machine.Write("proc/self/cgroup", "5:cpu:/x\n4:memory:/old\n");
  machine.Write("cgroup/memory/old/memory.limit_in_bytes", "400000\n");
  EXPECT_EQ(machine.Available(), 400'000U);
}

}  // namespace
}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

// The store killed without warning, again and again on one folder: PC_KILL_CYCLES says how often.
// A child process opens the store, holds what it finds against what was acknowledged, and writes
// from several threads until it is killed. Parent and children share a page of memory, which
// outlives the killed as a client would.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "store/embedded/embedded_store.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;

constexpr int kWriters = 4;
constexpr int kNames = 16;  // of each writer
constexpr int kFailed = 3;  // how a child ends that has found something wrong

// Write `n` of a writer goes to name n % kNames and deletes it if n % 7 is 0.
struct Shared {
  std::array<std::atomic<std::int64_t>, kWriters> acknowledged{};
  std::atomic<std::int64_t> revision{1};  // the greatest acknowledged
  std::atomic<std::int64_t> writes{0};
  std::atomic<bool> serving{false};
};

// The write that name `k` shows after writes 1 … n; 0 if it is absent.
std::int64_t LastOf(int k, std::int64_t n) {
  const std::int64_t back = ((n - k) % kNames + kNames) % kNames;
  const std::int64_t last = n - back;
  return last <= 0 || last % 7 == 0 ? 0 : last;
}

std::string NameOf(int writer, std::int64_t k) {
  return "w" + std::to_string(writer) + "-" + std::to_string(k);
}

bool ShowsWrites(const Store& store, int writer, std::int64_t n) {
  for (int k = 0; k < kNames; ++k) {
    const std::int64_t last = LastOf(k, n);
    const ObjectPtr found = store.Get(ConfigMap("n", NameOf(writer, k)));
    if ((found == nullptr) != (last == 0)) return false;
    if (found != nullptr && found->document()["data"]["value"].AsString() != std::to_string(last)) {
      return false;
    }
  }
  return true;
}

// The number of the writer's last write in the store, or -1 if the store shows no such state.
std::int64_t Resume(const Store& store, const Shared& shared, int writer) {
  const std::int64_t n = shared.acknowledged[static_cast<std::size_t>(writer)];
  if (ShowsWrites(store, writer, n)) return n;
  return ShowsWrites(store, writer, n + 1) ? n + 1 : -1;
}

void WriteForEver(Store& store, Shared& shared, int writer, std::int64_t n) {
  for (;;) {
    ++n;
    const std::string name = NameOf(writer, n % kNames);
    const Key key = ConfigMap("n", name);
    base::Result<ObjectPtr> done = ObjectPtr();
    if (n % 7 == 0) {
      done = store.Delete(key, {});
    } else if (store.Get(key) == nullptr) {
      done = store.Create(key, Encode("n", name, std::to_string(n)));
    } else {
      done = store.Update(key, Encode("n", name, std::to_string(n)), {});
    }
    if (!done.ok() && done.status().reason() != base::Reason::kNotFound) ::_exit(kFailed);
    if (done.ok()) {
      std::int64_t known = shared.revision;
      while (known < (*done)->revision() &&
             !shared.revision.compare_exchange_weak(known, (*done)->revision())) {
      }
    }
    shared.acknowledged[static_cast<std::size_t>(writer)] = n;
    ++shared.writes;
  }
}

[[noreturn]] void Child(const std::string& path, Shared& shared) {
  auto opened = OpenEmbedded(path);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().message().c_str());
    ::_exit(kFailed);
  }
  Store& store = **opened;
  if (store.revision() < shared.revision) {
    std::fprintf(stderr, "the revision went back to %lld\n",
                 static_cast<long long>(store.revision()));
    ::_exit(kFailed);
  }
  std::array<std::int64_t, kWriters> from{};
  for (int writer = 0; writer < kWriters; ++writer) {
    auto& number = from[static_cast<std::size_t>(writer)];
    number = Resume(store, shared, writer);
    if (number >= 0) continue;
    std::fprintf(stderr, "writer %d: something acknowledged is missing\n", writer);
    ::_exit(kFailed);
  }
  for (std::size_t i = 0; i < kWriters; ++i) shared.acknowledged[i] = from[i];
  shared.serving = true;
  std::array<std::thread, kWriters> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads[static_cast<std::size_t>(writer)] = std::thread([&, writer] {
      WriteForEver(store, shared, writer, from[static_cast<std::size_t>(writer)]);
    });
  }
  for (auto& thread : threads) thread.join();
  ::_exit(kFailed);
}

// True if the child was still well when it was killed.
bool Cycle(const std::string& path, Shared& shared, std::mt19937& random) {
  shared.serving = false;
  const pid_t child = ::fork();
  if (child == 0) Child(path, shared);
  // Once in eight times while the store opens; else after some more writes.
  const bool early = random() % 8 == 0;
  const std::int64_t enough = shared.writes + static_cast<std::int64_t>(random() % 60);
  int status = 0;
  for (std::size_t i = random() % 400; early && i > 0; --i) ::sched_yield();
  while (!early && (!shared.serving || shared.writes < enough)) {
    if (::waitpid(child, &status, WNOHANG) == child) return false;
    ::sched_yield();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

TEST(KillCycles, LoseNothingThatWasAcknowledged) {
  const char* chosen = std::getenv("PC_KILL_CYCLES");
  const int cycles = chosen != nullptr ? std::atoi(chosen) : 30;
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/store.db";
  void* page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* shared = new (page) Shared;
  std::mt19937 random(11);  // NOLINT: the same cycles in every run
  for (int i = 0; i < cycles; ++i) {
    ASSERT_TRUE(Cycle(path, *shared, random)) << "cycle " << i;
  }
  std::printf("%d kills, %lld acknowledged writes\n", cycles,
              static_cast<long long>(shared->writes.load()));
  EXPECT_GT(shared->writes, 0);
  ::munmap(page, sizeof(Shared));
}

}  // namespace
}  // namespace portcullis::store

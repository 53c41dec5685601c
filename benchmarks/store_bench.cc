// SPDX-License-Identifier: Apache-2.0

// Commits per second of the embedded store, alone and with many writers, beside a bare write +
// fdatasync loop on the same disk; reads; waking watches. Files are made in PC_BENCH_DIR, or the
// temporary folder.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "store/embedded/embedded_store.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;

// A folder that is gone at the end of the run.
class Folder {
 public:
  Folder() {
    const char* chosen = std::getenv("PC_BENCH_DIR");
    const std::filesystem::path parent =
        chosen != nullptr ? std::filesystem::path(chosen) : std::filesystem::temp_directory_path();
    path_ = (parent / "pc-bench-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A store shared by the threads of one benchmark.
class Shared {
 public:
  Store& Open(bool embedded) {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) {
      folder_ = std::make_unique<Folder>();
      store_ = embedded ? OpenEmbedded(folder_->path() + "/store.db").value() : OpenMemory();
    }
    return *store_;
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    store_.reset();
    folder_.reset();
  }

 private:
  std::mutex mutex_;
  int users_ = 0;
  std::unique_ptr<Folder> folder_;
  std::unique_ptr<Store> store_;
};

void BareWriteAndSync(benchmark::State& state) {
  const Folder folder;
  const int fd = ::open((folder.path() + "/file").c_str(), O_RDWR | O_CREAT, 0600);
  const std::string page(16384, 'x');
  off_t at = 0;
  for (auto _ : state) {
    if (::pwrite(fd, page.data(), page.size(), at) < 0 || ::fdatasync(fd) != 0) std::abort();
    at += static_cast<off_t>(page.size());
  }
  ::close(fd);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BareWriteAndSync)->UseRealTime();

void Commit(benchmark::State& state, bool embedded) {
  static Shared shared;
  static std::atomic<int> next_thread{0};
  Store& store = shared.Open(embedded);
  const std::string ns = "n" + std::to_string(next_thread++);
  const std::string value(1000, 'v');
  std::int64_t i = 0;
  for (auto _ : state) {
    const std::string name = std::to_string(i++);
    if (!store.Create(ConfigMap(ns, name), Encode(ns, name, value)).ok()) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
  shared.Close();
}
BENCHMARK_CAPTURE(Commit, embedded, true)->UseRealTime()->Threads(1)->Threads(16)->Threads(128);
BENCHMARK_CAPTURE(Commit, memory, false)->UseRealTime()->Threads(1)->Threads(128);

std::unique_ptr<Store> Filled(int count) {
  auto store = OpenMemory();
  const std::string value(1000, 'v');
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    if (!store->Create(ConfigMap("n", name), Encode("n", name, value)).ok()) std::abort();
  }
  return store;
}

void Get(benchmark::State& state) {
  const auto store = Filled(10000);
  for (auto _ : state) benchmark::DoNotOptimize(store->Get(ConfigMap("n", "5000")));
}
BENCHMARK(Get);

void ListFiveThousand(benchmark::State& state) {
  const auto store = Filled(5000);
  for (auto _ : state) benchmark::DoNotOptimize(store->List({"", "configmaps"}));
}
BENCHMARK(ListFiveThousand);

// One write while 10,000 watches of other namespaces (and one of its own) are idle.
void WriteBesideIdleWatches(benchmark::State& state) {
  const auto store = OpenMemory();
  std::vector<std::unique_ptr<Watch>> watches;
  std::vector<EventPtr> events;
  for (int i = 0; i < state.range(0); ++i) {
    const std::string ns = "n" + std::to_string(i);
    watches.push_back(store->StartWatch({{"", "configmaps"}, ns, 0}, [] {}).value());
    if (!watches.back()->Poll(1, events).ok()) std::abort();
  }
  std::int64_t i = 0;
  for (auto _ : state) {
    const std::string name = std::to_string(i++);
    if (!store->Create(ConfigMap("n0", name), Encode("n0", name)).ok()) std::abort();
  }
}
BENCHMARK(WriteBesideIdleWatches)->Arg(0)->Arg(10000);

}  // namespace
}  // namespace portcullis::store

// SPDX-License-Identifier: Apache-2.0

// Calls of etcd::Client to a real etcd, beside a ping of HTTP/2 on a connection of its own. `cpu_us` is
// what one call costs this process, all threads together; etcd is another process.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "etcd/client.h"
#include "etcd/testing/calls.h"
#include "etcd/testing/etcd_server.h"
#include "net/http2_client.h"

namespace {

namespace etcd = portcullis::etcd;
namespace net = portcullis::net;
using etcd::testing::Soon;

constexpr std::size_t kValue = 1024;

etcd::testing::EtcdServer* Server() {
  static const auto server = [] {
    etcd::testing::EtcdServer::Options options;
    options.arguments = {"--grpc-keepalive-min-time=1ns"};  // pings without end
    auto made = std::make_unique<etcd::testing::EtcdServer>(std::move(options));
    if (!etcd::testing::EtcdServer::Available() || !made->Start()) made.reset();
    return made;
  }();
  return server.get();
}

double ProcessSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Counts the calls that are under way.
class Gate {
 public:
  explicit Gate(int limit) : limit_(limit) {}
  void Enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [&] { return under_way_ < limit_; });
    ++under_way_;
  }
  void Leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --under_way_;
    condition_.notify_all();
  }
  void WaitUntilEmpty() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [&] { return under_way_ == 0; });
  }

 private:
  const int limit_;
  int under_way_ = 0;
  std::mutex mutex_;
  std::condition_variable condition_;
};

// `call` begins one, given a number and the gate that it is to leave.
template <typename Call>
void Run(benchmark::State& state, int in_flight, Call&& call) {
  Gate gate(in_flight);
  std::int64_t number = 0;
  const double before = ProcessSeconds();
  std::vector<double> micros;
  for (auto _ : state) {
    const auto begun = std::chrono::steady_clock::now();
    gate.Enter();
    call(number++, gate);
    if (in_flight > 1) continue;
    gate.WaitUntilEmpty();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    micros.push_back(took.count());
  }
  gate.WaitUntilEmpty();
  if (!micros.empty()) {
    std::nth_element(micros.begin(), micros.begin() + micros.size() / 2, micros.end());
    state.counters["p50_us"] = micros[micros.size() / 2];
  }
  state.counters["cpu_us"] =
      (ProcessSeconds() - before) * 1e6 / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations());
}

std::unique_ptr<etcd::Client> Connect(benchmark::State& state) {
  const char* given = std::getenv("PORTCULLIS_BENCH_ETCD");
  if (given == nullptr && Server() == nullptr) {
    state.SkipWithError("there is no program etcd");
    return nullptr;
  }
  auto client =
      etcd::Client::Make({.endpoints = {given != nullptr ? given : Server()->endpoint()}}).value();
  (void)etcd::testing::Range(*client, {.key = "a", .range_end = {}});
  return client;
}

// Creates of objects of a kilobyte, as the store makes them.
void Txn(benchmark::State& state) {
  const auto client = Connect(state);
  if (client == nullptr) return;
  static std::int64_t run = 0;
  const std::string prefix = "/registry/configmaps/default/" + std::to_string(++run) + "-";
  Run(state, static_cast<int>(state.range(0)), [&](std::int64_t number, Gate& gate) {
    const std::string key = prefix + std::to_string(number);
    client->Txn({.compares = {{.key = key, .number = 0}},
                 .success = {etcd::testing::PutOp(key, std::string(kValue, 'x'))},
                 .failure = {etcd::testing::RangeOp(key)}},
                Soon(), [&](const auto& answer) {
                  if (!answer.ok()) state.SkipWithError(answer.status().message().c_str());
                  gate.Leave();
                });
  });
}
BENCHMARK(Txn)->Arg(1)->Arg(16)->Arg(1000)->UseRealTime();

void RangeOfOneKey(benchmark::State& state) {
  const auto client = Connect(state);
  if (client == nullptr) return;
  (void)etcd::testing::Put(*client, "/registry/health", std::string(kValue, 'x'));
  Run(state, static_cast<int>(state.range(0)), [&](std::int64_t, Gate& gate) {
    client->Range({.key = "/registry/health", .range_end = {}}, Soon(), [&](const auto& answer) {
      if (!answer.ok()) state.SkipWithError(answer.status().message().c_str());
      gate.Leave();
    });
  });
}
BENCHMARK(RangeOfOneKey)->Arg(1)->Arg(16)->Arg(1000)->UseRealTime();

// 500 objects in one answer, as the store loads them.
void RangeOfAPage(benchmark::State& state) {
  const auto client = Connect(state);
  if (client == nullptr) return;
  for (int i = 0; i < 500; ++i) {
    (void)etcd::testing::Put(*client, "/page/" + std::to_string(i), std::string(kValue, 'x'));
  }
  Run(state, 1, [&](std::int64_t, Gate& gate) {
    client->Range({.key = "/page/", .range_end = etcd::PrefixEnd("/page/")}, Soon(),
                  [&](const auto& answer) {
                    if (!answer.ok()) state.SkipWithError(answer.status().message().c_str());
                    gate.Leave();
                  });
  });
}
BENCHMARK(RangeOfAPage)->UseRealTime();

// The bare round trip. etcd takes pings only while a stream is open.
class Pinger final : public net::Http2Listener, public net::Http2Receiver {
 public:
  void OnField(std::string_view, std::string_view) override {}
  void OnData(std::string_view) override {}
  void OnEnd(const net::Http2End&) override {}
  void OnConnected() override { gate.Leave(); }
  void OnDraining(const net::Http2Goaway&) override {}
  void OnClosed(const std::string&) override { gate.Leave(); }
  Gate gate{1};
};

void Http2Ping(benchmark::State& state) {
  if (Server() == nullptr) return state.SkipWithError("there is no program etcd");
  net::IoThreads threads(1);
  const net::IoLoop loop(threads);
  const auto client = net::Http2Client::Create(loop);
  Pinger pinger;
  std::shared_ptr<net::Http2Connection> connection;
  pinger.gate.Enter();
  loop.RunAndWait([&] {
    connection = client->Connect({.host_port = "127.0.0.1:" + std::to_string(Server()->port()),
                                  .tls = nullptr,
                                  .server_name = {}},
                                 {}, pinger);
  });
  pinger.gate.WaitUntilEmpty();
  loop.RunAndWait([&] {
    const net::Http2Field head[] = {{":method", "POST"},
                                    {":scheme", "http"},
                                    {":path", "/etcdserverpb.Watch/Watch"},
                                    {":authority", "etcd"},
                                    {"content-type", "application/grpc"},
                                    {"te", "trailers"}};
    connection->Start(head, {}, false, pinger);
  });
  Run(state, 1, [&](std::int64_t, Gate& gate) {
    loop.Post([&] { connection->Ping([&] { gate.Leave(); }); });
  });
  loop.RunAndWait([&] { connection->Close("the end"); });
}
BENCHMARK(Http2Ping)->UseRealTime();

}  // namespace

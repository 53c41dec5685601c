// SPDX-License-Identifier: Apache-2.0

// What becomes of an API server that gets no memory: while requests of every kind are under way, one
// allocation of the server's threads after the other fails. The request may fail; the process, its
// threads and its locks go on, and what a client has been told is there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "net/testing/raw_peer.h"

namespace {

// So many allocations succeed before one fails; below zero all do. Those of the test do not count.
std::atomic<long> allocations_left{-1};
thread_local bool is_test = false;

void* Allocate(std::size_t size) {
  if (allocations_left.load(std::memory_order_relaxed) >= 0 && !is_test &&
      allocations_left.fetch_sub(1) == 0) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();  // throws, or has freed memory
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// GCC takes the replaced pair for a mismatch once it has inlined one half (seen with sanitizers).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) { return Allocate(size); }
// std::stable_sort asks this one. Sanitizers would bring their own, which goes with another delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace portcullis {
namespace {

using base::StrCat;
using net::testing::RawPeer;
using testing::TestServer;

struct Ask {
  std::string_view method;
  std::string path;
  std::string body = {};
  std::string_view type = "application/json";
};

struct Answer {
  int status = 0;  // 0: the connection has ended without one
  std::string body;
};

// A kind of request that fails in one place after the other: what stands before it, and what undoes
// it, whether it has come to pass or not.
struct Story {
  std::string_view name;
  std::vector<Ask> before;
  Ask request;
  std::vector<Ask> after;
};

class AllocationFailures : public ::testing::TestWithParam<std::string_view> {
 protected:
  AllocationFailures()
      : server_([](server::Options& options) {
          options.store = GetParam();
          options.controllers = {"*"};
        }) {
    is_test = true;
    tls_.client.certificate_pem = base::ReadFile(server_.folder() + "/pki/admin.crt").value();
    tls_.client.key_pem = base::ReadFile(server_.folder() + "/pki/admin.key").value();
    port_ = static_cast<int>(*base::ParseInt(server_.url().substr(server_.url().rfind(':') + 1)));
  }

  Answer Send(const Ask& ask) {
    const auto peer = RawPeer::ConnectTls(port_, tls_);
    if (peer == nullptr) return {};
    peer->Send(StrCat(ask.method, " ", ask.path, " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n",
                      "Content-Type: ", ask.type, "\r\nContent-Length: ",
                      std::to_string(ask.body.size()), "\r\n\r\n", ask.body));
    const std::string bytes = peer->ReadToEnd();
    const auto head = bytes.find("\r\n\r\n");
    if (head == std::string::npos || bytes.size() < 12) return {};
    return {static_cast<int>(base::ParseInt(bytes.substr(9, 3)).value_or(0)),
            bytes.substr(head + 4)};
  }

  // Without any failure.
  void Do(const std::vector<Ask>& asks, std::string_view where) {
    for (const Ask& ask : asks) {
      const Answer answer = Send(ask);
      EXPECT_TRUE(answer.status >= 200 && answer.status != 500 && answer.status < 504)
          << where << ": " << ask.method << " " << ask.path << ": " << answer.status << answer.body;
    }
  }

  void FailEach(const Story& story) {
    int failed = 0;
    int refused = 0;
    // Ever further apart: some hundred requests.
    for (long n = 0; n < 1'000'000; n += 1 + n / 20) {
      const std::string where = StrCat(story.name, " at ", std::to_string(n));
      Do(story.before, where);
      allocations_left = n;
      const Answer answer = Send(story.request);
      const bool has_failed = allocations_left.exchange(-1) < 0;
      if (answer.status == 500) ++refused;
      EXPECT_TRUE(answer.status == 0 || (answer.status >= 200 && answer.status < 300) ||
                  answer.status == 500)
          << where << ": " << answer.status << answer.body;
      const Answer again = Send(story.request);
      EXPECT_TRUE((again.status >= 200 && again.status < 300) || again.status == 409 ||
                  again.status == 404)
          << where << ", again: " << again.status << again.body;
      Do(story.after, where);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
      if (!has_failed) break;
      ++failed;
    }
    EXPECT_GT(failed, 30) << story.name;
    EXPECT_GT(refused, 5) << story.name;
  }

  TestServer server_;
  RawPeer::Tls tls_;
  int port_ = 0;
};

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kMap = R"({"metadata":{"name":"a","labels":{"a":"b"}},"data":{"k":"v"}})";

TEST_P(AllocationFailures, OfACreate) {
  FailEach({"create", {}, {"POST", kMaps, kMap}, {{"DELETE", kMaps + "/a"}}});
}

TEST_P(AllocationFailures, OfAList) {
  for (int i = 0; i < 20; ++i) {
    Do({{"POST", kMaps, StrCat(R"({"metadata":{"name":"m)", std::to_string(i), R"("}})")}}, "fill");
  }
  FailEach({"list", {}, {"GET", kMaps}, {}});
}

INSTANTIATE_TEST_SUITE_P(Stores, AllocationFailures, ::testing::Values("memory"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace portcullis

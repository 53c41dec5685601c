// SPDX-License-Identifier: Apache-2.0

// What becomes of a server whose I/O thread gets no memory: each allocation on it fails once in
// turn. The connection or the request may end; the thread, the server and other clients go on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "net/internal/loop.h"
#include "net/testing/http2_client.h"
#include "net/testing/test_server.h"

namespace {

// Of the thread at hand: so many allocations succeed before one fails; below zero all do.
thread_local long allocations_left = -1;

void* Allocate(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
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

namespace portcullis::net {
namespace {

using testing::Echo;
using testing::H2Client;
using testing::RawPeer;

constexpr std::string_view kRequest =
    "POST /x HTTP/1.1\r\nHost: a\r\nX-Long-Header-Name-To-Allocate: some-value-to-allocate-too\r\n"
    "Content-Length: 40\r\n\r\n0123456789012345678901234567890123456789";

class AllocationFailureTest : public ::testing::Test {
 protected:
  void Listen(bool with_tls, const Handler& handler) {
    ServerOptions options;
    options.header_timeout = std::chrono::milliseconds(400);  // makes ticks short, too
    options.bodies_on_demand = true;
    if (with_tls) {
      ServerTlsOptions tls;
      tls.certificate = {certificates_.serving.certificate_pem, certificates_.serving.key_pem, {}};
      options.tls = ServerTls::Create(tls).value();
    }
    server_ = HttpsServer::Listen(io_, std::move(options), handler).value();
  }

  // From now on, on the I/O thread.
  void FailAfter(long allocations) {
    io_.At(0)->RunAndWait([=] { allocations_left = allocations; });
  }
  // Whether an allocation has failed since.
  bool HasFailed() {
    bool failed = false;
    io_.At(0)->RunAndWait([&] {
      failed = allocations_left < 0;
      allocations_left = -1;
    });
    return failed;
  }

  std::unique_ptr<RawPeer> Connect(bool with_tls) {
    return with_tls ? RawPeer::ConnectTls(server_->port(), {}) : RawPeer::Connect(server_->port());
  }
  std::string Ask(bool with_tls) {
    const auto peer = Connect(with_tls);
    if (peer == nullptr || !peer->Send(kRequest)) return "";
    return peer->ReadUntil("0123456789012345678901234567890123456789");
  }

  // Fails one allocation after the other while `scenario` goes on, until it needs no more.
  template <typename Scenario>
  void FailEach(bool with_tls, Scenario scenario) {
    int failures = 0;
    for (long n = 0;; ++n) {
      ASSERT_LT(n, 2000);
      FailAfter(n);
      scenario();
      if (!HasFailed()) break;
      ++failures;
      ASSERT_NE(Ask(with_tls).find("200 OK"), std::string::npos) << "after failure " << n;
    }
    EXPECT_GT(failures, 10);
    // What failed is closed by a tick at the latest.
    const auto limit = base::SystemClock().Steady() + std::chrono::seconds(10);
    while (server_->counters().open_connections > 0 && base::SystemClock().Steady() < limit) {
      io_.At(0)->RunAndWait([] {});
    }
    EXPECT_EQ(server_->counters().open_connections, 0U);
  }

  testing::TestCertificates certificates_ = testing::TestCertificates::Make();
  IoThreads io_{1};
  std::unique_ptr<HttpsServer> server_;
};

// Reads the body, then answers, all on the I/O thread.
void EchoWithBody(const std::shared_ptr<Exchange>& exchange) {
  exchange->ReadBody({"user", base::SystemClock().Steady() + std::chrono::seconds(5)},
                     [exchange](BodyRead) { Echo(exchange); });
}

TEST_F(AllocationFailureTest, Http1) {
  Listen(false, EchoWithBody);
  FailEach(false, [&] { Ask(false); });
}

TEST_F(AllocationFailureTest, Tls) {
  Listen(true, EchoWithBody);
  FailEach(true, [&] { Ask(true); });
}

// A call ends at once, whatever fails, and the next one succeeds.
TEST_F(AllocationFailureTest, CallsOverHttp2) {
  testing::TestServer other(Echo);
  const auto tls = ClientTls::Create({.ca_pem = other.certificates.authority.certificate_pem,
                                      .protocols = ClientProtocols::kHttp2OrHttp1})
                       .value();
  auto request = other.Request("POST", "/x", std::string(100, 'x'));
  request.tls = tls;
  int failures = 0;
  for (long n = 0;; ++n) {
    ASSERT_LT(n, 2000);
    const auto client = HttpsClient::Create(io_);
    FailAfter(n);
    const auto result = client->Call(request, testing::TestServer::Soon());
    EXPECT_TRUE(result.ok() || !result.failure->timed_out) << "at failure " << n;
    if (!HasFailed()) {
      EXPECT_TRUE(result.ok());
      break;
    }
    ++failures;
    ASSERT_TRUE(client->Call(request, testing::TestServer::Soon()).ok()) << "after failure " << n;
  }
  EXPECT_GT(failures, 10);
}

TEST_F(AllocationFailureTest, Http2) {
  Listen(true, EchoWithBody);
  FailEach(true, [&] {
    H2Client client(server_->port());
    if (!client.connected()) return;
    const auto id = client.Submit("POST", "/x", std::string(100, 'x'), {{"x-header", "value"}});
    client.RunUntil([&] { return client.answers[id].closed; });
  });
}

TEST_F(AllocationFailureTest, StreamedAnswers) {
  Listen(true, [](const std::shared_ptr<Exchange>& exchange) {
    exchange->Start({.status = 200, .headers = {{"Content-Type", "text/plain"}}});
    exchange->Write(std::string(40'000, 'x'));
    exchange->Write("0123456789012345678901234567890123456789");
    exchange->Finish();
  });
  FailEach(true, [&] { Ask(true); });
}

}  // namespace
}  // namespace portcullis::net

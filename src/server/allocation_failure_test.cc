// SPDX-License-Identifier: Apache-2.0

#include "server/allocation_failure.h"

#include <gtest/gtest.h>

#include <new>

#include "net/client.h"
#include "net/io_threads.h"

namespace portcullis::server {
namespace {

std::string Get(int port, net::IoThreads& io) {
  const auto client = net::HttpsClient::Create(io);
  net::ClientRequest request;
  request.method = "GET";
  request.url = "http://127.0.0.1:" + std::to_string(port) + "/x";
  const auto result =
      client->Call(std::move(request), base::SystemClock().Steady() + std::chrono::seconds(20));
  if (!result.ok()) return result.failure->cause;
  return std::to_string(result.response.status) + " " + result.response.body;
}

TEST(AllocationFailureTest, EndsTheRequestAndNothingElse) {
  net::IoThreads io(1);
  int calls = 0;
  const auto server =
      net::HttpsServer::Listen(io, {}, [&](const std::shared_ptr<net::Exchange>& exchange) {
        AnswerIfMemoryRunsOut(*exchange, [&] {
          if (++calls == 1) throw std::bad_alloc();
          exchange->Respond({.body = "fine"});
        });
      }).value();

  const std::string failed = Get(server->port(), io);
  EXPECT_TRUE(failed.starts_with("500 {\"kind\":\"Status\"")) << failed;
  EXPECT_NE(failed.find("cannot allocate memory"), std::string::npos);
  EXPECT_EQ(Get(server->port(), io), "200 fine");
}

}  // namespace
}  // namespace portcullis::server

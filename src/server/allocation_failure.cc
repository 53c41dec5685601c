// SPDX-License-Identifier: Apache-2.0

#include "server/allocation_failure.h"

#include <string>

#include "base/log.h"

namespace portcullis::server {
namespace {

constexpr const char* kBody =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
    "\"message\":\"Internal error occurred: cannot allocate memory\",\"reason\":\"InternalError\","
    "\"details\":{\"causes\":[{\"message\":\"cannot allocate memory\"}]},\"code\":500}\n";

}  // namespace

void AnswerThatMemoryRanOut(net::Exchange& exchange) {
  // What the work held is free again by now: there is memory for the answer.
  const bool answered = base::UnlessMemoryRunsOut([&] {
    base::LogError("memory ran out in a request",
                   {{"path", std::string(exchange.request().path())}});
    net::Response response;
    response.status = 500;
    response.headers.Set("Content-Type", "application/json");
    response.body = kBody;
    exchange.Respond(std::move(response));
  });
  // Even without an answer the request ends: the exchange is given up when its last owner goes.
  if (!answered) base::UnlessMemoryRunsOut([&] { exchange.Abort(); });
}

}  // namespace portcullis::server

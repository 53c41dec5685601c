#include "server/allocation_failure.h"

#include <new>

#include "base/log.h"

namespace portcullis::server {
namespace {

constexpr const char* kBody =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
    "\"message\":\"Internal error occurred: cannot allocate memory\",\"reason\":\"InternalError\","
    "\"details\":{\"causes\":[{\"message\":\"cannot allocate memory\"}]},\"code\":500}\n";

}  // namespace

void AnswerIfMemoryRunsOut(net::Exchange& exchange, const std::function<void()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    // What the work held is free again by now: there is memory for the answer.
  }
  base::LogError("memory ran out in a request", {{"path", std::string(exchange.request().path())}});
  net::Response response;
  response.status = 500;
  response.headers.Set("Content-Type", "application/json");
  response.body = kBody;
  exchange.Respond(std::move(response));
}

}  // namespace portcullis::server

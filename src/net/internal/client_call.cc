// SPDX-License-Identifier: Apache-2.0

#include "net/internal/client_call.h"

#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/client_connection.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kDeadlineExceeded = "context deadline exceeded";

// "POST" as http.Client names the operation: "Post".
std::string OperationName(std::string_view method) {
  if (method.empty()) return "Get";
  std::string name = base::ToLower(method);
  name[0] = method[0];
  return name;
}

std::string WithoutPassword(const Url* url, std::string_view as_given) {
  if (url == nullptr) return std::string(as_given);
  const auto colon = url->userinfo.find(':');
  if (colon == std::string::npos) return std::string(as_given);
  Url shown = *url;
  shown.userinfo = base::StrCat(url->userinfo.substr(0, colon), ":***");
  return shown.ToString();
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

PreparedRequest::PreparedRequest(const ClientRequest& request, Url its_url)
    : url(std::move(its_url)), origin(base::StrCat(url.scheme, "://", url.HostPort())) {
  const auto append = [this](auto... parts) { (head.append(parts), ...); };
  append(std::string_view(request.method), " ", url.Target(), " HTTP/1.1\r\nHost: ");
  if (request.headers.Has("Host")) {
    append(request.headers.Get("Host"), "\r\n");
  } else {
    append(url.Authority(), "\r\n");
  }
  for (const auto& field : request.headers) {
    if (base::EqualsIgnoreCase(field.name, "Host")) continue;
    append(std::string_view(field.name), ": ", std::string_view(field.value), "\r\n");
  }
  wants_gzip = !request.headers.Has("Accept-Encoding") && !request.headers.Has("Range") &&
               request.method != "HEAD" && !request.on_data;
}

ClientCall::ClientCall(SharedRequest client_request, base::SteadyTime call_deadline)
    : request(std::move(client_request)),
      body{{}, request->body},
      deadline(call_deadline),
      started_(base::SystemClock().Steady()),
      first_method_(request->method) {}

void ClientCall::SetConnection(std::weak_ptr<ClientConnection> connection) {
  bool cancelled = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    connection_ = std::move(connection);
    cancelled = cancelled_;
  }
  if (cancelled) Cancel();
}

void ClientCall::Cancel() {
  cancelled_ = true;
  std::shared_ptr<ClientConnection> connection;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    connection = connection_.lock();
  }
  if (!connection) return;
  connection->loop().Post(
      [connection, self = shared_from_this()] { connection->CancelCall(*self); });
}

bool ClientCall::Answer(Response response) {
  switch (CheckRedirect(response)) {
    case Redirect::kFollow:
      return false;
    case Redirect::kFailed:
      return true;
    case Redirect::kNone:
      break;
  }
  result.response = std::move(response);
  Settle();
  return true;
}

void ClientCall::Fail(CallPhase phase, std::string cause) {
  CallFailure failure;
  failure.phase = phase;
  failure.timed_out = cause == kDeadlineExceeded;
  failure.too_large = is_too_large;
  failure.cancelled = cancelled_ || cause == "context canceled";
  const bool bare = phase == CallPhase::kRead || phase == CallPhase::kDecode ||
                    (phase == CallPhase::kRequest && (!prepared || url().host.empty()));
  failure.message =
      bare ? cause
           : base::StrCat(OperationName(first_method_), " ",
                          base::GoQuote(WithoutPassword(prepared ? &url() : nullptr, request->url)),
                          ": ", cause);
  failure.cause = std::move(cause);
  result.failure = std::move(failure);
  Settle();
}

void ClientCall::Settle() {
  result.elapsed = base::SystemClock().Steady() - started_;
  Deliver(std::move(result));
}

ClientCall::Redirect ClientCall::CheckRedirect(const Response& response) {
  if (request->max_redirects <= 0 || !IsRedirect(response.status)) return Redirect::kNone;
  const auto location = response.headers.Get("Location");
  if (location.empty()) return Redirect::kNone;
  auto changed = std::make_shared<ClientRequest>(*request);
  if (redirects_ + 1 >= request->max_redirects) {
    // Go's error bears the place that was not gone to, as the answer gave it.
    changed->url = location;
    request = std::move(changed);
    prepared = nullptr;
    Fail(CallPhase::kFirstByte,
         base::StrCat("stopped after ", std::to_string(request->max_redirects), " redirects"));
    return Redirect::kFailed;
  }
  auto next = ResolveReference(url(), location);
  if (!next.ok()) {
    Fail(CallPhase::kFirstByte,
         base::StrCat("failed to parse Location header ", base::GoQuote(location), ": ",
                      next.status().message()));
    return Redirect::kFailed;
  }
  ++redirects_;
  if (url().scheme == next->scheme || next->scheme == "https") {
    changed->headers.Set("Referer", url().ToString());
  }
  if (next->host != url().host) {
    for (const std::string_view name : {"Authorization", "Cookie", "Www-Authenticate"}) {
      changed->headers.Remove(name);
    }
  }
  if (response.status < 307) {
    if (changed->method != "HEAD") changed->method = "GET";
    body = {};
  }
  changed->url = next->ToString();
  changed->prepared = nullptr;
  prepared = std::make_shared<const PreparedRequest>(*changed, std::move(*next));
  request = std::move(changed);
  return Redirect::kFollow;
}

}  // namespace portcullis::net::internal

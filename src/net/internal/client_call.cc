// SPDX-License-Identifier: Apache-2.0

#include "net/internal/client_call.h"

#include <algorithm>
#include <array>

#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/loop.h"
#include "net/internal/tls_context.h"
#include "net/tunnel.h"

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

// Fields of one connection, which HTTP/2 does not know (RFC 9113 §8.2.2), and those that are added.
bool IsForHttp1(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {
      "connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Headers Http2Head(const ClientRequest& request, const Url& url, bool wants_gzip) {
  Headers head;
  head.Add(":method", request.method);
  head.Add(":scheme", url.scheme);
  head.Add(":authority", request.headers.Has("Host") ? request.headers.Get("Host")
                                                     : std::string_view(url.Authority()));
  head.Add(":path", url.Target());
  for (const Header& field : request.headers) {
    const std::string name = base::ToLower(field.name);
    if (!IsForHttp1(name)) head.Add(name, field.value);
  }
  if (wants_gzip) head.Add("accept-encoding", "gzip");
  return head;
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
  upgrades = request.on_data && AsksForUpgrade(request.headers);
  wants_gzip = !request.headers.Has("Accept-Encoding") && !request.headers.Has("Range") &&
               request.method != "HEAD" && !upgrades;
  if (request.tls && static_cast<const ClientTlsContext&>(*request.tls).offers_http2()) {
    http2_head = Http2Head(request, url, wants_gzip);
  }
}

void NameIfLost(CallResult& result) {
  if (!result.ok() || result.response.status != 0) return;
  result.failure = CallFailure{.phase = CallPhase::kConnect,
                               .cause = "context canceled",
                               .message = "context canceled",
                               .cancelled = true};
}

ClientCall::ClientCall(SharedRequest client_request, base::SteadyTime call_deadline)
    : request(std::move(client_request)),
      body{{}, request->body},
      deadline(call_deadline),
      started_(base::SystemClock().Steady()),
      first_method_(request->method) {}

void ClientCall::SetCarrier(std::weak_ptr<CallCarrier> carrier) {
  bool cancelled = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    carrier_ = std::move(carrier);
    cancelled = cancelled_;
  }
  if (cancelled) Cancel();
}

template <typename Task>
void ClientCall::AtCarrier(Task task) {
  std::shared_ptr<CallCarrier> carrier;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    carrier = carrier_.lock();
  }
  if (!carrier) return;
  carrier->loop().Post([carrier, self = shared_from_this(), task = std::move(task)]() mutable {
    task(*carrier, *self);
  });
}

void ClientCall::Cancel() {
  cancelled_ = true;
  AtCarrier([](CallCarrier& carrier, const ClientCall& self) { carrier.CancelCall(self); });
}

void ClientCall::Send(std::string bytes, std::function<void()> taken) {
  AtCarrier([bytes = std::move(bytes), taken = std::move(taken)](CallCarrier& carrier,
                                                                 const ClientCall& self) mutable {
    carrier.SendMore(self, std::move(bytes), std::move(taken));
  });
}

void ClientCall::SetPaused(bool paused) {
  if (paused_.exchange(paused) && !paused)
    AtCarrier([](CallCarrier& carrier, const ClientCall& self) { carrier.ResumeCall(self); });
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

// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/channel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "etcd/internal/grpc.h"
#include "etcd/internal/tls_files.h"

namespace portcullis::etcd::internal {
namespace {

constexpr std::uint32_t kEnhanceYourCalm = 11;  // RFC 9113 §7
constexpr auto kRetirement = std::chrono::seconds(10);
constexpr auto kComplaintInterval = std::chrono::seconds(30);

}  // namespace

Channel::Channel(const ClientOptions& options, std::vector<Endpoint> endpoints,
                 const net::IoLoop& loop, net::Http2Client& http2)
    : options_(options),
      endpoints_(std::move(endpoints)),
      loop_(loop),
      http2_(http2),
      ping_after_(options.ping_after),
      complaints_(endpoints_.size()) {}

Channel::~Channel() { Close(); }

void Channel::Open() { Connect(); }

void Channel::Close() {
  if (std::exchange(closed_, true)) return;
  loop_.Cancel(timer_);
  std::vector<std::shared_ptr<Link>> links = std::move(retired_);
  links.push_back(std::move(link_));
  links.push_back(std::move(connecting_));
  for (const auto& link : links) {
    if (!link) continue;
    loop_.Cancel(link->timer_);
    link->connection_->Close("context canceled");
    // It may be below us on the stack.
    loop_.Defer([link] {});
  }
}

void Channel::Connect() {
  if (closed_ || link_ || connecting_) return;
  const Endpoint& endpoint = endpoints_[endpoint_];
  net::Http2Target target{.host_port = endpoint.host_port, .tls = nullptr, .server_name = {}};
  if (endpoint.tls) {
    auto tls = LoadTls(options_);
    if (!tls.ok()) {
      last_failure_ = tls.status().message();
      Complain("cannot connect to etcd", last_failure_);
      ++failures_;
      return ConnectLater();
    }
    target.tls = std::move(tls).value();
    target.server_name = endpoint.host;
  }
  net::Http2Options http2;
  http2.connect_timeout = options_.dial_timeout;
  http2.ping_after = ping_after_;
  http2.ping_timeout = options_.ping_timeout;
  connecting_ = std::make_shared<Link>(*this, endpoint);
  connecting_->connection_ = http2_.Connect(target, http2, *connecting_);
}

void Channel::ConnectLater() {
  if (closed_ || link_ || connecting_ || timer_.id != 0) return;
  base::Duration wait{};
  const std::size_t rounds = failures_ / endpoints_.size();
  if (rounds > 0 && failures_ % endpoints_.size() == 0) {
    wait = options_.backoff;
    for (std::size_t i = 1; i < rounds && wait < options_.max_backoff; ++i) wait *= 2;
    wait = std::min(wait, options_.max_backoff);
  }
  timer_ = loop_.At(loop_.now() + wait, [this] {
    timer_ = {};
    Connect();
  });
}

void Channel::OnConnected(Link& link) {
  if (connecting_.get() != &link) return;
  link_ = std::move(connecting_);
  ++connections_;
  base::Log(failures_ > 0 ? base::LogLevel::kInfo : base::LogLevel::kDebug, "connected to etcd",
            {{"endpoint", link.endpoint_.text}});
  // One that finds the link gone waits again, behind the others.
  while (link_.get() == &link && !waiting_.empty()) {
    const auto first = waiting_.begin();
    Waiter* const waiter = first->second;
    waiting_.erase(first);
    waiter->place_ = 0;
    waiter->OnConnection();
  }
}

void Channel::OnDraining(Link& link, const std::string& why, bool too_many_pings) {
  if (too_many_pings) ping_after_ *= 2;
  const std::shared_ptr<Link> current = link_;
  if (current.get() == &link) Leave(current, why);
}

void Channel::OnClosed(Link& link, const std::string& cause) {
  loop_.Cancel(link.timer_);
  const auto retired = std::find_if(retired_.begin(), retired_.end(),
                                    [&](const auto& entry) { return entry.get() == &link; });
  if (retired != retired_.end()) {
    loop_.Defer([kept = *retired] {});
    retired_.erase(retired);
    return;
  }
  const bool was_open = link_.get() == &link;
  Complain(was_open ? "connection to etcd lost" : "cannot connect to etcd", cause);
  last_failure_ = cause;
  loop_.Defer([kept = was_open ? std::move(link_) : std::move(connecting_)] {});
  link_ = nullptr;
  connecting_ = nullptr;
  ++failures_;
  endpoint_ = (endpoint_ + 1) % endpoints_.size();
  ConnectLater();
}

void Channel::Leave(const std::shared_ptr<Link>& link, const std::string& why) {
  if (!link || link_ != link) return;
  Complain("leaving a member of etcd", why);
  last_failure_ = why;
  ++failures_;
  endpoint_ = (endpoint_ + 1) % endpoints_.size();
  const std::shared_ptr<Link> left = std::move(link_);
  link_ = nullptr;
  retired_.push_back(left);
  Retire(left);
  ConnectLater();
}

// About the endpoint whose turn it is. The same again and again is said now and then only.
void Channel::Complain(std::string_view what, const std::string& why) {
  Complaint& last = complaints_[endpoint_];
  std::string text = base::StrCat(what, ": ", why);
  const auto now = loop_.now();
  if (text == last.text && now - last.time < kComplaintInterval) return;
  last = {.text = std::move(text), .time = now};
  base::LogWarning(what, {{"endpoint", endpoints_[endpoint_].text}, {"error", why}});
}

void Channel::Retire(const std::shared_ptr<Link>& link) {
  const bool idle = link->connection_->streams() == 0;
  const auto end = idle ? loop_.now() : loop_.now() + kRetirement;
  link->timer_ = loop_.At(end, [this, link] {
    link->timer_ = {};
    std::erase(retired_, link);
    link->connection_->Close("the member has been left");
  });
}

void Channel::Wait(Waiter& waiter) {
  if (waiter.place_ != 0) return;
  waiter.place_ = next_place_++;
  waiting_.emplace(waiter.place_, &waiter);
  ConnectLater();
}

void Channel::Forget(Waiter& waiter) { waiting_.erase(std::exchange(waiter.place_, 0)); }

void Link::OnDraining(const net::Http2Goaway& goaway) {
  channel_.OnDraining(*this, base::StrCat("the server sent GOAWAY ", goaway.debug_data),
                      goaway.code == kEnhanceYourCalm);
}

std::int32_t Link::Start(std::string_view path, bool require_leader, base::SteadyTime deadline,
                         std::string message, bool ends, net::Http2Receiver& receiver) {
  if (!connection_->is_open()) return 0;
  std::array<net::Http2Field, 9> head{{
      {":method", "POST"},
      {":scheme", endpoint_.tls ? "https" : "http"},
      {":path", path},
      {":authority", endpoint_.host_port},
      {"content-type", "application/grpc"},
      {"te", "trailers"},
      {"user-agent", "portcullis"},
  }};
  std::size_t count = 7;
  if (require_leader) head[count++] = {"hasleader", "true"};
  std::string timeout;
  if (deadline != base::SteadyTime::max()) {
    timeout = TimeoutText(deadline - channel_.loop_.now());
    head[count++] = {.name = "grpc-timeout", .value = timeout, .changes = true};
  }
  return connection_->Start({head.data(), count}, {std::move(message), nullptr}, ends, receiver);
}

}  // namespace portcullis::etcd::internal

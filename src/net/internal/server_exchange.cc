// SPDX-License-Identifier: Apache-2.0

#include "net/internal/server_exchange.h"

#include <optional>

#include "base/allocation_failure.h"

namespace portcullis::net::internal {

ServerExchange::ServerExchange(Origin origin, Request request)
    : origin_(std::move(origin)),
      certificate_(origin_.connection->JudgeCertificate()),
      request_(std::move(request)),
      body_complete_(origin_.body_complete),
      body_too_large_(origin_.body_too_large) {}

ServerExchange::~ServerExchange() {
  if (answered_) return;
  const bool posted = base::UnlessMemoryRunsOut([this] {
    origin_.connection->shared_loop()->Post(
        [connection = origin_.connection, stream = origin_.stream] {
          connection->Guard([&] {
            if (!connection->closed() && connection->session() != nullptr) {
              connection->session()->Abandon(stream);
            }
          });
        });
  });
  if (!posted) origin_.connection->Doom();
}

template <typename F>
void ServerExchange::OnLoop(F action, When when) {
  const auto run = [](ServerExchange& exchange, F& f) {
    const auto& connection = exchange.origin_.connection;
    connection->Guard([&] {
      if (!connection->closed() && connection->session() != nullptr) {
        f(*connection->session(), exchange);
      }
    });
  };
  const auto& loop = origin_.connection->shared_loop();
  if (posted_ == 0 && loop->InThread()) return run(*this, action);
  const bool first = posted_.fetch_add(1) == 0;
  auto task = [self = shared_from_this(), f = std::move(action), run]() mutable {
    self->posted_.fetch_sub(1);
    run(*self, f);
  };
  const bool done = base::UnlessMemoryRunsOut([&] {
    if (first && when == When::kAtOnce) {
      loop->RunOrPost(std::move(task));
    } else {
      loop->Post(std::move(task));
    }
  });
  // What the handler has said is lost: its client must not wait for it.
  if (!done) origin_.connection->Doom();
}

std::optional<BodyRead> ServerExchange::AwaitBody(BodyRequest& request,
                                                  std::function<void(BodyRead)>& fn) {
  base::MutexLock lock(mutex_);
  if (body_too_large_) return BodyRead::kTooLarge;
  if (body_complete_) return BodyRead::kComplete;
  if (closed_) return BodyRead::kClosed;
  body_request_ = std::move(request);
  on_body_ = std::move(fn);
  return std::nullopt;
}

void ServerExchange::ReadBody(BodyRequest request, std::function<void(BodyRead)> fn) {
  if (const auto known = AwaitBody(request, fn)) return fn(*known);
  OnLoop([](Session& session, ServerExchange& exchange) { session.ReadBody(exchange); },
         When::kAtOnce);
}

void ServerExchange::RunOnIoThread(std::function<void()> fn) {
  const bool posted =
      base::UnlessMemoryRunsOut([&] { origin_.connection->shared_loop()->Post(std::move(fn)); });
  if (!posted) origin_.connection->Doom();
}

void ServerExchange::RunOnFiber(std::function<void()> fn) {
  const bool posted = base::UnlessMemoryRunsOut(
      [&] { origin_.connection->shared_loop()->RunOnFiber(std::move(fn)); });
  if (!posted) origin_.connection->Doom();
}

bool ServerExchange::ReserveBody(std::size_t bytes) {
  if (has_room_ || room_) return has_room_;
  std::string owner;
  {
    base::MutexLock lock(mutex_);
    owner = body_request_.owner;
  }
  const auto on_room = [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->OnLoop([](Session& session, ServerExchange& exchange) {
      exchange.has_room_ = true;
      session.ReadBody(exchange);
    });
  };
  room_ = origin_.connection->core().bodies->Reserve(std::move(owner), bytes, on_room, has_room_);
  if (!room_) EndBody(BodyRead::kRefused);
  return has_room_;
}

void ServerExchange::SetBody(std::string body) {
  std::function<void(BodyRead)> fn;
  {
    base::MutexLock lock(mutex_);
    request_.body = std::move(body);
    body_complete_ = true;
    fn = TakeBodyCallback();
  }
  if (fn) fn(BodyRead::kComplete);
}

void ServerExchange::EndBody(BodyRead outcome) {
  std::function<void(BodyRead)> fn;
  {
    base::MutexLock lock(mutex_);
    if (outcome == BodyRead::kTooLarge) body_too_large_ = true;
    fn = TakeBodyCallback();
  }
  room_.reset();
  if (fn) fn(outcome);
}

bool ServerExchange::BodyIsOverdue(base::SteadyTime now) const {
  base::MutexLock lock(mutex_);
  return on_body_ != nullptr && now > body_request_.deadline;
}

bool ServerExchange::wants_body() const {
  base::MutexLock lock(mutex_);
  return on_body_ != nullptr;
}

std::function<void(BodyRead)> ServerExchange::TakeBodyCallback() {
  return std::exchange(on_body_, nullptr);
}

void ServerExchange::Respond(Response response) {
  if (answered_.exchange(true)) return;
  OnLoop(
      [response = std::move(response)](Session& session, ServerExchange& exchange) mutable {
        session.Respond(exchange, std::move(response));
      },
      When::kAtOnce);
}

void ServerExchange::Start(ResponseHead head) {
  if (answered_) return;
  OnLoop([head = std::move(head)](Session& session, ServerExchange& exchange) mutable {
    session.Start(exchange, std::move(head));
  });
}

void ServerExchange::Write(std::string chunk) {
  if (answered_ || chunk.empty()) return;
  buffered_.fetch_add(chunk.size());
  OnLoop([chunk = std::move(chunk)](Session& session, ServerExchange& exchange) mutable {
    session.Write(exchange, nullptr, std::move(chunk));
  });
}

void ServerExchange::Write(std::shared_ptr<const std::string> chunk) {
  if (answered_ || chunk->empty()) return;
  buffered_.fetch_add(chunk->size());
  OnLoop([chunk = std::move(chunk)](Session& session, ServerExchange& exchange) mutable {
    session.Write(exchange, std::move(chunk), {});
  });
}

void ServerExchange::Finish() {
  if (answered_.exchange(true)) return;
  OnLoop([](Session& session, ServerExchange& exchange) { session.Finish(exchange); });
}

void ServerExchange::StartWebSocket(WebSocketAnswer handshake) {
  if (handshake.accepted ? answered_.load() : answered_.exchange(true)) return;
  OnLoop([handshake = std::move(handshake)](Session& session, ServerExchange& exchange) {
    session.StartWebSocket(exchange, handshake);
  });
}

void ServerExchange::StartTunnel(std::function<void(std::string_view)> on_bytes) {
  if (answered_) return;
  OnLoop([on_bytes = std::move(on_bytes)](Session& session, ServerExchange& exchange) mutable {
    session.StartTunnel(exchange, std::move(on_bytes));
  });
}

void ServerExchange::ReadMore() {
  OnLoop([](Session& session, ServerExchange& exchange) { session.ReadMore(exchange); });
}

void ServerExchange::Abort() {
  if (answered_.exchange(true)) return;
  OnLoop([](Session& session, ServerExchange& exchange) { session.Abandon(exchange.stream()); });
}

void ServerExchange::OnClosed(std::function<void()> fn) {
  {
    base::MutexLock lock(mutex_);
    if (!peer_gone_) {
      if (!closed_) on_closed_ = std::move(fn);
      return;
    }
  }
  fn();
}

void ServerExchange::OnDrained(std::function<void()> fn) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(fn));
  base::MutexLock lock(mutex_);
  if (!closed_) on_drained_ = std::move(shared);
}

void ServerExchange::Released(std::size_t bytes) {
  if (bytes == 0 || buffered_.fetch_sub(bytes) != bytes) return;
  std::shared_ptr<const std::function<void()>> fn;
  {
    base::MutexLock lock(mutex_);
    fn = on_drained_;
  }
  if (fn != nullptr) origin_.connection->Guard(*fn);
}

void ServerExchange::PeerGone() {
  std::function<void()> fn;
  std::function<void(BodyRead)> body_fn;
  {
    base::MutexLock lock(mutex_);
    if (closed_.exchange(true)) return;
    peer_gone_ = true;
    fn = std::move(on_closed_);
    on_closed_ = nullptr;
    on_drained_ = nullptr;
    body_fn = TakeBodyCallback();
  }
  if (!body_complete_) room_.reset();  // else the handler has the body
  if (body_fn) body_fn(BodyRead::kClosed);
  if (fn) fn();
}

void ServerExchange::Completed() {
  // Callbacks may hold the exchange itself: let them go outside the lock.
  std::function<void()> closed_fn;
  std::shared_ptr<const std::function<void()>> drained_fn;
  base::MutexLock lock(mutex_);
  closed_ = true;
  closed_fn.swap(on_closed_);
  drained_fn.swap(on_drained_);
}

}  // namespace portcullis::net::internal

#include "net/internal/server_exchange.h"

namespace portcullis::net::internal {

ServerExchange::ServerExchange(Origin origin, Request request)
    : origin_(std::move(origin)), request_(std::move(request)) {}

ServerExchange::~ServerExchange() {
  if (answered_) return;
  origin_.connection->shared_loop()->Post(
      [connection = origin_.connection, stream = origin_.stream] {
        if (!connection->closed() && connection->session() != nullptr) {
          connection->session()->Abandon(stream);
        }
      });
}

template <typename F>
void ServerExchange::OnLoop(F action, When when) {
  const auto run = [](ServerExchange& exchange, F& f) {
    const auto& connection = exchange.origin_.connection;
    if (!connection->closed() && connection->session() != nullptr) {
      f(*connection->session(), exchange);
    }
  };
  const auto& loop = origin_.connection->shared_loop();
  if (posted_ == 0 && loop->InThread()) return run(*this, action);
  const bool first = posted_.fetch_add(1) == 0;
  auto task = [self = shared_from_this(), f = std::move(action), run]() mutable {
    self->posted_.fetch_sub(1);
    run(*self, f);
  };
  if (first && when == When::kAtOnce) {
    loop->RunOrPost(std::move(task));
  } else {
    loop->Post(std::move(task));
  }
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
  base::MutexLock lock(mutex_);
  if (!closed_) on_drained_ = std::move(fn);
}

void ServerExchange::Released(std::size_t bytes) {
  if (bytes == 0 || buffered_.fetch_sub(bytes) != bytes) return;
  std::function<void()> fn;
  {
    base::MutexLock lock(mutex_);
    fn = on_drained_;
  }
  if (fn) fn();
}

void ServerExchange::PeerGone() {
  std::function<void()> fn;
  {
    base::MutexLock lock(mutex_);
    if (closed_.exchange(true)) return;
    peer_gone_ = true;
    fn = std::move(on_closed_);
    on_closed_ = nullptr;
    on_drained_ = nullptr;
  }
  if (fn) fn();
}

void ServerExchange::Completed() {
  // Callbacks may hold the exchange itself: let them go outside the lock.
  std::function<void()> closed_fn;
  std::function<void()> drained_fn;
  base::MutexLock lock(mutex_);
  closed_ = true;
  closed_fn.swap(on_closed_);
  drained_fn.swap(on_drained_);
}

}  // namespace portcullis::net::internal

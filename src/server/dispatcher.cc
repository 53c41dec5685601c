#include "server/dispatcher.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "metrics/apiserver_metrics.h"
#include "server/filters/access.h"
#include "server/filters/finish.h"
#include "server/flag_values.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/router.h"

namespace portcullis::server {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// So many requests may wait for webhooks without taking the place of another one.
constexpr int kMaxWaiting = 2000;
constexpr int kSpareThreads = 16;

std::size_t MaxThreads(const Options& options) {
  const int limits = options.max_requests_inflight + options.max_mutating_requests_inflight;
  return static_cast<std::size_t>(limits + kMaxWaiting + kSpareThreads);
}

// When the request must be answered: --request-timeout, or less if the client says so.
base::Result<base::SteadyTime> DeadlineOf(const Call& call) {
  auto timeout = call.env.options->request_timeout;
  const std::string_view wanted = call.info.query.Get("timeout");
  if (!wanted.empty()) {
    const auto given = internal::ReadDuration(wanted);
    if (!given.ok()) {
      return base::BadRequest(base::StrCat("invalid timeout specified in the request URL - ",
                                           given.status().message()));
    }
    if (given->count() > 0) timeout = std::min(timeout, *given);
  }
  return call.exchange->received_at() + timeout;
}

}  // namespace

// A request's place under one of the limits; confined to its worker.
class Dispatcher::Seat final : public admission::Place {
 public:
  Seat(std::atomic<int>& count, std::atomic<int>& waiting) : count_(count), waiting_(waiting) {}
  ~Seat() override { count_.fetch_sub(1); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  void Leave() override {
    away_ = waiting_.fetch_add(1) < kMaxWaiting;
    (away_ ? count_ : waiting_).fetch_sub(1);
  }
  void Return() override {
    if (!std::exchange(away_, false)) return;
    waiting_.fetch_sub(1);
    count_.fetch_add(1);
  }

 private:
  std::atomic<int>& count_;
  std::atomic<int>& waiting_;
  bool away_ = false;
};

Dispatcher::Dispatcher(const Environment& env) : env_(env), pool_(MaxThreads(*env.options)) {}

Dispatcher::Lane Dispatcher::LaneOf(const net::Request& request) {
  const std::string_view query = request.query();
  if (Contains(query, "watch=true") || Contains(query, "watch=1") ||
      Contains(request.target, "/watch/") || Contains(query, "follow=true")) {
    return Lane::kLongRunning;
  }
  return request.method == "GET" || request.method == "HEAD" ? Lane::kReadOnly : Lane::kMutating;
}

void Dispatcher::Handle(std::shared_ptr<net::Exchange> exchange) {
  const Lane lane = LaneOf(exchange->request());
  std::atomic<int>* count = lane == Lane::kReadOnly   ? &reading_
                            : lane == Lane::kMutating ? &mutating_
                                                      : nullptr;
  if (count != nullptr) {
    const int limit = lane == Lane::kReadOnly ? env_.options->max_requests_inflight
                                              : env_.options->max_mutating_requests_inflight;
    if (count->fetch_add(1) >= limit && limit > 0) {
      count->fetch_sub(1);
      net::Response response;
      response.status = 429;
      response.headers = {{"Retry-After", "1"},
                          {"Content-Type", "text/plain; charset=utf-8"},
                          {"X-Content-Type-Options", "nosniff"}};
      response.body = "Too many requests, please try again later.\n";
      exchange->Respond(std::move(response));
      return;
    }
  }
  pool_.Post([this, exchange = std::move(exchange), count]() mutable {
    std::optional<Seat> seat;
    if (count != nullptr) seat.emplace(*count, waiting_);
    Process(std::move(exchange), seat ? &*seat : nullptr);
  });
}

void Dispatcher::HandleHere(std::shared_ptr<net::Exchange> exchange) {
  Process(std::move(exchange), nullptr);
}

void Dispatcher::Process(std::shared_ptr<net::Exchange> exchange, Seat* seat) {
  Call call(env_, std::move(exchange));
  call.recorder.set_place(seat);
  const net::Request& request = call.exchange->request();
  call.info = ParseRequestInfo(request.method, request.target);
  call.catalog = env_.catalog->Get();
  call.body = call.exchange->TakeBody();
  base::Status access;
  std::optional<Reply> instead;
  if (const auto deadline = DeadlineOf(call); deadline.ok()) {
    call.deadline = *deadline;
    access = filters::CheckAccess(call, instead);
  } else {
    access = deadline.status();
  }
  Reply reply = !access.ok() ? ErrorReply(call, access) : instead ? *instead : Route(call);
  filters::Finish(call, std::move(reply));
}

}  // namespace portcullis::server

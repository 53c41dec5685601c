#include "server/seats.h"

#include <string_view>
#include <utility>

namespace portcullis::server {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

class Seats::Counted final : public Seat {
 public:
  Counted(std::atomic<int>& count, std::atomic<int>& away) : count_(count), away_count_(away) {}
  ~Counted() override { (away_ ? away_count_ : count_).fetch_sub(1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void Leave() override {
    away_ = away_count_.fetch_add(1) < kMaxAway;
    (away_ ? count_ : away_count_).fetch_sub(1);
  }
  void Return() override {
    if (!std::exchange(away_, false)) return;
    away_count_.fetch_sub(1);
    count_.fetch_add(1);
  }

 private:
  std::atomic<int>& count_;
  std::atomic<int>& away_count_;
  bool away_ = false;
};

bool IsLongRunning(const net::Request& request) {
  const std::string_view query = request.query();
  return Contains(query, "watch=true") || Contains(query, "watch=1") ||
         Contains(request.target, "/watch/") || Contains(query, "follow=true");
}

std::optional<std::shared_ptr<Seat>> Seats::Take(const Call& call) {
  const net::Request& request = call.exchange->request();
  if (IsLongRunning(request)) return nullptr;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  std::atomic<int>& count = reads ? reading_ : mutating_;
  const int limit =
      reads ? options_.max_requests_inflight : options_.max_mutating_requests_inflight;
  if (count.fetch_add(1) >= limit && limit > 0) {
    count.fetch_sub(1);
    return std::nullopt;
  }
  return std::make_shared<Counted>(count, away_);
}

}  // namespace portcullis::server

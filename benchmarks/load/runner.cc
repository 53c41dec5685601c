// SPDX-License-Identifier: Apache-2.0

#include "runner.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>

#include "base/strings.h"

namespace portcullis::load {
namespace {

constexpr double kNoEnd = 1e6;  // seconds
constexpr auto kCallLimit = std::chrono::seconds(60);

double Milliseconds(base::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

base::Duration Seconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

// One phase of a run: every connection starts its next request when the last one is answered, until
// the time is over.
class Phase {
 public:
  Phase(const Target& target, const MakeRequest& make, std::atomic<std::size_t>& number,
        int connections, double seconds,
        std::size_t limit = std::numeric_limits<std::size_t>::max(),
        std::function<void(const net::CallResult&)> on_result = nullptr)
      : target_(target),
        make_(make),
        number_(number),
        limit_(limit),
        on_result_(std::move(on_result)),
        end_(base::SystemClock().Steady() + Seconds(seconds)),
        running_(connections) {
    lanes_.resize(static_cast<std::size_t>(connections));
    for (auto& lane : lanes_) Next(lane);
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [this] { return running_ == 0; });
  }

  struct Lane {
    std::vector<float> latencies;  // milliseconds
    std::size_t errors = 0;
    std::string first_error;
  };
  const std::vector<Lane>& lanes() const { return lanes_; }

 private:
  void Next(Lane& lane) {
    const auto now = base::SystemClock().Steady();
    const std::size_t number = now >= end_ ? limit_ : number_.fetch_add(1);
    if (number >= limit_) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--running_ == 0) condition_.notify_all();
      return;
    }
    target_.client().Begin(make_(number), now + kCallLimit,
                           [this, &lane](const net::CallResult& result) {
                             Record(lane, result);
                             if (on_result_) on_result_(result);
                             Next(lane);
                           });
  }

  static void Record(Lane& lane, const net::CallResult& result) {
    lane.latencies.push_back(static_cast<float>(Milliseconds(result.elapsed)));
    if (result.ok() && result.response.status < 300) return;
    if (lane.errors++ > 0) return;
    lane.first_error = result.ok() ? base::StrCat(std::to_string(result.response.status), " ",
                                                  result.response.body.substr(0, 300))
                                   : result.failure->message;
  }

  const Target& target_;
  const MakeRequest& make_;
  std::atomic<std::size_t>& number_;
  const std::size_t limit_;
  const std::function<void(const net::CallResult&)> on_result_;
  const base::SteadyTime end_;
  std::vector<Lane> lanes_;
  std::mutex mutex_;
  std::condition_variable condition_;
  int running_;
};

double Percentile(const std::vector<float>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return static_cast<double>(sorted[static_cast<std::size_t>(last * share)]);
}

}  // namespace

void SetPercentiles(Figures& figures) {
  std::sort(figures.latencies.begin(), figures.latencies.end());
  figures.p50_milliseconds = Percentile(figures.latencies, 0.5);
  figures.p99_milliseconds = Percentile(figures.latencies, 0.99);
}

Figures RunLoad(const Target& target, const RunOptions& options, const MakeRequest& make) {
  std::atomic<std::size_t> number{0};
  Phase(target, make, number, options.connections, options.warmup_seconds).Wait();

  const auto& clock = base::SystemClock();
  const Usage before = target.usage();
  const auto start = clock.Steady();
  Phase phase(target, make, number, options.connections, options.seconds);
  phase.Wait();
  const double elapsed = Milliseconds(clock.Steady() - start) / 1000;
  const Usage after = target.usage();

  Figures figures;
  for (const auto& lane : phase.lanes()) {
    figures.latencies.insert(figures.latencies.end(), lane.latencies.begin(), lane.latencies.end());
    figures.errors += lane.errors;
    if (figures.first_error.empty()) figures.first_error = lane.first_error;
  }
  SetPercentiles(figures);
  figures.requests = figures.latencies.size();
  figures.highest_number = number;
  const auto count = static_cast<double>(std::max<std::size_t>(figures.requests, 1));
  figures.requests_per_second = count / elapsed;
  figures.cpu_milliseconds = (after.cpu_seconds - before.cpu_seconds) * 1000 / count;
  figures.memory_megabytes = after.memory_megabytes;
  return figures;
}

void RunEach(const Target& target, int connections, std::size_t count, const MakeRequest& make,
             const std::function<void(const net::CallResult&)>& on_result) {
  std::atomic<std::size_t> number{0};
  Phase(target, make, number, connections, kNoEnd, count, on_result).Wait();
}

}  // namespace portcullis::load

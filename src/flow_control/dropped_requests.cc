// SPDX-License-Identifier: Apache-2.0

#include "flow_control/dropped_requests.h"

#include <algorithm>

namespace portcullis::flow_control {
namespace {

constexpr std::int64_t kMaxRetryAfter = 32;

}  // namespace

void DroppedRequests::Record(std::int64_t second) {
  const base::MutexLock lock(mutex_);
  if (current_.second == second) {
    ++current_.requests;
    return;
  }
  history_.push_back(current_);
  const std::int64_t reach = std::min(2 * retry_after_, kMaxRetryAfter);
  while (current_.second - history_.front().second > reach) history_.pop_front();
  current_ = {second, 1};
  Adjust(second);
}

std::int64_t DroppedRequests::retry_after() const {
  const base::MutexLock lock(mutex_);
  return retry_after_;
}

void DroppedRequests::Adjust(std::int64_t second) {
  std::int64_t dropped = 0;  // in the last `retry_after_` seconds before this one
  for (auto it = history_.rbegin(); it != history_.rend(); ++it) {
    if (second - it->second > retry_after_) break;
    if (it->second < second) dropped += it->requests;
  }
  if (second - raised_ >= retry_after_ && dropped >= 3 * retry_after_) {
    retry_after_ = std::min(2 * retry_after_, kMaxRetryAfter);
    raised_ = second;
  } else if (dropped < retry_after_ && retry_after_ > 1) {
    --retry_after_;
  }
}

}  // namespace portcullis::flow_control

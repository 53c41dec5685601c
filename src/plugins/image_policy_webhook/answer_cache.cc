// SPDX-License-Identifier: Apache-2.0

#include "plugins/image_policy_webhook/answer_cache.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

constexpr std::size_t kMostAnswers = 1024;

}  // namespace

std::optional<ImageAnswer> AnswerCache::Find(const std::string& key, base::SteadyTime now) {
  auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->expires <= now) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->answer;
}

void AnswerCache::Put(const std::string& key, const ImageAnswer& answer, base::SteadyTime expires) {
  if (auto found = by_key_.find(key); found != by_key_.end()) {
    found->second->answer = answer;
    found->second->expires = expires;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return;
  }
  if (by_use_.size() >= kMostAnswers) {
    by_key_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
  by_use_.push_front({key, answer, expires});
  by_key_.emplace(by_use_.front().key, by_use_.begin());
}

}  // namespace portcullis::plugins::image_policy_webhook

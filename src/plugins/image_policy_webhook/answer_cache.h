// SPDX-License-Identifier: Apache-2.0

// Answers by the review they belong to; the least recently used of 1024 is forgotten first.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace portcullis::plugins::image_policy_webhook {

// What the service said.
struct ImageAnswer {
  bool allowed = false;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> audit_annotations;
};

// Confined to one thread at a time.
class AnswerCache {
 public:
  std::optional<ImageAnswer> Find(const std::string& key, base::SteadyTime now);
  void Put(const std::string& key, const ImageAnswer& answer, base::SteadyTime expires);

 private:
  struct Entry {
    std::string key;
    ImageAnswer answer;
    base::SteadyTime expires;
  };
  std::list<Entry> by_use_;                                        // most recently used first
  std::map<std::string_view, std::list<Entry>::iterator> by_key_;  // keys live in the list
};

}  // namespace portcullis::plugins::image_policy_webhook

// SPDX-License-Identifier: Apache-2.0

// What one policy has made of a request, over all its bindings: the gravest. Value type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "offline/result.h"
#include "offline/suites/suite.h"

namespace portcullis::offline {

class PolicyVerdict {
 public:
  PolicyVerdict(const std::string& policy, const Result& judged);

  bool was_asked() const { return asked_; }
  bool matched() const { return matched_; }
  const std::string& reason() const { return reason_; }
  // Why it does not match: ": Rules: …".
  std::string why() const;
  const std::vector<std::string>& messages() const { return messages_; }
  std::uint64_t cost() const { return cost_; }

  bool Is(Expected expected) const;
  Expected verdict() const;

 private:
  void Add(const PolicyStep& step);

  std::vector<std::string> messages_;
  std::string reason_;
  std::string why_;
  std::uint64_t cost_ = 0;
  bool asked_ = false;
  bool matched_ = false;
  bool denied_ = false;
  bool failed_ = false;
  bool refused_ = false;  // by an expression that failed
  bool not_enforced_ = false;
  bool warned_ = false;
};

}  // namespace portcullis::offline

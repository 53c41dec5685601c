// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <utility>

#include "authz/modes.h"

namespace portcullis::authz {
namespace {

// A series begins with the first decision.
class Counted final : public Authorizer {
 public:
  Counted(std::shared_ptr<const Authorizer> member, std::string type, std::string name,
          metrics::Family<metrics::Counter>& decisions)
      : member_(std::move(member)),
        type_(std::move(type)),
        name_(std::move(name)),
        decisions_(decisions) {}

  Decision Authorize(const Attributes& attributes) const override {
    Decision decision = member_->Authorize(attributes);
    if (decision.verdict == Verdict::kAllowed) Count(allowed_, "allowed");
    if (decision.verdict == Verdict::kDenied) Count(denied_, "denied");
    return decision;
  }
  Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    return member_->RulesFor(user, ns);
  }

 private:
  void Count(std::atomic<metrics::Counter*>& counter, const char* decision) const {
    metrics::Counter* known = counter.load(std::memory_order_acquire);
    if (known == nullptr) {
      known = &decisions_.With({type_, name_, decision});
      counter.store(known, std::memory_order_release);
    }
    known->Increment();
  }

  const std::shared_ptr<const Authorizer> member_;
  const std::string type_;
  const std::string name_;
  metrics::Family<metrics::Counter>& decisions_;
  mutable std::atomic<metrics::Counter*> allowed_{nullptr};
  mutable std::atomic<metrics::Counter*> denied_{nullptr};
};

}  // namespace

std::unique_ptr<Authorizer> MakeCounted(std::shared_ptr<const Authorizer> member, std::string type,
                                        std::string name,
                                        metrics::Family<metrics::Counter>& decisions) {
  return std::make_unique<Counted>(std::move(member), std::move(type), std::move(name), decisions);
}

}  // namespace portcullis::authz

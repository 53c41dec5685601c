// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "api/field_error.h"
#include "authz/authorizer.h"
#include "base/strings.h"

namespace portcullis::authz {
namespace {

class Union final : public Authorizer {
 public:
  explicit Union(std::vector<std::shared_ptr<const Authorizer>> members)
      : members_(std::move(members)) {}

  Decision Authorize(const Attributes& attributes) const override {
    std::vector<std::string> reasons;
    std::vector<std::string> errors;
    for (const auto& member : members_) {
      Decision decision = member->Authorize(attributes);
      if (decision.verdict != Verdict::kNoOpinion) return decision;
      if (!decision.reason.empty()) reasons.push_back(std::move(decision.reason));
      if (!decision.error.empty()) errors.push_back(std::move(decision.error));
    }
    return {Verdict::kNoOpinion, base::Join(reasons, "\n"), api::AggregateText(errors)};
  }

  Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    Rules all;
    std::vector<std::string> errors;
    for (const auto& member : members_) {
      Rules rules = member->RulesFor(user, ns);
      std::move(rules.resource_rules.begin(), rules.resource_rules.end(),
                std::back_inserter(all.resource_rules));
      std::move(rules.non_resource_rules.begin(), rules.non_resource_rules.end(),
                std::back_inserter(all.non_resource_rules));
      all.incomplete = all.incomplete || rules.incomplete;
      if (!rules.error.empty()) errors.push_back(std::move(rules.error));
    }
    all.error = base::Join(errors, ", ");
    return all;
  }

 private:
  const std::vector<std::shared_ptr<const Authorizer>> members_;
};

}  // namespace

std::unique_ptr<Authorizer> MakeUnion(std::vector<std::shared_ptr<const Authorizer>> members) {
  return std::make_unique<Union>(std::move(members));
}

}  // namespace portcullis::authz

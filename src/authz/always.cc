// SPDX-License-Identifier: Apache-2.0

// The authorizers that need no rules.

#include "authz/authorizer.h"

namespace portcullis::authz {
namespace {

class AlwaysAllow final : public Authorizer {
 public:
  Decision Authorize(const Attributes&) const override { return {Verdict::kAllowed, "", ""}; }
  Rules RulesFor(const api::UserInfo&, std::string_view) const override {
    Rules rules;
    rules.resource_rules.push_back({{"*"}, {"*"}, {"*"}, {}});
    rules.non_resource_rules.push_back({{"*"}, {"*"}});
    return rules;
  }
};

class AlwaysDeny final : public Authorizer {
 public:
  Decision Authorize(const Attributes&) const override {
    return {Verdict::kNoOpinion, "Everything is forbidden.", ""};
  }
  Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }
};

class PrivilegedGroup final : public Authorizer {
 public:
  explicit PrivilegedGroup(std::string group) : group_(std::move(group)) {}
  Decision Authorize(const Attributes& attributes) const override {
    if (!attributes.user->InGroup(group_)) return {};
    return {Verdict::kAllowed, "", ""};
  }
  Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }

 private:
  const std::string group_;
};

}  // namespace

std::unique_ptr<Authorizer> MakeAlwaysAllow() { return std::make_unique<AlwaysAllow>(); }
std::unique_ptr<Authorizer> MakeAlwaysDeny() { return std::make_unique<AlwaysDeny>(); }
std::unique_ptr<Authorizer> MakePrivilegedGroup(std::string group) {
  return std::make_unique<PrivilegedGroup>(std::move(group));
}

}  // namespace portcullis::authz

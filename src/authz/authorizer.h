// SPDX-License-Identifier: Apache-2.0

// Authorizer answers whether a user may do something.
//
//   authz::Decision decision = authorizer.Authorize(attributes);
//   if (!decision.allowed()) return authz::Denied(attributes, decision.reason);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/user_info.h"
#include "authz/selectors.h"
#include "base/status.h"

namespace portcullis::authz {

// One action. Views, valid for the call. For a path ("/healthz") resource_request is false and only
// user, verb and path count.
struct Attributes {
  const api::UserInfo* user = nullptr;  // REQUIRES: not null
  std::string_view verb;  // get, list, watch, create, …; lower-case HTTP method for paths
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
  std::string_view path;
  bool resource_request = true;
  const Selectors* selectors = nullptr;  // null: the action is not narrowed
};

enum class Verdict : std::uint8_t {
  kNoOpinion,  // ask the next one; a refusal if there is none
  kAllowed,
  kDenied,  // final
};

struct Decision {
  Verdict verdict = Verdict::kNoOpinion;
  std::string reason;  // for the audit log, and part of the refusal's message
  std::string
      error;  // what went wrong on the way (RBAC: roles not found); may accompany any verdict
  bool allowed() const { return verdict == Verdict::kAllowed; }
};

// What a user may do, for SelfSubjectRulesReview.
struct ResourceRule {
  std::vector<std::string> verbs, api_groups, resources, resource_names;
};
struct NonResourceRule {
  std::vector<std::string> verbs, urls;
};
struct Rules {
  std::vector<ResourceRule> resource_rules;
  std::vector<NonResourceRule> non_resource_rules;
  bool incomplete = false;
  std::string error;
};

// Thread-safe. Takes effect at once: what is written to the store is in force when the write
// returns.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual Decision Authorize(const Attributes& attributes) const = 0;
  // REQUIRES: user not null in neither. An authorizer that cannot list its rules says so in
  // `error`.
  virtual Rules RulesFor(const api::UserInfo& user, std::string_view ns) const = 0;
};

// The refusal: `pods "p" is forbidden: User "x" cannot get resource "pods" in API group "" in the
// namespace "y"`, or `forbidden: User "x" cannot get path "/p"`, then `: <reason>` if there is one.
base::Status Denied(const Attributes& attributes, std::string_view reason);
// Only the sentence: `User "x" cannot …`.
std::string DenialText(const Attributes& attributes);

std::unique_ptr<Authorizer> MakeAlwaysAllow();
std::unique_ptr<Authorizer> MakeAlwaysDeny();
// Allows members of `group` everything (system:masters).
std::unique_ptr<Authorizer> MakePrivilegedGroup(std::string group);
// The first opinion wins; reasons and errors of those without one are joined by newlines.
std::unique_ptr<Authorizer> MakeUnion(std::vector<std::shared_ptr<const Authorizer>> members);

}  // namespace portcullis::authz

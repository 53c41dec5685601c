// SPDX-License-Identifier: Apache-2.0

// Users may grant by RBAC only what they have, unless they may `escalate` the role or `bind` it.
// Called by the engine before a role or binding is stored.
// Source: Kubernetes docs, "Privilege escalation prevention and bootstrapping".
#pragma once

#include <string_view>

#include "authz/authorizer.h"
#include "authz/rbac/rule_book.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::authz::rbac {

struct EscalationRequest {
  const api::UserInfo& user;
  std::string_view resource;  // roles, clusterroles, rolebindings, clusterrolebindings
  std::string_view ns;
  std::string_view name;
  std::string_view url_name;  // "" for a POST, whose URL names none: `escalate` is asked for that
  json::Value object;         // as it would be stored
  json::Value old_object;     // null on create
};

// OK or the refusal (403), worded as kube-apiserver does.
base::Status CheckEscalation(const EscalationRequest& request, const Authorizer& authorizer,
                             const RuleBook& book);

}  // namespace portcullis::authz::rbac

// SPDX-License-Identifier: Apache-2.0

#include "authz/modes.h"

#include <algorithm>

#include "authz/node/node_authorizer.h"
#include "authz/rbac/rule_book.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::authz {
namespace {

base::Status CheckModes(const std::vector<std::string>& modes) {
  static constexpr std::string_view kKnown[] = {"ABAC", "AlwaysAllow", "AlwaysDeny",
                                                "Node", "RBAC",        "Webhook"};
  if (modes.empty()) return base::ConfigError("at least one authorization-mode must be passed");
  for (auto mode = modes.begin(); mode != modes.end(); ++mode) {
    if (std::find(std::begin(kKnown), std::end(kKnown), *mode) == std::end(kKnown)) {
      return base::ConfigError(
          base::StrCat("authorization-mode ", base::GoQuote(*mode), " is not a valid mode"));
    }
    if (*mode != "Webhook" && std::find(modes.begin(), mode, *mode) != mode) {
      return base::ConfigError(base::StrCat("authorization-mode ", base::GoQuote(*mode),
                                            " has mode specified more than once"));
    }
  }
  return base::OkStatus();
}

}  // namespace

base::Result<Assembled> Assemble(const ModeOptions& options, store::Store& store) {
  TRY(CheckModes(options.modes));
  Assembled assembled;
  std::vector<std::shared_ptr<const Authorizer>> members;
  members.push_back(MakePrivilegedGroup(std::string(api::kGroupMasters)));
  std::size_t next_webhook = 0;
  for (std::size_t i = 0; i < options.modes.size(); ++i) {
    const std::string& mode = options.modes[i];
    std::shared_ptr<const Authorizer> member;
    if (mode == "AlwaysAllow") member = MakeAlwaysAllow();
    if (mode == "AlwaysDeny") member = MakeAlwaysDeny();
    if (mode == "Node")
      member = node::MakeNodeAuthorizer(store, options.node, options.initializers);
    if (mode == "ABAC") {
      if (options.abac == nullptr) {
        return base::ConfigError("authorization-mode ABAC's authorization policy file not passed");
      }
      member = options.abac;
    }
    if (mode == "Webhook") {
      if (next_webhook == options.webhooks.size()) {
        return base::ConfigError(
            "authorization-mode Webhook's authorization config file not passed");
      }
      member = options.webhooks[next_webhook++];
    }
    if (mode == "RBAC") {
      assembled.rbac = options.rbac;
      if (assembled.rbac == nullptr) {
        assembled.rbac =
            rbac::RuleBook::Open(store,
                                 options.aggregate_cluster_roles ? rbac::Aggregation::kComputed
                                                                 : rbac::Aggregation::kStored,
                                 options.initializers);
      }
      member = rbac::MakeRbac(assembled.rbac);
    }
    if (options.decisions != nullptr) {
      member = MakeCounted(std::move(member), mode,
                           i < options.names.size() ? options.names[i] : base::ToLower(mode),
                           *options.decisions);
    }
    members.push_back(std::move(member));
  }
  assembled.authorizer = MakeUnion(std::move(members));
  return assembled;
}

}  // namespace portcullis::authz

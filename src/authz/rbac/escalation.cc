// SPDX-License-Identifier: Apache-2.0

#include "authz/rbac/escalation.h"

#include <algorithm>
#include <set>

#include "api/api_status.h"
#include "authz/rbac/coverage.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::authz::rbac {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

base::Status Refuse(const EscalationRequest& request, std::string_view why) {
  return api::ForbiddenStatus({std::string(kGroup), std::string(request.resource)}, request.name,
                              why);
}

// The error if the user does not have all of `rules`, or "".
std::string Missing(const EscalationRequest& request, const RuleBook& book,
                    const std::vector<PolicyRule>& rules) {
  std::vector<std::string> errors;
  const std::vector<PolicyRule> owned = book.RulesOf(request.user, request.ns, errors);
  const auto missing = Uncovered(owned, rules);
  if (!missing.ok()) return std::string(missing.status().message());
  if (missing->empty()) return "";
  std::set<std::string> descriptions;
  for (const PolicyRule& rule : Compact(*missing)) descriptions.insert(Describe(rule));
  std::string text = base::StrCat("user ", base::GoQuote(request.user.name),
                                  " (groups=", base::GoQuotedList(request.user.groups),
                                  ") is attempting to grant RBAC permissions not currently held:\n",
                                  base::Join(descriptions, "\n"));
  if (!errors.empty()) text += base::StrCat("; resolution errors: ", base::GoList(errors));
  return text;
}

struct RoleName {
  std::string_view group;
  std::string_view resource;
  std::string_view name;
};

bool MayDo(const EscalationRequest& request, std::string_view verb, const RoleName& role,
           const Authorizer& authorizer) {
  Attributes attributes;
  attributes.user = &request.user;
  attributes.verb = verb;
  attributes.group = role.group;
  attributes.version = "*";
  attributes.resource = role.resource;
  attributes.ns = request.ns;
  attributes.name = role.name;
  return authorizer.Authorize(attributes).allowed();
}

// Without the fields that the garbage collector changes.
json::Value Essence(json::Arena& arena, json::Value object) {
  for (std::string_view field :
       {"ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"}) {
    object = json::RemovePath(arena, object, {"metadata", field});
  }
  return object;
}

// The garbage collector need not have the rights of the roles that it collects.
bool ChangesOnlyReferences(const EscalationRequest& request) {
  if (request.old_object.is_null()) return false;
  json::Arena arena;
  return Essence(arena, request.object) == Essence(arena, request.old_object);
}

bool Aggregates(json::Value role) {
  return !role["aggregationRule"]["clusterRoleSelectors"].empty();
}

base::Status CheckRole(const EscalationRequest& request, const Authorizer& authorizer,
                       const RuleBook& book) {
  if (MayDo(request, "escalate", {kGroup, request.resource, request.url_name}, authorizer) ||
      ChangesOnlyReferences(request)) {
    return base::OkStatus();
  }
  std::string why = Missing(request, book, RulesFromJson(request.object["rules"]));
  if (!why.empty()) return Refuse(request, why);
  // An aggregation rule may come to gather anything.
  const std::vector<PolicyRule> everything = {{{"*"}, {"*"}, {"*"}, {}, {}},
                                              {{"*"}, {}, {}, {}, {"*"}}};
  if ((Aggregates(request.object) || Aggregates(request.old_object)) &&
      !Missing(request, book, everything).empty()) {
    return Refuse(request, "must have cluster-admin privileges to use the aggregationRule");
  }
  return base::OkStatus();
}

// The rules of the role that is to be bound. Errors name the resource that is written, as those of
// kube-apiserver's storage do.
base::Result<std::vector<PolicyRule>> RulesToBind(const EscalationRequest& request,
                                                  const RuleBook& book) {
  const json::Value ref = request.object["roleRef"];
  const std::string_view kind = ref["kind"].AsString();
  const std::string_view name = ref["name"].AsString();
  if (kind != "Role" && kind != "ClusterRole") {
    return base::Status(base::Reason::kUnknown,
                        base::StrCat("unsupported role reference kind: ", base::GoQuote(kind)));
  }
  if (name.empty()) return base::BadRequest("Name parameter required.");
  auto rules = book.RoleRules(kind, request.ns, name);
  if (rules.ok()) return rules;
  return api::NotFoundStatus({std::string(kGroup), std::string(request.resource)}, name);
}

base::Status CheckBinding(const EscalationRequest& request, const Authorizer& authorizer,
                          const RuleBook& book) {
  if (ChangesOnlyReferences(request)) return base::OkStatus();
  const json::Value ref = request.object["roleRef"];
  const std::string_view kind = ref["kind"].AsString();
  const RoleName role{ref["apiGroup"].AsString(), kind == "Role" ? "roles" : "clusterroles",
                      ref["name"].AsString()};
  const bool is_known = kind == "Role" || kind == "ClusterRole";
  if (is_known && MayDo(request, "bind", role, authorizer)) return base::OkStatus();
  const std::vector<PolicyRule> rules = TRY(RulesToBind(request, book));
  if (std::string why = Missing(request, book, rules); !why.empty()) return Refuse(request, why);
  return base::OkStatus();
}

}  // namespace

base::Status CheckEscalation(const EscalationRequest& request, const Authorizer& authorizer,
                             const RuleBook& book) {
  if (request.user.InGroup(api::kGroupMasters)) return base::OkStatus();
  if (request.resource == "roles" || request.resource == "clusterroles") {
    return CheckRole(request, authorizer, book);
  }
  return CheckBinding(request, authorizer, book);
}

}  // namespace portcullis::authz::rbac

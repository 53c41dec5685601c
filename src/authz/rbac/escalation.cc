#include "authz/rbac/escalation.h"

#include <algorithm>
#include <set>

#include "api/api_status.h"
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
  const std::vector<PolicyRule> missing = Uncovered(owned, rules);
  if (missing.empty()) return "";
  std::set<std::string> descriptions;
  for (const PolicyRule& rule : Compact(missing)) descriptions.insert(Describe(rule));
  std::string text = base::StrCat("user ", base::GoQuote(request.user.name),
                                  " (groups=", base::GoQuotedList(request.user.groups),
                                  ") is attempting to grant RBAC permissions not currently held:\n",
                                  base::Join(descriptions, "\n"));
  if (!errors.empty()) text += base::StrCat("; resolution errors: ", base::GoList(errors));
  return text;
}

bool MayDo(const EscalationRequest& request, std::string_view verb, std::string_view resource,
           std::string_view name, const Authorizer& authorizer) {
  Attributes attributes;
  attributes.user = &request.user;
  attributes.verb = verb;
  attributes.group = kGroup;
  attributes.version = "v1";
  attributes.resource = resource;
  attributes.ns = request.ns;
  attributes.name = name;
  return authorizer.Authorize(attributes).allowed();
}

base::Status CheckRole(const EscalationRequest& request, const Authorizer& authorizer,
                       const RuleBook& book) {
  const json::Value rules = request.object["rules"];
  const bool aggregates = !request.object["aggregationRule"].is_null() ||
                          !request.old_object["aggregationRule"].is_null();
  if (!request.old_object.is_null() && rules == request.old_object["rules"] &&
      request.object["aggregationRule"] == request.old_object["aggregationRule"]) {
    return base::OkStatus();
  }
  if (MayDo(request, "escalate", request.resource, request.name, authorizer)) {
    return base::OkStatus();
  }
  if (std::string why = Missing(request, book, RulesFromJson(rules)); !why.empty()) {
    return Refuse(request, why);
  }
  // An aggregation rule may come to gather anything.
  const std::vector<PolicyRule> everything = {{{"*"}, {"*"}, {"*"}, {}, {}},
                                              {{"*"}, {}, {}, {}, {"*"}}};
  if (aggregates && !Missing(request, book, everything).empty()) {
    return Refuse(request, "must have cluster-admin privileges to use an aggregationRule");
  }
  return base::OkStatus();
}

// Without the fields that the garbage collector changes.
json::Value Essence(json::Arena& arena, json::Value object) {
  for (std::string_view field :
       {"ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"}) {
    object = json::RemovePath(arena, object, {"metadata", field});
  }
  return object;
}

base::Status CheckBinding(const EscalationRequest& request, const Authorizer& authorizer,
                          const RuleBook& book) {
  if (!request.old_object.is_null()) {
    json::Arena arena;
    if (Essence(arena, request.object) == Essence(arena, request.old_object)) {
      return base::OkStatus();
    }
  }
  const std::string_view kind = request.object["roleRef"]["kind"].AsString();
  const std::string_view role = request.object["roleRef"]["name"].AsString();
  const std::string_view resource = kind == "ClusterRole" ? "clusterroles" : "roles";
  if (MayDo(request, "bind", resource, role, authorizer)) return base::OkStatus();
  const std::vector<PolicyRule> rules = TRY(book.RoleRules(kind, request.ns, role));
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

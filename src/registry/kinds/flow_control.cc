// API priority and fairness (pkg/apis/flowcontrol/validation).

#include <algorithm>
#include <cmath>
#include <set>

#include "base/strings.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kVerbs[] = {"create", "delete", "deletecollection", "get",  "list",
                                       "patch",  "proxy",  "update",           "watch"};

struct SubjectKind {
  std::string_view kind;
  std::string_view field;
};
constexpr SubjectKind kSubjectKinds[] = {
    {"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};

void CheckServiceAccount(json::Value account, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = account["name"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("name"), ""));
  } else if (name != "*") {
    CheckSubdomain(name, path.Child("name"), errors);
  }
  const std::string_view name_space = account["namespace"].AsString();
  if (name_space.empty()) {
    errors.push_back(
        api::Required(path.Child("namespace"), "must specify namespace for service account"));
  } else {
    CheckDnsLabel(name_space, path.Child("namespace"), errors);
  }
}

void CheckSubject(json::Value subject, const FieldPath& path, FieldErrors& errors) {
  const std::string_view kind = subject["kind"].AsString();
  const SubjectKind* own = nullptr;
  for (const SubjectKind& one : kSubjectKinds) {
    if (one.kind == kind) own = &one;
  }
  if (own == nullptr) {
    errors.push_back(
        api::NotSupported(path.Child("kind"), kind, {"Group", "ServiceAccount", "User"}));
    return;
  }
  const json::Value who = subject[own->field];
  const FieldPath at = path.Child(own->field);
  if (who.is_null()) {
    errors.push_back(api::Required(
        at, base::StrCat(own->field, " is required when subject kind is '", kind, "'")));
  } else if (kind == "ServiceAccount") {
    CheckServiceAccount(who, at, errors);
  } else if (who["name"].AsString().empty()) {
    errors.push_back(api::Required(at.Child("name"), ""));
  }
  for (const std::string_view field : {"serviceAccount", "user", "group"}) {
    if (field == own->field || subject[field].is_null()) continue;
    for (const SubjectKind& other : kSubjectKinds) {
      if (other.field != field) continue;
      errors.push_back(
          api::Forbidden(path.Child(field), base::StrCat(field,
                                                         " is forbidden when subject kind is "
                                                         "not '",
                                                         other.kind, "'")));
    }
  }
}

bool HasStar(json::Value list) {
  const auto items = list.elements();
  return std::any_of(items.begin(), items.end(),
                     [](json::Value item) { return item.AsString() == "*"; });
}

// True if there is a star; it stands alone.
bool CheckStar(json::Value list, std::string_view what, const FieldPath& path,
               FieldErrors& errors) {
  if (!HasStar(list)) return false;
  if (list.size() > 1) {
    errors.push_back(
        api::Invalid(path, list, base::StrCat("if '*' is present, must not specify other ", what)));
  }
  return true;
}

void CheckVerbs(json::Value verbs, const FieldPath& path, FieldErrors& errors) {
  if (verbs.empty()) {
    errors.push_back(api::Required(path, "verbs must contain at least one value"));
    return;
  }
  if (CheckStar(verbs, "verbs", path, errors)) return;
  for (const json::Value& verb : verbs.elements()) {
    const auto known = std::find(std::begin(kVerbs), std::end(kVerbs), verb.AsString());
    if (known != std::end(kVerbs)) continue;
    errors.push_back(api::NotSupported(path, verbs,
                                       {"create", "delete", "deletecollection", "get", "list",
                                        "patch", "proxy", "update", "watch"}));
    return;
  }
}

void CheckResourceRule(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  CheckVerbs(rule["verbs"], path.Child("verbs"), errors);
  if (rule["apiGroups"].empty()) {
    errors.push_back(api::Required(path.Child("apiGroups"),
                                   "resource rules must supply at least one api group"));
  }
  CheckStar(rule["apiGroups"], "api groups", path.Child("apiGroups"), errors);
  if (rule["resources"].empty()) {
    errors.push_back(
        api::Required(path.Child("resources"), "resource rules must supply at least one resource"));
  }
  CheckStar(rule["resources"], "resources", path.Child("resources"), errors);
  const json::Value namespaces = rule["namespaces"];
  const FieldPath at = path.Child("namespaces");
  if (namespaces.empty() && !rule["clusterScope"].AsBool()) {
    errors.push_back(api::Required(
        at, "resource rules that are not cluster scoped must supply at least one namespace"));
  }
  if (CheckStar(namespaces, "namespaces", at, errors)) return;
  std::size_t index = 0;
  for (const json::Value& name : namespaces.elements()) {
    const FieldPath place = at.Index(index++);
    for (const std::string& text : api::IsDns1123Label(name.AsString())) {
      errors.push_back(api::Invalid(
          place, name.AsString(),
          base::StrCat("each member of this list must be '*' or a DNS-1123 label; ", text)));
    }
  }
}

// "" if the path is good.
std::string_view WrongUrl(std::string_view path) {
  if (path.empty()) return "must not be empty";
  if (path == "/") return {};
  if (!path.starts_with("/")) return "must start with slash";
  if (path.find(' ') != std::string_view::npos) return "must not contain white-space";
  if (path.find("//") != std::string_view::npos) return "must not contain double slash";
  const auto stars = std::count(path.begin(), path.end(), '*');
  if (stars > 1 || (stars == 1 && !path.ends_with("/*"))) {
    return "wildcard can only do suffix matching";
  }
  return {};
}

void CheckNonResourceRule(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  CheckVerbs(rule["verbs"], path.Child("verbs"), errors);
  const json::Value urls = rule["nonResourceURLs"];
  const FieldPath at = path.Child("nonResourceURLs");
  if (urls.empty()) {
    errors.push_back(api::Required(at, "nonResourceURLs must contain at least one value"));
  }
  if (CheckStar(urls, "non-resource URLs", at, errors)) return;
  std::size_t index = 0;
  for (const json::Value& url : urls.elements()) {
    const FieldPath place = at.Index(index++);
    const std::string_view wrong = WrongUrl(url.AsString());
    if (!wrong.empty()) errors.push_back(api::Invalid(place, url.AsString(), wrong));
  }
}

void CheckRules(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  if (rule["subjects"].empty()) {
    errors.push_back(
        api::Required(path.Child("subjects"), "subjects must contain at least one value"));
  }
  std::size_t index = 0;
  for (const json::Value& subject : rule["subjects"].elements()) {
    CheckSubject(subject, path.Child("subjects").Index(index++), errors);
  }
  if (rule["resourceRules"].empty() && rule["nonResourceRules"].empty()) {
    errors.push_back(api::Required(path,
                                   "at least one of resourceRules and nonResourceRules has to be "
                                   "non-empty"));
  }
  index = 0;
  for (const json::Value& resources : rule["resourceRules"].elements()) {
    CheckResourceRule(resources, path.Child("resourceRules").Index(index++), errors);
  }
  index = 0;
  for (const json::Value& urls : rule["nonResourceRules"].elements()) {
    CheckNonResourceRule(urls, path.Child("nonResourceRules").Index(index++), errors);
  }
}

constexpr std::int64_t kMostQueues = 10'000'000;

// Hands are dealt from a hash that must hold enough for all their cards.
int RequiredEntropyBits(std::int64_t queues, std::int64_t hand) {
  return static_cast<int>(
      std::ceil(std::log2(static_cast<double>(queues)) * static_cast<double>(hand)));
}

void CheckQueuing(json::Value queuing, const FieldPath& path, FieldErrors& errors) {
  const auto wrong = [&](std::string_view field, std::string_view text) {
    errors.push_back(api::Invalid(path.Child(field), queuing[field].AsInt(), text));
  };
  if (queuing["queueLengthLimit"].AsInt() <= 0) wrong("queueLengthLimit", "must be positive");
  const std::int64_t queues = queuing["queues"].AsInt();
  if (queues <= 0) {
    wrong("queues", "must be positive");
  } else if (queues > kMostQueues) {
    wrong("queues", "must not be greater than 10000000");
  }
  const std::int64_t hand = queuing["handSize"].AsInt();
  if (hand <= 0) {
    wrong("handSize", "must be positive");
  } else if (hand > queues) {
    wrong("handSize",
          base::StrCat("should not be greater than queues (", std::to_string(queues), ")"));
  } else if (RequiredEntropyBits(queues, hand) > 60) {
    wrong("handSize",
          base::StrCat("required entropy bits of deckSize ", std::to_string(queues),
                       " and handSize ", std::to_string(hand), " should not be greater than 60"));
  }
}

void CheckLendable(json::Value level, const FieldPath& path, FieldErrors& errors) {
  const json::Value share = level["lendablePercent"];
  if (share.is_null() || (share.AsInt() >= 0 && share.AsInt() <= 100)) return;
  errors.push_back(api::Invalid(path.Child("lendablePercent"), share.AsInt(),
                                "must be between 0 and 100, inclusive"));
}

void CheckShares(json::Value level, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t shares = level["nominalConcurrencyShares"].AsInt();
  if (shares >= 0) return;
  errors.push_back(api::Invalid(path.Child("nominalConcurrencyShares"), shares,
                                "must be a non-negative integer"));
}

void CheckLimitResponse(json::Value response, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = response["type"].AsString();
  const json::Value queuing = response["queuing"];
  const FieldPath at = path.Child("queuing");
  if (type == "Reject") {
    if (queuing.is_null()) return;
    errors.push_back(
        api::Forbidden(at, "must be nil if limited.limitResponse.type is not Limited"));
  } else if (type != "Queue") {
    errors.push_back(api::NotSupported(path.Child("type"), type, {"Queue", "Reject"}));
  } else if (queuing.is_null()) {
    errors.push_back(
        api::Required(at, "must not be empty if limited.limitResponse.type is Limited"));
  } else {
    CheckQueuing(queuing, at, errors);
  }
}

void CheckLimited(json::Value limited, const FieldPath& path, FieldErrors& errors) {
  CheckShares(limited, path, errors);
  CheckLimitResponse(limited["limitResponse"], path.Child("limitResponse"), errors);
  CheckLendable(limited, path, errors);
  if (const std::int64_t percent = limited["borrowingLimitPercent"].AsInt(); percent < 0) {
    errors.push_back(api::Invalid(path.Child("borrowingLimitPercent"), percent,
                                  "if specified, must be a non-negative integer"));
  }
}

// Of the status of either kind.
void CheckFlowConditions(json::Value conditions, FieldErrors& errors) {
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const FieldPath at = FieldPath("status", "conditions").Index(index++).Child("type");
    const std::string_view type = condition["type"].AsString();
    if (!types.insert(type).second) errors.push_back(api::Duplicate(at, type));
    if (type.empty()) errors.push_back(api::Required(at, "must not be empty"));
  }
}

void ValidateFlowSchema(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::int64_t precedence = spec["matchingPrecedence"].AsInt();
  if (precedence <= 0) {
    errors.push_back(
        api::Invalid(path.Child("matchingPrecedence"), precedence, "must be a positive value"));
  } else if (precedence > 10000) {
    errors.push_back(api::Invalid(path.Child("matchingPrecedence"), precedence,
                                  "must not be greater than 10000"));
  }
  if (precedence == 1 && object["metadata"]["name"].AsString() != "exempt") {
    errors.push_back(api::Invalid(path.Child("matchingPrecedence"), precedence,
                                  "only the schema named 'exempt' may have matchingPrecedence 1"));
  }
  if (const json::Value method = spec["distinguisherMethod"]; !method.is_null()) {
    const std::string_view type = method["type"].AsString();
    if (type != "ByNamespace" && type != "ByUser") {
      errors.push_back(api::NotSupported(path.Child("distinguisherMethod").Child("type"),
                                         api::BadValue::Raw(StructJson({{"Type", Quoted(type)}})),
                                         {"ByNamespace", "ByUser"}));
    }
  }
  if (const std::string_view name = spec["priorityLevelConfiguration"]["name"].AsString();
      name.empty()) {
    errors.push_back(api::Required(path.Child("priorityLevelConfiguration").Child("name"),
                                   "must reference a priority level"));
  } else {
    CheckSubdomain(name, path.Child("priorityLevelConfiguration").Child("name"), errors);
  }
  std::size_t index = 0;
  for (const json::Value& rule : spec["rules"].elements()) {
    CheckRules(rule, path.Child("rules").Index(index++), errors);
  }
}

void ValidatePriorityLevelConfiguration(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view type = spec["type"].AsString();
  const bool exempt_name = object["metadata"]["name"].AsString() == "exempt";
  if ((type == "Exempt") != exempt_name) {
    errors.push_back(api::Invalid(path.Child("type"), type,
                                  "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  if (type == "Exempt") {
    if (!spec["limited"].is_null()) {
      errors.push_back(
          api::Forbidden(path.Child("limited"), "must be nil if the type is not Limited"));
    }
    CheckShares(spec["exempt"], path.Child("exempt"), errors);
    CheckLendable(spec["exempt"], path.Child("exempt"), errors);
  } else if (type == "Limited") {
    if (!spec["exempt"].is_null()) {
      errors.push_back(api::Forbidden(path.Child("exempt"), "must be nil if the type is Limited"));
    }
    if (spec["limited"].is_null()) {
      errors.push_back(
          api::Required(path.Child("limited"), "must not be empty when type is Limited"));
    } else {
      CheckLimited(spec["limited"], path.Child("limited"), errors);
    }
  } else {
    errors.push_back(api::NotSupported(path.Child("type"), type, {"Exempt", "Limited"}));
  }
}

template <Check kCheck>
void ValidateFlowUpdate(const Context& ctx, json::Value object, json::Value, FieldErrors& errors) {
  if (ctx.subresource.empty()) return kCheck(ctx, object, errors);
  CheckFlowConditions(object["status"]["conditions"], errors);
}

}  // namespace

void AddFlowControl(KindTable& table) {
  table.Add({.group = "flowcontrol.apiserver.k8s.io",
             .resource = "flowschemas",
             .validate = &ValidateFlowSchema,
             .validate_update = &ValidateFlowUpdate<&ValidateFlowSchema>,
             .traits = {
                 .counts_generation = true, .needs_version = true, .status_keeps_metadata = true}});
  table.Add({.group = "flowcontrol.apiserver.k8s.io",
             .resource = "prioritylevelconfigurations",
             .validate = &ValidatePriorityLevelConfiguration,
             .validate_update = &ValidateFlowUpdate<&ValidatePriorityLevelConfiguration>,
             .traits = {
                 .counts_generation = true, .needs_version = true, .status_keeps_metadata = true}});
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// FlowSchemas (pkg/apis/flowcontrol/validation).

#include <algorithm>

#include "api/named_value.h"
#include "base/strings.h"
#include "registry/flow_control/flow_status.h"
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
    errors.push_back(api::NotSupported(path.Child("kind"), api::NamedValue(kind),
                                       {"Group", "ServiceAccount", "User"}));
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

void ValidateFlowSchema(const Context& ctx, json::Value object, FieldErrors& errors) {
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
  CheckMandatory(ctx, "FlowSchema", object, errors);
}

}  // namespace

void AddFlowSchemaStrategy(KindTable& table) {
  table.Add({.group = "flowcontrol.apiserver.k8s.io",
             .resource = "flowschemas",
             .validate = &ValidateFlowSchema,
             .validate_update = &ValidateFlowUpdate<&ValidateFlowSchema>,
             .traits = {.counts_generation = true, .status_keeps = StatusKeeps::kWholeMetadata},
             .metadata = {.update = "F", .subresource = ""}});
}

}  // namespace portcullis::registry

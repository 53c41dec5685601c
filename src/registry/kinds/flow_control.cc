// API priority and fairness (pkg/apis/flowcontrol/validation).

#include <set>

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

void CheckSubject(json::Value subject, const FieldPath& path, FieldErrors& errors) {
  const std::string_view kind = subject["kind"].AsString();
  if (kind == "ServiceAccount") {
    if (subject["serviceAccount"].is_null()) {
      errors.push_back(api::Required(path.Child("serviceAccount"),
                                     "serviceAccount is required when subject kind is "
                                     "'ServiceAccount'"));
    }
  } else if (kind == "User") {
    if (subject["user"].is_null()) {
      errors.push_back(
          api::Required(path.Child("user"), "user is required when subject kind is 'User'"));
    }
  } else if (kind == "Group") {
    if (subject["group"].is_null()) {
      errors.push_back(
          api::Required(path.Child("group"), "group is required when subject kind is 'Group'"));
    }
  } else {
    errors.push_back(
        api::NotSupported(path.Child("kind"), kind, {"Group", "ServiceAccount", "User"}));
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
}

void CheckLimited(json::Value limited, const FieldPath& path, FieldErrors& errors) {
  if (limited["nominalConcurrencyShares"].AsInt() < 0) {
    errors.push_back(api::Invalid(path.Child("nominalConcurrencyShares"),
                                  limited["nominalConcurrencyShares"].AsInt(),
                                  "must be a non-negative integer"));
  }
  const json::Value response = limited["limitResponse"];
  const FieldPath at = path.Child("limitResponse");
  const std::string_view type = response["type"].AsString();
  if (type == "Reject") {
    if (!response["queuing"].is_null()) {
      errors.push_back(api::Forbidden(at.Child("queuing"),
                                      "must be nil if limited.limitResponse.type is not Limited"));
    }
  } else if (type == "Queue") {
    if (response["queuing"].is_null()) {
      errors.push_back(api::Required(at.Child("queuing"),
                                     "must not be empty if limited.limitResponse.type is Limited"));
      return;
    }
    for (const std::string_view field : {"queueLengthLimit", "queues", "handSize"}) {
      const std::int64_t value = response["queuing"][field].AsInt();
      if (value <= 0) {
        errors.push_back(api::Invalid(at.Child("queuing").Child(field), value, "must be positive"));
      }
    }
  } else {
    errors.push_back(api::NotSupported(at.Child("type"), type, {"Queue", "Reject"}));
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
    CheckOneOf(method["type"], path.Child("distinguisherMethod").Child("type"),
               {"ByNamespace", "ByUser"}, errors);
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
      errors.push_back(api::Forbidden(path.Child("limited"), "must be nil if the type is Exempt"));
    }
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

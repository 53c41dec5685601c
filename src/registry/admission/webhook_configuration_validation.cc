// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/webhook_configuration_validation.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/named_value.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "golang/url.h"

namespace portcullis::registry {
namespace {

using api::FieldErrors;
using api::FieldPath;

constexpr int kMaxConditions = 64;

// What old releases say otherwise (data/behavior.facts). The default is v1.36.
struct Wording {
  bool says_more = false;
  bool blames_url = false;     // if there is neither URL nor Service, or both
  bool knows_v1beta1 = false;  // and no later version of reviews
};

// What is checked less strictly because the stored object is like that already.
struct Leniency {
  bool skip_conditions = false;
  bool any_side_effects = false;
  bool unknown_review_versions = false;
  bool duplicate_names = false;
  bool bad_label_values = false;
  std::set<std::string_view> stored_expressions;
};

bool Contains(std::initializer_list<std::string_view> set, std::string_view text) {
  return std::find(set.begin(), set.end(), text) != set.end();
}

bool HasElement(json::Value list, std::string_view text) {
  return std::any_of(list.elements().begin(), list.elements().end(),
                     [&](json::Value element) { return element.AsString() == text; });
}

void CheckName(json::Value name, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = name.AsString();
  if (text.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const std::vector<std::string> problems = api::IsDns1123Subdomain(text);
  if (!problems.empty()) {
    errors.push_back(api::Invalid(path, text, base::Join(problems, ",")));
  } else if (base::Split(text, '.').size() < 3) {
    errors.push_back(api::Invalid(
        path, text, "should be a domain with at least three segments separated by dots"));
  }
}

// Must not be empty; a "*" stands alone. True if there is something.
bool CheckList(json::Value list, const FieldPath& path, std::string_view what,
               FieldErrors& errors) {
  if (list.empty()) {
    errors.push_back(api::Required(path, ""));
    return false;
  }
  if (list.size() > 1 && HasElement(list, "*")) {
    errors.push_back(
        api::Invalid(path, list, base::StrCat("if '*' is present, must not specify other ", what)));
  }
  return true;
}

void CheckGroupsAndVersions(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  CheckList(rule["apiGroups"], path.Child("apiGroups"), "API groups", errors);
  CheckList(rule["apiVersions"], path.Child("apiVersions"), "API versions", errors);
  std::size_t index = 0;
  for (const json::Value version : rule["apiVersions"].elements()) {
    const FieldPath place = path.Child("apiVersions").Index(index++);
    if (version.AsString().empty()) errors.push_back(api::Required(place, ""));
  }
}

void CheckResources(json::Value resources, const FieldPath& path, FieldErrors& errors) {
  if (resources.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  std::set<std::string_view> with_all_subresources;
  std::set<std::string_view> subresource_of_all;
  bool everything = false;
  bool all_resources = false;
  bool last_plain_is_named = false;
  std::size_t index = 0;
  for (const json::Value element : resources.elements()) {
    const FieldPath place = path.Index(index++);
    const std::string_view text = element.AsString();
    if (text.empty()) {
      errors.push_back(api::Required(place, ""));
      continue;
    }
    if (text == "*/*") everything = true;
    if (text == "*") all_resources = true;
    const auto parts = base::Cut(text, "/");
    if (!parts) {
      last_plain_is_named = text != "*";
      continue;
    }
    const auto [resource, subresource] = *parts;
    if (with_all_subresources.count(resource) != 0) {
      errors.push_back(api::Invalid(
          place, text, base::StrCat("if '", resource, "/*' is present, must not specify ", text)));
    }
    if (subresource_of_all.count(subresource) != 0) {
      errors.push_back(api::Invalid(
          place, text,
          base::StrCat("if '*/", subresource, "' is present, must not specify ", text)));
    }
    if (subresource == "*") with_all_subresources.insert(resource);
    if (resource == "*") subresource_of_all.insert(subresource);
  }
  if (resources.size() > 1 && everything) {
    errors.push_back(
        api::Invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (all_resources && last_plain_is_named) {
    errors.push_back(
        api::Invalid(path, resources,
                     "if '*' is present, must not specify other resources without subresources"));
  }
}

void CheckEnum(json::Value value, const FieldPath& path,
               std::initializer_list<std::string_view> allowed, FieldErrors& errors) {
  if (value.is_null() || Contains(allowed, value.AsString())) return;
  errors.push_back(api::NotSupported(path, api::NamedValue(value.AsString()), allowed));
}

void CheckSideEffects(json::Value value, const FieldPath& path, bool any, FieldErrors& errors) {
  if (value.is_null()) {
    errors.push_back(
        api::Required(path, any ? "must specify one of None, NoneOnDryRun, Some, Unknown"
                                : "must specify one of None, NoneOnDryRun"));
    return;
  }
  if (any) {
    CheckEnum(value, path, {"None", "NoneOnDryRun", "Some", "Unknown"}, errors);
  } else {
    CheckEnum(value, path, {"None", "NoneOnDryRun"}, errors);
  }
}

void CheckUrl(std::string_view text, const FieldPath& path, const Wording& wording,
              FieldErrors& errors) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  const auto url = golang::ParseUrl(text);
  if (!url.ok()) {
    errors.push_back(api::Required(
        path, base::StrCat("url must be a valid URL: ", url.status().message(), kForm)));
    return;
  }
  if (url->scheme != "https") {
    errors.push_back(api::Invalid(path, url->scheme,
                                  base::StrCat("'https' is the only allowed URL scheme", kForm)));
  }
  if (url->host.empty()) {
    const std::string_view what =
        wording.says_more ? "host must be provided" : "host must be specified";
    errors.push_back(api::Invalid(path, url->host, base::StrCat(what, kForm)));
  }
  if (url->user) {
    errors.push_back(
        api::Invalid(path, url->user->ToString(), "user information is not permitted in the URL"));
  }
  if (!url->fragment.empty()) {
    errors.push_back(api::Invalid(path, url->fragment, "fragments are not permitted in the URL"));
  }
  if (!url->raw_query.empty()) {
    errors.push_back(
        api::Invalid(path, url->raw_query, "query parameters are not permitted in the URL"));
  }
}

void CheckServicePath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.empty() || text == "/") return;
  if (text == "//") {
    errors.push_back(api::Invalid(path, text, "segment[0] may not be empty"));
    return;
  }
  if (!text.starts_with('/')) errors.push_back(api::Invalid(path, text, "must start with a '/'"));
  // As in Kubernetes the first character goes, whatever it is.
  std::string_view rest = text.substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  int index = 0;
  for (const std::string_view step : base::Split(rest, '/')) {
    const std::string segment = base::StrCat("segment[", std::to_string(index++), "]");
    if (step.empty()) {
      errors.push_back(api::Invalid(path, text, base::StrCat(segment, " may not be empty")));
      continue;
    }
    for (const std::string& problem : api::IsDns1123Subdomain(step)) {
      errors.push_back(api::Invalid(path, text, base::StrCat(segment, ": ", problem)));
    }
  }
}

void CheckService(json::Value service, const FieldPath& path, const Wording& wording,
                  FieldErrors& errors) {
  // Kubernetes reports these two under each other's path.
  if (service["namespace"].AsString().empty()) {
    errors.push_back(
        api::Required(path.Child("name"), wording.says_more ? "service name is required" : ""));
  }
  if (service["name"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("namespace"),
                                   wording.says_more ? "service namespace is required" : ""));
  }
  const std::int64_t port = service["port"].AsInt(443);
  if (port < 1 || port > 65535) {
    errors.push_back(api::Invalid(path.Child("port"), port,
                                  "port is not valid: must be between 1 and 65535, inclusive"));
  }
  CheckServicePath(service["path"].AsString(), path.Child("path"), errors);
}

void CheckClientConfig(json::Value config, const FieldPath& path, const Wording& wording,
                       FieldErrors& errors) {
  const json::Value url = config["url"];
  const json::Value service = config["service"];
  if (url.is_null() == service.is_null()) {
    errors.push_back(api::Required(wording.blames_url ? path.Child("url") : path,
                                   "exactly one of url or service is required"));
  } else if (!url.is_null()) {
    CheckUrl(url.AsString(), path.Child("url"), wording, errors);
  } else {
    CheckService(service, path.Child("service"), wording, errors);
  }
}

void CheckConditions(json::Value conditions, const FieldPath& path,
                     const ExpressionChecker* expressions, const Leniency& leniency,
                     FieldErrors& errors) {
  if (conditions.size() > kMaxConditions) {
    errors.push_back(api::TooMany(path, static_cast<int>(conditions.size()), kMaxConditions));
  }
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value condition : conditions.elements()) {
    const FieldPath place = path.Index(index++);
    const std::string_view expression = golang::TrimSpace(condition["expression"].AsString());
    if (expression.empty()) {
      errors.push_back(api::Required(place.Child("expression"), ""));
    } else if (expressions != nullptr) {
      const auto environment = leniency.stored_expressions.count(expression) != 0
                                   ? ExpressionChecker::Environment::kStored
                                   : ExpressionChecker::Environment::kNew;
      const std::string detail = expressions->CheckMatchCondition(expression, environment);
      if (detail.starts_with("program instantiation failed: ")) {
        errors.push_back(api::InternalFieldError(place.Child("expression"), detail));
      } else if (!detail.empty()) {
        errors.push_back(api::Invalid(place.Child("expression"), expression, detail));
      }
    }
    const std::string_view name = condition["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(place.Child("name"), ""));
      continue;
    }
    const std::vector<std::string> problems = api::IsQualifiedName(name);
    if (!problems.empty()) {
      errors.push_back(api::Invalid(place.Child("name"), name, base::Join(problems, ",")));
    }
    if (!names.insert(name).second) errors.push_back(api::Duplicate(place.Child("name"), name));
  }
}

void CheckReviewVersions(json::Value versions, const FieldPath& path, bool unknown_allowed,
                         const Wording& wording, FieldErrors& errors) {
  if (versions.empty()) {
    errors.push_back(api::Required(path, "must specify one of v1, v1beta1"));
    return;
  }
  std::set<std::string_view> seen;
  bool has_known = false;
  std::size_t index = 0;
  for (const json::Value version : versions.elements()) {
    const FieldPath place = path.Index(index++);
    const std::string_view text = version.AsString();
    if (!seen.insert(text).second) {
      errors.push_back(api::Invalid(place, text, "duplicate version"));
      continue;
    }
    for (const std::string& problem : api::IsDns1035Label(text)) {
      errors.push_back(api::Invalid(place, text, problem));
    }
    has_known = has_known || text == "v1beta1" || (text == "v1" && !wording.knows_v1beta1);
  }
  if (!has_known && !unknown_allowed) {
    errors.push_back(api::Invalid(path, versions,
                                  wording.knows_v1beta1
                                      ? "none of the versions accepted by this server. accepted "
                                        "version(s) are v1beta1"
                                      : "must include at least one of v1, v1beta1"));
  }
}

void Append(FieldErrors more, FieldErrors& errors) {
  errors.insert(errors.end(), more.begin(), more.end());
}

Wording WordingOf(const WebhookCheck& check) {
  const release::Release& release = *check.release;
  return {release.Has("WebhookChecksSayMore"), release.Has("WebhookTargetsAreTheirUrl"),
          check.version == WebhookVersion::kV1beta1 && release.Has("WebhookReviewsStartAtV1beta1")};
}

void CheckWebhook(json::Value webhook, const FieldPath& path, const WebhookCheck& check,
                  const Leniency& leniency, FieldErrors& errors) {
  CheckName(webhook["name"], path.Child("name"), errors);
  std::size_t index = 0;
  for (const json::Value rule : webhook["rules"].elements()) {
    ValidateAdmissionRule(rule, path.Child("rules").Index(index++), errors);
  }
  CheckEnum(webhook["failurePolicy"], path.Child("failurePolicy"), {"Fail", "Ignore"}, errors);
  CheckEnum(webhook["matchPolicy"], path.Child("matchPolicy"), {"Equivalent", "Exact"}, errors);
  CheckSideEffects(webhook["sideEffects"], path.Child("sideEffects"), leniency.any_side_effects,
                   errors);
  const json::Value timeout = webhook["timeoutSeconds"];
  if (!timeout.is_null() && (timeout.AsInt() < 1 || timeout.AsInt() > 30)) {
    errors.push_back(api::Invalid(path.Child("timeoutSeconds"), timeout.AsInt(),
                                  "the timeout value must be between 1 and 30 seconds"));
  }
  for (const std::string_view selector : {"namespaceSelector", "objectSelector"}) {
    if (webhook[selector].is_null()) continue;
    Append(api::ValidateLabelSelector(webhook[selector], path.Child(selector),
                                      leniency.bad_label_values),
           errors);
  }
  if (check.kind == WebhookKind::kMutating) {
    CheckEnum(webhook["reinvocationPolicy"], path.Child("reinvocationPolicy"),
              {"IfNeeded", "Never"}, errors);
  }
  CheckClientConfig(webhook["clientConfig"], path.Child("clientConfig"), WordingOf(check), errors);
  if (!leniency.skip_conditions) {
    CheckConditions(webhook["matchConditions"], path.Child("matchConditions"), check.expressions,
                    leniency, errors);
  }
}

void CheckAll(json::Value object, const WebhookCheck& check, const Leniency& leniency,
              FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value webhook : object["webhooks"].elements()) {
    const FieldPath path = FieldPath("webhooks").Index(index++);
    CheckWebhook(webhook, path, check, leniency, errors);
    CheckReviewVersions(webhook["admissionReviewVersions"], path.Child("admissionReviewVersions"),
                        leniency.unknown_review_versions, WordingOf(check), errors);
    const std::string_view name = webhook["name"].AsString();
    if (!name.empty() && !names.insert(name).second && !leniency.duplicate_names) {
      errors.push_back(api::Duplicate(path.Child("name"), name));
    }
  }
}

bool SameConditions(json::Value webhooks, json::Value old_webhooks) {
  if (webhooks.size() != old_webhooks.size()) return false;
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    if (!(webhooks[i]["matchConditions"] == old_webhooks[i]["matchConditions"])) return false;
  }
  return true;
}

Leniency LeniencyOf(WebhookVersion version) {
  Leniency leniency;
  leniency.any_side_effects = version == WebhookVersion::kV1beta1;
  leniency.duplicate_names = leniency.any_side_effects;
  return leniency;
}

Leniency LeniencyTowards(json::Value object, json::Value old, Leniency leniency) {
  leniency.skip_conditions = SameConditions(object["webhooks"], old["webhooks"]);
  std::set<std::string_view> names;
  for (const json::Value webhook : old["webhooks"].elements()) {
    const json::Value effects = webhook["sideEffects"];
    if (!Contains({"None", "NoneOnDryRun"}, effects.AsString())) leniency.any_side_effects = true;
    const json::Value versions = webhook["admissionReviewVersions"];
    if (!versions.empty() && !HasElement(versions, "v1") && !HasElement(versions, "v1beta1")) {
      leniency.unknown_review_versions = true;
    }
    const std::string_view name = webhook["name"].AsString();
    if (!name.empty() && !names.insert(name).second) leniency.duplicate_names = true;
    for (const std::string_view selector : {"namespaceSelector", "objectSelector"}) {
      if (webhook[selector].is_null()) continue;
      const auto problems = api::ValidateLabelSelector(webhook[selector], FieldPath(selector));
      if (!problems.empty()) leniency.bad_label_values = true;
    }
    for (const json::Value condition : webhook["matchConditions"].elements()) {
      leniency.stored_expressions.insert(condition["expression"].AsString());
    }
  }
  return leniency;
}

}  // namespace

void ValidateWebhookClient(json::Value config, const FieldPath& path, FieldErrors& errors) {
  CheckClientConfig(config, path, Wording(), errors);
}

void ValidateResourceRule(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  CheckGroupsAndVersions(rule, path, errors);
  const json::Value resources = rule["resources"];
  const FieldPath place = path.Child("resources");
  if (resources.empty()) errors.push_back(api::Required(place, ""));
  std::size_t index = 0;
  for (const json::Value resource : resources.elements()) {
    const FieldPath at = place.Index(index++);
    const std::string_view text = resource.AsString();
    if (text.empty()) errors.push_back(api::Required(at, ""));
    if (text.find('/') != std::string_view::npos) {
      errors.push_back(api::Invalid(at, text, "must not specify subresources"));
    }
  }
  if (resources.size() > 1 && HasElement(resources, "*")) {
    errors.push_back(
        api::Invalid(place, resources, "if '*' is present, must not specify other resources"));
  }
}

void ValidateAdmissionRule(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  const json::Value operations = rule["operations"];
  CheckList(operations, path.Child("operations"), "operations", errors);
  std::size_t index = 0;
  for (const json::Value operation : operations.elements()) {
    const FieldPath place = path.Child("operations").Index(index++);
    if (Contains({"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}, operation.AsString())) continue;
    errors.push_back(api::NotSupported(place, api::NamedValue(operation.AsString()),
                                       {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}));
  }
  CheckGroupsAndVersions(rule, path, errors);
  CheckResources(rule["resources"], path.Child("resources"), errors);
  const json::Value scope = rule["scope"];
  if (!scope.is_null() && !Contains({"*", "Cluster", "Namespaced"}, scope.AsString())) {
    errors.push_back(api::NotSupported(path.Child("scope"), api::NamedValue(scope.AsString()),
                                       {"*", "Cluster", "Namespaced"}));
  }
}

void ValidateWebhookConfiguration(json::Value object, const WebhookCheck& check,
                                  FieldErrors& errors) {
  CheckAll(object, check, LeniencyOf(check.version), errors);
}

void ValidateWebhookConfigurationUpdate(json::Value object, json::Value old,
                                        const WebhookCheck& check, FieldErrors& errors) {
  CheckAll(object, check, LeniencyTowards(object, old, LeniencyOf(check.version)), errors);
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

#include "server/authorization/configuration.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "admission/config.h"
#include "admission/config_format.h"
#include "api/field_error.h"
#include "api/selector/label_selector.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/time.h"
#include "release/release.h"

namespace portcullis::server::authorization {
namespace {

using api::FieldErrors;
using api::FieldPath;

constexpr admission::ConfigKind kKinds[] = {
    {"apiserver.config.k8s.io/v1", "AuthorizationConfiguration"},
    {"apiserver.config.k8s.io/v1beta1", "AuthorizationConfiguration"},
    {"apiserver.config.k8s.io/v1alpha1", "AuthorizationConfiguration"},
};
constexpr std::string_view kTypes = R"(
v1.AuthorizationConfiguration: kind string, apiVersion string, authorizers []v1.AuthorizerConfiguration
v1.AuthorizerConfiguration: type string, name string, webhook v1.WebhookConfiguration
v1.WebhookConfiguration: authorizedTTL v1.Duration=string, cacheAuthorizedRequests bool, unauthorizedTTL v1.Duration=string, cacheUnauthorizedRequests bool, timeout v1.Duration=string, subjectAccessReviewVersion string, matchConditionSubjectAccessReviewVersion string, failurePolicy string, connectionInfo v1.WebhookConnectionInfo, matchConditions []v1.WebhookMatchCondition
v1.WebhookConnectionInfo: type string, kubeConfigFile string
v1.WebhookMatchCondition: expression string)";
constexpr admission::ConfigFormat kFormat = {"k8s.io/apiserver/pkg/apis/apiserver/load/load.go:31",
                                             kKinds, kTypes};

constexpr std::string_view kModes[] = {"ABAC", "AlwaysAllow", "AlwaysDeny",
                                       "Node", "RBAC",        "Webhook"};
constexpr std::size_t kMaxConditions = 64;
constexpr base::Duration kLongestTimeout = std::chrono::seconds(30);

base::Result<base::Duration> ReadDuration(json::Value webhook, std::string_view name) {
  const std::string_view text = webhook[name].AsString();
  if (text.empty() && !webhook[name].is_string()) return base::Duration::zero();
  const auto parsed = golang::ParseDuration(text);
  if (!parsed.ok()) return base::ConfigError(parsed.status().message());
  return base::Duration(*parsed);
}

class WebhookReader {
 public:
  WebhookReader(json::Value webhook, const FieldPath& path, FieldErrors& errors)
      : webhook_(webhook), path_(path), errors_(errors) {}

  // The error of a duration that is none; what is invalid goes to the errors.
  base::Status Read(WebhookSettings& settings) {
    settings.timeout = TRY(ReadDuration(webhook_, "timeout"));
    settings.authorized_ttl = TRY(ReadDuration(webhook_, "authorizedTTL"));
    settings.unauthorized_ttl = TRY(ReadDuration(webhook_, "unauthorizedTTL"));
    if (settings.authorized_ttl.count() == 0) settings.authorized_ttl = std::chrono::minutes(5);
    if (settings.unauthorized_ttl.count() == 0) {
      settings.unauthorized_ttl = std::chrono::seconds(30);
    }
    CheckTimes(settings);
    CheckVersions();
    CheckFailurePolicy(settings);
    CheckConnection(settings);
    CompileConditions(settings);
    if (!webhook_["cacheAuthorizedRequests"].AsBool(true)) settings.authorized_ttl = {};
    if (!webhook_["cacheUnauthorizedRequests"].AsBool(true)) settings.unauthorized_ttl = {};
    return base::OkStatus();
  }

 private:
  void CheckTimes(const WebhookSettings& settings) {
    if (settings.timeout.count() == 0) {
      errors_.push_back(api::Required(path_.Child("timeout"), ""));
    } else if (settings.timeout > kLongestTimeout || settings.timeout.count() < 0) {
      Invalid("timeout", base::FormatDuration(settings.timeout), "must be > 0s and <= 30s");
    }
    if (settings.authorized_ttl.count() < 0) {
      Invalid("authorizedTTL", base::FormatDuration(settings.authorized_ttl), "must be > 0s");
    }
    if (settings.unauthorized_ttl.count() < 0) {
      Invalid("unauthorizedTTL", base::FormatDuration(settings.unauthorized_ttl), "must be > 0s");
    }
  }

  void CheckVersions() {
    const std::string_view sent = webhook_["subjectAccessReviewVersion"].AsString();
    if (sent.empty()) {
      errors_.push_back(api::Required(path_.Child("subjectAccessReviewVersion"), ""));
    } else if (sent != "v1" && sent != "v1beta1") {
      errors_.push_back(
          api::NotSupported(path_.Child("subjectAccessReviewVersion"), sent, {"v1", "v1beta1"}));
    }
    const std::string_view matched =
        webhook_["matchConditionSubjectAccessReviewVersion"].AsString();
    const FieldPath path = path_.Child("matchConditionSubjectAccessReviewVersion");
    if (matched.empty() && !webhook_["matchConditions"].empty()) {
      errors_.push_back(api::Required(path, "required if match conditions are specified"));
    } else if (!matched.empty() && matched != "v1") {
      errors_.push_back(api::NotSupported(path, matched, {"v1"}));
    }
  }

  void CheckFailurePolicy(WebhookSettings& settings) {
    const std::string_view policy = webhook_["failurePolicy"].AsString();
    if (policy.empty()) {
      errors_.push_back(api::Required(path_.Child("failurePolicy"), ""));
    } else if (policy != "NoOpinion" && policy != "Deny") {
      errors_.push_back(
          api::NotSupported(path_.Child("failurePolicy"), policy, {"NoOpinion", "Deny"}));
    }
    settings.denies_on_error = policy == "Deny";
  }

  void CheckConnection(WebhookSettings& settings) {
    const json::Value connection = webhook_["connectionInfo"];
    const FieldPath path = path_.Child("connectionInfo");
    const std::string_view type = connection["type"].AsString();
    const std::string file(connection["kubeConfigFile"].AsString());
    const auto invalid = [&](std::string_view detail) {
      errors_.push_back(api::Invalid(path.Child("kubeConfigFile"), file, detail));
    };
    settings.kubeconfig = file;
    if (type.empty()) {
      errors_.push_back(api::Required(path.Child("type"), ""));
    } else if (type == "InClusterConfig") {
      if (connection["kubeConfigFile"].is_string())
        invalid("can only be set when type=KubeConfigFile");
    } else if (type != "KubeConfigFile") {
      errors_.push_back(
          api::NotSupported(path.Child("type"), type, {"InClusterConfig", "KubeConfigFile"}));
    } else if (file.empty()) {
      errors_.push_back(api::Required(path.Child("kubeConfigFile"), ""));
    } else if (file.front() != '/') {
      invalid("must be an absolute path");
    } else if (struct stat info{}; stat(file.c_str(), &info) != 0) {
      invalid(base::StrCat("error loading file: stat ", file, ": ",
                           errno == ENOENT ? "no such file or directory" : "permission denied"));
    } else if (!S_ISREG(info.st_mode)) {
      invalid("must be a regular file");
    }
  }

  void CompileConditions(WebhookSettings& settings) {
    const json::Value conditions = webhook_["matchConditions"];
    const FieldPath list = path_.Child("matchConditions");
    if (conditions.size() > kMaxConditions) {
      errors_.push_back(api::TooMany(list, static_cast<int>(conditions.size()),
                                     static_cast<int>(kMaxConditions)));
      return;
    }
    std::set<std::string, std::less<>> seen;
    std::size_t index = 0;
    for (const json::Value& condition : conditions.elements()) {
      const FieldPath path = list.Index(index++).Child("expression");
      const std::string_view expression = condition["expression"].AsString();
      if (base::Trim(expression).empty()) {
        errors_.push_back(api::Required(path, ""));
      } else if (!seen.emplace(expression).second) {
        errors_.push_back(api::Duplicate(path, expression));
      } else if (auto compiled = MatchCondition::Compile(expression); compiled.ok()) {
        settings.conditions.push_back(*std::move(compiled));
      } else {
        errors_.push_back(api::Invalid(path, expression, compiled.status().message()));
      }
    }
  }

  void Invalid(std::string_view field, const std::string& value, std::string_view detail) {
    errors_.push_back(api::Invalid(path_.Child(field), value, detail));
  }

  const json::Value webhook_;
  const FieldPath path_;
  FieldErrors& errors_;
};

void CheckName(std::string_view name, const FieldPath& path,
               std::set<std::string, std::less<>>& seen, FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
  } else if (seen.contains(name)) {
    errors.push_back(api::Duplicate(path, name));
  } else if (const auto problems = api::IsDns1123Subdomain(name); !problems.empty()) {
    errors.push_back(api::Invalid(
        path, name, base::StrCat("authorizer name is invalid: ", base::Join(problems, ", "))));
  }
  seen.emplace(name);
}

base::Result<std::vector<Member>> ReadMembers(json::Value authorizers, FieldErrors& errors) {
  const FieldPath list("authorizers");
  std::vector<Member> members;
  if (authorizers.empty()) {
    errors.push_back(api::Required(list, "at least one authorization mode must be defined"));
  }
  std::set<std::string, std::less<>> types;
  std::set<std::string, std::less<>> names;
  std::size_t index = 0;
  for (const json::Value& item : authorizers.elements()) {
    const FieldPath path = list.Index(index++);
    const std::string_view type = item["type"].AsString();
    if (type.empty()) {
      errors.push_back(api::Required(path.Child("type"), ""));
      continue;
    }
    if (std::find(std::begin(kModes), std::end(kModes), type) == std::end(kModes)) {
      errors.push_back(api::NotSupported(path.Child("type"), type, kModes));
      continue;
    }
    if (!types.emplace(type).second && type != "Webhook") {
      errors.push_back(api::Duplicate(path.Child("type"), type));
      continue;
    }
    CheckName(item["name"].AsString(), path.Child("name"), names, errors);
    Member member{std::string(type), std::string(item["name"].AsString()), nullptr};
    const json::Value webhook = item["webhook"];
    if (type != "Webhook") {
      if (!webhook.is_null()) {
        errors.push_back(api::Invalid(path.Child("webhook"), "non-null",
                                      "may only be specified when type=Webhook"));
      }
    } else if (webhook.is_null()) {
      errors.push_back(api::Required(path.Child("webhook"), "required when type=Webhook"));
    } else {
      auto settings = std::make_shared<WebhookSettings>();
      settings->review_version = webhook["subjectAccessReviewVersion"].AsString();
      TRY(WebhookReader(webhook, path, errors).Read(*settings));
      member.webhook = std::move(settings);
    }
    members.push_back(std::move(member));
  }
  return members;
}

// kube-apiserver's own authorizers have the names of their types.
base::Status CheckOwnNames(const std::vector<Member>& members) {
  std::vector<std::string> texts;
  for (const Member& member : members) {
    if (member.type == "Webhook") continue;
    const std::string expected = base::ToLower(member.type);
    if (member.name == expected) continue;
    texts.push_back(base::StrCat("expected name ", expected, " for authorizer ", member.type,
                                 " instead of ", member.name));
  }
  return texts.empty() ? base::OkStatus() : base::ConfigError(api::AggregateText(texts));
}

}  // namespace

base::Result<std::vector<Member>> ParseConfiguration(std::string text) {
  const admission::PluginConfig file = admission::ParsePluginConfig(std::move(text));
  // An empty file holds no authorizers.
  if (!file.text.empty()) TRY(admission::CheckConfig(file, kFormat, release::Release::Newest()));
  FieldErrors errors;
  std::vector<Member> members = TRY(ReadMembers(file.document["authorizers"], errors));
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  TRY(CheckOwnNames(members));
  return members;
}

}  // namespace portcullis::server::authorization

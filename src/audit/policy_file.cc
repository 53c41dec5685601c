// SPDX-License-Identifier: Apache-2.0

// Reading a policy: which fields there are, and what kube-apiserver says when they are wrong.

#include <optional>
#include <utility>

#include "api/field_error.h"
#include "api/field_path.h"
#include "api/names.h"
#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "api/schema/type_meta.h"
#include "api/selector/label_selector.h"
#include "audit/policy.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"

namespace portcullis::audit {
namespace {

using api::FieldPath;

constexpr std::string_view kTypes = R"(
v1.Policy: kind string, apiVersion string, metadata v1.ObjectMeta, rules []v1.PolicyRule, omitStages []v1.Stage=string, omitManagedFields bool
v1.ObjectMeta: name string, generateName string, namespace string, selfLink string, uid types.UID=string, resourceVersion string, generation int64, creationTimestamp v1.Time, deletionTimestamp v1.Time, deletionGracePeriodSeconds int64, labels map[string]string, annotations map[string]string, ownerReferences []v1.OwnerReference, finalizers []string, managedFields []v1.ManagedFieldsEntry
v1.OwnerReference: apiVersion string, kind string, name string, uid types.UID=string, controller bool, blockOwnerDeletion bool
v1.ManagedFieldsEntry: manager string, operation v1.ManagedFieldsOperationType=string, apiVersion string, time v1.Time, fieldsType string, fieldsV1 any, subresource string
v1.PolicyRule: level v1.Level=string, users []string, userGroups []string, verbs []string, resources []v1.GroupResources, namespaces []string, nonResourceURLs []string, omitStages []v1.Stage=string, omitManagedFields bool
v1.GroupResources: group string, resources []string, resourceNames []string)";

constexpr std::string_view kStages = "RequestReceived,ResponseStarted,ResponseComplete,Panic";

std::optional<Level> LevelFromText(std::string_view text) {
  for (Level level : {Level::kNone, Level::kMetadata, Level::kRequest, Level::kRequestResponse}) {
    if (text == LevelText(level)) return level;
  }
  return std::nullopt;
}

std::optional<Stage> StageFromText(std::string_view text) {
  for (Stage stage : {Stage::kRequestReceived, Stage::kResponseStarted, Stage::kResponseComplete,
                      Stage::kPanic}) {
    if (text == StageText(stage)) return stage;
  }
  return std::nullopt;
}

class PolicyReader {
 public:
  base::Result<Policy> Read(json::Value root) {
    const FieldPath top = {};
    const std::uint8_t stages = Stages(root["omitStages"], top.Child("omitStages"));
    std::vector<Rule> rules;
    const json::Value list = root["rules"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      Rule rule = ReadRule(list[i], top.Child("rules").Index(i));
      rule.omitted_stages |= stages;
      rule.omit_managed_fields =
          list[i]["omitManagedFields"].AsBool(root["omitManagedFields"].AsBool());
      rules.push_back(std::move(rule));
    }
    if (!errors_.empty()) return base::ConfigError(api::AggregateText(errors_));
    if (rules.empty()) return base::ConfigError("loaded illegal policy with 0 rules");
    return Policy(std::move(rules));
  }

 private:
  static std::vector<std::string> Texts(json::Value list) {
    std::vector<std::string> texts;
    for (json::Value item : list.elements()) texts.emplace_back(item.AsString());
    return texts;
  }

  Rule ReadRule(json::Value rule, const FieldPath& path) {
    Rule out;
    out.level = ReadLevel(rule["level"].AsString(), path.Child("level"));
    out.users = Texts(rule["users"]);
    out.user_groups = Texts(rule["userGroups"]);
    out.verbs = Texts(rule["verbs"]);
    out.namespaces = Texts(rule["namespaces"]);
    out.non_resource_urls = Urls(rule["nonResourceURLs"], path.Child("nonResourceURLs"));
    for (const json::Value group : rule["resources"].elements()) {
      out.resources.push_back(ReadGroup(group, path.Child("resources")));
    }
    out.omitted_stages = Stages(rule["omitStages"], path.Child("omitStages"));
    if (!out.non_resource_urls.empty() && !(out.resources.empty() && out.namespaces.empty())) {
      errors_.push_back(
          api::Invalid(path.Child("nonResourceURLs"), rule["nonResourceURLs"],
                       "rules cannot apply to both regular resources and non-resource URLs"));
    }
    return out;
  }

  Level ReadLevel(std::string_view text, const FieldPath& path) {
    const auto level = LevelFromText(text);
    if (level) return *level;
    errors_.push_back(
        text.empty()
            ? api::Required(path, "")
            : api::NotSupported(path, text, {"None", "Metadata", "Request", "RequestResponse"}));
    return Level::kNone;
  }

  std::vector<std::string> Urls(json::Value list, const FieldPath& path) {
    std::vector<std::string> urls = Texts(list);
    for (std::size_t i = 0; i < urls.size(); ++i) {
      const std::string& url = urls[i];
      if (url == "*") continue;
      if (!url.starts_with('/')) {
        errors_.push_back(api::Invalid(path.Index(i), url,
                                       "non-resource URL rules must begin with a '/' character"));
      }
      if (!url.empty() && url.find('*') < url.size() - 1) {
        errors_.push_back(
            api::Invalid(path.Index(i), url,
                         "non-resource URL wildcards '*' must be the final character of the rule"));
      }
    }
    return urls;
  }

  // kube-apiserver's errors do not say which of the groups it is.
  GroupResources ReadGroup(json::Value group, const FieldPath& path) {
    GroupResources out{std::string(group["group"].AsString()), Texts(group["resources"]),
                       Texts(group["resourceNames"])};
    if (!out.group.empty() && out.group != "*") {
      const auto faults = api::IsDns1123Subdomain(out.group);
      if (!faults.empty()) {
        errors_.push_back(api::Invalid(path.Child("group"), out.group, base::Join(faults, ",")));
      }
    }
    if (!out.resource_names.empty() && out.resources.empty()) {
      errors_.push_back(api::Invalid(path.Child("resourceNames"), group["resourceNames"],
                                     "using resourceNames requires at least one resource"));
    }
    return out;
  }

  std::uint8_t Stages(json::Value list, const FieldPath& path) {
    unsigned stages = 0;
    const auto texts = Texts(list);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (const auto stage = StageFromText(texts[i])) {
        stages |= 1U << static_cast<unsigned>(*stage);
      } else {
        errors_.push_back(
            api::Invalid(path.Index(i), texts[i], base::StrCat("allowed stages are ", kStages)));
      }
    }
    return static_cast<std::uint8_t>(stages);
  }

  api::FieldErrors errors_;
};

base::Status CheckKind(json::Value root) {
  const std::string_view version = root["apiVersion"].AsString();
  const std::string_view kind = root["kind"].AsString();
  TRY(api::ParseGroupVersion(version));
  const bool is_policy = kind.empty() || kind == "Policy";
  if (is_policy && (version.empty() || version == "audit.k8s.io/v1")) return base::OkStatus();
  return base::ConfigError(
      api::schema::NotRegistered(is_policy ? "Policy" : kind, version, "pkg/audit/scheme.go:30"));
}

// Types that are wrong end the reading; fields that are unknown are passed over.
base::Status CheckTypes(json::Arena& arena, json::Value root) {
  std::vector<std::string> unknown;
  api::schema::DecodeOptions options;
  options.unknown_fields = &unknown;
  TRY(api::schema::Decode(arena, *api::schema::SchemaOfGoTypes(kTypes), root, options));
  if (!unknown.empty()) {
    base::LogWarning(
        base::StrCat("Audit policy contains errors, falling back to lenient decoding: ",
                     api::schema::StrictDecodingError({}, unknown)));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<Policy> ParsePolicy(std::string_view text) {
  json::Arena arena;
  const auto failed = [](const base::Status& bad) {
    return base::ConfigError("failed decoding: " + bad.message());
  };
  const auto root = api::schema::ParseWithTypeMeta(arena, text);
  if (!root.ok()) return failed(root.status());
  if (const auto bad = CheckKind(*root); !bad.ok()) return failed(bad);
  if (const auto bad = CheckTypes(arena, *root); !bad.ok()) return failed(bad);
  if (!(*root)["apiVersion"].is_string()) {
    return base::ConfigError(
        "unknown group version field audit.k8s.io/__internal, Kind=Policy in policy");
  }
  return PolicyReader().Read(*root);
}

base::Result<Policy> LoadPolicy(const std::string& path) {
  if (path.empty()) return base::ConfigError("file path not specified");
  auto text = base::ReadFile(path);
  if (!text.ok()) {
    return base::ConfigError(base::StrCat("failed to read file path ", base::GoQuote(path), ": ",
                                          text.status().message()));
  }
  auto policy = ParsePolicy(*text);
  if (!policy.ok()) {
    return base::ConfigError(base::StrCat(policy.status().message(), ": from file ", path));
  }
  return policy;
}

}  // namespace portcullis::audit

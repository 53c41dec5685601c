// SPDX-License-Identifier: Apache-2.0

// Reading a policy: which fields there are, and what kube-apiserver says when they are wrong.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/field_error.h"
#include "api/field_path.h"
#include "api/selector/label_selector.h"
#include "audit/policy.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/go_errors.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::audit {
namespace {

using api::FieldPath;

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
    TRY(CheckVersion(root));
    const FieldPath top = {};
    Known(root, "", {"apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"});
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
    if (!unknown_.empty()) {
      base::LogWarning(base::StrCat("audit policy contains unknown fields, which are ignored: ",
                                    base::Join(unknown_, ", ")));
    }
    if (!mistyped_.empty()) return base::ConfigError(mistyped_);
    if (!errors_.empty()) return base::ConfigError(api::AggregateText(errors_));
    if (rules.empty()) return base::ConfigError("loaded illegal policy with 0 rules");
    return Policy(std::move(rules));
  }

 private:
  // A member of another type than the API has ends the reading of the file.
  void Mistyped(json::Value value, std::string_view field, std::string_view type) {
    if (!mistyped_.empty()) return;
    mistyped_ = base::StrCat("failed decoding: json: cannot unmarshal ", json::GoTypeName(value),
                             " into Go struct field Policy.", field, " of type ", type);
  }

  std::vector<std::string> Texts(json::Value list, std::string_view field) {
    std::vector<std::string> texts;
    if (!list.is_null() && !list.is_array()) Mistyped(list, field, "[]string");
    for (json::Value item : list.elements()) {
      if (!item.is_string() && !item.is_null()) Mistyped(item, field, "string");
      texts.emplace_back(item.AsString());
    }
    return texts;
  }

  static base::Status CheckVersion(json::Value root) {
    const std::string_view version = root["apiVersion"].AsString();
    const std::string_view kind = root["kind"].AsString();
    if (!root.is_object()) {
      return base::ConfigError(
          "failed decoding: couldn't get version/kind; json parse error: the document is no "
          "object");
    }
    if (kind.empty()) {
      return base::ConfigError(base::StrCat("failed decoding: Object 'Kind' is missing in '",
                                            json::ToString(root), "'"));
    }
    if (version != "audit.k8s.io/v1" || kind != "Policy") {
      return base::ConfigError(base::StrCat("failed decoding: no kind ", base::GoQuote(kind),
                                            " is registered for version ", base::GoQuote(version),
                                            " in scheme \"audit\""));
    }
    return base::OkStatus();
  }

  void Known(json::Value object, std::string_view path,
             std::initializer_list<std::string_view> names) {
    for (const json::Member& member : object.members()) {
      if (std::find(names.begin(), names.end(), member.name()) != names.end()) continue;
      unknown_.push_back(base::StrCat(path, path.empty() ? "" : ".", member.name()));
    }
  }

  Rule ReadRule(json::Value rule, const FieldPath& path) {
    Known(rule, path.ToString(),
          {"level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs",
           "omitStages", "omitManagedFields"});
    Rule out;
    out.level = ReadLevel(rule["level"].AsString(), path.Child("level"));
    out.users = Texts(rule["users"], "rules.users");
    out.user_groups = Texts(rule["userGroups"], "rules.userGroups");
    out.verbs = Texts(rule["verbs"], "rules.verbs");
    out.namespaces = Texts(rule["namespaces"], "rules.namespaces");
    out.non_resource_urls = Urls(rule["nonResourceURLs"], path.Child("nonResourceURLs"));
    const json::Value groups = rule["resources"];
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out.resources.push_back(ReadGroup(groups[i], path.Child("resources").Index(i)));
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
    std::vector<std::string> urls = Texts(list, "rules.nonResourceURLs");
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

  GroupResources ReadGroup(json::Value group, const FieldPath& path) {
    Known(group, path.ToString(), {"group", "resources", "resourceNames"});
    GroupResources out{std::string(group["group"].AsString()),
                       Texts(group["resources"], "rules.resources.resources"),
                       Texts(group["resourceNames"], "rules.resources.resourceNames")};
    if (!out.group.empty()) {
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
    const auto texts = Texts(list, "omitStages");
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

  std::string mistyped_;
  api::FieldErrors errors_;
  std::vector<std::string> unknown_;
};

}  // namespace

base::Result<Policy> ParsePolicy(std::string_view text) {
  json::Arena arena;
  auto root = json::ParseYamlOrJson(arena, text);
  if (!root.ok()) return base::ConfigError("failed decoding: " + root.status().message());
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

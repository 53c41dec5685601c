// SPDX-License-Identifier: Apache-2.0

#include "server/metric_limits.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_node.h"
#include "release/release.h"

namespace portcullis::server {
namespace {

using Labels = std::map<std::string, std::string>;

bool IsName(std::string_view text, bool with_colons) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return c == '_' || (c == ':' && with_colons) || (c >= '0' && c <= '9') ||
                  (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

std::string Invalid(std::string_view field, std::string_view value, std::string_view detail) {
  return base::StrCat("metrics", field, ": Invalid value: ", value, ": ", detail);
}

std::string TextOf(const Labels& labels) {
  std::string text;
  for (const auto& [key, values] : labels) {
    text += base::StrCat(text.empty() ? "" : ",", base::GoQuote(key), ":", base::GoQuote(values));
  }
  return base::StrCat("{", text, "}");
}

std::string TextOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += base::StrCat(text.empty() ? "" : ",", base::GoQuote(name));
  }
  return base::StrCat("[", text, "]");
}

// The problem of a list of labels; "" if there is none.
std::string ProblemOf(std::string_view field, const Labels& labels) {
  for (const auto& [key, values] : labels) {
    const auto cut = base::Cut(key, ",");
    if (cut && IsName(cut->first, true) && IsName(cut->second, false)) continue;
    return Invalid(field, TextOf(labels),
                   "must have keys with format `metricName,labelName` where metricName matches "
                   "\"[a-zA-Z_:][a-zA-Z0-9_:]*\" and labelName matches \"[a-zA-Z_][a-zA-Z0-9_]*\"");
  }
  return "";
}

// What go-yaml says of a document that is no map of texts, line by line. `root`: what is read of it.
std::string MistakesOf(const std::string& text, json::Value root) {
  using json::internal::YamlKind;
  using json::internal::YamlNode;
  std::string mistakes;
  const auto add = [&](const YamlNode& node, std::string_view what, std::string_view type) {
    mistakes += base::StrCat("\n  line ", std::to_string(node.line), ": cannot unmarshal !!", what,
                             " into ", type);
  };
  const auto tree = json::internal::ReadYamlTree(text);
  if (!tree.ok() || tree->root == nullptr) return mistakes;
  const YamlNode& document = *tree->root;
  if (document.kind == YamlKind::kScalar && !root.is_null()) {
    constexpr std::size_t kShown = 10;
    const std::string& value = document.value;
    const std::string_view tag = root.is_string() ? "str"
                                 : root.is_int()  ? "int"
                                 : root.is_bool() ? "bool"
                                                  : "float";
    add(document,
        base::StrCat(tag, " `", value.size() > kShown ? value.substr(0, kShown - 3) + "..." : value,
                     "`"),
        "map[string]string");
  } else if (document.kind == YamlKind::kSequence) {
    add(document, "seq", "map[string]string");
  }
  // Keys and values in turn; the value of a key that is wrong is not looked at.
  for (std::size_t i = 0; document.kind == YamlKind::kMapping && i < document.children.size();
       ++i) {
    const YamlNode* node = document.children[i];
    if (node->kind == YamlKind::kAlias) node = node->target;
    if (node == nullptr || node->kind == YamlKind::kScalar) continue;
    add(*node, node->kind == YamlKind::kSequence ? "seq" : "map", "string");
    i |= 1;
  }
  return mistakes;
}

base::Result<Labels> ReadManifest(const std::string& path) {
  auto text = base::ReadFile(std::filesystem::path(path).lexically_normal().string());
  if (!text.ok()) return text.status().Annotate("failed to read allow list manifest");
  json::Arena arena;
  constexpr std::string_view kFailed = "failed to parse allow list manifest";
  const auto parsed = json::ParseYaml(arena, *text);
  if (const std::string mistakes = MistakesOf(*text, parsed.ok() ? *parsed : json::Value());
      !mistakes.empty()) {
    return base::BadRequest(base::StrCat(kFailed, ": yaml: unmarshal errors:", mistakes));
  }
  if (!parsed.ok()) return parsed.status().Annotate(kFailed);
  Labels labels;
  for (const json::Member& member : parsed->members()) {
    const json::Value& value = member.value;
    labels[std::string(member.name())] =
        value.is_string() ? std::string(value.AsString()) : json::ToString(value);
  }
  return labels;
}

}  // namespace

void CheckMetricFlags(const Options& options, std::vector<std::string>& problems) {
  constexpr std::string_view kMapping = ".allowListMapping";
  constexpr std::string_view kManifest = ".allowListMappingManifest";
  const std::string& version = options.show_hidden_metrics_for_version;
  const std::string previous = base::StrCat("1.", std::to_string(release::kNewestMinor - 1));
  if (!version.empty() && version != previous) {
    problems.push_back(Invalid(".showHiddenMetricsForVersion", base::GoQuote(version),
                               base::StrCat("must be omitted or have the value '", previous,
                                            "'; only the previous minor version is allowed")));
  }
  const auto& names = options.disabled_metrics;
  const auto wrong = std::find_if(names.begin(), names.end(),
                                  [](std::string_view name) { return !IsName(name, true); });
  if (wrong != names.end()) {
    problems.push_back(Invalid(".disabledMetrics", TextOf(names),
                               base::StrCat("must be fully qualified metric names matching "
                                            "\"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got ",
                                            base::GoQuote(*wrong))));
  }
  const auto add = [&](std::string problem) {
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  add(ProblemOf(kMapping, options.metric_labels));
  const std::string& path = options.metric_labels_manifest;
  if (path.empty()) return;
  const auto labels = ReadManifest(path);
  if (!labels.ok()) {
    add(Invalid(kManifest, base::GoQuote(path), labels.status().message()));
  } else if (const std::string problem = ProblemOf(kManifest, *labels); !problem.empty()) {
    add(Invalid(kManifest, base::GoQuote(path),
                base::StrCat("invalid allow list mapping in manifest: [", problem, "]")));
  }
  if (options.metric_labels.empty()) return;
  std::string all;
  if (!version.empty()) {
    all += base::StrCat("\"showHiddenMetricsForVersion\":", base::GoQuote(version), ",");
  }
  if (!names.empty()) all += base::StrCat("\"disabledMetrics\":", TextOf(names), ",");
  add(Invalid("",
              base::StrCat("{", all, "\"allowListMapping\":", TextOf(options.metric_labels),
                           ",\"allowListMappingManifest\":", base::GoQuote(path), "}"),
              "cannot specify both allowListMapping and allowListMappingManifest"));
}

metrics::Limits MetricLimits(const Options& options) {
  metrics::Limits limits{options.disabled_metrics, options.metric_labels,
                         !options.show_hidden_metrics_for_version.empty()};
  if (options.metric_labels_manifest.empty()) return limits;
  auto labels = ReadManifest(options.metric_labels_manifest);
  if (labels.ok()) limits.allowed = *std::move(labels);
  return limits;
}

}  // namespace portcullis::server

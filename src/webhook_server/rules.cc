// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::webhook_server {
namespace {

constexpr std::string_view kValidating = "ValidatingAdmissionPolicy";
constexpr std::string_view kMutating = "MutatingAdmissionPolicy";

using Texts = std::vector<std::string>;

json::Value List(json::Arena& arena, const auto& texts) {
  json::ArrayBuilder list(arena);
  for (const auto& text : texts) list.Add(std::string_view(text));
  return list.Build();
}

Texts OperationsOf(admission::Operations operations) {
  Texts texts;
  for (const auto operation :
       {admission::kCreate, admission::kUpdate, admission::kDelete, admission::kConnect}) {
    if ((operations & operation) != 0) texts.emplace_back(admission::OperationText(operation));
  }
  return texts;
}

class Collector {
 public:
  Collector(json::Arena& arena, const RuleSources& sources) : arena_(arena), sources_(sources) {}

  HookRules Collect(admission::Phase phase) {
    for (const admission::PluginInfo* plugin : sources_.plugins) {
      if ((plugin->phases & phase) == 0) continue;
      if (plugin->name == kValidating || plugin->name == kMutating) {
        AddPolicies(*plugin);
      } else {
        AddPlugin(*plugin);
      }
    }
    // One rule for all resources says what narrower ones say.
    if (any_operations_ != 0) {
      Add(json::ObjectBuilder(arena_)
              .Set("apiGroups", List(arena_, Texts{"*"}))
              .Set("apiVersions", List(arena_, Texts{"*"}))
              .Set("operations", List(arena_, OperationsOf(any_operations_)))
              .Set("resources", List(arena_, Texts{"*/*"}))
              .Set("scope", "*")
              .Build());
    }
    for (const auto& [key, resources] : grouped_) {
      const auto& [group, version, scope, operations] = key;
      Add(json::ObjectBuilder(arena_)
              .Set("apiGroups", List(arena_, Texts{group}))
              .Set("apiVersions", List(arena_, Texts{version}))
              .Set("operations", List(arena_, OperationsOf(operations & ~any_operations_)))
              .Set("resources", List(arena_, resources))
              .Set("scope", std::string_view(scope))
              .Build());
    }
    json::ArrayBuilder rules(arena_);
    for (const json::Value rule : rules_) rules.Add(rule);
    result_.rules = rules.Build();
    return std::move(result_);
  }

 private:
  void Add(json::Value rule) {
    if (rule["operations"].empty()) return;
    if (seen_.insert(json::ToString(rule, {.sort_keys = true})).second) rules_.push_back(rule);
  }

  void AddAny(const admission::PluginInfo& plugin) {
    any_operations_ |= plugin.operations;
    result_.any.emplace_back(plugin.name);
  }

  void AddPlugin(const admission::PluginInfo& plugin) {
    if (plugin.resources.empty()) return AddAny(plugin);
    for (const std::string_view text : base::Split(plugin.resources, ' ')) {
      const auto parts = base::Cut(text, "/");
      const std::string_view main = parts ? parts->first : text;
      const auto named = base::Cut(main, ".");
      const std::string group(named ? named->second : "");
      const std::string name(named ? named->first : main);
      const auto* info = sources_.catalog.FindPreferred(group, name);
      const std::string version = info == nullptr ? "*" : info->resource.version;
      const std::string scope = info == nullptr ? "*" : info->namespaced ? "Namespaced" : "Cluster";
      grouped_[{group, version, scope, plugin.operations}].insert(
          parts ? base::StrCat(name, "/", parts->second) : name);
    }
  }

  void AddPolicies(const admission::PluginInfo& plugin) {
    const auto& unknown = sources_.unknown_policies;
    if (std::find(unknown.begin(), unknown.end(), plugin.name) != unknown.end()) {
      return AddAny(plugin);
    }
    for (const offline::Manifest& manifest : sources_.files.manifests) {
      if (manifest.kind != plugin.name) continue;
      for (const json::Value rule :
           manifest.object["spec"]["matchConstraints"]["resourceRules"].elements()) {
        json::ObjectBuilder copy(arena_);
        for (const char* field : {"apiGroups", "apiVersions", "operations", "resources"}) {
          copy.Set(field, rule[field]);
        }
        copy.Set("scope", rule["scope"].AsString("*"));
        Add(copy.Build());
      }
    }
  }

  // group, version, scope, operations
  using Key = std::tuple<std::string, std::string, std::string, admission::Operations>;

  json::Arena& arena_;
  const RuleSources& sources_;
  HookRules result_;
  admission::Operations any_operations_ = 0;
  std::map<Key, std::set<std::string>> grouped_;
  std::vector<json::Value> rules_;
  std::set<std::string> seen_;
};

}  // namespace

HookRules RulesOf(json::Arena& arena, const RuleSources& sources, admission::Phase phase) {
  return Collector(arena, sources).Collect(phase);
}

}  // namespace portcullis::webhook_server

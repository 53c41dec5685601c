// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_node_selector/pod_node_selector.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admission/errors.h"
#include "api/api_status.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/names.h"
#include "api/selector/label_selector.h"
#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"
#include "plugins/common/make.h"
#include "plugins/common/new_pods.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::pod_node_selector {
namespace {

constexpr std::string_view kAnnotation = "scheduler.alpha.kubernetes.io/node-selector";
constexpr std::string_view kDefaultKey = "clusterDefaultNodeSelector";

using Labels = std::map<std::string, std::string, std::less<>>;

// "k=v,k=v" with blanks around names allowed.
base::Result<Labels> ParseSelector(std::string_view text) {
  Labels labels;
  if (text.empty()) return labels;
  for (std::string_view pair : base::Split(text, ',')) {
    const std::vector<std::string_view> parts = base::Split(pair, '=');
    if (parts.size() != 2) {
      const std::vector<std::string> words(parts.begin(), parts.end());
      return admission::PlainError("invalid selector: " + base::GoList(words));
    }
    std::string_view key = base::Trim(parts[0]);
    std::string_view value = base::Trim(parts[1]);
    const std::vector<std::string> key_problems = api::IsQualifiedName(key);
    if (!key_problems.empty()) {
      return admission::PlainError(
          api::Invalid(api::FieldPath(), key, base::Join(key_problems, "; ")).ToString());
    }
    const std::vector<std::string> value_problems = api::IsValidLabelValue(value);
    if (!value_problems.empty()) {
      return admission::PlainError(
          api::Invalid(api::FieldPath().Key(key), value, base::Join(value_problems, "; "))
              .ToString());
    }
    labels.insert_or_assign(std::string(key), std::string(value));
  }
  return labels;
}

bool Conflicts(const Labels& wanted, json::Value pod_selector) {
  for (const auto& [key, value] : wanted) {
    const json::Value* own = pod_selector.Find(key);
    if (own != nullptr && own->AsString() != value) return true;
  }
  return false;
}

bool IsWithin(json::Value pod_selector, const Labels& whitelist) {
  if (whitelist.empty()) return true;
  for (const json::Member& pair : pod_selector.members()) {
    auto found = whitelist.find(pair.name());
    if (found == whitelist.end() || found->second != pair.value.AsString()) return false;
  }
  return true;
}

// Refusals name the pod by its own name, which one with generateName does not have yet.
base::Status Refuse(const admission::Request& request, std::string_view problem) {
  return api::ForbiddenStatus({"", "pods"}, api::view::Metadata(request.object()).name(), problem);
}

class PodNodeSelector final : public admission::Plugin {
 public:
  explicit PodNodeSelector(const admission::PluginContext& context)
      : reader_(context.reader), new_pods_(context) {
    if (context.config == nullptr) return;
    const json::Value selectors = context.config->document["podNodeSelectorPluginConfig"];
    for (const json::Member& selector : selectors.members()) {
      const json::Value value = selector.value;
      if (value.is_null() || value.is_object() || value.is_array()) continue;
      // YAML's numbers and booleans are the texts that were meant.
      selectors_.emplace(selector.name(),
                         value.is_string() ? std::string(value.AsString()) : json::ToString(value));
    }
  }

  base::Status Mutate(admission::Request& request) const override {
    if (!new_pods_.Include(request)) return base::OkStatus();
    const Labels wanted = TRY(NamespaceSelector(request));
    const json::Value own = request.object()["spec"]["nodeSelector"];
    if (Conflicts(wanted, own)) return RefuseConflict(request);
    if (!wanted.empty()) {
      json::Arena& arena = request.arena();
      json::ObjectBuilder merged(arena, own);
      for (const auto& [key, value] : wanted) merged.Set(arena.Copy(key), value);
      request.set_object(
          json::SetPath(arena, request.object(), {"spec", "nodeSelector"}, merged.Build()));
    }
    return Validate(request);
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!new_pods_.Include(request)) return base::OkStatus();
    const Labels wanted = TRY(NamespaceSelector(request));
    const json::Value own = request.object()["spec"]["nodeSelector"];
    if (Conflicts(wanted, own)) return RefuseConflict(request);
    if (IsWithin(own, TRY(Configured(request.namespace_name())))) return base::OkStatus();
    return Refuse(request, "pod node label selector labels conflict with its namespace whitelist");
  }

 private:
  static base::Status RefuseConflict(const admission::Request& request) {
    return Refuse(request,
                  "pod node label selector conflicts with its namespace node label selector");
  }

  base::Result<Labels> Configured(std::string_view key) const {
    auto found = selectors_.find(key);
    if (found == selectors_.end()) return Labels{};
    return ParseSelector(found->second);
  }

  base::Result<Labels> NamespaceSelector(const admission::Request& request) const {
    const store::ObjectPtr ns = common::FindNamespace(reader_, request.namespace_name());
    if (ns == nullptr) {
      return base::InternalError(
          base::StrCat("namespace ", request.namespace_name(), " does not exist"));
    }
    const json::Value* annotation = ns->document()["metadata"]["annotations"].Find(kAnnotation);
    if (annotation != nullptr) return ParseSelector(annotation->AsString());
    return Configured(kDefaultKey);
  }

  const store::Reader* reader_;
  const common::NewPods new_pods_;
  std::map<std::string, std::string, std::less<>> selectors_;  // by namespace, or kDefaultKey
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodNodeSelector",
    .summary = "adds the namespace's node selector to pods and limits theirs",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate,
    .resources = "pods",
    .reads = "namespaces",
    .by_default = admission::Default::kOff,
    .create = &common::Make<PodNodeSelector>,
    .configuration =
        "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector, <namespace>: k=v,…}",
    .with_initializers = admission::kUpdate,
};

}  // namespace portcullis::plugins::pod_node_selector

// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/match_resources.h"

#include <algorithm>

#include "admission/errors.h"
#include "admission/match/explain.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::policy {
namespace {

namespace match = admission::match;

bool Lists(const std::vector<std::string>& list, std::string_view item) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& element) { return element == "*" || element == item; });
}

bool ResourceMatches(std::string_view pattern, std::string_view resource,
                     std::string_view subresource) {
  const auto slash = pattern.find('/');
  const std::string_view wanted = pattern.substr(0, slash);
  if (wanted != "*" && wanted != resource) return false;
  if (slash == std::string_view::npos) return subresource.empty();
  const std::string_view sub = pattern.substr(slash + 1);
  return sub == "*" || sub == subresource;
}

}  // namespace

std::shared_ptr<const Selector> SelectorPool::Get(json::Value selector) {
  std::string text = json::ToString(selector, {.sort_keys = true, .splice_source = false});
  const base::MutexLock lock(mutex_);
  auto& slot = selectors_[std::move(text)];
  if (auto known = slot.lock()) return known;
  auto made = std::make_shared<Selector>();
  auto parsed = api::LabelSelector::FromJson(selector);
  if (parsed.ok()) {
    made->labels = *std::move(parsed);
  } else {
    made->error = parsed.status();
  }
  slot = made;
  if (selectors_.size() >= next_sweep_) {
    std::erase_if(selectors_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = selectors_.size() * 2 + 1024;
  }
  return made;
}

MatchResources ParseMatchResources(json::Value value, SelectorPool& selectors) {
  MatchResources out;
  out.namespace_selector = selectors.Get(value["namespaceSelector"]);
  out.object_selector = selectors.Get(value["objectSelector"]);
  for (const json::Value& rule : value["resourceRules"].elements()) {
    out.rules.push_back(match::ParseRule(rule));
  }
  for (const json::Value& rule : value["excludeResourceRules"].elements()) {
    out.excludes.push_back(match::ParseRule(rule));
  }
  if (value["matchPolicy"].AsString() != "Equivalent") out.policy = match::MatchPolicy::kExact;
  return out;
}

RequestMatcher::RequestMatcher(RequestInputs& inputs, const store::Reader* reader,
                               const admission::ObjectInterfaces* objects)
    : inputs_(inputs), reader_(reader), objects_(objects) {}

std::span<const api::GroupVersionResource> RequestMatcher::equivalents() {
  if (!equivalents_) {
    equivalents_.emplace();
    const admission::Request& request = inputs_.request();
    if (objects_ != nullptr) {
      *equivalents_ = objects_->Equivalents(request.resource(), request.subresource());
    }
  }
  return *equivalents_;
}

const api::GroupVersionResource& RequestMatcher::Equivalent(std::int32_t index) {
  if (index < 0) return inputs_.request().resource();
  return equivalents()[static_cast<std::size_t>(index)];
}

bool RequestMatcher::RuleMatches(const match::Rule& rule,
                                 const api::GroupVersionResource& resource) {
  const admission::Request& request = inputs_.request();
  if ((rule.operations & static_cast<unsigned>(request.operation())) == 0) return false;
  if (!Lists(rule.groups, resource.group) || !Lists(rule.versions, resource.version)) return false;
  const bool named =
      std::any_of(rule.resources.begin(), rule.resources.end(), [&](const std::string& pattern) {
        return ResourceMatches(pattern, resource.resource, request.subresource());
      });
  if (!named) return false;
  const bool cluster = request.namespace_name().empty() || resource.resource == "namespaces";
  if (rule.scope == match::Scope::kCluster && !cluster) return false;
  if (rule.scope == match::Scope::kNamespaced && cluster) return false;
  if (rule.scope == match::Scope::kNone) return false;
  if (rule.resource_names.empty()) return true;
  return std::find(rule.resource_names.begin(), rule.resource_names.end(), inputs_.name()) !=
         rule.resource_names.end();
}

std::optional<std::int32_t> RequestMatcher::FindRule(const std::vector<match::Rule>& rules,
                                                     match::MatchPolicy policy) {
  for (const match::Rule& rule : rules) {
    if (RuleMatches(rule, inputs_.request().resource())) return -1;
  }
  if (policy == match::MatchPolicy::kExact) return std::nullopt;
  for (const match::Rule& rule : rules) {
    std::int32_t index = 0;
    for (const api::GroupVersionResource& resource : equivalents()) {
      if (resource != inputs_.request().resource() && RuleMatches(rule, resource)) return index;
      ++index;
    }
  }
  return std::nullopt;
}

base::Result<bool> RequestMatcher::NamespaceMatches(const Selector& selector) {
  const admission::Request& request = inputs_.request();
  const bool about_namespaces = request.resource().resource == "namespaces";
  if (request.namespace_name().empty() && !about_namespaces) return true;
  if (!selector.error.ok()) return base::InternalError(selector.error.message());
  if (selector.labels.is_everything()) return true;
  const bool by_object =
      about_namespaces && request.subresource().empty() &&
      (request.operation() == admission::kCreate || request.operation() == admission::kUpdate);
  if (by_object) return selector.labels.Matches(request.object()["metadata"]["labels"]);
  const auto known = namespace_verdicts_.find(&selector);
  if (known != namespace_verdicts_.end()) return known->second;
  const bool verdict = selector.labels.Matches(TRY(NamespaceLabels()));
  namespace_verdicts_[&selector] = verdict;
  return verdict;
}

base::Result<json::Value> RequestMatcher::NamespaceLabels() {
  const std::string& name = inputs_.request().namespace_name();
  if (namespace_ == nullptr && reader_ != nullptr) {
    namespace_ = reader_->Get({"", "namespaces", "", name});
  }
  if (namespace_ == nullptr) return admission::NotFound("", "namespaces", name);
  return namespace_->document()["metadata"]["labels"];
}

base::Result<bool> RequestMatcher::ObjectMatches(const Selector& selector) {
  if (!selector.error.ok()) return base::InternalError(selector.error.message());
  if (selector.labels.is_everything()) return true;
  const auto known = object_verdicts_.find(&selector);
  if (known != object_verdicts_.end()) return known->second;
  const auto matches = [&](json::Value object) {
    const json::Value metadata = object["metadata"];
    return metadata.is_object() && selector.labels.Matches(metadata["labels"]);
  };
  const bool verdict =
      matches(inputs_.request().object()) || matches(inputs_.request().old_object());
  object_verdicts_[&selector] = verdict;
  return verdict;
}

base::Result<bool> RequestMatcher::SelectorsMatch(const MatchResources& resources) {
  auto in_namespace = NamespaceMatches(*resources.namespace_selector);
  if (in_namespace.ok() && !*in_namespace) return false;
  auto selected = ObjectMatches(*resources.object_selector);
  if (selected.ok() && !*selected) return false;
  if (FindRule(resources.excludes, resources.policy)) return false;
  TRY(in_namespace.status());
  TRY(selected.status());
  return true;
}

admission::Mismatch RequestMatcher::ExplainSelectors(const MatchResources& resources) {
  const admission::Request& request = inputs_.request();
  const auto in_namespace = NamespaceMatches(*resources.namespace_selector);
  if (in_namespace.ok() && !*in_namespace) {
    json::Value labels = request.object()["metadata"]["labels"];
    if (request.resource().resource != "namespaces") {
      const auto stored = NamespaceLabels();
      if (stored.ok()) labels = *stored;
    }
    return match::NamespaceMismatch(resources.namespace_selector->labels, request.namespace_name(),
                                    labels);
  }
  const auto selected = ObjectMatches(*resources.object_selector);
  if (selected.ok() && !*selected) {
    return match::ObjectMismatch(resources.object_selector->labels, request, request.object());
  }
  return {admission::TraceReason::kExcludeResourceRules, "a rule of excludeResourceRules matches"};
}

admission::Mismatch RequestMatcher::ExplainRules(const MatchResources& resources) {
  return match::ExplainRules(resources.rules, resources.policy, inputs_.request(), equivalents());
}

base::Result<RequestMatcher::Match> RequestMatcher::Matches(const MatchResources& resources) {
  Match match;
  if (!resources.rules.empty()) {
    match.equivalent = FindRule(resources.rules, resources.policy);
    if (!match.equivalent) return match;
  }
  match.matches = TRY(SelectorsMatch(resources));
  return match;
}

}  // namespace portcullis::policy

// SPDX-License-Identifier: Apache-2.0

#include "admission/match/rule_index.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/strings.h"

namespace portcullis::admission::match {
namespace {

constexpr std::string_view kAny = "*";

// A key no two different places share: names of groups and resources never hold a NUL.
std::string_view MakeKey(std::string& buffer, std::string_view group, std::string_view version,
                         std::string_view resource, std::string_view subresource) {
  buffer.assign(group);
  buffer.push_back('\0');
  buffer.append(version);
  buffer.push_back('\0');
  buffer.append(resource);
  buffer.push_back('\0');
  buffer.append(subresource);
  return buffer;
}

std::uint32_t ShapeOf(std::string_view group, std::string_view version, std::string_view resource,
                      std::string_view subresource) {
  return (group == kAny ? 8U : 0U) | (version == kAny ? 4U : 0U) | (resource == kAny ? 2U : 0U) |
         (subresource == kAny ? 1U : 0U);
}

std::pair<std::string_view, std::string_view> SplitResource(std::string_view entry) {
  if (auto parts = base::Cut(entry, "/")) return *parts;
  return {entry, {}};
}

Operations ParseOperation(std::string_view text) {
  if (text == kAny) return kAllOperations;
  for (const Operation operation : {kCreate, kUpdate, kDelete, kConnect}) {
    if (OperationText(operation) == text) return operation;
  }
  return 0;
}

Scope ParseScope(json::Value value) {
  const std::string_view text = value.AsString(kAny);
  if (text == kAny) return Scope::kAll;
  if (text == "Cluster") return Scope::kCluster;
  if (text == "Namespaced") return Scope::kNamespaced;
  return Scope::kNone;
}

bool InScope(Scope scope, const Request& request, const api::GroupVersionResource& resource) {
  if (scope == Scope::kAll) return true;
  if (scope == Scope::kNone) return false;
  const bool is_namespace =
      resource.resource == "namespaces" && resource.group.empty() && resource.version == "v1";
  const bool namespaced = !is_namespace && !request.namespace_name().empty();
  return namespaced == (scope == Scope::kNamespaced);
}

std::vector<std::string> Strings(json::Value list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const json::Value element : list.elements()) out.emplace_back(element.AsString());
  return out;
}

// Request's own resource before equivalents, then by rule, then by order of the equivalents.
std::tuple<std::uint32_t, bool, std::uint32_t, std::int32_t> Precedence(const Hit& hit) {
  return {hit.target, hit.equivalent >= 0, hit.rule, hit.equivalent};
}

// A name generated for a new object is known in the validating phase.
std::string_view NameOf(const Request& request) {
  if (!request.name().empty() || request.operation() != kCreate) return request.name();
  return request.object()["metadata"]["name"].AsString();
}

}  // namespace

Rule ParseRule(json::Value rule) {
  Rule out;
  for (const json::Value operation : rule["operations"].elements()) {
    out.operations |= ParseOperation(operation.AsString());
  }
  out.groups = Strings(rule["apiGroups"]);
  out.versions = Strings(rule["apiVersions"]);
  out.resources = Strings(rule["resources"]);
  out.resource_names = Strings(rule["resourceNames"]);
  out.scope = ParseScope(rule["scope"]);
  return out;
}

void RuleIndex::Builder::Add(std::uint32_t target, std::span<const Rule> rules,
                             MatchPolicy policy) {
  const bool equivalent = policy == MatchPolicy::kEquivalent;
  std::string key;
  for (std::uint32_t number = 0; number < rules.size(); ++number) {
    const Rule& rule = rules[number];
    Entry entry{target, number, rule.operations, rule.scope, equivalent, -1};
    if (!rule.resource_names.empty()) {
      entry.names = static_cast<std::int32_t>(index_->names_.size());
      index_->names_.push_back(rule.resource_names);
    }
    const Interest interest{rule.operations, equivalent ? rule.operations : Operations{0}};
    for (const std::string& resource_entry : rule.resources) {
      const auto [resource, subresource] = SplitResource(resource_entry);
      (resource == kAny ? index_->in_any_ : index_->interests_[std::string(resource)])
          .Add(interest);
      for (const std::string& group : rule.groups) {
        for (const std::string& version : rule.versions) {
          MakeKey(key, group, version, resource, subresource);
          Bucket& bucket = index_->buckets_[key];
          bucket.operations |= rule.operations;
          bucket.any_equivalent = bucket.any_equivalent || equivalent;
          bucket.entries.push_back(entry);
          index_->shapes_ |= 1U << ShapeOf(group, version, resource, subresource);
        }
      }
    }
  }
}

std::shared_ptr<const RuleIndex> RuleIndex::Builder::Build() {
  return std::exchange(index_, std::make_shared<RuleIndex>());
}

RuleIndex::Interest RuleIndex::InterestIn(const Request& request) const {
  Interest interest = in_any_;
  const auto found = interests_.find(std::string_view(request.resource().resource));
  if (found != interests_.end()) interest.Add(found->second);
  return interest;
}

bool RuleIndex::Concerns(const Request& request) const {
  return (InterestIn(request).operations & request.operation()) != 0;
}

template <typename Visit>
void RuleIndex::Look(const Request& request, const api::GroupVersionResource& resource,
                     Visit visit) const {
  std::string key;
  for (std::uint32_t shape = 0; shape < 16; ++shape) {
    if ((shapes_ & (1U << shape)) == 0) continue;
    MakeKey(key, (shape & 8U) != 0 ? kAny : resource.group,
            (shape & 4U) != 0 ? kAny : resource.version,
            (shape & 2U) != 0 ? kAny : resource.resource,
            (shape & 1U) != 0 ? kAny : std::string_view(request.subresource()));
    const auto found = buckets_.find(key);
    if (found == buckets_.end()) continue;
    const Bucket& bucket = found->second;
    if ((bucket.operations & request.operation()) == 0) continue;
    for (const Entry& entry : bucket.entries) {
      if ((entry.operations & request.operation()) == 0) continue;
      if (!InScope(entry.scope, request, resource)) continue;
      if (entry.names >= 0) {
        const auto& names = names_[static_cast<std::size_t>(entry.names)];
        if (std::find(names.begin(), names.end(), NameOf(request)) == names.end()) continue;
      }
      visit(entry);
    }
  }
}

std::vector<Hit> RuleIndex::Find(
    const Request& request,
    const std::function<std::span<const api::GroupVersionResource>()>& equivalents) const {
  std::vector<Hit> hits;
  const Interest interest = InterestIn(request);
  if ((interest.operations & request.operation()) == 0) return hits;
  Look(request, request.resource(), [&](const Entry& entry) {
    hits.push_back({entry.target, entry.rule, -1});
  });
  if ((interest.equivalent & request.operation()) != 0) {
    const std::span<const api::GroupVersionResource> others = equivalents();
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (others[i] == request.resource()) continue;
      Look(request, others[i], [&](const Entry& entry) {
        if (!entry.equivalent) return;
        hits.push_back({entry.target, entry.rule, static_cast<std::int32_t>(i)});
      });
    }
  }
  std::sort(hits.begin(), hits.end(),
            [](const Hit& a, const Hit& b) { return Precedence(a) < Precedence(b); });
  hits.erase(std::unique(hits.begin(), hits.end(),
                         [](const Hit& a, const Hit& b) { return a.target == b.target; }),
             hits.end());
  return hits;
}

}  // namespace portcullis::admission::match

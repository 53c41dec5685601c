// SPDX-License-Identifier: Apache-2.0

#include "flow_control/watch_tracker.h"

#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

// Whether the selector demands that spec.nodeName is one certain text.
bool SelectsNode(std::string_view selector) {
  constexpr std::string_view kField = "spec.nodeName=";
  for (std::string_view term : base::Split(selector, ',')) {
    if (!term.starts_with(kField)) continue;
    term.remove_prefix(kField.size());
    if (term.starts_with('=')) term.remove_prefix(1);
    return !term.empty();
  }
  return false;
}

}  // namespace

std::function<void()> WatchTracker::Register(const RequestFacts& facts,
                                             std::string_view field_selector) {
  if (facts.resource == "pods" && SelectsNode(field_selector)) return [] {};
  std::string key;
  MakeKey(key, facts, facts.ns, facts.name);
  ++watches_;
  const base::MutexLock lock(mutex_);
  ++counts_[key];
  return [this, key = std::move(key)] { Forget(key); };
}

int WatchTracker::InterestedIn(const RequestFacts& facts) const {
  if (watches_ == 0) return 0;
  std::string key;
  const base::MutexLock lock(mutex_);
  MakeKey(key, facts, {}, {});
  int count = CountOf(key);
  if (!facts.ns.empty()) {
    MakeKey(key, facts, facts.ns, {});
    count += CountOf(key);
  }
  if (!facts.name.empty()) {
    MakeKey(key, facts, facts.ns, facts.name);
    count += CountOf(key);
  }
  return count;
}

void WatchTracker::MakeKey(std::string& key, const RequestFacts& facts, std::string_view ns,
                           std::string_view name) {
  key.clear();
  for (std::string_view part : {facts.api_group, facts.resource, ns, name}) {
    key.append(part).push_back('\0');
  }
}

int WatchTracker::CountOf(const std::string& key) const {
  const auto found = counts_.find(key);
  return found == counts_.end() ? 0 : found->second;
}

void WatchTracker::Forget(const std::string& key) {
  --watches_;
  const base::MutexLock lock(mutex_);
  const auto found = counts_.find(key);
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace portcullis::flow_control

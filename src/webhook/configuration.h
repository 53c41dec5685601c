// SPDX-License-Identifier: Apache-2.0

// Webhook configurations as the dispatchers see them: every webhook of every configuration in one
// list, with an index of its rules, as one immutable snapshot.
//
// HookSource follows the configuration objects of the store. A change is taken in before the write
// that made it is acknowledged; the flattened snapshot is made when the next request asks for it,
// so that thousands of configurations written in a row cost one flattening.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admission/match/conditions.h"
#include "admission/match/rule_index.h"
#include "admission/plugin.h"
#include "api/selector/label_selector.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/status.h"
#include "webhook/hook_series.h"
#include "webhook/review.h"

namespace portcullis::webhook {

class Endpoint;
class EndpointCache;

struct ServiceReference {
  std::string namespace_name;
  std::string name;
  std::string path;
  int port = 443;
  bool operator==(const ServiceReference&) const = default;
};

struct ClientConfig {
  std::optional<std::string> url;
  std::optional<ServiceReference> service;
  std::string ca_bundle;  // PEM, decoded
  bool operator==(const ClientConfig&) const = default;
};

// Of a clientConfig object.
ClientConfig ParseClientConfig(json::Value value);
// The first of the listed versions that we speak.
std::optional<ReviewVersion> FirstKnownVersion(json::Value versions);

// A selector shared by all webhooks that have the same one. Immutable.
struct SharedSelector {
  api::LabelSelector selector;
  base::Status error;  // why it is no selector
};

enum class SideEffects : std::uint8_t { kAbsent, kNone, kNoneOnDryRun, kSome, kUnknown };

// One webhook. Immutable after construction, except that its endpoint is made when first called.
struct Hook {
  std::string configuration;
  std::string name;
  std::string uid;  // "<configuration>/<name>/<n>", for the bookkeeping of reinvocation
  ClientConfig client_config;
  bool ignore_failures = false;
  bool reinvoke_if_needed = false;
  SideEffects side_effects = SideEffects::kAbsent;
  int timeout_seconds = 10;
  std::optional<ReviewVersion> review_version;  // none: no version we speak
  admission::match::MatchPolicy match_policy = admission::match::MatchPolicy::kExact;
  std::vector<admission::match::Rule> rules;
  std::shared_ptr<const SharedSelector> namespace_selector;
  std::shared_ptr<const SharedSelector> object_selector;
  bool has_conditions = false;
  // Null if there are none, or nothing that evaluates them.
  std::shared_ptr<const admission::match::ConditionProgram> conditions;
  std::shared_ptr<const Endpoint> endpoint;
  const std::unique_ptr<HookSeries> series = std::make_unique<HookSeries>();
};

// Whether it is one of an ExternalAdmissionHookConfiguration (docs/legacy.md).
inline bool IsExternalHook(const Hook& hook) {
  return hook.review_version == ReviewVersion::kV1alpha1;
}

// All webhooks in order: configurations by name, webhooks as they stand there.
struct HookSet {
  std::vector<std::shared_ptr<const Hook>> hooks;
  std::shared_ptr<const admission::match::RuleIndex> index;
};

// Hands out one SharedSelector per distinct selector for as long as somebody holds it. Thread-safe.
class SelectorCache {
 public:
  std::shared_ptr<const SharedSelector> Get(json::Value selector);

 private:
  base::Mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const SharedSelector>> selectors_
      PC_GUARDED_BY(mutex_);
  // Expired entries are erased when the map has grown to this size.
  std::size_t next_sweep_ PC_GUARDED_BY(mutex_) = 1024;
};

// What it takes to make a Hook of a configuration's entry.
struct HookCompiler {
  SelectorCache* selectors = nullptr;
  EndpointCache* endpoints = nullptr;
  const admission::match::ConditionEvaluator* conditions = nullptr;
};

// The webhooks of one configuration object, in v1 form, or those of an
// ExternalAdmissionHookConfiguration. `prefix` goes in front of their uids.
std::vector<std::shared_ptr<const Hook>> CompileConfiguration(const HookCompiler& compiler,
                                                              json::Value configuration,
                                                              std::string_view prefix = {});
std::shared_ptr<const HookSet> MakeHookSet(std::vector<std::shared_ptr<const Hook>> hooks);

// Follows one of the configuration resources. Thread-safe.
class HookSource {
 public:
  // `resource` is "mutatingwebhookconfigurations", "validatingwebhookconfigurations" or
  // "externaladmissionhookconfigurations". What `compiler` points to outlives the source.
  HookSource(admission::ObjectFeed& feed, std::string_view resource, const HookCompiler& compiler);

  // The webhooks in force now.
  std::shared_ptr<const HookSet> Get() const;

 private:
  void Take(const std::vector<admission::ObjectFeed::Change>& changes);

  using Hooks = std::vector<std::shared_ptr<const Hook>>;
  const HookCompiler compiler_;
  mutable std::atomic<bool> stale_{true};
  mutable base::Published<HookSet> published_;
  mutable base::Mutex mutex_;
  std::map<std::string, Hooks, std::less<>> configurations_ PC_GUARDED_BY(mutex_);
  std::shared_ptr<void> watch_;  // last: its callback uses everything above
};

}  // namespace portcullis::webhook

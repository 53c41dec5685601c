// SPDX-License-Identifier: Apache-2.0

#include "webhook/configuration.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "json/writer.h"
#include "webhook/endpoint.h"

namespace portcullis::webhook {
namespace {

namespace match = admission::match;

SideEffects ParseSideEffects(json::Value value) {
  const std::string_view text = value.AsString();
  if (value.is_null()) return SideEffects::kAbsent;
  if (text == "None") return SideEffects::kNone;
  if (text == "NoneOnDryRun") return SideEffects::kNoneOnDryRun;
  if (text == "Some") return SideEffects::kSome;
  return SideEffects::kUnknown;
}

std::shared_ptr<const Hook> CompileHook(const HookCompiler& compiler,
                                        const std::string& configuration, json::Value webhook,
                                        std::string uid, bool is_external) {
  auto hook = std::make_shared<Hook>();
  hook->configuration = configuration;
  hook->name = webhook["name"].AsString();
  hook->uid = std::move(uid);
  hook->client_config = ParseClientConfig(webhook["clientConfig"]);
  hook->ignore_failures = webhook["failurePolicy"].AsString() == "Ignore";
  hook->reinvoke_if_needed = webhook["reinvocationPolicy"].AsString() == "IfNeeded";
  hook->side_effects = ParseSideEffects(webhook["sideEffects"]);
  hook->timeout_seconds = static_cast<int>(webhook["timeoutSeconds"].AsInt(10));
  hook->review_version = is_external ? ReviewVersion::kV1alpha1
                                     : FirstKnownVersion(webhook["admissionReviewVersions"]);
  if (webhook["matchPolicy"].AsString() == "Equivalent") {
    hook->match_policy = match::MatchPolicy::kEquivalent;
  }
  for (const json::Value rule : webhook["rules"].elements()) {
    hook->rules.push_back(match::ParseRule(rule));
  }
  hook->namespace_selector = compiler.selectors->Get(webhook["namespaceSelector"]);
  hook->object_selector = compiler.selectors->Get(webhook["objectSelector"]);
  hook->has_conditions = webhook["matchConditions"].size() != 0;
  if (hook->has_conditions && compiler.conditions != nullptr) {
    hook->conditions =
        compiler.conditions->Compile(match::ParseMatchConditions(webhook["matchConditions"]));
  }
  hook->endpoint = compiler.endpoints->Get(hook->client_config);
  return hook;
}

constexpr std::string_view kExternalHooks = "externalAdmissionHooks";

// What an external admission hook cannot say: as 1.7 called it. A dry run, of which it would know
// nothing, does not reach it.
json::Value AsWebhook(json::Arena& arena, json::Value hook) {
  return json::ObjectBuilder(arena, hook)
      .Set("sideEffects", "Unknown")
      .Set("timeoutSeconds", 30)
      .Set("matchPolicy", "Exact")
      .Set("namespaceSelector", json::MakeObject(arena, {}))
      .Set("objectSelector", json::MakeObject(arena, {}))
      .Build();
}

}  // namespace

std::optional<ReviewVersion> FirstKnownVersion(json::Value versions) {
  for (const json::Value version : versions.elements()) {
    if (version.AsString() == "v1") return ReviewVersion::kV1;
    if (version.AsString() == "v1beta1") return ReviewVersion::kV1beta1;
  }
  return std::nullopt;
}

ClientConfig ParseClientConfig(json::Value value) {
  ClientConfig config;
  if (const json::Value url = value["url"]; url.is_string()) config.url = url.AsString();
  if (const json::Value service = value["service"]; service.is_object()) {
    ServiceReference reference;
    reference.namespace_name = service["namespace"].AsString();
    reference.name = service["name"].AsString();
    reference.path = service["path"].AsString();
    reference.port = static_cast<int>(service["port"].AsInt(443));
    config.service = std::move(reference);
  }
  if (auto pem = base::Base64Decode(value["caBundle"].AsString())) {
    config.ca_bundle = std::move(*pem);
  }
  return config;
}

std::shared_ptr<const SharedSelector> SelectorCache::Get(json::Value selector) {
  std::string text = json::ToString(selector, {.sort_keys = true, .splice_source = false});
  const base::MutexLock lock(mutex_);
  if (selectors_.size() >= next_sweep_) {
    std::erase_if(selectors_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = std::max<std::size_t>(1024, 2 * selectors_.size());
  }
  auto& slot = selectors_[std::move(text)];
  if (auto known = slot.lock()) return known;
  auto made = std::make_shared<SharedSelector>();
  auto parsed = api::LabelSelector::FromJson(selector);
  if (parsed.ok()) {
    made->selector = std::move(parsed).value();
  } else {
    made->error = parsed.status();
  }
  slot = made;
  return made;
}

std::vector<std::shared_ptr<const Hook>> CompileConfiguration(const HookCompiler& compiler,
                                                              json::Value configuration,
                                                              std::string_view prefix) {
  std::vector<std::shared_ptr<const Hook>> hooks;
  const std::string name(configuration["metadata"]["name"].AsString());
  std::map<std::string_view, int> earlier;
  json::Arena arena;
  json::ArrayBuilder external(arena);
  for (const json::Value hook : configuration[kExternalHooks].elements()) {
    external.Add(AsWebhook(arena, hook));
  }
  const bool is_external = external.size() != 0;
  const json::Value webhooks = is_external ? external.Build() : configuration["webhooks"];
  for (const json::Value webhook : webhooks.elements()) {
    const std::string_view hook_name = webhook["name"].AsString();
    const int number = earlier[hook_name]++;
    hooks.push_back(CompileHook(
        compiler, name, webhook,
        base::StrCat(prefix, name, "/", hook_name, "/", std::to_string(number)), is_external));
  }
  return hooks;
}

std::shared_ptr<const HookSet> MakeHookSet(std::vector<std::shared_ptr<const Hook>> hooks) {
  auto set = std::make_shared<HookSet>();
  match::RuleIndex::Builder builder;
  std::uint32_t number = 0;
  for (const auto& hook : hooks) {
    builder.Add(number++, hook->rules, hook->match_policy);
  }
  set->hooks = std::move(hooks);
  set->index = builder.Build();
  return set;
}

HookSource::HookSource(admission::ObjectFeed& feed, std::string_view resource,
                       const HookCompiler& compiler)
    : compiler_(compiler) {
  watch_ = feed.Watch(
      "admissionregistration.k8s.io", resource,
      [this](const std::vector<admission::ObjectFeed::Change>& changes) { Take(changes); });
}

void HookSource::Take(const std::vector<admission::ObjectFeed::Change>& changes) {
  const base::MutexLock lock(mutex_);
  for (const auto& change : changes) {
    if (change.object.root().is_null()) {
      configurations_.erase(std::string(change.name));
    } else {
      configurations_[std::string(change.name)] =
          CompileConfiguration(compiler_, change.object.root());
    }
  }
  stale_.store(true, std::memory_order_release);
}

std::shared_ptr<const HookSet> HookSource::Get() const {
  if (!stale_.load(std::memory_order_acquire)) return published_.Get();
  const base::MutexLock lock(mutex_);
  if (!stale_.load(std::memory_order_acquire)) return published_.Get();
  Hooks all;
  for (const auto& [name, hooks] : configurations_) {
    all.insert(all.end(), hooks.begin(), hooks.end());
  }
  auto set = MakeHookSet(std::move(all));
  published_.Set(set);
  stale_.store(false, std::memory_order_release);
  return set;
}

}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

// Lowering a quota must not forget objects that have been charged and are not stored yet. Such an
// object is stored, or has failed, within a moment of its charge. Therefore what was charged since
// the last look counts as used until the next look, half a second later at the earliest: the new
// value is the recount plus the growth since then, and never more than the old value unless the
// recount itself is more.
#include "controllers/resource_quota.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/quota/evaluator.h"
#include "base/strings.h"
#include "store/readable.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;
using api::quota::Evaluator;
using api::quota::Resources;

constexpr store::Collection kQuotas{"", "resourcequotas"};
constexpr base::Duration kSettled = 500ms;
constexpr base::Duration kRetry = 100ms;

// Answers the evaluators' questions from the store.
class StoreLookup final : public api::quota::Lookup {
 public:
  explicit StoreLookup(const store::Reader& store) : store_(store) {}
  json::Document Find(std::string_view group, std::string_view resource, std::string_view ns,
                      std::string_view name) const override {
    const store::ObjectPtr object = store_.Get({group, resource, ns, name});
    return object == nullptr ? json::Document() : store::DocumentOf(object);
  }

 private:
  const store::Reader& store_;
};

// "deployments.apps" of "count/deployments.apps".
api::GroupResource ParseResource(std::string_view text) {
  const auto cut = base::Cut(text, ".");
  if (!cut) return {"", std::string(text)};
  return {std::string(cut->second), std::string(cut->first)};
}

// Every name of `hard`, with zero.
Resources Zeros(const Resources& hard) {
  Resources out;
  for (const auto& [name, amount] : hard) out.emplace(name, api::Quantity());
  return out;
}

bool HasNumber(const Resources& resources, const std::string& name, api::Quantity& out) {
  auto found = resources.find(name);
  if (found == resources.end()) return false;
  out = found->second;
  return true;
}

class ResourceQuotas final : public Controller {
 public:
  explicit ResourceQuotas(const ControllerContext& context)
      : context_(context), lookup_(context.store) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.ns().empty()) return;
    const bool is_quota = store::Collection{object.group(), object.resource()} == kQuotas;
    // A new object has been charged; only what goes away or shrinks makes room, where any is short.
    const bool makes_room = is_quota || (event.type != store::EventType::kAdded &&
                                         !context_.store.List(kQuotas, object.ns()).empty());
    if (makes_room) enqueue(std::string(object.ns()));
  }

  std::optional<base::Duration> Reconcile(const std::string& ns) override {
    std::optional<base::Duration> again;
    const auto quotas = context_.store.List(kQuotas, ns);
    Looks& looks = looks_[ns];
    std::erase_if(looks, [&quotas](const auto& look) {
      return std::none_of(quotas.begin(), quotas.end(), [&look](const store::ObjectPtr& quota) {
        return quota->uid() == look.first;
      });
    });
    for (const store::ObjectPtr& quota : quotas) {
      const std::optional<base::Duration> wait = ReconcileQuota(*quota, looks);
      if (wait) again = again ? std::min(*again, *wait) : *wait;
    }
    if (looks.empty()) looks_.erase(ns);
    return again;
  }

 private:
  // What was in use when a quota was last looked at.
  struct Look {
    Resources used;
    base::SteadyTime at;
  };
  using Looks = std::map<std::string, Look>;  // by the uid of the quota

  // What is in use.
  struct Counted {
    Resources used;
    // When the first counted object is charged no longer, without a change of it.
    std::optional<base::WallTime> next_end;
    bool all_read = true;  // else `used` has what was used before of objects that cannot be read
  };

  std::optional<base::Duration> ReconcileQuota(const store::Object& quota, Looks& looks) {
    const json::Value root = quota.document().root();
    const Resources hard = api::quota::ReadResources(root["spec"]["hard"]);
    const Resources in_force = api::quota::ReadResources(root["status"]["hard"]);
    const Resources used = api::quota::ReadResources(root["status"]["used"]);
    const base::SteadyTime now = context_.clock.Steady();
    auto [look, is_new] = looks.try_emplace(std::string(quota.uid()), Look{used, now});
    const bool hard_changed = !api::quota::Equal(hard, in_force);
    const base::Duration since = now - look->second.at;
    if (!hard_changed && !is_new && since < kSettled) return kSettled - since;

    const Counted counted = Count(root, hard, used, quota.ns());
    const Resources after = Settle(counted.used, used, look->second.used);
    const bool charged_meanwhile = !api::quota::Equal(used, look->second.used);
    look->second = {after, now};
    if (hard_changed || !api::quota::Equal(after, used)) {
      if (!Write(quota, hard, after)) {
        look->second.used = used;
        return kRetry;
      }
      return kSettled;
    }
    // More than is stored: it was charged a moment ago, and must be looked at again.
    const bool settled = api::quota::Equal(after, counted.used) && !charged_meanwhile;
    if (!settled) return kSettled;
    if (!counted.all_read) return kReadAgain;
    if (!counted.next_end) return std::nullopt;
    return std::max<base::Duration>(*counted.next_end - context_.clock.Now(), 0ms) + kSettled;
  }

  // The recount, plus what was charged since the last look, but no more than is in the status.
  static Resources Settle(const Resources& counted, const Resources& used,
                          const Resources& before) {
    Resources out = counted;
    for (auto& [name, amount] : out) {
      api::Quantity now;
      if (!HasNumber(used, name, now) || now <= amount) continue;
      api::Quantity grown = now;
      api::Quantity earlier;
      if (HasNumber(before, name, earlier)) grown.Sub(earlier);
      if (grown.Sign() <= 0) continue;
      api::Quantity most = amount;
      most.Add(grown);
      amount = std::min(most, now);
    }
    return out;
  }

  Counted Count(json::Value quota, const Resources& hard, const Resources& used,
                std::string_view ns) const {
    // Scopes are judged by the names of the spec, as the status may not have them yet.
    json::Arena arena;
    const json::Value judged =
        json::SetPath(arena, quota, {"status", "hard"}, quota["spec"]["hard"]);
    Counted out{.used = Zeros(hard)};
    for (const api::GroupResource& resource : ResourcesOf(hard)) {
      const auto evaluator = api::quota::MakeEvaluator(
          resource, {.release = context_.release, .lookup = &lookup_, .clock = &context_.clock});
      const auto names = api::quota::MatchingNames(*evaluator, hard);
      if (names.empty()) continue;
      const auto objects =
          store::ListReadable(context_.store, {resource.group, resource.resource}, ns);
      if (!objects.ok()) {
        for (const std::string& name : names) {
          if (const auto before = used.find(name); before != used.end()) {
            out.used[name] = before->second;
          }
        }
        out.all_read = false;
        continue;
      }
      for (const store::ObjectPtr& object : *objects) {
        const json::Value root = object->document().root();
        const base::Result<bool> matches = api::quota::Matches(*evaluator, judged, root);
        if (!matches.ok() || !*matches) continue;
        if (const auto end = evaluator->UsageEndsAt(root)) {
          out.next_end = out.next_end ? std::min(*out.next_end, *end) : *end;
        }
        for (const auto& [name, amount] : evaluator->Usage(root)) {
          if (auto found = out.used.find(name); found != out.used.end()) found->second.Add(amount);
        }
      }
    }
    return out;
  }

  static std::vector<api::GroupResource> ResourcesOf(const Resources& hard) {
    std::vector<api::GroupResource> out;
    for (std::string_view resource : api::quota::ResourcesWithOwnRules()) {
      out.push_back(ParseResource(resource));
    }
    for (const auto& [name, amount] : hard) {
      if (!name.starts_with("count/")) continue;
      api::GroupResource resource = ParseResource(std::string_view(name).substr(6));
      if (std::find(out.begin(), out.end(), resource) == out.end()) out.push_back(resource);
    }
    return out;
  }

  bool Write(const store::Object& quota, const Resources& hard, const Resources& used) {
    json::Arena arena;
    json::Value object = quota.document().root();
    object =
        json::SetPath(arena, object, {"status", "hard"}, api::quota::ResourcesToJson(arena, hard));
    object =
        json::SetPath(arena, object, {"status", "used"}, api::quota::ResourcesToJson(arena, used));
    return context_.client
        .Do({.verb = engine::Verb::kUpdate,
             .resource = {"", "v1", "resourcequotas"},
             .subresource = "status",
             .ns = quota.ns(),
             .name = quota.name(),
             .body = object})
        .ok();
  }

  const ControllerContext& context_;
  const StoreLookup lookup_;
  std::map<std::string, Looks> looks_;  // by namespace
};

}  // namespace

const ControllerInfo kResourceQuota = {
    .name = "resourcequota-controller",
    .account = "resourcequota-controller",
    .summary = "recounts what the objects of a namespace use of its quotas",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ResourceQuotas>(context);
    },
};

}  // namespace portcullis::controllers

// SPDX-License-Identifier: Apache-2.0

#include "controllers/cluster_role_aggregation.h"

#include <algorithm>
#include <set>

#include "api/selector/label_selector.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "store/uninitialized.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kResource = "clusterroles";
constexpr std::size_t kMostNested = 8;  // roles whose parts are looked at for one role
constexpr std::string_view kManager = "clusterrole-aggregation-controller";

class ClusterRoleAggregation final : public Controller {
 public:
  explicit ClusterRoleAggregation(const ControllerContext& context) : context_(context) {}

  // Any role may be a part of any aggregated one.
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.group() != kGroup || object.resource() != kResource) return;
    const std::string name(object.name());
    base::MutexLock lock(mutex_);
    aggregated_.erase(name);
    if (event.type != store::EventType::kDeleted &&
        object.bytes().find("\"aggregationRule\"") != std::string_view::npos) {
      aggregated_.insert(name);
    }
    for (const std::string& role : aggregated_) enqueue(role);
  }

  std::optional<base::Duration> Reconcile(const std::string& name) override {
    const store::ObjectPtr role = context_.store.Get({kGroup, kResource, "", name});
    if (role == nullptr) return std::nullopt;
    const json::Value object = role->document().root();
    const json::Value aggregation = object["aggregationRule"];
    if (aggregation.is_null()) return std::nullopt;
    json::Arena arena;
    std::set<std::string_view> gathered = {role->name()};
    const json::Value rules = Gather(arena, aggregation, name, gathered);
    if (rules == object["rules"] || (rules.empty() && object["rules"].empty())) return std::nullopt;
    json::ObjectBuilder body(arena);
    body.Set("apiVersion", object["apiVersion"]).Set("kind", object["kind"]);
    body.Set("metadata", json::ObjectBuilder(arena).Set("name", name).Build());
    if (!rules.empty()) body.Set("rules", rules);
    const auto written =
        context_.client.Do({.verb = engine::Verb::kPatch,
                            .resource = {std::string(kGroup), "v1", std::string(kResource)},
                            .name = name,
                            .body = body.Build(),
                            .patch = engine::PatchType::kApply,
                            .field_manager = kManager,
                            .force = true});
    if (written.ok() || written.status().reason() == base::Reason::kNotFound) return std::nullopt;
    return 1s;
  }

 private:
  // Without duplicates, in the order of selectors and names. A part that is aggregated itself counts
  // with the rules that it is about to have: so admin, which contains edit, which contains view, is
  // written once at the start and not three times. `gathered` are the roles on the way.
  json::Value Gather(json::Arena& arena, json::Value aggregation, std::string_view self,
                     std::set<std::string_view>& gathered) const {
    std::vector<json::Value> rules;
    auto roles = context_.store.List({kGroup, kResource});
    if (context_.initializers) {
      std::erase_if(roles, [](const auto& role) { return store::IsUninitialized(*role); });
    }
    for (const json::Value& selector : aggregation["clusterRoleSelectors"].elements()) {
      const auto labels = api::LabelSelector::FromJson(selector);
      if (!labels.ok()) continue;
      for (const store::ObjectPtr& role : roles) {
        const json::Value object = role->document().root();
        if (role->name() == self || !labels->Matches(object["metadata"]["labels"])) continue;
        json::Value parts = object["rules"];
        const json::Value nested = object["aggregationRule"];
        if (!nested.is_null() && gathered.size() < kMostNested &&
            gathered.insert(role->name()).second) {
          arena.Retain(role);
          parts = Gather(arena, nested, role->name(), gathered);
        }
        for (const json::Value& rule : parts.elements()) {
          if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
        }
      }
    }
    return json::MakeArray(arena, rules);
  }

  const ControllerContext& context_;
  base::Mutex mutex_;
  std::set<std::string> aggregated_ PC_GUARDED_BY(mutex_);
};

constexpr store::Collection kHears[] = {{kGroup, kResource}};

}  // namespace

const ControllerInfo kClusterRoleAggregation = {
    .name = "clusterrole-aggregation-controller",
    .account = "clusterrole-aggregation-controller",
    .summary = "writes the rules of aggregated ClusterRoles",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ClusterRoleAggregation>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers

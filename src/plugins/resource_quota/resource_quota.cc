// SPDX-License-Identifier: Apache-2.0

#include "plugins/resource_quota/resource_quota.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "admission/asks_outside.h"
#include "api/quota/evaluator.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "plugins/common/state.h"
#include "plugins/resource_quota/quota_checker.h"
#include "plugins/resource_quota/quota_rounds.h"
#include "plugins/resource_quota/resource_quota_config.h"

namespace portcullis::plugins::resource_quota {
namespace {

// Reviews and the like, and events, which expire by themselves.
constexpr std::string_view kIgnored[] = {
    "bindings",
    "componentstatuses",
    "events",
    "events.events.k8s.io",
    "tokenreviews.authentication.k8s.io",
    "selfsubjectreviews.authentication.k8s.io",
    "subjectaccessreviews.authorization.k8s.io",
    "selfsubjectaccessreviews.authorization.k8s.io",
    "localsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectrulesreviews.authorization.k8s.io",
};
constexpr std::chrono::seconds kPatience{10};

bool IsIgnored(const api::GroupVersionResource& resource) {
  const std::string name = resource.group_resource().ToString();
  return std::find(std::begin(kIgnored), std::end(kIgnored), name) != std::end(kIgnored);
}

// What evaluators ask about other objects, answered from the store.
class StoreLookup final : public api::quota::Lookup {
 public:
  explicit StoreLookup(const store::Reader* reader) : reader_(reader) {}
  json::Document Find(std::string_view group, std::string_view resource, std::string_view ns,
                      std::string_view name) const override {
    const store::ObjectPtr object = common::Find(reader_, group, resource, ns, name);
    return object == nullptr ? json::Document() : store::DocumentOf(object);
  }

 private:
  const store::Reader* reader_;
};

// Thread-safe.
class ResourceQuota final : public admission::Plugin, public admission::AsksOutside {
 public:
  ResourceQuota(const admission::PluginContext& context, std::vector<LimitedResource> limited)
      : reader_(context.reader),
        lookup_(context.reader),
        options_{*context.release, &lookup_, context.clock},
        checker_(std::move(limited), *context.release),
        rounds_(context.reader, context.writer, checker_) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!Concerns(request)) return base::OkStatus();
    const api::quota::Evaluator& evaluator = EvaluatorFor(request.resource().group_resource());
    const auto change = request.operation() == admission::kCreate ? api::quota::Change::kCreate
                                                                  : api::quota::Change::kUpdate;
    if (!evaluator.Handles(change, request.subresource(), request.object(), request.old_object())) {
      return base::OkStatus();
    }
    TRY(request.recorder().CheckMayWait());
    return rounds_.Ask(request, evaluator, base::SystemClock().Steady() + kPatience);
  }

  // It writes what has been used into the quotas.
  admission::Waits WaitsOf(const admission::Request& request) const override {
    return Concerns(request) ? admission::Waits::kOnThread : admission::Waits::kForNothing;
  }

 private:
  bool Concerns(const admission::Request& request) const {
    if (request.namespace_name().empty() || IsIgnored(request.resource())) return false;
    if (request.operation() == admission::kCreate && request.Is("", "namespaces")) return false;
    return checker_.limits_resources() ||
           !common::List(reader_, "", "resourcequotas", request.namespace_name()).empty();
  }

  const api::quota::Evaluator& EvaluatorFor(const api::GroupResource& resource) const {
    base::MutexLock lock(mutex_);
    std::unique_ptr<const api::quota::Evaluator>& evaluator = evaluators_[resource];
    if (evaluator == nullptr) evaluator = api::quota::MakeEvaluator(resource, options_);
    return *evaluator;
  }

  const store::Reader* reader_;
  const StoreLookup lookup_;
  const api::quota::EvaluatorOptions options_;
  const QuotaChecker checker_;
  mutable QuotaRounds rounds_;
  mutable base::Mutex mutex_;
  mutable std::map<api::GroupResource, std::unique_ptr<const api::quota::Evaluator>> evaluators_
      PC_GUARDED_BY(mutex_);
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  std::vector<LimitedResource> limited = TRY(ParseConfig(context));
  return std::unique_ptr<admission::Plugin>(
      std::make_unique<ResourceQuota>(context, std::move(limited)));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ResourceQuota",
    .summary = "keeps namespaces within their quotas",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .reads = "deviceclasses.resource.k8s.io pods resourcequotas",
    .by_default = admission::Default::kOn,
    .create = &Create,
    .configuration = "apiserver.config.k8s.io/v1 ResourceQuotaConfiguration: limitedResources[]",
};

}  // namespace portcullis::plugins::resource_quota

// SPDX-License-Identifier: Apache-2.0

#include "plugins/event_rate_limit/event_rate_limit.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/field_error.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "plugins/event_rate_limit/event_rate_limit_config.h"
#include "plugins/event_rate_limit/token_buckets.h"

namespace portcullis::plugins::event_rate_limit {
namespace {

// One configured limit with its buckets. Thread-safe.
class Limit {
 public:
  explicit Limit(const EventLimit& config) : config_(config), buckets_(config) {}

  // Takes a token, or says what is exhausted.
  std::string Take(const admission::Request& request, base::SteadyTime now) const {
    const std::string key = KeyOf(request);
    base::MutexLock lock(mutex_);
    if (buckets_.Take(key, now)) return {};
    return base::StrCat("limit reached on type ", config_.type, " for key ", key);
  }

 private:
  std::string KeyOf(const admission::Request& request) const {
    if (config_.type == "Namespace") return request.namespace_name();
    if (config_.type == "User") return request.user().name;
    if (config_.type != "SourceAndObject") return {};
    const json::Value source = request.object()["source"];
    const json::Value about = request.object()["involvedObject"];
    return base::StrCat(source["component"].AsString(), source["host"].AsString(),
                        about["kind"].AsString(), about["namespace"].AsString(),
                        about["name"].AsString(), about["uid"].AsString(),
                        about["apiVersion"].AsString());
  }

  const EventLimit config_;
  mutable base::Mutex mutex_;
  mutable TokenBuckets buckets_ PC_GUARDED_BY(mutex_);
};

class EventRateLimit final : public admission::Plugin {
 public:
  EventRateLimit(const admission::PluginContext& context, const std::vector<EventLimit>& limits)
      : clock_(context.clock != nullptr ? *context.clock : base::SystemClock()) {
    for (const EventLimit& limit : limits) limits_.push_back(std::make_unique<Limit>(limit));
  }

  base::Status Validate(const admission::Request& request) const override {
    if (request.kind().kind != "Event" || !request.kind().group.empty() || request.dry_run()) {
      return base::OkStatus();
    }
    // Every limit is asked, so that one that refuses does not spare the others' tokens.
    std::vector<std::string> refusals;
    for (const std::unique_ptr<Limit>& limit : limits_) {
      std::string refusal = limit->Take(request, clock_.Steady());
      if (!refusal.empty()) refusals.push_back(std::move(refusal));
    }
    if (refusals.empty()) return base::OkStatus();
    return base::Status(base::Reason::kTooManyRequests,
                        "Too many requests: " + api::AggregateText(refusals));
  }

 private:
  const base::Clock& clock_;
  std::vector<std::unique_ptr<Limit>> limits_;
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  const std::vector<EventLimit> limits = TRY(ParseConfig(context));
  return std::unique_ptr<admission::Plugin>(std::make_unique<EventRateLimit>(context, limits));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "EventRateLimit",
    .summary = "limits the rate of events per server, namespace, user or object",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "events",
    .by_default = admission::Default::kOff,
    .create = &Create,
    .configuration =
        "eventratelimit.admission.k8s.io/v1alpha1 Configuration: limits[] with type, qps, burst, "
        "cacheSize",
    .since_minor = 9,
};

}  // namespace portcullis::plugins::event_rate_limit

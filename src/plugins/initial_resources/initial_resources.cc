// SPDX-License-Identifier: Apache-2.0

#include "plugins/initial_resources/initial_resources.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/asks_outside.h"
#include "admission/recorder.h"
#include "api/quantity.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/edit.h"
#include "plugins/initial_resources/usage_history.h"

namespace portcullis::plugins::initial_resources {
namespace {

constexpr std::string_view kAnnotation = "kubernetes.io/initial-resources";
constexpr std::int64_t kEnoughSamples = 30;
// For all containers of a pod; then the others stay as they are.
constexpr std::chrono::seconds kLongestWait{10};

using Days = std::chrono::duration<int, std::ratio<86400>>;

// Which samples are asked for, until there are enough.
struct Attempt {
  Days days;
  bool any_tag;
  bool all_namespaces;
};
constexpr Attempt kOwnNamespace[] = {
    {Days(7), false, false}, {Days(30), false, false}, {Days(30), true, false}};
constexpr Attempt kEverywhere[] = {{Days(7), false, false},
                                   {Days(30), false, false},
                                   {Days(7), false, true},
                                   {Days(30), false, true},
                                   {Days(30), true, true}};

std::string_view NameOf(Resource resource) { return resource == Resource::kCpu ? "cpu" : "memory"; }

bool IsOpen(json::Value container, Resource resource) {
  const json::Value resources = container["resources"];
  return !resources["requests"].Has(NameOf(resource)) && !resources["limits"].Has(NameOf(resource));
}

// Thread-safe.
class InitialResources final : public admission::Plugin, public admission::AsksOutside {
 public:
  explicit InitialResources(const admission::PluginContext& context)
      : clock_(context.clock),
        attempts_(context.usage_history.namespace_only ? std::span<const Attempt>(kOwnNamespace)
                                                       : kEverywhere) {
    if (context.usage_history.host.empty()) {
      base::LogWarning("InitialResources changes no pod: there is no history of usage",
                       {{"hint", "--ir-influxdb-host"}});
    } else if (context.https != nullptr && clock_ != nullptr) {
      history_ = std::make_unique<UsageHistory>(context.usage_history, *context.https);
    }
  }

  admission::Waits WaitsOf(const admission::Request& request) const override {
    return Applies(request) ? admission::Waits::kOnThread : admission::Waits::kForNothing;
  }

  base::Status Mutate(admission::Request& request) const override {
    if (!Applies(request)) return base::OkStatus();
    TRY(request.recorder().CheckMayWait());
    const admission::WaitingForOthers waiting(request.recorder());
    Filling filling{request, clock_->Steady() + base::Duration(kLongestWait), {}, false};
    json::ArrayBuilder containers(request.arena());
    for (const json::Value& container : request.object()["spec"]["containers"].elements()) {
      containers.Add(Filled(container, filling));
    }
    if (filling.notes.empty()) return base::OkStatus();
    json::Arena& arena = request.arena();
    const json::Value pod =
        json::SetPath(arena, request.object(), {"spec", "containers"}, containers.Build());
    const std::string note =
        base::StrCat("Initial Resources plugin set: ", base::Join(filling.notes, "; "));
    request.set_object(json::SetPath(arena, pod, {"metadata", "annotations", kAnnotation},
                                     json::String(arena, note)));
    return base::OkStatus();
  }

 private:
  // A pod whose containers are gone through.
  struct Filling {
    const admission::Request& request;
    base::SteadyTime deadline;
    std::vector<std::string> notes;
    bool has_failed;  // the database is not asked any more
  };

  bool Applies(const admission::Request& request) const {
    return history_ != nullptr && request.Is("", "pods");
  }

  json::Value Filled(json::Value container, Filling& filling) const {
    json::Arena& arena = filling.request.arena();
    std::vector<std::string_view> set;
    for (const Resource resource : {Resource::kCpu, Resource::kMemory}) {
      if (filling.has_failed || !IsOpen(container, resource)) continue;
      const auto amount = Estimate(resource, container["image"].AsString(), filling);
      if (!amount) continue;
      container = json::SetPath(arena, container, {"resources", "requests", NameOf(resource)},
                                json::String(arena, amount->ToString()));
      set.push_back(NameOf(resource));
    }
    if (!set.empty()) {
      filling.notes.push_back(base::StrCat(base::Join(set, ", "), " request for container ",
                                           container["name"].AsString()));
    }
    return container;
  }

  // Nothing if there is no sample.
  std::optional<api::Quantity> Estimate(Resource resource, std::string_view image,
                                        Filling& filling) const {
    const base::WallTime now = clock_->Now();
    Usage usage;
    for (const Attempt& attempt : attempts_) {
      UsageQuestion question;
      question.resource = resource;
      question.image = image;
      question.any_tag = attempt.any_tag;
      if (!attempt.all_namespaces) question.namespace_name = filling.request.namespace_name();
      question.from = now - attempt.days;
      question.until = now;
      const auto answer = history_->Ask(question, filling.deadline);
      if (!answer.ok()) {
        base::LogError("error while trying to estimate resources",
                       {{"error", answer.status().message()}});
        filling.has_failed = true;
        return std::nullopt;
      }
      usage = *answer;
      if (usage.samples >= kEnoughSamples) break;
    }
    if (usage.samples <= 0) return std::nullopt;
    return resource == Resource::kCpu ? api::Quantity::FromMilli(usage.value)
                                      : api::Quantity::FromInt(usage.value);
  }

  const base::Clock* const clock_;
  const std::span<const Attempt> attempts_;
  std::unique_ptr<const UsageHistory> history_;  // null: there is none
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  const admission::UsageHistoryOptions& options = context.usage_history;
  if (options.source == "gcm" || options.source == "hawkular") {
    return base::ConfigError(
        base::StrCat("--ir-data-source=", options.source, " is not here (allowed: influxdb)"));
  }
  if (options.source != "influxdb") {
    return base::ConfigError(base::StrCat("unknown data source ", options.source));
  }
  if (options.percentile < 1 || options.percentile > 100) {
    return base::ConfigError(base::StrCat("invalid value \"", std::to_string(options.percentile),
                                          "\" for --ir-percentile: must be 1 to 100"));
  }
  return std::unique_ptr<admission::Plugin>(std::make_unique<InitialResources>(context));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "InitialResources",
    .summary = "requests for containers what others with their image have used",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "pods",
    .by_default = admission::Default::kOff,
    .create = &Create,
    .until_minor = 10,
    .legacy = true,
};

}  // namespace portcullis::plugins::initial_resources

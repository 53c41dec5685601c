// SPDX-License-Identifier: Apache-2.0

#include "controllers/aggregated_discovery.h"

#include <algorithm>
#include <map>

#include "json/reader.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr store::Collection kHears[] = {{"apiregistration.k8s.io", "apiservices"}};
constexpr base::Duration kEvery = 60s;

// Keys are names of APIServices.
class AggregatedDiscovery final : public Controller {
 public:
  explicit AggregatedDiscovery(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    enqueue(std::string(event.object->name()));
  }

  std::optional<base::Duration> Reconcile(const std::string& name) override {
    const store::ObjectPtr service = context_.store.Get({kHears[0].group, "apiservices", "", name});
    const bool is_aggregated =
        service != nullptr && !service->document()["spec"]["service"].is_null();
    const bool was_aggregated = waits_.contains(name);
    if (context_.aggregated == nullptr || (!is_aggregated && !was_aggregated)) return std::nullopt;
    const base::Status status = context_.aggregated->Discover(name);
    if (!is_aggregated) {
      waits_.erase(name);
      return std::nullopt;
    }
    base::Duration& wait = waits_[name];
    if (status.ok()) {
      wait = {};
      return kEvery;
    }
    wait = wait.count() == 0 ? base::Duration(500ms) : std::min(2 * wait, kEvery);
    return wait;
  }

 private:
  const ControllerContext& context_;
  std::map<std::string, base::Duration> waits_;  // how long a failed attempt was waited for
};

}  // namespace

const ControllerInfo kAggregatedDiscovery = {
    .name = "aggregated-discovery",
    .account = "",
    .summary = "gets what discovery shows of aggregated API servers",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<AggregatedDiscovery>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers

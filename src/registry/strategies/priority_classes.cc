// PriorityClasses: the two of the system cannot be deleted
// (Kubernetes docs: Pod Priority and Preemption).

#include "api/api_status.h"
#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

class PriorityClasses final : public DefaultStrategy {
 public:
  PriorityClasses() : DefaultStrategy({.counts_generation = true}) {}

  base::Status CheckDelete(const Context& ctx) const override {
    if (ctx.name != "system-node-critical" && ctx.name != "system-cluster-critical") {
      return base::OkStatus();
    }
    return api::ForbiddenStatus(ctx.resource.group_resource(), ctx.name,
                                "this is a system priority class and cannot be deleted");
  }
};

}  // namespace

std::unique_ptr<Strategy> MakePriorityClasses() { return std::make_unique<PriorityClasses>(); }

}  // namespace portcullis::registry

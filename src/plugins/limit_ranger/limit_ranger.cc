// SPDX-License-Identifier: Apache-2.0

#include "plugins/limit_ranger/limit_ranger.h"

#include <string>
#include <vector>

#include "admission/errors.h"
#include "api/field_error.h"
#include "api/view/metadata.h"
#include "plugins/common/make.h"
#include "plugins/common/new_pods.h"
#include "plugins/common/state.h"
#include "plugins/limit_ranger/limit_ranger_constraints.h"
#include "plugins/limit_ranger/limit_ranger_defaults.h"

namespace portcullis::plugins::limit_ranger {
namespace {

class LimitRanger final : public admission::Plugin {
 public:
  explicit LimitRanger(const admission::PluginContext& context)
      : reader_(context.reader),
        handles_resize_(context.release->Has("LimitRangerChecksResize")),
        pod_level_(context.release->GateEnabled("PodLevelResources")),
        new_pods_(context) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!Applies(request) || !IsPod(request)) return base::OkStatus();
    json::Value pod = request.object();
    for (const json::Value& limit_range : RangesOf(request)) {
      pod = WithDefaults(request.arena(), pod, limit_range);
    }
    if (!pod.IsSameAs(request.object())) request.set_object(pod);
    return base::OkStatus();
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!Applies(request)) return base::OkStatus();
    for (const json::Value& limit_range : RangesOf(request)) {
      const std::vector<std::string> violations =
          IsPod(request) ? PodViolations(limit_range, request.object(), pod_level_)
                         : ClaimViolations(limit_range, request.object());
      if (violations.empty()) continue;
      return admission::Forbidden(request, api::AggregateText(violations));
    }
    return base::OkStatus();
  }

 private:
  static bool IsPod(const admission::Request& request) { return request.IsResource("", "pods"); }

  bool Applies(const admission::Request& request) const {
    if (api::view::Metadata(request.old_object()).is_being_deleted()) return false;
    if (request.Is("", "persistentvolumeclaims")) return true;
    if (!IsPod(request)) return false;
    if (new_pods_.Include(request)) return true;
    return handles_resize_ && request.subresource() == "resize";
  }

  std::vector<json::Value> RangesOf(const admission::Request& request) const {
    std::vector<json::Value> ranges;
    for (const store::ObjectPtr& object :
         common::List(reader_, "", "limitranges", request.namespace_name())) {
      ranges.push_back(common::RootOf(request.arena(), object));
    }
    return ranges;
  }

  const store::Reader* reader_;
  bool handles_resize_;
  bool pod_level_;
  const common::NewPods new_pods_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "LimitRanger",
    .summary = "fills in and enforces the limit ranges of a namespace",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods pods/resize persistentvolumeclaims",
    .reads = "limitranges",
    .by_default = admission::Default::kOn,
    .create = &common::Make<LimitRanger>,
};

}  // namespace portcullis::plugins::limit_ranger

// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_group_workload_exists/pod_group_workload_exists.h"

#include <string>

#include "admission/errors.h"
#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::pod_group_workload_exists {
namespace {

bool HasTemplate(json::Value workload, std::string_view name) {
  for (const json::Value& pod_group_template : workload["spec"]["podGroupTemplates"].elements()) {
    if (pod_group_template["name"].AsString() == name) return true;
  }
  return false;
}

class PodGroupWorkloadExists final : public admission::Plugin {
 public:
  explicit PodGroupWorkloadExists(const admission::PluginContext& context)
      : reader_(context.reader), enabled_(context.release->GateEnabled("GenericWorkload")) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!enabled_ || !request.Is("scheduling.k8s.io", "podgroups")) return base::OkStatus();
    json::Value reference = request.object()["spec"]["podGroupTemplateRef"];
    if (reference["workload"].is_object()) reference = reference["workload"];
    std::string_view name = reference["workloadName"].AsString();
    if (name.empty()) return base::OkStatus();
    auto reject = [&](std::string_view problem) {
      return admission::Forbidden(request, base::StrCat("PodGroup rejected: ", problem));
    };
    const json::Value workload = common::RootOf(
        request.arena(),
        common::Find(reader_, "scheduling.k8s.io", "workloads", request.namespace_name(), name));
    const std::string quoted = base::GoQuote(name);
    if (workload.is_null()) {
      const std::string problem = common::NameProblem(name);
      if (!problem.empty()) return base::InternalError(problem);
      return reject(base::StrCat("Workload ", quoted, " not found"));
    }
    if (api::view::Metadata(workload).is_being_deleted()) {
      return reject(base::StrCat("Workload ", quoted, " is being deleted"));
    }
    std::string_view wanted = reference["podGroupTemplateName"].AsString();
    if (HasTemplate(workload, wanted)) return base::OkStatus();
    return reject(base::StrCat("PodGroupTemplate ", base::GoQuote(wanted),
                               " not found in Workload ", quoted));
  }

 private:
  const store::Reader* reader_;
  bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodGroupWorkloadExists",
    .summary = "refuses PodGroups whose Workload does not exist",
    .phases = admission::kValidate,
    .operations = admission::kCreate,
    .resources = "podgroups.scheduling.k8s.io",
    .reads = "workloads.scheduling.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<PodGroupWorkloadExists>,
    .since_minor = 36,
};

}  // namespace portcullis::plugins::pod_group_workload_exists

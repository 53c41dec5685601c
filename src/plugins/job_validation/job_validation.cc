// SPDX-License-Identifier: Apache-2.0

#include "plugins/job_validation/job_validation.h"

#include <string>

#include "admission/errors.h"
#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::job_validation {
namespace {

bool IsGang(json::Value pod_group) {
  return !pod_group["spec"]["schedulingPolicy"]["gang"].is_null();
}

class JobValidation final : public admission::Plugin {
 public:
  explicit JobValidation(const admission::PluginContext& context)
      : reader_(context.reader),
        enabled_(context.release->GateEnabled("GenericWorkload") ||
                 context.release->GateEnabled("WorkloadWithJob")) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!enabled_ || !request.Is("batch", "jobs")) return base::OkStatus();
    const json::Value job = request.old_object();
    if (job["spec"]["parallelism"] == request.object()["spec"]["parallelism"]) {
      return base::OkStatus();
    }
    const std::string gang = GangOf(request, job);
    if (gang.empty()) return base::OkStatus();
    return admission::Forbidden(
        request,
        base::StrCat("cannot change parallelism for a Job referencing gang-scheduled PodGroup ",
                     base::GoQuote(gang)));
  }

 private:
  // The gang-scheduled PodGroup of the job, by name, or "".
  std::string GangOf(const admission::Request& request, json::Value job) const {
    const std::string& ns = request.namespace_name();
    std::string_view named =
        job.At({"spec", "template", "spec", "schedulingGroup", "podGroupName"}).AsString();
    if (!named.empty()) {
      const json::Value group = common::RootOf(
          request.arena(), common::Find(reader_, "scheduling.k8s.io", "podgroups", ns, named));
      return IsGang(group) ? std::string(named) : "";
    }
    std::string_view uid = api::view::Metadata(job).uid();
    for (const store::ObjectPtr& object :
         common::List(reader_, "scheduling.k8s.io", "podgroups", ns)) {
      const json::Value group = object->document().root();
      const json::Value owner = api::view::Metadata(group).controller();
      if (IsGang(group) && owner["uid"].AsString() == uid) return std::string(object->name());
    }
    return {};
  }

  const store::Reader* reader_;
  bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "JobValidation",
    .summary = "keeps the parallelism of gang-scheduled Jobs",
    .phases = admission::kValidate,
    .operations = admission::kUpdate,
    .resources = "jobs.batch",
    .reads = "podgroups.scheduling.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<JobValidation>,
    .since_minor = 36,
};

}  // namespace portcullis::plugins::job_validation

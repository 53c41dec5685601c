// SPDX-License-Identifier: Apache-2.0

#include "plugins/runtime_class/runtime_class.h"

#include "admission/errors.h"
#include "api/quota/resources.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"
#include "plugins/common/tolerations.h"

namespace portcullis::plugins::runtime_class {
namespace {

constexpr std::string_view kMismatch =
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
constexpr std::string_view kWithoutClass =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

bool SameOverhead(json::Value a, json::Value b) {
  return api::quota::Equal(api::quota::ReadResources(a), api::quota::ReadResources(b));
}

// The pod's selector with the class's pairs, or why they exclude each other.
base::Result<json::Value> MergeSelectors(json::Arena& arena, json::Value of_class,
                                         json::Value of_pod) {
  json::ObjectBuilder merged(arena, of_pod);
  for (const json::Member& pair : of_class.members()) {
    const json::Value* own = of_pod.Find(pair.name());
    if (own != nullptr && own->AsString() != pair.value.AsString()) {
      return base::Forbidden(base::StrCat("conflict: runtimeClass.scheduling.nodeSelector[",
                                          pair.name(), "] = ", pair.value.AsString(),
                                          "; pod.spec.nodeSelector[", pair.name(),
                                          "] = ", own->AsString()));
    }
    merged.Set(pair.name(), pair.value);
  }
  return merged.Build();
}

class RuntimeClass final : public admission::Plugin {
 public:
  explicit RuntimeClass(const admission::PluginContext& context)
      : reader_(context.reader),
        empty_counts_(context.release->Has("RuntimeClassEmptyOverheadCounts")) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const json::Value found = TRY(ClassOf(request));
    if (found.is_null()) return base::OkStatus();
    json::ObjectBuilder spec(request.arena(), request.object()["spec"]);
    bool changed = TRY(SetOverhead(request, found, spec));
    changed = TRY(SetScheduling(request, found["scheduling"], spec)) || changed;
    if (changed) {
      request.set_object(json::With(request.arena(), request.object(), "spec", spec.Build()));
    }
    return base::OkStatus();
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const json::Value wanted = TRY(ClassOf(request))["overhead"];
    const json::Value overhead = request.object()["spec"]["overhead"];
    if (wanted.is_null()) {
      // A map that is empty is one to Go.
      const bool is_set = !overhead.is_null() || request.sent()["spec"]["overhead"].is_object();
      return is_set ? admission::Forbidden(request, kWithoutClass) : base::OkStatus();
    }
    return SameOverhead(wanted["podFixed"], overhead) ? base::OkStatus()
                                                      : admission::Forbidden(request, kMismatch);
  }

 private:
  // Null if the pod names no class.
  base::Result<json::Value> ClassOf(const admission::Request& request) const {
    const json::Value name = request.object()["spec"]["runtimeClassName"];
    if (!name.is_string()) return json::Value();
    const json::Value found =
        common::RootOf(request.arena(),
                       common::Find(reader_, "node.k8s.io", "runtimeclasses", "", name.AsString()));
    if (!found.is_null()) return found;
    const std::string problem = common::NameProblem(name.AsString());
    if (!problem.empty()) return admission::PlainError(problem);
    return admission::Forbidden(
        request,
        base::StrCat("pod rejected: RuntimeClass ", base::GoQuote(name.AsString()), " not found"));
  }

  base::Result<bool> SetOverhead(admission::Request& request, json::Value found,
                                 json::ObjectBuilder& spec) const {
    const json::Value wanted = found["overhead"]["podFixed"];
    if (found["overhead"].is_null()) return false;
    const json::Value own = request.object()["spec"]["overhead"];
    const bool is_set = empty_counts_ ? !own.is_null() : !own.empty();
    if (is_set && !SameOverhead(own, wanted)) return admission::Forbidden(request, kMismatch);
    spec.Set("overhead", wanted);
    return true;
  }

  static base::Result<bool> SetScheduling(admission::Request& request, json::Value scheduling,
                                          json::ObjectBuilder& spec) {
    if (scheduling["nodeSelector"].is_null() && scheduling["tolerations"].is_null()) return false;
    json::Arena& arena = request.arena();
    const json::Value pod_spec = request.object()["spec"];
    if (!scheduling["nodeSelector"].empty()) {
      base::Result<json::Value> merged =
          MergeSelectors(arena, scheduling["nodeSelector"], pod_spec["nodeSelector"]);
      if (!merged.ok()) return admission::Forbidden(request, merged.status().message());
      spec.Set("nodeSelector", *merged);
    }
    const json::Value tolerations =
        common::MergeTolerations(arena, pod_spec["tolerations"], scheduling["tolerations"]);
    if (!tolerations.empty()) spec.Set("tolerations", tolerations);
    return true;
  }

  const store::Reader* reader_;
  bool empty_counts_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "RuntimeClass",
    .summary = "adds the overhead and scheduling of their RuntimeClass to pods",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate,
    .resources = "pods",
    .reads = "runtimeclasses.node.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<RuntimeClass>,
    .since_minor = 14,
};

}  // namespace portcullis::plugins::runtime_class

// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_resize_validator/pod_resize_validator.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "admission/errors.h"
#include "api/quota/pod_resources.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::pod_resize_validator {
namespace {

base::Status WithCause(const base::Status& status, std::string_view reason) {
  base::StatusDetails details;
  if (status.details() != nullptr) details = *status.details();
  details.causes.push_back({std::string(reason), "", ""});
  return status.WithDetails(std::move(details));
}

// "cpu, requested: 10000, allocatable: 4000; memory, …", or "" if everything fits.
std::string WhatDoesNotFit(json::Value pod, json::Value node) {
  api::quota::Resources requests = api::quota::PodRequests(pod, {});
  api::quota::Resources allocatable = api::quota::ReadResources(node["status"]["allocatable"]);
  std::vector<std::string> parts;
  auto compare = [&](std::string_view name, std::int64_t requested, std::int64_t available) {
    if (requested <= available) return;
    parts.push_back(base::StrCat(name, ", requested: ", std::to_string(requested),
                                 ", allocatable: ", std::to_string(available)));
  };
  compare("cpu", requests["cpu"].MilliValue(), allocatable["cpu"].MilliValue());
  compare("memory", requests["memory"].Value(), allocatable["memory"].Value());
  return base::Join(parts, "; ");
}

class PodResizeValidator final : public admission::Plugin {
 public:
  explicit PodResizeValidator(const admission::PluginContext& context) : reader_(context.reader) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.IsResource("", "pods") || request.subresource() != "resize") {
      return base::OkStatus();
    }
    const json::Value pod = request.object();
    std::string_view name = pod["spec"]["nodeName"].AsString();
    if (name.empty() || pod["metadata"]["generation"].AsInt() ==
                            request.old_object()["metadata"]["generation"].AsInt()) {
      return base::OkStatus();
    }
    const std::string quoted = base::GoQuote(name);
    const json::Value node =
        common::RootOf(request.arena(), common::Find(reader_, "", "nodes", "", name));
    if (node.is_null()) {
      return admission::Forbidden(request, base::StrCat("node ", quoted, " not found"));
    }
    const json::Value* system = node["metadata"]["labels"].Find("kubernetes.io/os");
    if (system != nullptr && system->AsString() != "linux") {
      return WithCause(
          admission::Forbidden(
              request, base::StrCat("pod resize is only supported on linux nodes, node ", quoted,
                                    " is ", base::GoQuote(system->AsString()))),
          "UnsupportedPlatform");
    }
    const std::string lacking = WhatDoesNotFit(pod, node);
    if (lacking.empty()) return base::OkStatus();
    return WithCause(
        admission::Forbidden(request, "node didn't have enough allocatable resources: " + lacking),
        "NodeCapacity");
  }

 private:
  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodResizeValidator",
    .summary = "refuses pod resizes that the node cannot hold",
    .phases = admission::kValidate,
    .operations = admission::kUpdate,
    .resources = "pods/resize",
    .reads = "nodes",
    .by_default = admission::Default::kOn,
    .create = &common::Make<PodResizeValidator>,
    .since_minor = 36,
};

}  // namespace portcullis::plugins::pod_resize_validator

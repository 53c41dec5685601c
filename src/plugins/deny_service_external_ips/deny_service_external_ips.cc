// SPDX-License-Identifier: Apache-2.0

#include "plugins/deny_service_external_ips/deny_service_external_ips.h"

#include "admission/errors.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::deny_service_external_ips {
namespace {

bool Contains(json::Value list, json::Value text) {
  for (const json::Value& element : list.elements()) {
    if (element.AsString() == text.AsString()) return true;
  }
  return false;
}

class DenyServiceExternalIPs final : public admission::Plugin {
 public:
  explicit DenyServiceExternalIPs(const admission::PluginContext&) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "services")) return base::OkStatus();
    const json::Value before = request.old_object()["spec"]["externalIPs"];
    for (const json::Value& address : request.object()["spec"]["externalIPs"].elements()) {
      if (Contains(before, address)) continue;
      return admission::Forbidden(request, "Use of external IPs is denied by admission control");
    }
    return base::OkStatus();
  }
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "DenyServiceExternalIPs",
    .summary = "refuses new external IPs of Services",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "services",
    .by_default = admission::Default::kOff,
    .create = &common::Make<DenyServiceExternalIPs>,
    .since_minor = 21,
};

}  // namespace portcullis::plugins::deny_service_external_ips

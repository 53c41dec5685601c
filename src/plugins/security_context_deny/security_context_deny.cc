// SPDX-License-Identifier: Apache-2.0

#include "plugins/security_context_deny/security_context_deny.h"

#include <string>

#include "api/api_status.h"
#include "api/names.h"
#include "api/view/metadata.h"
#include "base/strings.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::security_context_deny {
namespace {

constexpr std::string_view kPodFields[][2] = {{"supplementalGroups", "SupplementalGroups"},
                                              {"seLinuxOptions", "SELinuxOptions"},
                                              {"runAsUser", "RunAsUser"},
                                              {"fsGroup", "FSGroup"}};
constexpr std::string_view kContainerFields[][2] = {{"seLinuxOptions", "SELinuxOptions"},
                                                    {"runAsUser", "RunAsUser"}};

// The first forbidden field, as the refusal names it, or "".
std::string ForbiddenField(json::Value pod_spec) {
  for (const auto& [field, go_name] : kPodFields) {
    if (!pod_spec["securityContext"][field].is_null()) {
      return base::StrCat("pod.Spec.SecurityContext.", go_name);
    }
  }
  for (std::string_view list : {"initContainers", "containers"}) {
    for (const json::Value& container : pod_spec[list].elements()) {
      for (const auto& [field, go_name] : kContainerFields) {
        if (!container["securityContext"][field].is_null()) {
          return base::StrCat("SecurityContext.", go_name);
        }
      }
    }
  }
  return {};
}

class SecurityContextDeny final : public admission::Plugin {
 public:
  explicit SecurityContextDeny(const admission::PluginContext&) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const std::string field = ForbiddenField(request.object()["spec"]);
    if (field.empty()) return base::OkStatus();
    return api::ForbiddenStatus({"", "pods"}, api::view::Metadata(request.object()).name(),
                                field + " is forbidden");
  }
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "SecurityContextDeny",
    .summary = "refuses security contexts that choose users, groups or SELinux options",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods",
    .by_default = admission::Default::kOff,
    .create = &common::Make<SecurityContextDeny>,
    .until_minor = 29,
};

}  // namespace portcullis::plugins::security_context_deny

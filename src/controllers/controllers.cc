// SPDX-License-Identifier: Apache-2.0

// The table of controllers.

#include <algorithm>

#include "base/strings.h"
#include "controllers/cluster_role_aggregation.h"
#include "controllers/controller.h"
#include "controllers/garbage_collector.h"
#include "controllers/namespace.h"
#include "controllers/policy_status.h"
#include "controllers/resource_quota.h"
#include "controllers/root_ca_publisher.h"
#include "controllers/service_account.h"
#include "controllers/volume_protection.h"

namespace portcullis::controllers {

const std::vector<const ControllerInfo*>& AllControllers() {
  static const std::vector<const ControllerInfo*> kAll = {
      &kClusterRoleAggregation, &kGarbageCollector, &kNamespace,
      &kVolumeProtection,       &kClaimProtection,  &kResourceQuota,
      &kRootCaPublisher,        &kServiceAccount,   &kPolicyStatus,
  };
  return kAll;
}

base::Result<std::vector<const ControllerInfo*>> SelectControllers(
    const std::vector<std::string>& list) {
  bool all = list.empty();
  std::vector<std::string_view> on;
  std::vector<std::string_view> off;
  std::vector<std::string_view> names;
  for (const ControllerInfo* info : AllControllers()) names.push_back(info->name);
  for (const std::string& entry : list) {
    const bool minus = entry.starts_with("-");
    const std::string_view name = std::string_view(entry).substr(minus ? 1 : 0);
    if (name == "*") {
      all = !minus;
      continue;
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string_view near = base::Nearest(name, names);
      return base::ConfigError(
          base::StrCat("\"", name, "\" is not in the list of known controllers",
                       near.empty() ? "" : ", did you mean \"", near, near.empty() ? "" : "\"?",
                       " (known: ", base::Join(names, ", "), ")"));
    }
    (minus ? off : on).push_back(name);
  }
  std::vector<const ControllerInfo*> out;
  for (const ControllerInfo* info : AllControllers()) {
    const auto listed = [&](const std::vector<std::string_view>& in) {
      return std::find(in.begin(), in.end(), info->name) != in.end();
    };
    if (listed(off)) continue;
    if (listed(on) || all) out.push_back(info);
  }
  return out;
}

}  // namespace portcullis::controllers

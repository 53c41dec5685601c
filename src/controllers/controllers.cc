// SPDX-License-Identifier: Apache-2.0

// The table of controllers.

#include <algorithm>
#include <set>

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
#include "controllers/workloads/cron_job.h"
#include "controllers/workloads/daemon_set.h"
#include "controllers/workloads/deployment.h"
#include "controllers/workloads/endpoint_slice.h"
#include "controllers/workloads/job.h"
#include "controllers/workloads/node.h"
#include "controllers/workloads/replica_set.h"
#include "controllers/workloads/scheduler.h"
#include "controllers/workloads/stateful_set.h"

namespace portcullis::controllers {
namespace {

base::Status Unknown(std::string_view name, const std::vector<std::string_view>& names) {
  const std::string_view near = base::Nearest(name, names);
  return base::ConfigError(base::StrCat("\"", name, "\" is not in the list of known controllers",
                                        near.empty() ? "" : ", did you mean \"", near,
                                        near.empty() ? "" : "\"?",
                                        " (known: ", base::Join(names, ", "), ")"));
}

}  // namespace

const std::vector<const ControllerInfo*>& AllControllers() {
  static const std::vector<const ControllerInfo*> kAll = {
      &kClusterRoleAggregation,
      &kCronJob,
      &kDaemonSet,
      &kDeployment,
      &kEndpointSlice,
      &kGarbageCollector,
      &kJob,
      &kNamespace,
      &kVolumeProtection,
      &kClaimProtection,
      &kReplicaSet,
      &kReplicationController,
      &kResourceQuota,
      &kRootCaPublisher,
      &kServiceAccount,
      &kStatefulSet,
      &kPolicyStatus,
      &kWorkloadNode,
      &kWorkloadScheduler,
  };
  return kAll;
}

base::Result<std::vector<const ControllerInfo*>> SelectControllers(
    const std::vector<std::string>& list) {
  std::set<std::string_view> names;
  std::set<std::string_view> groups;
  for (const ControllerInfo* info : AllControllers()) {
    names.insert(info->name);
    if (!info->group.empty()) groups.insert(info->group);
  }
  names.insert(groups.begin(), groups.end());
  const auto is_group = [&](const std::string& entry) { return groups.contains(entry); };
  bool all = std::all_of(list.begin(), list.end(), is_group);
  std::set<std::string_view> on;
  std::set<std::string_view> off;
  for (const std::string& entry : list) {
    const bool minus = entry.starts_with("-");
    const std::string_view name = std::string_view(entry).substr(minus ? 1 : 0);
    if (name == "*") {
      all = !minus;
    } else if (names.contains(name)) {
      (minus ? off : on).insert(name);
    } else {
      return Unknown(name, {names.begin(), names.end()});
    }
  }
  std::vector<const ControllerInfo*> out;
  for (const ControllerInfo* info : AllControllers()) {
    const bool by_default = all && info->group.empty();
    const bool asked = on.contains(info->name) || on.contains(info->group);
    const bool refused =
        off.contains(info->name) || (off.contains(info->group) && !on.contains(info->name));
    if ((asked || by_default) && !refused) out.push_back(info);
  }
  return out;
}

}  // namespace portcullis::controllers

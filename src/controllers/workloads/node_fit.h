// SPDX-License-Identifier: Apache-2.0

// Whether a pod may run on a node: its node selector, its required node affinity, and its
// tolerations of the node's taints (k8s.io/component-helpers/scheduling/corev1). Resources and other
// pods do not count.
#pragma once

#include <string_view>

#include "json/value.h"

namespace portcullis::controllers::workloads {

// Whether one of the tolerations covers the taint.
bool Tolerates(json::Value tolerations, json::Value taint);
// Whether a taint with that effect ("NoSchedule", "NoExecute") is tolerated by none of them.
bool IsRepelled(json::Value tolerations, json::Value node, std::string_view effect);
// spec.nodeSelector and the required node affinity of a pod's spec.
bool SelectsNode(json::Value pod_spec, json::Value node);

}  // namespace portcullis::controllers::workloads

// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/node_fit.h"

#include "api/selector/label_selector.h"
#include "api/selector/node_selector.h"

namespace portcullis::controllers::workloads {

using json::Value;

bool Tolerates(Value tolerations, Value taint) {
  for (const Value& toleration : tolerations.elements()) {
    const std::string_view effect = toleration["effect"].AsString();
    const std::string_view key = toleration["key"].AsString();
    if (!effect.empty() && effect != taint["effect"].AsString()) continue;
    if (!key.empty() && key != taint["key"].AsString()) continue;
    if (toleration["operator"].AsString() == "Exists" ||
        toleration["value"].AsString() == taint["value"].AsString()) {
      return true;
    }
  }
  return false;
}

bool IsRepelled(Value tolerations, Value node, std::string_view effect) {
  for (const Value& taint : node["spec"]["taints"].elements()) {
    if (taint["effect"].AsString() == effect && !Tolerates(tolerations, taint)) return true;
  }
  return false;
}

bool SelectsNode(Value pod_spec, Value node) {
  const auto labels = api::LabelSelector::FromSet(pod_spec["nodeSelector"]);
  if (!labels.Matches(node["metadata"]["labels"])) return false;
  const Value required =
      pod_spec.At({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required.is_null()) return true;
  const auto selector = api::NodeSelector::FromJson(required);
  return selector.ok() && selector->Matches(node);
}

}  // namespace portcullis::controllers::workloads

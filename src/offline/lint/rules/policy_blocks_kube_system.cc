// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr Target kPods = {"", "v1", "pods", "CREATE"};

bool LooksAtNamespaces(const PolicyFact& policy) {
  for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
    if (expression.text.find("amespace") != std::string_view::npos) return true;
  }
  return false;
}

void Check(const LintFacts& facts, Findings& findings) {
  const json::Value labels = facts.LabelsOf("kube-system");
  for (const PolicyFact& policy : facts.policies()) {
    const json::Value constraints = policy.spec()["matchConstraints"];
    if (policy.mutates || !RulesMatch(constraints["resourceRules"], kPods)) continue;
    if (!Selects(constraints["namespaceSelector"], labels) || LooksAtNamespaces(policy)) continue;
    if (!constraints["objectSelector"].empty()) continue;
    for (const Manifest* binding : policy.bindings) {
      const json::Value spec = binding->object["spec"];
      const json::Value resources = spec["matchResources"];
      if (!Selects(resources["namespaceSelector"], labels)) continue;
      if (!resources["objectSelector"].empty()) continue;
      bool denies = false;
      for (const json::Value& action : spec["validationActions"].elements()) {
        denies = denies || action.AsString() == "Deny";
      }
      if (!denies) continue;
      findings.Add(
          *binding, std::vector<std::string>{"spec"},
          base::StrCat("policy ", policy.manifest->name, " denies pods in kube-system, too"));
    }
  }
}

}  // namespace

const LintRule kPolicyBlocksKubeSystem = {
    "policy-blocks-kube-system",
    Severity::kWarning,
    "a policy that denies in kube-system, too",
    "A rule made for applications refuses the pods of the network, of DNS or of nodes, "
    "and the cluster does not start again (kyverno #16177, AKS bootstrap).",
    "namespaceSelector with kubernetes.io/metadata.name NotIn [kube-system], in the "
    "policy or its binding.",
    &Check};

}  // namespace portcullis::offline

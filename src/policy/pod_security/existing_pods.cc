// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/existing_pods.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::policy::pod_security {
namespace {

std::string_view ControllerUid(json::Value pod) {
  for (const json::Value& owner : pod["metadata"]["ownerReferences"].elements()) {
    if (owner["controller"].AsBool()) return owner["uid"].AsString();
  }
  return {};
}

// One pod per controller first: replicas fail alike, so a limited look sees most kinds of pods.
std::vector<json::Value> UniqueFirst(std::vector<json::Value> pods) {
  std::set<std::string_view> seen;
  std::stable_partition(pods.begin(), pods.end(), [&](json::Value pod) {
    std::string_view controller = ControllerUid(pod);
    return controller.empty() || seen.insert(controller).second;
  });
  return pods;
}

// Pods that fail for the same reasons.
struct Group {
  std::string first_name;  // alphabetically
  std::size_t count = 0;

  void Add(std::string_view name) {
    if (count == 0 || name < first_name) first_name = name;
    ++count;
  }
  std::string Text(std::string_view reasons) const {
    std::string others;
    if (count == 2) others = " (and 1 other pod)";
    if (count > 2) others = base::StrCat(" (and ", std::to_string(count - 1), " other pods)");
    return base::StrCat(first_name, others, ": ", reasons);
  }
};

}  // namespace

std::vector<std::string> WarnAboutExistingPods(const Evaluator& evaluator,
                                               const LevelVersion& policy,
                                               std::string_view namespace_name,
                                               std::vector<json::Value> pods,
                                               const ExistingPodsLimits& limits) {
  const std::size_t total = pods.size();
  std::map<std::string, Group> groups;
  std::size_t checked = 0;
  for (const json::Value& pod : UniqueFirst(std::move(pods))) {
    if (checked == limits.max_pods) break;
    ++checked;
    const Verdict verdict = evaluator.Evaluate(policy, {pod["metadata"], pod["spec"]});
    if (!verdict.allowed()) {
      groups[verdict.Reasons()].Add(pod["metadata"]["name"].AsString());
    }
    if (limits.expired && limits.expired()) break;
  }

  std::vector<std::string> warnings;
  if (checked < total) {
    warnings.push_back(base::StrCat("new PodSecurity enforce level only checked against the first ",
                                    std::to_string(checked), " of ", std::to_string(total),
                                    " existing pods"));
  }
  if (groups.empty()) return warnings;
  warnings.push_back(base::StrCat("existing pods in namespace ", base::GoQuote(namespace_name),
                                  " violate the new PodSecurity enforce level \"",
                                  LevelVersionText(policy), "\""));
  std::vector<std::string> lines;
  for (const auto& [reasons, group] : groups) lines.push_back(group.Text(reasons));
  std::sort(lines.begin(), lines.end());
  warnings.insert(warnings.end(), lines.begin(), lines.end());
  return warnings;
}

}  // namespace portcullis::policy::pod_security

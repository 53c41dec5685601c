// SPDX-License-Identifier: Apache-2.0

#include "api/quota/pods.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "api/quota/pod_resources.h"
#include "api/selector/label_selector.h"
#include "api/view/initializers.h"
#include "base/strings.h"
#include "golang/time.h"

namespace portcullis::api::quota {
namespace {

constexpr std::string_view kPodNames[] = {
    "count/pods",
    "pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
};
// Names that, when limited, every container must specify.
constexpr std::string_view kEnforced[] = {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
constexpr std::string_view kComputed[] = {"cpu", "memory", "ephemeral-storage"};
constexpr std::string_view kDevicePrefix = "requests.deviceclass.resource.kubernetes.io/";

bool IsNative(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool IsTerminating(json::Value pod) {
  const json::Value seconds = pod["spec"]["activeDeadlineSeconds"];
  return seconds.is_int() && seconds.AsInt() >= 0;
}

bool IsFinished(json::Value pod) {
  std::string_view phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

// A pod that should be gone does not stand in the way of its successors, even if its node is lost
// and is never ended: the time until which it is charged, if it is being deleted.
std::optional<base::WallTime> EndOfDeletion(json::Value pod) {
  const json::Value metadata = pod["metadata"];
  const json::Value grace = metadata["deletionGracePeriodSeconds"];
  const auto deleted = golang::ParseTime(metadata["deletionTimestamp"].AsString());
  if (!deleted.ok() || !grace.is_int()) return std::nullopt;
  constexpr std::int64_t kLongest = 1'000'000'000;
  const std::int64_t seconds = deleted->seconds + std::clamp(grace.AsInt(), -kLongest, kLongest);
  return base::WallTime(std::chrono::seconds(seconds));
}

bool TermCrossesNamespaces(json::Value term) {
  return !term["namespaces"].empty() || !term["namespaceSelector"].is_null();
}

bool CrossesNamespaces(json::Value pod) {
  const json::Value affinity = pod["spec"]["affinity"];
  for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    const json::Value terms = affinity[kind];
    for (const json::Value& term :
         terms["requiredDuringSchedulingIgnoredDuringExecution"].elements()) {
      if (TermCrossesNamespaces(term)) return true;
    }
    for (const json::Value& term :
         terms["preferredDuringSchedulingIgnoredDuringExecution"].elements()) {
      if (TermCrossesNamespaces(term["podAffinityTerm"])) return true;
    }
  }
  return false;
}

// The container's amounts by the names of quotas.
bool Specifies(json::Value container, std::string_view name) {
  const json::Value resources = container["resources"];
  if (name.starts_with("limits.")) return resources["limits"].Has(name.substr(7));
  if (name.starts_with("requests.")) name.remove_prefix(9);
  return resources["requests"].Has(name);
}

Resources ComputeUsage(json::Value pod) {
  const PodResourceOptions options = {.status = true};
  const Resources requests = PodRequests(pod, options);
  const Resources limits = PodLimits(pod, options);
  Resources out = {{"pods", Quantity::FromInt(1)}};
  for (const auto& [name, amount] : requests) {
    const bool computed =
        std::find(std::begin(kComputed), std::end(kComputed), name) != std::end(kComputed);
    if (computed || name.starts_with("hugepages-")) {
      out[name] = amount;
      out["requests." + name] = amount;
    } else if (IsExtendedResourceName(name)) {
      out["requests." + name] = amount;
    }
  }
  for (std::string_view name : kComputed) {
    auto limit = limits.find(name);
    if (limit != limits.end()) out[base::StrCat("limits.", name)] = limit->second;
  }
  return out;
}

class Pods final : public Evaluator {
 public:
  explicit Pods(const EvaluatorOptions& options)
      : handles_updates_(options.release.Has("ResourceQuotaChargesPodUpdates")),
        charges_uninitialized_(options.release.Has("InitializersFreezePods")),
        clock_(options.clock != nullptr ? *options.clock : base::SystemClock()) {}

  bool Handles(Change change, std::string_view subresource, json::Value pod,
               json::Value old_pod) const override {
    if (change == Change::kCreate) return subresource.empty();
    if (CountsAlone(old_pod) && !CountsAlone(pod)) return true;
    if (!handles_updates_) return false;
    if (subresource == "resize") return true;
    return subresource.empty() && IsTerminating(pod) != IsTerminating(old_pod);
  }

  bool MatchesName(std::string_view name) const override {
    if (std::find(std::begin(kPodNames), std::end(kPodNames), name) != std::end(kPodNames))
      return true;
    if (name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")) return true;
    if (name.starts_with(kDevicePrefix)) return true;
    return name.starts_with("requests.") && !IsNative(name.substr(9));
  }

  base::Result<bool> MatchesScope(const ScopeSelector& selector, json::Value pod) const override {
    if (selector.scope == "Terminating") return IsTerminating(pod);
    if (selector.scope == "NotTerminating") return !IsTerminating(pod);
    if (selector.scope == "BestEffort") return QosOf(pod) == QosClass::kBestEffort;
    if (selector.scope == "NotBestEffort") return QosOf(pod) != QosClass::kBestEffort;
    if (selector.scope == "CrossNamespacePodAffinity") return CrossesNamespaces(pod);
    if (selector.scope != "PriorityClass") return false;
    std::vector<std::string_view> names;
    std::string_view name = pod["spec"]["priorityClassName"].AsString();
    if (!name.empty()) names.push_back(name);
    return MatchesNames(selector, names);
  }

  Resources Usage(json::Value pod) const override {
    Resources out;
    const std::optional<base::WallTime> end = EndOfDeletion(pod);
    const bool gone = end && clock_.Now() > *end;
    // Finished pods hold no compute resources any more.
    if (CountsAlone(pod)) {
      out["pods"] = Quantity::FromInt(1);
    } else if (!IsFinished(pod) && !gone) {
      out = ComputeUsage(pod);
    }
    out["count/pods"] = Quantity::FromInt(1);
    return out;
  }

  std::optional<base::WallTime> UsageEndsAt(json::Value pod) const override {
    std::optional<base::WallTime> end = EndOfDeletion(pod);
    if (IsFinished(pod) || (end && clock_.Now() > *end)) end.reset();
    return end;
  }

  std::string MissingFrom(json::Value pod, std::span<const std::string> names) const override {
    const json::Value spec = pod["spec"];
    if (HasPodLevelResources(spec)) return {};
    std::map<std::string_view, std::set<std::string_view>> missing;
    for (const std::string& name : names) {
      if (std::find(std::begin(kEnforced), std::end(kEnforced), name) == std::end(kEnforced)) {
        continue;
      }
      for (std::string_view list : {"containers", "initContainers"}) {
        for (const json::Value& container : spec[list].elements()) {
          if (!Specifies(container, name)) missing[name].insert(container["name"].AsString());
        }
      }
    }
    std::vector<std::string> parts;
    for (const auto& [name, containers] : missing) {
      parts.push_back(base::StrCat(name, " for: ", base::Join(containers, ",")));
    }
    return parts.empty() ? "" : "must specify " + base::Join(parts, "; ");
  }

  bool HasScopes() const override { return true; }

 private:
  // Before a pod is initialized it counts as one, and its resources nothing.
  bool CountsAlone(json::Value pod) const {
    return view::Initializers(pod).present() && !charges_uninitialized_;
  }

  bool handles_updates_;
  bool charges_uninitialized_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<const Evaluator> MakePodsEvaluator(const EvaluatorOptions& options) {
  return std::make_unique<Pods>(options);
}

bool IsExtendedResourceName(std::string_view name) {
  if (IsNative(name) || name.starts_with("requests.")) return false;
  return IsQualifiedName(base::StrCat("requests.", name)).empty();
}

}  // namespace portcullis::api::quota

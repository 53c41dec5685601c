// SPDX-License-Identifier: Apache-2.0

// Aggregation, for requests and limits alike: app containers run together, so they add up. Init
// containers run one after the other before them, each beside the sidecars (restartable init
// containers) started so far; the pod needs the maximum of its steps.
#include "api/quota/pod_resources.h"

#include <algorithm>
#include <map>

namespace portcullis::api::quota {
namespace {

bool IsPodLevelName(std::string_view name, bool huge_pages) {
  return name == "cpu" || name == "memory" || (huge_pages && name.starts_with("hugepages-"));
}

bool IsSidecar(json::Value container) { return container["restartPolicy"].AsString() == "Always"; }

bool IsResizeInfeasible(json::Value pod) {
  for (const json::Value& condition : pod["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == "PodResizePending" &&
        condition["reason"].AsString() == "Infeasible") {
      return true;
    }
  }
  return false;
}

// Reads the amounts of one kind ("requests" or "limits") container by container.
class ContainerReader {
 public:
  ContainerReader(json::Value pod, std::string_view kind, bool use_status)
      : kind_(kind),
        use_status_(use_status && pod["status"].is_object()),
        infeasible_(use_status_ && IsResizeInfeasible(pod)) {
    for (std::string_view list : {"containerStatuses", "initContainerStatuses"}) {
      for (const json::Value& status : pod["status"][list].elements()) {
        statuses_.try_emplace(status["name"].AsString(), status);
      }
    }
  }

  Resources Read(json::Value container) const {
    Resources spec = ReadResources(container["resources"][kind_]);
    if (!use_status_) return spec;
    const auto status = statuses_.find(container["name"].AsString());
    if (status == statuses_.end() || status->second["resources"].is_null()) return spec;
    Resources out = ReadResources(status->second["resources"][kind_]);
    if (kind_ == "requests") TakeMax(out, ReadResources(status->second["allocatedResources"]));
    if (!infeasible_) TakeMax(out, spec);
    return out;
  }

  // The status of an ordinary init container is that of a step already done.
  Resources ReadInit(json::Value container) const {
    return IsSidecar(container) ? Read(container) : ReadResources(container["resources"][kind_]);
  }

 private:
  std::map<std::string_view, json::Value> statuses_;  // by the container's name
  std::string_view kind_;
  bool use_status_;
  bool infeasible_;
};

Resources Aggregate(json::Value pod, std::string_view kind, const PodResourceOptions& options) {
  const ContainerReader reader(pod, kind, options.status);
  const json::Value spec = pod["spec"];
  Resources total;
  for (const json::Value& container : spec["containers"].elements()) {
    Add(total, reader.Read(container));
  }
  Resources sidecars;
  Resources steps;
  // Of each step only the names that its own container has: for all others it needs what the
  // sidecars need, which counted when the last of them came.
  for (const json::Value& container : spec["initContainers"].elements()) {
    Resources step = reader.ReadInit(container);
    if (IsSidecar(container)) {
      Add(total, step);
      Add(sidecars, step);
      for (auto& [name, amount] : step) amount = sidecars.find(name)->second;
    } else {
      for (auto& [name, amount] : step) {
        if (const auto more = sidecars.find(name); more != sidecars.end()) amount.Add(more->second);
      }
    }
    TakeMax(steps, step);
  }
  TakeMax(total, steps);

  if (options.pod_level && HasPodLevelResources(spec)) {
    for (const auto& [name, amount] : ReadResources(spec["resources"][kind])) {
      if (IsPodLevelName(name, options.pod_level_huge_pages)) total[name] = amount;
    }
  }
  return total;
}

// cpu and memory above zero, summed up: all that counts for the class.
struct CpuAndMemory {
  Quantity cpu;
  Quantity memory;

  CpuAndMemory() = default;
  explicit CpuAndMemory(json::Value list)
      : cpu(Positive(list["cpu"])), memory(Positive(list["memory"])) {}

  void Add(const CpuAndMemory& other) {
    cpu.Add(other.cpu);
    memory.Add(other.memory);
  }
  bool has_both() const { return cpu.Sign() > 0 && memory.Sign() > 0; }
  bool has_none() const { return cpu.Sign() == 0 && memory.Sign() == 0; }
  bool operator==(const CpuAndMemory& other) const {
    return cpu == other.cpu && memory == other.memory;
  }

 private:
  static Quantity Positive(json::Value value) {
    if (!value.is_string() && !value.is_number()) return {};
    Quantity amount = ReadQuantity(value);
    if (amount.Sign() < 0) amount = Quantity();
    return amount;
  }
};

QosClass ComputeQos(json::Value spec) {
  CpuAndMemory requests;
  CpuAndMemory limits;
  bool guaranteed = true;
  auto add = [&](json::Value resources) {
    requests.Add(CpuAndMemory(resources["requests"]));
    const CpuAndMemory own(resources["limits"]);
    limits.Add(own);
    guaranteed = guaranteed && own.has_both();
  };
  if (!spec["resources"].is_null()) {
    add(spec["resources"]);
  } else {
    for (std::string_view list : {"containers", "initContainers"}) {
      for (const json::Value& container : spec[list].elements()) add(container["resources"]);
    }
  }
  if (requests.has_none() && limits.has_none()) return QosClass::kBestEffort;
  return guaranteed && requests == limits ? QosClass::kGuaranteed : QosClass::kBurstable;
}

}  // namespace

Resources PodRequests(json::Value pod, const PodResourceOptions& options) {
  Resources total = Aggregate(pod, "requests", options);
  if (options.overhead) Add(total, ReadResources(pod["spec"]["overhead"]));
  return total;
}

Resources PodLimits(json::Value pod, const PodResourceOptions& options) {
  Resources total = Aggregate(pod, "limits", options);
  if (!options.overhead) return total;
  for (const auto& [name, amount] : ReadResources(pod["spec"]["overhead"])) {
    auto limit = total.find(name);
    if (limit != total.end() && !limit->second.is_zero()) limit->second.Add(amount);
  }
  return total;
}

bool HasPodLevelResources(json::Value pod_spec) {
  for (std::string_view kind : {"requests", "limits"}) {
    for (const json::Member& member : pod_spec["resources"][kind].members()) {
      if (IsPodLevelName(member.name(), true)) return true;
    }
  }
  return false;
}

QosClass QosOf(json::Value pod) {
  std::string_view known = pod["status"]["qosClass"].AsString();
  if (known == "Guaranteed") return QosClass::kGuaranteed;
  if (known == "Burstable") return QosClass::kBurstable;
  if (known == "BestEffort") return QosClass::kBestEffort;
  return ComputeQos(pod["spec"]);
}

}  // namespace portcullis::api::quota

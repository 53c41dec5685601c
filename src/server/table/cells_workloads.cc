// SPDX-License-Identifier: Apache-2.0

// Pods and the kinds that make pods.

#include <algorithm>

#include "api/condition.h"
#include "base/strings.h"
#include "server/table/cells.h"

namespace portcullis::server::table {
namespace {

std::string Fraction(std::int64_t part, std::int64_t whole) {
  return base::StrCat(std::to_string(part), "/", std::to_string(whole));
}

std::string EndOf(json::Value terminated) {
  if (!terminated["reason"].AsString().empty()) {
    return std::string(terminated["reason"].AsString());
  }
  const std::int64_t signal = terminated["signal"].AsInt();
  if (signal != 0) return base::StrCat("Signal:", std::to_string(signal));
  return base::StrCat("ExitCode:", std::to_string(terminated["exitCode"].AsInt()));
}

// What the statuses of a pod's containers add up to.
struct PodCells {
  std::int64_t ready = 0;
  std::int64_t total = 0;
  std::int64_t restarts = 0;
  std::string_view last_restart;
  std::string reason;

  void CountRestarts(json::Value status) {
    restarts += status["restartCount"].AsInt();
    last_restart =
        std::max(last_restart, status["lastState"]["terminated"]["finishedAt"].AsString());
  }
};

bool IsSidecar(json::Value pod, std::string_view name) {
  for (const json::Value& container : pod["spec"]["initContainers"].elements()) {
    if (container["name"].AsString() == name) {
      return container["restartPolicy"].AsString() == "Always";
    }
  }
  return false;
}

// True if an init container has not done its work yet. `sidecars` gets the restarts of those that
// keep running.
bool ReadInitContainers(json::Value pod, PodCells& cells, PodCells& sidecars) {
  const auto statuses = pod["status"]["initContainerStatuses"].elements();
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const json::Value status = statuses[i];
    const bool sidecar = IsSidecar(pod, status["name"].AsString());
    cells.CountRestarts(status);
    if (sidecar) sidecars.CountRestarts(status);
    const json::Value ended = status["state"]["terminated"];
    if (!ended.is_null() && ended["exitCode"].AsInt() == 0) continue;
    if (sidecar && status["started"].AsBool()) {
      if (status["ready"].AsBool()) ++cells.ready;
      continue;
    }
    const std::string_view waiting = status["state"]["waiting"]["reason"].AsString();
    if (!ended.is_null()) {
      cells.reason = base::StrCat("Init:", EndOf(ended));
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      cells.reason = base::StrCat("Init:", waiting);
    } else {
      cells.reason = base::StrCat(
          "Init:", Fraction(static_cast<std::int64_t>(i),
                            static_cast<std::int64_t>(pod["spec"]["initContainers"].size())));
    }
    return true;
  }
  return false;
}

void ReadContainers(json::Value pod, PodCells& cells) {
  const auto statuses = pod["status"]["containerStatuses"].elements();
  bool running = false;
  for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
    cells.CountRestarts(*status);
    const json::Value state = (*status)["state"];
    if (!state["waiting"]["reason"].AsString().empty()) {
      cells.reason = state["waiting"]["reason"].AsString();
    } else if (!state["terminated"].is_null()) {
      cells.reason = EndOf(state["terminated"]);
    } else if ((*status)["ready"].AsBool() && !state["running"].is_null()) {
      running = true;
      ++cells.ready;
    }
  }
  if (cells.reason == "Completed" && running) {
    cells.reason = api::HasTrueCondition(pod, "Ready") ? "Running" : "NotReady";
  }
}

PodCells ReadPod(json::Value pod) {
  const json::Value status = pod["status"];
  const std::string_view phase = status["phase"].AsString();
  PodCells cells;
  cells.reason = status["reason"].AsString().empty() ? phase : status["reason"].AsString();
  if (api::ConditionOf(pod, "PodScheduled")["reason"].AsString() == "SchedulingGated") {
    cells.reason = "SchedulingGated";
  }
  cells.total = static_cast<std::int64_t>(pod["spec"]["containers"].size());
  for (const json::Value& container : pod["spec"]["initContainers"].elements()) {
    if (container["restartPolicy"].AsString() == "Always") ++cells.total;
  }
  PodCells sidecars;
  const bool initializing = ReadInitContainers(pod, cells, sidecars);
  if (!initializing || api::HasTrueCondition(pod, "Initialized")) {
    cells.restarts = sidecars.restarts;
    cells.last_restart = sidecars.last_restart;
    ReadContainers(pod, cells);
  }
  if (!pod["metadata"]["deletionTimestamp"].is_null()) {
    if (status["reason"].AsString() == "NodeLost") {
      cells.reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      cells.reason = "Terminating";
    }
  }
  return cells;
}

std::string ReadinessGates(json::Value pod) {
  const json::Value gates = pod["spec"]["readinessGates"];
  if (gates.empty()) return "<none>";
  std::int64_t passed = 0;
  for (const json::Value& gate : gates.elements()) {
    const json::Value condition = api::ConditionOf(pod, gate["conditionType"].AsString());
    if (condition["status"].AsString() == "True") ++passed;
  }
  return Fraction(passed, static_cast<std::int64_t>(gates.size()));
}

void Pod(CellWriter& writer, json::Value pod) {
  const PodCells cells = ReadPod(pod);
  std::string restarts = std::to_string(cells.restarts);
  std::int64_t seconds = 0;
  if (cells.restarts > 0 && SecondsSince(cells.last_restart, writer.now, seconds)) {
    restarts += base::StrCat(" (", HumanDuration(seconds), " ago)");
  }
  const std::string_view phase = pod["status"]["phase"].AsString();
  if (phase == "Succeeded" || phase == "Failed") writer.ended = phase;
  writer.Name(pod)
      .Text(Fraction(cells.ready, cells.total))
      .Text(cells.reason)
      .Text(restarts)
      .Age(pod)
      .TextOr(pod["status"]["podIPs"][0]["ip"].AsString(), "<none>")
      .TextOr(pod["spec"]["nodeName"].AsString(), "<none>")
      .TextOr(pod["status"]["nominatedNodeName"].AsString(), "<none>")
      .Text(ReadinessGates(pod));
}

json::Value TemplateSpec(json::Value object) { return object["spec"]["template"]["spec"]; }

void Deployment(CellWriter& writer, json::Value object) {
  const json::Value status = object["status"];
  writer.Name(object)
      .Text(Fraction(status["readyReplicas"].AsInt(), object["spec"]["replicas"].AsInt()))
      .Int(status["updatedReplicas"].AsInt())
      .Int(status["availableReplicas"].AsInt())
      .Age(object);
  ContainerCells(writer, TemplateSpec(object));
  const json::Value selector = object["spec"]["selector"];
  writer.Text(selector.is_null() ? "" : SelectorText(selector));
}

void ReplicaCells(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Int(object["spec"]["replicas"].AsInt())
      .Int(object["status"]["replicas"].AsInt())
      .Int(object["status"]["readyReplicas"].AsInt())
      .Age(object);
  ContainerCells(writer, TemplateSpec(object));
}

void ReplicaSet(CellWriter& writer, json::Value object) {
  ReplicaCells(writer, object);
  writer.Text(SelectorText(object["spec"]["selector"]));
}

void ReplicationController(CellWriter& writer, json::Value object) {
  ReplicaCells(writer, object);
  writer.Text(LabelsText(object["spec"]["selector"]));
}

void StatefulSet(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Text(Fraction(object["status"]["readyReplicas"].AsInt(), object["spec"]["replicas"].AsInt()))
      .Age(object);
  ContainerCells(writer, TemplateSpec(object));
}

void DaemonSet(CellWriter& writer, json::Value object) {
  const json::Value status = object["status"];
  writer.Name(object)
      .Int(status["desiredNumberScheduled"].AsInt())
      .Int(status["currentNumberScheduled"].AsInt())
      .Int(status["numberReady"].AsInt())
      .Int(status["updatedNumberScheduled"].AsInt())
      .Int(status["numberAvailable"].AsInt())
      .Text(LabelsText(TemplateSpec(object)["nodeSelector"]))
      .Age(object);
  ContainerCells(writer, TemplateSpec(object));
  writer.Text(SelectorText(object["spec"]["selector"]));
}

void Job(CellWriter& writer, json::Value object) {
  const json::Value status = object["status"];
  std::string completions;
  const json::Value wanted = object["spec"]["completions"];
  const std::int64_t succeeded = status["succeeded"].AsInt();
  if (!wanted.is_null()) {
    completions = Fraction(succeeded, wanted.AsInt());
  } else {
    const std::int64_t parallelism = object["spec"]["parallelism"].AsInt();
    completions = parallelism > 1 ? base::StrCat(std::to_string(succeeded), "/1 of ",
                                                 std::to_string(parallelism))
                                  : Fraction(succeeded, 1);
  }
  std::string duration;
  std::int64_t since_start = 0;
  if (SecondsSince(status["startTime"].AsString(), writer.now, since_start)) {
    std::int64_t since_end = 0;
    if (SecondsSince(status["completionTime"].AsString(), writer.now, since_end)) {
      since_start -= since_end;
    }
    duration = HumanDuration(since_start);
  }
  const auto is = [&](std::string_view type) { return api::HasTrueCondition(object, type); };
  std::string_view state = "Running";
  if (is("Complete")) {
    state = "Complete";
  } else if (is("Failed")) {
    state = "Failed";
  } else if (!object["metadata"]["deletionTimestamp"].is_null()) {
    state = "Terminating";
  } else if (is("Suspended")) {
    state = "Suspended";
  } else if (is("FailureTarget")) {
    state = "FailureTarget";
  } else if (is("SuccessCriteriaMet")) {
    state = "SuccessCriteriaMet";
  }
  writer.Name(object).Text(state).Text(completions).Text(duration).Age(object);
  ContainerCells(writer, TemplateSpec(object));
  writer.Text(SelectorText(object["spec"]["selector"]));
}

void CronJob(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  writer.Name(object)
      .Text(spec["schedule"].AsString())
      .TextOr(spec["timeZone"].AsString(), "<none>")
      .Text(!spec.Has("suspend")       ? "<unset>"
            : spec["suspend"].AsBool() ? "True"
                                       : "False")
      .Int(static_cast<std::int64_t>(object["status"]["active"].size()));
  const std::string_view last = object["status"]["lastScheduleTime"].AsString();
  if (last.empty()) {
    writer.Text("<none>");
  } else {
    writer.Since(last);
  }
  writer.Age(object);
  ContainerCells(writer, spec["jobTemplate"]["spec"]["template"]["spec"]);
  writer.Text(SelectorText(spec["jobTemplate"]["spec"]["selector"]));
}

void PodTemplate(CellWriter& writer, json::Value object) {
  writer.Name(object);
  ContainerCells(writer, object["template"]["spec"]);
  writer.Text(LabelsText(object["template"]["metadata"]["labels"]));
}

void ControllerRevision(CellWriter& writer, json::Value object) {
  std::string controller = "<none>";
  for (const json::Value& owner : object["metadata"]["ownerReferences"].elements()) {
    if (!owner["controller"].AsBool()) continue;
    const std::string_view version = owner["apiVersion"].AsString();
    const std::size_t slash = version.find('/');
    controller = base::ToLower(owner["kind"].AsString());
    if (slash != std::string_view::npos) {
      controller += base::StrCat(".", version.substr(0, slash));
    }
    controller += base::StrCat("/", owner["name"].AsString());
  }
  writer.Name(object).Text(controller).Int(object["revision"].AsInt()).Age(object);
}

constexpr PrinterRow kWorkloadRows[] = {
    {"", "pods", &Pod},
    {"", "podtemplates", &PodTemplate},
    {"", "replicationcontrollers", &ReplicationController},
    {"apps", "controllerrevisions", &ControllerRevision},
    {"apps", "daemonsets", &DaemonSet},
    {"apps", "deployments", &Deployment},
    {"apps", "replicasets", &ReplicaSet},
    {"apps", "statefulsets", &StatefulSet},
    {"batch", "cronjobs", &CronJob},
    {"batch", "jobs", &Job},
};

}  // namespace

std::span<const PrinterRow> WorkloadPrinters() { return kWorkloadRows; }

}  // namespace portcullis::server::table

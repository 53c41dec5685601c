// Pods and the kinds that make pods.

#include <algorithm>

#include "base/strings.h"
#include "server/table/cells.h"

namespace portcullis::server::table {
namespace {

json::Value Condition(json::Value object, std::string_view type) {
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return {};
}

std::string Fraction(std::int64_t part, std::int64_t whole) {
  return base::StrCat(std::to_string(part), "/", std::to_string(whole));
}

// The reason of a container that waits or has ended, or "".
std::string ContainerReason(json::Value status) {
  const json::Value waiting = status["state"]["waiting"];
  if (!waiting["reason"].AsString().empty()) return std::string(waiting["reason"].AsString());
  const json::Value ended = status["state"]["terminated"];
  if (ended.is_null()) return "";
  if (!ended["reason"].AsString().empty()) return std::string(ended["reason"].AsString());
  const std::int64_t signal = ended["signal"].AsInt();
  if (signal != 0) return base::StrCat("Signal:", std::to_string(signal));
  return base::StrCat("ExitCode:", std::to_string(ended["exitCode"].AsInt()));
}

std::string PodStatus(json::Value pod) {
  std::string reason(pod["status"]["phase"].AsString());
  if (!pod["status"]["reason"].AsString().empty()) reason = pod["status"]["reason"].AsString();
  for (const json::Value& gate : pod["status"]["conditions"].elements()) {
    if (gate["type"].AsString() == "PodScheduled" &&
        gate["reason"].AsString() == "SchedulingGated") {
      reason = "SchedulingGated";
    }
  }
  bool initializing = false;
  const auto inits = pod["status"]["initContainerStatuses"].elements();
  for (std::size_t i = 0; i < inits.size(); ++i) {
    const json::Value ended = inits[i]["state"]["terminated"];
    if (!ended.is_null() && ended["exitCode"].AsInt() == 0) continue;
    const std::string why = ContainerReason(inits[i]);
    reason = base::StrCat("Init:", why.empty() || why == "PodInitializing"
                                       ? Fraction(static_cast<std::int64_t>(i),
                                                  static_cast<std::int64_t>(inits.size()))
                                       : why);
    initializing = true;
    break;
  }
  if (!initializing) {
    const auto statuses = pod["status"]["containerStatuses"].elements();
    bool running = false;
    for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
      const std::string why = ContainerReason(*status);
      if (!why.empty()) reason = why;
      if ((*status)["ready"].AsBool() && !(*status)["state"]["running"].is_null()) running = true;
    }
    if (reason == "Completed" && running) {
      reason = Condition(pod, "Ready")["status"].AsString() == "True" ? "Running" : "NotReady";
    }
  }
  if (!pod["metadata"]["deletionTimestamp"].is_null()) {
    reason = pod["status"]["reason"].AsString() == "NodeLost" ? "Unknown" : "Terminating";
  }
  return reason;
}

void Pod(CellWriter& writer, json::Value pod) {
  std::int64_t ready = 0;
  std::int64_t restarts = 0;
  std::string_view last_restart;
  for (const json::Value& status : pod["status"]["containerStatuses"].elements()) {
    if (status["ready"].AsBool() && !status["state"]["running"].is_null()) ++ready;
    restarts += status["restartCount"].AsInt();
    const std::string_view at = status["lastState"]["terminated"]["finishedAt"].AsString();
    last_restart = std::max(last_restart, at);
  }
  std::string restart_text = std::to_string(restarts);
  std::int64_t seconds = 0;
  if (restarts > 0 && SecondsSince(last_restart, writer.now, seconds)) {
    restart_text += base::StrCat(" (", HumanDuration(seconds), " ago)");
  }
  const json::Value gates = pod["spec"]["readinessGates"];
  std::string gate_text = "<none>";
  if (!gates.empty()) {
    std::int64_t passed = 0;
    for (const json::Value& gate : gates.elements()) {
      const json::Value condition = Condition(pod, gate["conditionType"].AsString());
      if (condition["status"].AsString() == "True") ++passed;
    }
    gate_text = Fraction(passed, static_cast<std::int64_t>(gates.size()));
  }
  std::string_view ip = pod["status"]["podIPs"][0]["ip"].AsString();
  if (ip.empty()) ip = pod["status"]["podIP"].AsString();
  writer.Name(pod)
      .Text(Fraction(ready, static_cast<std::int64_t>(pod["spec"]["containers"].size())))
      .Text(PodStatus(pod))
      .Text(restart_text)
      .Age(pod)
      .TextOr(ip, "<none>")
      .TextOr(pod["spec"]["nodeName"].AsString(), "<none>")
      .TextOr(pod["status"]["nominatedNodeName"].AsString(), "<none>")
      .Text(gate_text);
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
  writer.Text(SelectorText(object["spec"]["selector"]));
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
  const auto is = [&](std::string_view type) {
    return Condition(object, type)["status"].AsString() == "True";
  };
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
      .Text(spec["suspend"].AsBool() ? "True" : "False")
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

constexpr PrinterRow kRows[] = {
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

std::span<const PrinterRow> WorkloadPrinters() { return kRows; }

}  // namespace portcullis::server::table

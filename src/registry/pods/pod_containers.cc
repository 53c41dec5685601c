// SPDX-License-Identifier: Apache-2.0

// Containers of a pod: regular, init and ephemeral ones.

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "api/named_value.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kOneHandler = "may not specify more than 1 handler type";
constexpr std::string_view kNotInit =
    "may not be set for init containers without restartPolicy=Always";
constexpr std::string_view kNotEphemeral = "cannot be set for an Ephemeral Container";

void CheckContainerPorts(json::Value ports, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& port : ports.elements()) {
    const FieldPath at = path.Index(index++);
    if (const std::string_view name = port["name"].AsString(); !name.empty()) {
      const auto texts = IsValidPortName(name);
      AddInvalid(at.Child("name"), name, texts, errors);
      if (texts.empty() && !names.insert(name).second) {
        errors.push_back(api::Duplicate(at.Child("name"), name));
      }
    }
    if (port["containerPort"].AsInt() == 0) {
      errors.push_back(api::Required(at.Child("containerPort"), ""));
    } else {
      CheckPort(port["containerPort"].AsInt(), at.Child("containerPort"), errors);
    }
    if (port["hostPort"].AsInt() != 0) {
      CheckPort(port["hostPort"].AsInt(), at.Child("hostPort"), errors);
    }
    if (port["protocol"].AsString().empty()) {
      errors.push_back(api::Required(at.Child("protocol"), ""));
    } else {
      CheckOneOf(port["protocol"], at.Child("protocol"), {"SCTP", "TCP", "UDP"}, errors);
    }
  }
}

// The volumes that mounts or devices name, and their paths; of a volume that is named twice the last path
// (GetVolumeMountMap).
struct Places {
  Places(json::Value list, std::string_view path) {
    std::map<std::string_view, std::string_view> last;
    for (const json::Value& element : list.elements()) {
      const std::string_view name = element["name"].AsString();
      names.insert(name);
      last[name] = element[path].AsString();
    }
    for (const auto& [name, place] : last) paths.insert(place);
  }
  std::set<std::string_view> names;
  std::set<std::string_view> paths;
};

// Where a mount breaks a rule about its path, Kubernetes names the list and not the element.
void CheckMountDetails(json::Value mount, json::Value container, const FieldPath& list,
                       const FieldPath& at, FieldErrors& errors) {
  if (const std::string_view sub = mount["subPath"].AsString(); !sub.empty()) {
    CheckDescendingPath(sub, list.Child("subPath"), errors);
  }
  if (const std::string_view sub = mount["subPathExpr"].AsString(); !sub.empty()) {
    if (!mount["subPath"].AsString().empty()) {
      errors.push_back(api::Invalid(at.Child("subPathExpr"), sub,
                                    "subPathExpr and subPath are mutually exclusive"));
    }
    CheckDescendingPath(sub, list.Child("subPathExpr"), errors);
  }
  const json::Value propagation = mount["mountPropagation"];
  if (!propagation.is_null()) {
    const FieldPath path = list.Child("mountPropagation");
    CheckOneOf(propagation, path, {"Bidirectional", "HostToContainer", "None"}, errors);
    if (propagation.AsString() == "Bidirectional" &&
        !container["securityContext"]["privileged"].AsBool()) {
      errors.push_back(api::Forbidden(
          path, "Bidirectional mount propagation is available only to privileged containers"));
    }
  }
  const std::string_view recursive = mount["recursiveReadOnly"].AsString();
  if (mount["recursiveReadOnly"].is_null() || recursive == "Disabled") return;
  const FieldPath path = list.Child("recursiveReadOnly");
  if (recursive != "Enabled" && recursive != "IfPossible") {
    errors.push_back(
        api::NotSupported(path, api::NamedValue(recursive), {"Disabled", "Enabled", "IfPossible"}));
    return;
  }
  if (!mount["readOnly"].AsBool()) {
    errors.push_back(api::Forbidden(path, "may only be specified when readOnly is true"));
  }
  if (!propagation.is_null() && propagation.AsString() != "None") {
    errors.push_back(api::Forbidden(
        path, "may only be specified when mountPropagation is None or not specified"));
  }
}

void CheckVolumeDevices(json::Value container, const PodContext& pod, const FieldPath& path,
                        FieldErrors& errors) {
  const Places mounts(container["volumeMounts"], "mountPath");
  std::set<std::string_view> names;
  std::set<std::string_view> places;
  std::size_t index = 0;
  for (const json::Value& device : container["volumeDevices"].elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = device["name"].AsString();
    const std::string_view place = device["devicePath"].AsString();
    const auto volume = pod.volumes.find(name);
    if (name.empty()) errors.push_back(api::Required(at.Child("name"), ""));
    if (names.contains(name)) {
      errors.push_back(api::Invalid(at.Child("name"), name, "must be unique"));
    }
    if (volume == pod.volumes.end()) {
      errors.push_back(api::NotFound(at.Child("name"), name));
    } else if (!volume->second.Has("persistentVolumeClaim") && !volume->second.Has("ephemeral")) {
      errors.push_back(api::Invalid(at.Child("name"), name,
                                    "can only use volume source type of PersistentVolumeClaim or "
                                    "Ephemeral for block mode"));
    }
    if (place.empty()) errors.push_back(api::Required(at.Child("devicePath"), ""));
    if (places.contains(place)) {
      errors.push_back(api::Invalid(at.Child("devicePath"), place, "must be unique"));
    }
    FieldErrors backsteps;
    CheckNoBacksteps(place, at, backsteps);
    if (!backsteps.empty()) {
      errors.push_back(
          api::Invalid(at.Child("devicePath"), place, "can not contain backsteps ('..')"));
    } else {
      places.insert(place);
    }
    if (mounts.names.contains(name)) {
      errors.push_back(
          api::Invalid(at.Child("name"), name, "must not already exist in volumeMounts"));
    }
    if (mounts.paths.contains(place)) {
      errors.push_back(api::Invalid(at.Child("devicePath"), place,
                                    "must not already exist as a path in volumeMounts"));
    }
    if (!name.empty()) names.insert(name);
  }
}

void CheckHttpGet(json::Value get, const FieldPath& path, FieldErrors& errors) {
  RequireField(get, "path", path, errors);
  CheckPortNumOrName(get["port"], path.Child("port"), errors);
  CheckOneOf(get["scheme"], path.Child("scheme"), {"HTTP", "HTTPS"}, errors);
  for (const json::Value& header : get["httpHeaders"].elements()) {
    const std::string_view name = header["name"].AsString();
    bool good = !name.empty();
    for (const char c : name) {
      good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-');
    }
    if (good) continue;
    errors.push_back(api::Invalid(path.Child("httpHeaders"), name,
                                  "a valid HTTP header must consist of alphanumeric characters or "
                                  "'-' (e.g. 'X-Header-Name', regex used for validation is "
                                  "'[-A-Za-z0-9]+')"));
  }
}

void CheckSleep(json::Value sleep, json::Value grace, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t seconds = sleep["seconds"].AsInt();
  if (!grace.is_int() || (seconds >= 0 && seconds <= grace.AsInt())) return;
  errors.push_back(api::Invalid(
      path, seconds,
      base::StrCat("must be non-negative and less than terminationGracePeriodSeconds (",
                   std::to_string(grace.AsInt()), ")")));
}

void CheckHandler(json::Value handler, json::Value grace, const FieldPath& path,
                  FieldErrors& errors) {
  bool found = false;
  for (const std::string_view kind : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    const json::Value held = handler[kind];
    if (held.is_null()) continue;
    const FieldPath at = path.Child(kind);
    if (found) {
      errors.push_back(api::Forbidden(at, kOneHandler));
      continue;
    }
    found = true;
    if (kind == "exec") {
      RequireField(held, "command", at, errors);
    } else if (kind == "httpGet") {
      CheckHttpGet(held, at, errors);
    } else if (kind == "tcpSocket") {
      CheckPortNumOrName(held["port"], at.Child("port"), errors);
    } else if (kind == "grpc") {
      CheckPort(held["port"].AsInt(), at.Child("port"), errors);
    } else {
      CheckSleep(held, grace, at, errors);
    }
  }
  if (!found) errors.push_back(api::Required(path, "must specify a handler type"));
}

void CheckProbe(json::Value container, std::string_view name, json::Value grace,
                const FieldPath& container_path, FieldErrors& errors) {
  const json::Value probe = container[name];
  if (probe.is_null()) return;
  const FieldPath path = container_path.Child(name);
  CheckHandler(probe, grace, path, errors);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    CheckNonNegative(probe[field], path.Child(field), errors);
  }
  CheckPositive(probe["terminationGracePeriodSeconds"], path.Child("terminationGracePeriodSeconds"),
                errors);
  if (name == "readinessProbe") {
    if (!probe["terminationGracePeriodSeconds"].is_null()) {
      errors.push_back(api::Invalid(path.Child("terminationGracePeriodSeconds"),
                                    probe["terminationGracePeriodSeconds"].AsInt(),
                                    "must not be set for readinessProbes"));
    }
  } else if (probe["successThreshold"].AsInt() != 1) {
    errors.push_back(api::Invalid(path.Child("successThreshold"), probe["successThreshold"].AsInt(),
                                  "must be 1"));
  }
}

// Sorted as kube-apiserver prints them. `pod` tells on which operating system they are sent.
void CheckStopSignal(json::Value signal, json::Value pod, const FieldPath& path,
                     FieldErrors& errors) {
  constexpr std::string_view kOfLinux[] = {
      "SIGABRT",     "SIGALRM",     "SIGBUS",      "SIGCHLD",     "SIGCLD",      "SIGCONT",
      "SIGFPE",      "SIGHUP",      "SIGILL",      "SIGINT",      "SIGIO",       "SIGIOT",
      "SIGKILL",     "SIGPIPE",     "SIGPOLL",     "SIGPROF",     "SIGPWR",      "SIGQUIT",
      "SIGRTMAX",    "SIGRTMAX-1",  "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13",
      "SIGRTMAX-14", "SIGRTMAX-2",  "SIGRTMAX-3",  "SIGRTMAX-4",  "SIGRTMAX-5",  "SIGRTMAX-6",
      "SIGRTMAX-7",  "SIGRTMAX-8",  "SIGRTMAX-9",  "SIGRTMIN",    "SIGRTMIN+1",  "SIGRTMIN+10",
      "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
      "SIGRTMIN+3",  "SIGRTMIN+4",  "SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",  "SIGRTMIN+8",
      "SIGRTMIN+9",  "SIGSEGV",     "SIGSTKFLT",   "SIGSTOP",     "SIGSYS",      "SIGTERM",
      "SIGTRAP",     "SIGTSTP",     "SIGTTIN",     "SIGTTOU",     "SIGURG",      "SIGUSR1",
      "SIGUSR2",     "SIGVTALRM",   "SIGWINCH",    "SIGXCPU",     "SIGXFSZ"};
  constexpr std::string_view kOfWindows[] = {"SIGKILL", "SIGTERM"};
  if (signal.is_null()) return;
  if (!pod["os"].is_object()) {
    errors.push_back(
        api::Forbidden(path, "may not be set for containers with empty `spec.os.name`"));
    return;
  }
  const std::string_view system = pod["os"]["name"].AsString();
  std::span<const std::string_view> known;
  if (system == "linux") known = kOfLinux;
  if (system == "windows") known = kOfWindows;
  if (known.empty() || std::find(known.begin(), known.end(), signal.AsString()) != known.end()) {
    return;
  }
  errors.push_back(api::NotSupported(path, signal, known));
}

void CheckHooksAndProbes(json::Value container, json::Value pod, const FieldPath& path,
                         FieldErrors& errors) {
  const json::Value hooks = container["lifecycle"];
  const json::Value grace = pod["terminationGracePeriodSeconds"];
  for (const std::string_view hook : {"postStart", "preStop"}) {
    if (!hooks[hook].is_null()) {
      CheckHandler(hooks[hook], grace, path.Child("lifecycle", hook), errors);
    }
  }
  CheckStopSignal(hooks["stopSignal"], pod, path.Child("lifecycle", "stopSignal"), errors);
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    CheckProbe(container, probe, grace, path, errors);
  }
}

void CheckResizePolicy(json::Value policies, std::string_view restart_policy, const FieldPath& path,
                       FieldErrors& errors) {
  std::set<std::string_view> resources;
  std::size_t index = 0;
  for (const json::Value& policy : policies.elements()) {
    const std::string_view resource = policy["resourceName"].AsString();
    const std::string_view restart = policy["restartPolicy"].AsString();
    if (!resources.insert(resource).second) {
      errors.push_back(api::Duplicate(path.Index(index), resource));
    }
    ++index;
    if (resource.empty()) {
      errors.push_back(api::Required(path, ""));
    } else {
      CheckOneOf(policy["resourceName"], path, {"cpu", "memory"}, errors);
    }
    if (restart.empty()) {
      errors.push_back(api::Required(path, ""));
    } else {
      CheckOneOf(policy["restartPolicy"], path, {"NotRequired", "RestartContainer"}, errors);
    }
    if (restart_policy == "Never" && restart != "NotRequired") {
      errors.push_back(
          api::Invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    }
  }
}

void CheckRestartRules(json::Value rules, bool restarts_all, const FieldPath& path,
                       FieldErrors& errors) {
  if (rules.size() > 20) {
    errors.push_back(api::TooMany(path, static_cast<int>(rules.size()), 20));
  }
  std::size_t index = 0;
  for (const json::Value& rule : rules.elements()) {
    const FieldPath at = path.Index(index++);
    if (restarts_all) {
      CheckOneOf(rule["action"], at.Child("action"), {"Restart", "RestartAllContainers"}, errors);
    } else {
      CheckOneOf(rule["action"], at.Child("action"), {"Restart"}, errors);
    }
    const json::Value codes = rule["exitCodes"];
    if (codes.is_null()) {
      errors.push_back(api::Required(at.Child("exitCodes"), "must be specified"));
      continue;
    }
    CheckOneOf(codes["operator"], at.Child("exitCodes", "operator"), {"In", "NotIn"}, errors);
    if (codes["values"].size() > 255) {
      errors.push_back(api::TooMany(at.Child("exitCodes", "values"),
                                    static_cast<int>(codes["values"].size()), 255));
    }
  }
}

void CheckRestartPolicy(json::Value container, bool restarts_all, const FieldPath& path,
                        FieldErrors& errors) {
  const json::Value policy = container["restartPolicy"];
  const json::Value rules = container["restartPolicyRules"];
  if (!policy.is_null()) {
    CheckOneOf(policy, path.Child("restartPolicy"), {"Always", "Never", "OnFailure"}, errors);
  } else if (!rules.empty()) {
    errors.push_back(api::Required(path.Child("restartPolicy"),
                                   "must specify restartPolicy when restart rules are used"));
  }
  CheckRestartRules(rules, restarts_all, path.Child("restartPolicyRules"), errors);
}

// Without a policy nothing else is said of the rules. A sidecar has rules only where they may restart
// all containers.
void CheckRestartPolicyOfInit(json::Value container, bool restarts_all, const FieldPath& path,
                              FieldErrors& errors) {
  if (IsSidecar(container) && !restarts_all) {
    if (container["restartPolicyRules"].empty()) return;
    errors.push_back(
        api::Forbidden(path.Child("restartPolicyRules"),
                       "restartPolicyRules are not allowed for init containers with restart policy "
                       "Always"));
    return;
  }
  if (!container["restartPolicy"].is_null()) {
    return CheckRestartPolicy(container, restarts_all, path, errors);
  }
  if (container["restartPolicyRules"].empty()) return;
  errors.push_back(api::Required(path.Child("restartPolicy"),
                                 "must specify restartPolicy when restart rules are used"));
}

// `sent` is the container as the client's text had it, or null.
void CheckCommon(json::Value container, json::Value sent, const PodContext& pod,
                 const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = container["name"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("name"), ""));
  } else {
    CheckDnsLabel(name, path.Child("name"), errors);
  }
  if (container["image"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("image"), ""));
  }
  const json::Value policy = container["terminationMessagePolicy"];
  if (policy.AsString().empty()) {
    errors.push_back(api::Required(path.Child("terminationMessagePolicy"), ""));
  } else {
    CheckOneOf(policy, path.Child("terminationMessagePolicy"), {"File", "FallbackToLogsOnError"},
               errors);
  }
  CheckContainerPorts(container["ports"], path.Child("ports"), errors);
  CheckEnv(container["env"], path.Child("env"), errors, pod.has_env_files);
  CheckEnvFrom(container["envFrom"], path.Child("envFrom"), errors);
  CheckVolumeMounts(container, pod, path.Child("volumeMounts"), errors);
  CheckVolumeDevices(container, pod, path.Child("volumeDevices"), errors);
  const json::Value pull = container["imagePullPolicy"];
  if (pull.AsString().empty()) {
    errors.push_back(api::Required(path.Child("imagePullPolicy"), ""));
  } else {
    CheckOneOf(pull, path.Child("imagePullPolicy"), {"Always", "IfNotPresent", "Never"}, errors);
  }
  CheckContainerResources(container["resources"], pod.claims, path.Child("resources"), errors);
  CheckResizePolicy(container["resizePolicy"], pod.spec["restartPolicy"].AsString(),
                    path.Child("resizePolicy"), errors);
  CheckSecurityContext(pod, container["securityContext"], sent["securityContext"],
                       path.Child("securityContext"), errors);
}

void CheckImageSpace(json::Value container, const FieldPath& path, FieldErrors& errors) {
  const std::string_view image = container["image"].AsString();
  if (golang::TrimSpace(image) == image) return;
  errors.push_back(
      api::Invalid(path.Child("image"), image, "must not have leading or trailing whitespace"));
}

void CheckHostPortConflicts(json::Value container, std::set<std::string>& taken,
                            const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& port : container["ports"].elements()) {
    const FieldPath at = path.Child("ports").Index(index++).Child("hostPort");
    if (port["hostPort"].AsInt() == 0) continue;
    const std::string key =
        base::StrCat(port["protocol"].AsString(), "/", port["hostIP"].AsString(), "/",
                     std::to_string(port["hostPort"].AsInt()));
    if (!taken.insert(key).second) errors.push_back(api::Duplicate(at, key));
  }
}

void CheckInitContainer(json::Value container, const PodContext& pod, const FieldPath& list,
                        const FieldPath& path, FieldErrors& errors) {
  std::set<std::string> ports;  // init containers run one by one
  CheckHostPortConflicts(container, ports, list.Index(0), errors);
  if (IsSidecar(container)) {
    CheckHooksAndProbes(container, pod.spec, path, errors);
    return;
  }
  for (const std::string_view field :
       {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!container[field].is_null()) errors.push_back(api::Forbidden(path.Child(field), kNotInit));
  }
  std::size_t index = 0;
  for (const json::Value& policy : container["resizePolicy"].elements()) {
    const FieldPath at = path.Child("resizePolicy").Index(index++).Child("restartPolicy");
    if (!IsRestartedByResize(policy) || pod.restarts_init_containers) continue;
    errors.push_back(
        api::Invalid(at, "RestartContainer",
                     "must not be set to 'RestartContainer' for non-sidecar initContainers"));
  }
}

// Empty lists of resources, which decoding drops, are set to Go.
bool HasEmptyResources(json::Value sent) {
  for (const std::string_view field : {"limits", "requests", "claims"}) {
    if (IsSentEmpty(sent["resources"][field])) return true;
  }
  return false;
}

}  // namespace

void CheckVolumeMounts(json::Value container, const PodContext& pod, const FieldPath& path,
                       FieldErrors& errors) {
  const Places devices(container["volumeDevices"], "devicePath");
  std::set<std::string_view> places;
  std::size_t index = 0;
  for (const json::Value& mount : container["volumeMounts"].elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = mount["name"].AsString();
    const std::string_view place = mount["mountPath"].AsString();
    if (name.empty()) errors.push_back(api::Required(at.Child("name"), ""));
    if (!pod.volumes.contains(name)) errors.push_back(api::NotFound(at.Child("name"), name));
    if (place.empty()) errors.push_back(api::Required(at.Child("mountPath"), ""));
    if (!places.insert(place).second) {
      errors.push_back(api::Invalid(at.Child("mountPath"), place, "must be unique"));
    }
    if (devices.names.contains(name)) {
      errors.push_back(
          api::Invalid(at.Child("name"), name, "must not already exist in volumeDevices"));
    }
    if (devices.paths.contains(place)) {
      errors.push_back(api::Invalid(at.Child("mountPath"), place,
                                    "must not already exist as a path in volumeDevices"));
    }
    CheckMountDetails(mount, container, path, at, errors);
  }
}

void CheckContainers(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value spec = pod.spec;
  const FieldPath list = path.Child("containers");
  if (spec["containers"].empty()) errors.push_back(api::Required(list, ""));
  std::set<std::string_view> names;
  SentElements containers(pod.sent["containers"]);
  std::size_t index = 0;
  for (const json::Value& container : spec["containers"].elements()) {
    const json::Value sent = containers.Find(index, container["name"]);
    const FieldPath at = list.Index(index++);
    CheckCommon(container, sent, pod, at, errors);
    const std::string_view name = container["name"].AsString();
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
    CheckHooksAndProbes(container, spec, at, errors);
    CheckRestartPolicy(container, pod.restarts_all, at, errors);
  }
  std::set<std::string> ports;
  index = 0;
  for (const json::Value& container : spec["containers"].elements()) {
    CheckHostPortConflicts(container, ports, list.Index(index++), errors);
  }
  const FieldPath init_list = path.Child("initContainers");
  SentElements init_containers(pod.sent["initContainers"]);
  index = 0;
  for (const json::Value& container : spec["initContainers"].elements()) {
    const json::Value sent = init_containers.Find(index, container["name"]);
    const FieldPath at = init_list.Index(index++);
    CheckCommon(container, sent, pod, at, errors);
    CheckRestartPolicyOfInit(container, pod.restarts_all, at, errors);
    const std::string_view name = container["name"].AsString();
    if (names.contains(name)) {
      errors.push_back(api::Duplicate(at.Child("name"), name));
    } else if (!name.empty()) {
      names.insert(name);
    }
    CheckInitContainer(container, pod, init_list, at, errors);
  }
}

void CheckEphemeralContainers(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> others;
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::Value& container : pod.spec[list].elements()) {
      others.insert(container["name"].AsString());
    }
  }
  std::set<std::string_view> names = others;
  SentElements all_sent(pod.sent["ephemeralContainers"]);
  std::size_t index = 0;
  for (const json::Value& container : pod.spec["ephemeralContainers"].elements()) {
    const json::Value sent = all_sent.Find(index, container["name"]);
    const FieldPath at = path.Index(index++);
    CheckCommon(container, sent, pod, at, errors);
    CheckImageSpace(container, at, errors);
    const std::string_view name = container["name"].AsString();
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
    const std::string_view target = container["targetContainerName"].AsString();
    if (!target.empty() && !others.contains(target)) {
      errors.push_back(api::NotFound(at.Child("targetContainerName"), target));
    }
    constexpr std::array<std::string_view, 9> kRefused = {
        "ports",         "resources",      "resizePolicy", "restartPolicy", "restartPolicyRules",
        "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"};
    for (const std::string_view field : kRefused) {
      const json::Value held = container[field];
      const bool pointer = field.ends_with("Probe") || field == "lifecycle";
      const bool set =
          !held.is_null() && (pointer || !((held.is_array() || held.is_object()) && held.empty()));
      const bool empty =
          field == "resources" ? HasEmptyResources(sent) : !pointer && IsSentEmpty(sent[field]);
      if (set || empty) errors.push_back(api::Forbidden(at.Child(field), kNotEphemeral));
    }
    std::size_t mount_index = 0;
    for (const json::Value& mount : container["volumeMounts"].elements()) {
      const FieldPath mount_path = at.Child("volumeMounts").Index(mount_index++);
      for (const std::string_view field : {"subPath", "subPathExpr"}) {
        if (mount[field].AsString().empty()) continue;
        errors.push_back(api::Forbidden(mount_path.Child(field), kNotEphemeral));
      }
    }
  }
}

void CheckContainersOfPod(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    std::size_t index = 0;
    for (const json::Value& container : spec[list].elements()) {
      CheckImageSpace(container, path.Child(list).Index(index++), errors);
    }
  }
}

}  // namespace portcullis::registry

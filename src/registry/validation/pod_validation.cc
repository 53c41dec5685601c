// Pods and pod templates: the rules that everyday manifests run into
// (pkg/apis/core/validation, ValidatePodSpec, ValidatePodUpdate).

#include <algorithm>
#include <map>
#include <set>

#include "api/view/pod.h"
#include "base/strings.h"
#include "registry/validation/kinds.h"

namespace portcullis::registry {
namespace {

using api::view::ContainerType;

bool IsEnvName(std::string_view name, FieldErrors& errors, const FieldPath& path) {
  std::vector<std::string> texts;
  const bool printable = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c >= 0x20 && c < 0x7F && c != '=';
  });
  if (!printable) {
    texts.push_back(
        "a valid environment variable name must consist only of printable ASCII characters other "
        "than '='");
  }
  AddInvalid(path, name, texts, errors);
  return texts.empty();
}

void CheckKeySelector(json::Value selector, const FieldPath& path, FieldErrors& errors) {
  const std::string_view key = selector["key"].AsString();
  if (key.empty()) {
    errors.push_back(api::Required(path.Child("key"), ""));
  } else {
    AddInvalid(path.Child("key"), key, IsConfigMapKey(key), errors);
  }
}

void CheckEnv(json::Value env, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& variable : env.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = variable["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(at.Child("name"), ""));
    } else {
      IsEnvName(name, errors, at.Child("name"));
    }
    const json::Value from = variable["valueFrom"];
    if (from.is_null()) continue;
    const FieldPath from_path = at.Child("valueFrom");
    std::size_t sources = 0;
    for (const std::string_view source :
         {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"}) {
      if (!from[source].is_null()) ++sources;
    }
    if (!from["configMapKeyRef"].is_null()) {
      CheckKeySelector(from["configMapKeyRef"], from_path.Child("configMapKeyRef"), errors);
    }
    if (!from["secretKeyRef"].is_null()) {
      CheckKeySelector(from["secretKeyRef"], from_path.Child("secretKeyRef"), errors);
    }
    if (!variable["value"].AsString().empty() && sources > 0) {
      errors.push_back(
          api::Invalid(from_path, "", "may not be specified when `value` is not empty"));
    } else if (sources == 0) {
      errors.push_back(api::Invalid(from_path, "",
                                    "must specify one of: `fieldRef`, "
                                    "`resourceFieldRef`, `configMapKeyRef`, "
                                    "`secretKeyRef` or `fileKeyRef`"));
    } else if (sources > 1) {
      errors.push_back(
          api::Invalid(from_path, "", "may not have more than one field specified at a time"));
    }
  }
}

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

void CheckVolumeMounts(json::Value mounts, const std::set<std::string_view>& volumes,
                       const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> places;
  std::size_t index = 0;
  for (const json::Value& mount : mounts.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = mount["name"].AsString();
    const std::string_view place = mount["mountPath"].AsString();
    if (name.empty()) errors.push_back(api::Required(at.Child("name"), ""));
    if (!volumes.contains(name)) errors.push_back(api::NotFound(at.Child("name"), name));
    if (place.empty()) errors.push_back(api::Required(at.Child("mountPath"), ""));
    if (!places.insert(place).second) {
      errors.push_back(api::Invalid(at.Child("mountPath"), place, "must be unique"));
    }
    const std::string_view sub = mount["subPath"].AsString();
    if (!sub.empty() && !mount["subPathExpr"].AsString().empty()) {
      errors.push_back(api::Invalid(at.Child("subPathExpr"), mount["subPathExpr"],
                                    "subPathExpr and subPath are mutually exclusive"));
    }
    if (sub.starts_with("/")) {
      errors.push_back(api::Invalid(at.Child("subPath"), sub, "must be a relative path"));
    }
    for (const std::string_view part : base::Split(sub, '/')) {
      if (part == "..") {
        errors.push_back(api::Invalid(at.Child("subPath"), sub, "must not contain '..'"));
        break;
      }
    }
  }
}

// Names that container resources may have.
void CheckContainerResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const auto texts = api::IsQualifiedName(name);
  AddInvalid(path, name, texts, errors);
  if (!texts.empty()) return;
  if (name.find('/') == std::string_view::npos) {
    if (name != "cpu" && name != "memory" && name != "ephemeral-storage" &&
        !name.starts_with("hugepages-")) {
      errors.push_back(api::Invalid(path, name, "must be a standard resource for containers"));
    }
  }
}

bool IsOvercommitAllowed(std::string_view name) {
  return name.find('/') == std::string_view::npos && !name.starts_with("hugepages-");
}

void CheckAmount(std::string_view name, const api::Quantity& amount, const FieldPath& path,
                 FieldErrors& errors) {
  if (amount.Sign() < 0) {
    errors.push_back(api::Invalid(path, amount.ToString(), "must be greater than or equal to 0"));
  }
  if (!IsOvercommitAllowed(name) && name.find('/') != std::string_view::npos &&
      !amount.IsInteger()) {
    errors.push_back(api::Invalid(path, amount.ToString(), "must be an integer"));
  }
}

void CheckResources(json::Value resources, const FieldPath& path, FieldErrors& errors) {
  const json::Value limits = resources["limits"];
  const json::Value requests = resources["requests"];
  for (const json::Member* limit : SortedMembers(limits)) {
    const FieldPath at = path.Child("limits").Key(limit->name());
    CheckContainerResourceName(limit->name(), at, errors);
    CheckAmount(limit->name(), QuantityOf(limit->value), at, errors);
  }
  for (const json::Member* request : SortedMembers(requests)) {
    const std::string_view name = request->name();
    const FieldPath at = path.Child("requests").Key(name);
    CheckContainerResourceName(name, at, errors);
    const api::Quantity amount = QuantityOf(request->value);
    CheckAmount(name, amount, at, errors);
    const json::Value* limit = limits.Find(name);
    const FieldPath whole = path.Child("requests");
    if (limit != nullptr) {
      const api::Quantity most = QuantityOf(*limit);
      if (amount != most && !IsOvercommitAllowed(name)) {
        errors.push_back(
            api::Invalid(whole, amount.ToString(),
                         base::StrCat("must be equal to ", name, " limit of ", most.ToString())));
      } else if (amount > most) {
        errors.push_back(api::Invalid(
            whole, amount.ToString(),
            base::StrCat("must be less than or equal to ", name, " limit of ", most.ToString())));
      }
    } else if (!IsOvercommitAllowed(name)) {
      errors.push_back(api::Required(path.Child("limits"),
                                     "Limit must be set for non overcommitable resources"));
    }
  }
}

void CheckHandler(json::Value handler, const FieldPath& path, FieldErrors& errors) {
  std::size_t count = 0;
  if (const json::Value exec = handler["exec"]; !exec.is_null()) {
    ++count;
    if (exec["command"].empty()) {
      errors.push_back(api::Required(path.Child("exec").Child("command"), ""));
    }
  }
  if (const json::Value get = handler["httpGet"]; !get.is_null()) {
    const FieldPath at = path.Child("httpGet");
    if (++count > 1) {
      errors.push_back(api::Forbidden(at, "may not specify more than 1 handler type"));
    } else {
      if (get["path"].AsString().empty()) errors.push_back(api::Required(at.Child("path"), ""));
      CheckPortNumOrName(get["port"], at.Child("port"), errors);
      CheckOneOf(get["scheme"], at.Child("scheme"), {"HTTP", "HTTPS"}, errors);
    }
  }
  if (const json::Value tcp = handler["tcpSocket"]; !tcp.is_null()) {
    const FieldPath at = path.Child("tcpSocket");
    if (++count > 1) {
      errors.push_back(api::Forbidden(at, "may not specify more than 1 handler type"));
    } else {
      CheckPortNumOrName(tcp["port"], at.Child("port"), errors);
    }
  }
  if (const json::Value grpc = handler["grpc"]; !grpc.is_null()) {
    const FieldPath at = path.Child("grpc");
    if (++count > 1) {
      errors.push_back(api::Forbidden(at, "may not specify more than 1 handler type"));
    } else {
      CheckPort(grpc["port"].AsInt(), at.Child("port"), errors);
    }
  }
  if (const json::Value sleep = handler["sleep"]; !sleep.is_null()) ++count;
  if (count == 0) errors.push_back(api::Required(path, "must specify a handler type"));
}

void CheckProbe(json::Value probe, const FieldPath& path, FieldErrors& errors) {
  if (probe.is_null()) return;
  CheckHandler(probe, path, errors);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    CheckNonNegative(probe[field], path.Child(field), errors);
  }
}

void CheckSecurityContext(json::Value context, const FieldPath& path, FieldErrors& errors) {
  if (context.is_null()) return;
  if (context["privileged"].AsBool() && !context["allowPrivilegeEscalation"].AsBool(true)) {
    errors.push_back(api::Invalid(
        path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  }
  for (const std::string_view field : {"runAsUser", "runAsGroup"}) {
    const json::Value id = context[field];
    if (id.is_int() && (id.AsInt() < 0 || id.AsInt() > 2147483647)) {
      errors.push_back(api::Invalid(path.Child(field), id.AsInt(),
                                    "must be between 0 and 2147483647, inclusive"));
    }
  }
}

struct PodContext {
  std::set<std::string_view> volumes;
  std::string_view restart_policy;
  bool host_network = false;
};

void CheckContainer(json::Value container, const FieldPath& path, ContainerType type,
                    const PodContext& pod, FieldErrors& errors) {
  const std::string_view name = container["name"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("name"), ""));
  } else {
    CheckDnsLabel(name, path.Child("name"), errors);
  }
  const std::string_view image = container["image"].AsString();
  if (image.empty()) {
    errors.push_back(api::Required(path.Child("image"), ""));
  } else if (base::Trim(image) != image) {
    errors.push_back(
        api::Invalid(path.Child("image"), image, "must not have leading or trailing whitespace"));
  }
  const json::Value policy = container["terminationMessagePolicy"];
  if (policy.AsString().empty()) {
    errors.push_back(api::Required(path.Child("terminationMessagePolicy"), ""));
  } else {
    CheckOneOf(policy, path.Child("terminationMessagePolicy"), {"FallbackToLogsOnError", "File"},
               errors);
  }
  CheckContainerPorts(container["ports"], path.Child("ports"), errors);
  CheckEnv(container["env"], path.Child("env"), errors);
  CheckVolumeMounts(container["volumeMounts"], pod.volumes, path.Child("volumeMounts"), errors);
  const json::Value pull = container["imagePullPolicy"];
  if (pull.AsString().empty()) {
    errors.push_back(api::Required(path.Child("imagePullPolicy"), ""));
  } else {
    CheckOneOf(pull, path.Child("imagePullPolicy"), {"Always", "IfNotPresent", "Never"}, errors);
  }
  CheckResources(container["resources"], path.Child("resources"), errors);
  CheckSecurityContext(container["securityContext"], path.Child("securityContext"), errors);

  const bool sidecar = container["restartPolicy"].AsString() == "Always";
  if (type == ContainerType::kInit && !sidecar) {
    for (const std::string_view field :
         {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
      if (!container[field].is_null()) {
        errors.push_back(api::Forbidden(
            path.Child(field), "may not be set for init containers without restartPolicy=Always"));
      }
    }
    return;
  }
  if (const json::Value hooks = container["lifecycle"]; !hooks.is_null()) {
    for (const std::string_view hook : {"postStart", "preStop"}) {
      if (!hooks[hook].is_null()) {
        CheckHandler(hooks[hook], path.Child("lifecycle").Child(hook), errors);
      }
    }
  }
  CheckProbe(container["livenessProbe"], path.Child("livenessProbe"), errors);
  if (container["livenessProbe"]["successThreshold"].AsInt(1) != 1) {
    errors.push_back(api::Invalid(path.Child("livenessProbe").Child("successThreshold"),
                                  container["livenessProbe"]["successThreshold"].AsInt(),
                                  "must be 1"));
  }
  CheckProbe(container["readinessProbe"], path.Child("readinessProbe"), errors);
  CheckProbe(container["startupProbe"], path.Child("startupProbe"), errors);
  if (container["startupProbe"]["successThreshold"].AsInt(1) != 1) {
    errors.push_back(api::Invalid(path.Child("startupProbe").Child("successThreshold"),
                                  container["startupProbe"]["successThreshold"].AsInt(),
                                  "must be 1"));
  }
}

void CheckContainers(json::Value spec, const FieldPath& path, const PodContext& pod,
                     FieldErrors& errors) {
  if (spec["containers"].empty()) errors.push_back(api::Required(path.Child("containers"), ""));
  std::set<std::string_view> names;
  std::set<std::string> host_ports;
  const auto visit = [&](std::string_view list, ContainerType type) {
    std::size_t index = 0;
    for (const json::Value& container : spec[list].elements()) {
      const FieldPath at = path.Child(list).Index(index++);
      CheckContainer(container, at, type, pod, errors);
      const std::string_view name = container["name"].AsString();
      if (!name.empty() && !names.insert(name).second) {
        errors.push_back(api::Duplicate(at.Child("name"), name));
      }
      std::size_t port_index = 0;
      for (const json::Value& port : container["ports"].elements()) {
        const FieldPath port_path = at.Child("ports").Index(port_index++);
        const std::int64_t host_port = port["hostPort"].AsInt();
        if (pod.host_network && host_port != port["containerPort"].AsInt()) {
          errors.push_back(api::Invalid(port_path.Child("hostPort"), host_port,
                                        "must match `containerPort` when `hostNetwork` is true"));
        }
        if (host_port == 0 || type != ContainerType::kContainer) continue;
        const std::string key =
            base::StrCat(port["protocol"].AsString(), "/", port["hostIP"].AsString(), "/",
                         std::to_string(host_port));
        if (!host_ports.insert(key).second) {
          errors.push_back(api::Duplicate(port_path.Child("hostPort"), key));
        }
      }
    }
  };
  visit("containers", ContainerType::kContainer);
  visit("initContainers", ContainerType::kInit);
}

constexpr std::string_view kVolumeSources[] = {"emptyDir",
                                               "gitRepo",
                                               "hostPath",
                                               "gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "secret",
                                               "nfs",
                                               "iscsi",
                                               "glusterfs",
                                               "persistentVolumeClaim",
                                               "rbd",
                                               "cephfs",
                                               "cinder",
                                               "flexVolume",
                                               "downwardAPI",
                                               "fc",
                                               "azureFile",
                                               "azureDisk",
                                               "flocker",
                                               "configMap",
                                               "vsphereVolume",
                                               "quobyte",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "scaleIO",
                                               "storageos",
                                               "projected",
                                               "csi",
                                               "ephemeral",
                                               "image"};

void CheckVolumeSource(json::Value volume, const FieldPath& path, FieldErrors& errors) {
  std::size_t sources = 0;
  for (const std::string_view source : kVolumeSources) {
    if (volume[source].is_null()) continue;
    if (sources++ > 0) {
      errors.push_back(
          api::Forbidden(path.Child(source), "may not specify more than 1 volume type"));
    }
  }
  if (sources == 0) errors.push_back(api::Required(path, "must specify a volume type"));
  if (!volume["hostPath"].is_null() && volume["hostPath"]["path"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("hostPath").Child("path"), ""));
  }
  if (!volume["secret"].is_null() && volume["secret"]["secretName"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("secret").Child("secretName"), ""));
  }
  if (!volume["configMap"].is_null() && volume["configMap"]["name"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("configMap").Child("name"), ""));
  }
  if (!volume["persistentVolumeClaim"].is_null() &&
      volume["persistentVolumeClaim"]["claimName"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("persistentVolumeClaim").Child("claimName"), ""));
  }
}

std::set<std::string_view> CheckVolumes(json::Value volumes, const FieldPath& path,
                                        FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& volume : volumes.elements()) {
    const FieldPath at = path.Index(index++);
    CheckVolumeSource(volume, at, errors);
    const std::string_view name = volume["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(at.Child("name"), ""));
      continue;
    }
    CheckDnsLabel(name, at.Child("name"), errors);
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
  }
  return names;
}

void CheckTolerations(json::Value tolerations, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& toleration : tolerations.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view key = toleration["key"].AsString();
    const std::string_view op = toleration["operator"].AsString();
    const std::string_view effect = toleration["effect"].AsString();
    if (!key.empty()) AddInvalid(at.Child("key"), key, api::IsQualifiedName(key), errors);
    if (key.empty() && op != "Exists") {
      errors.push_back(api::Invalid(
          at.Child("operator"), op,
          "operator must be Exists when `key` is empty, which means \"match all values and all "
          "keys\""));
    }
    if (!toleration["tolerationSeconds"].is_null() && effect != "NoExecute") {
      errors.push_back(api::Invalid(at.Child("effect"), effect,
                                    "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (op.empty() || op == "Equal") {
      const std::string_view value = toleration["value"].AsString();
      const auto texts = api::IsValidLabelValue(value);
      if (!texts.empty()) {
        errors.push_back(api::Invalid(at.Child("operator"), value, base::Join(texts, ";")));
      }
    } else if (op == "Exists") {
      if (!toleration["value"].AsString().empty()) {
        errors.push_back(api::Invalid(at.Child("operator"), toleration,
                                      "value must be empty when `operator` is 'Exists'"));
      }
    } else if (op != "Lt" && op != "Gt") {
      errors.push_back(api::NotSupported(at.Child("operator"), op, {"Equal", "Exists"}));
    }
    if (!effect.empty()) {
      CheckOneOf(toleration["effect"], at.Child("effect"),
                 {"NoSchedule", "PreferNoSchedule", "NoExecute"}, errors);
    }
  }
}

void CheckTopologySpread(json::Value constraints, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& constraint : constraints.elements()) {
    const FieldPath at = path.Index(index++);
    if (constraint["maxSkew"].AsInt() <= 0) {
      errors.push_back(api::Invalid(at.Child("maxSkew"), constraint["maxSkew"].AsInt(),
                                    "must be greater than zero"));
    }
    if (constraint["topologyKey"].AsString().empty()) {
      errors.push_back(api::Required(at.Child("topologyKey"), "can not be empty"));
    }
    CheckOneOf(constraint["whenUnsatisfiable"], at.Child("whenUnsatisfiable"),
               {"DoNotSchedule", "ScheduleAnyway"}, errors);
  }
}

void CheckPodLevelSecurity(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value context = spec["securityContext"];
  for (const std::string_view field : {"runAsUser", "runAsGroup", "fsGroup"}) {
    const json::Value id = context[field];
    if (id.is_int() && (id.AsInt() < 0 || id.AsInt() > 2147483647)) {
      errors.push_back(api::Invalid(path.Child("securityContext").Child(field), id.AsInt(),
                                    "must be between 0 and 2147483647, inclusive"));
    }
  }
  if (spec["shareProcessNamespace"].AsBool() && spec["hostPID"].AsBool()) {
    errors.push_back(api::Invalid(path.Child("securityContext").Child("shareProcessNamespace"),
                                  true,
                                  "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
}

}  // namespace

void ValidatePodSpec(json::Value spec, json::Value, const FieldPath& path, FieldErrors& errors) {
  PodContext pod;
  pod.volumes = CheckVolumes(spec["volumes"], path.Child("volumes"), errors);
  pod.restart_policy = spec["restartPolicy"].AsString();
  pod.host_network = spec["hostNetwork"].AsBool();
  CheckContainers(spec, path, pod, errors);
  if (pod.restart_policy.empty()) {
    errors.push_back(api::Required(path.Child("restartPolicy"), ""));
  } else {
    CheckOneOf(spec["restartPolicy"], path.Child("restartPolicy"), {"Always", "OnFailure", "Never"},
               errors);
  }
  if (spec["dnsPolicy"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("dnsPolicy"), ""));
  } else {
    CheckOneOf(spec["dnsPolicy"], path.Child("dnsPolicy"),
               {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}, errors);
  }
  CheckLabels(spec["nodeSelector"], path.Child("nodeSelector"), errors);
  CheckPodLevelSecurity(spec, path, errors);
  std::size_t index = 0;
  for (const json::Value& secret : spec["imagePullSecrets"].elements()) {
    const FieldPath at = path.Child("imagePullSecrets").Index(index++);
    if (secret["name"].AsString().empty()) {
      errors.push_back(api::Invalid(at.Child("name"), "", "name must not be empty"));
    }
  }
  CheckTolerations(spec["tolerations"], path.Child("tolerations"), errors);
  CheckTopologySpread(spec["topologySpreadConstraints"], path.Child("topologySpreadConstraints"),
                      errors);
  if (const std::string_view name = spec["serviceAccountName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("serviceAccountName"), errors);
  }
  if (const std::string_view name = spec["nodeName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("nodeName"), errors);
  }
  if (const json::Value seconds = spec["activeDeadlineSeconds"]; seconds.is_int()) {
    if (seconds.AsInt() < 1 || seconds.AsInt() > 2147483647) {
      errors.push_back(api::Invalid(path.Child("activeDeadlineSeconds"), seconds.AsInt(),
                                    "must be between 1 and 2147483647, inclusive"));
    }
  }
  for (const std::string_view field : {"hostname", "subdomain"}) {
    if (const std::string_view name = spec[field].AsString(); !name.empty()) {
      CheckDnsLabel(name, path.Child(field), errors);
    }
  }
  if (const std::string_view name = spec["priorityClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("priorityClassName"), errors);
  }
  if (const std::string_view name = spec["runtimeClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("runtimeClassName"), errors);
  }
  if (!spec["preemptionPolicy"].is_null()) {
    CheckOneOf(spec["preemptionPolicy"], path.Child("preemptionPolicy"),
               {"Never", "PreemptLowerPriority"}, errors);
  }
}

void ValidatePodTemplate(json::Value pod_template, const FieldPath& path, FieldErrors& errors) {
  const json::Value metadata = pod_template["metadata"];
  CheckLabels(metadata["labels"], path.Child("labels"), errors);
  CheckAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  const json::Value spec = pod_template["spec"];
  ValidatePodSpec(spec, metadata, path.Child("spec"), errors);
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(api::Forbidden(path.Child("spec").Child("ephemeralContainers"),
                                    "ephemeral containers not allowed in pod template"));
  }
}

void ValidatePod(const Context&, json::Value object, FieldErrors& errors) {
  ValidatePodSpec(object["spec"], object["metadata"], FieldPath("spec"), errors);
  const json::Value spec = object["spec"];
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(
        api::Forbidden(FieldPath("spec", "ephemeralContainers"), "cannot be set on create"));
  }
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// Pods and pod templates (pkg/apis/core/validation, ValidatePodSpec). The parts are in pod_*.cc.

#include "api/view/pod.h"
#include "base/strings.h"
#include "registry/pods/pod_disabled_fields.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

using api::view::ContainerType;

void CheckResourceClaims(json::Value claims, json::Value metadata, const FieldPath& path,
                         FieldErrors& errors) {
  if (metadata["annotations"].Has(kMirrorAnnotation)) {
    errors.insert(errors.end(), claims.size(),
                  api::Forbidden(FieldPath("[]"), "static pods do not support resource claims"));
    return;
  }
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& claim : claims.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = claim["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(at.Child("name"), ""));
    } else if (!names.insert(name).second) {
      errors.push_back(api::Duplicate(at.Child("name"), name));
    } else {
      CheckDnsLabel(name, at.Child("name"), errors);
    }
    const json::Value by_name = claim["resourceClaimName"];
    const json::Value by_template = claim["resourceClaimTemplateName"];
    const auto refuse = [&](std::string_view why) {
      const std::string go = StructJson({{"Name", Quoted(name)},
                                         {"ResourceClaimName", Json(by_name)},
                                         {"ResourceClaimTemplateName", Json(by_template)}});
      errors.push_back(api::Invalid(at, api::BadValue::Raw(go), why));
    };
    if (!by_name.is_null() && !by_template.is_null()) {
      refuse("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    }
    if (by_name.is_null() && by_template.is_null()) {
      refuse("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    if (!by_name.is_null()) {
      CheckSubdomain(by_name.AsString(), at.Child("resourceClaimName"), errors);
    }
    if (!by_template.is_null()) {
      CheckSubdomain(by_template.AsString(), at.Child("resourceClaimTemplateName"), errors);
    }
  }
}

void CheckHostNetworkPorts(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  if (!pod.spec["hostNetwork"].AsBool()) return;
  std::size_t index = 0;
  for (const json::Value& container : pod.spec["containers"].elements()) {
    const FieldPath at = path.Child("containers").Index(index++);
    std::size_t port_index = 0;
    for (const json::Value& port : container["ports"].elements()) {
      const FieldPath port_path = at.Child("ports").Index(port_index++);
      const std::int64_t host = port["hostPort"].AsInt();
      if (host == port["containerPort"].AsInt() || (!pod.is_pod && host == 0)) continue;
      errors.push_back(api::Invalid(port_path.Child("hostPort"), host,
                                    "must match `containerPort` when `hostNetwork` is true"));
    }
  }
}

void CheckSearches(json::Value searches, const FieldPath& path, FieldErrors& errors) {
  if (searches.size() > 32) {
    errors.push_back(api::Invalid(path, searches, "must not have more than 32 search paths"));
  }
  std::size_t characters = 0;
  for (const json::Value& search : searches.elements()) characters += search.AsString().size() + 1;
  if (characters > 2049) {
    errors.push_back(api::Invalid(
        path, searches,
        "must not have more than 2048 characters (including spaces) in the search list"));
  }
  std::size_t index = 0;
  for (const json::Value& search : searches.elements()) {
    const FieldPath at = path.Index(index++);
    std::string_view text = search.AsString();
    if (text == ".") continue;
    if (text.ends_with(".")) text.remove_suffix(1);
    AddInvalid(at, text, IsSubdomainWithUnderscore(text), errors);
  }
}

void CheckDnsConfig(const Context& ctx, json::Value spec, const FieldPath& path,
                    FieldErrors& errors) {
  const json::Value config = spec["dnsConfig"];
  const json::Value servers = config["nameservers"];
  if (spec["dnsPolicy"].AsString() == "None") {
    if (config.is_null()) {
      errors.push_back(api::Required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
      return;
    }
    if (servers.empty()) {
      errors.push_back(
          api::Required(path.Child("nameservers"),
                        "must provide at least one DNS nameserver when `dnsPolicy` is None"));
      return;
    }
  }
  if (servers.size() > 3) {
    errors.push_back(
        api::Invalid(path.Child("nameservers"), servers, "must not have more than 3 nameservers"));
  }
  std::size_t index = 0;
  for (const json::Value& server : servers.elements()) {
    CheckIp(ctx, server.AsString(), path.Child("nameservers").Index(index++), errors);
  }
  CheckSearches(config["searches"], path.Child("searches"), errors);
  index = 0;
  for (const json::Value& option : config["options"].elements()) {
    const FieldPath at = path.Child("options").Index(index++);
    if (option["name"].AsString().empty()) {
      errors.push_back(api::Required(at, "must not be empty"));
    }
  }
}

void CheckPolicies(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  if (spec["restartPolicy"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("restartPolicy"), ""));
  } else {
    CheckOneOf(spec["restartPolicy"], path.Child("restartPolicy"), {"Always", "OnFailure", "Never"},
               errors);
  }
  if (spec["dnsPolicy"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("dnsPolicy"), ""));
  } else {
    CheckOneOf(spec["dnsPolicy"], path.Child("dnsPolicy"),
               {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, errors);
  }
}

void CheckHostAliases(const Context& ctx, json::Value aliases, const FieldPath& path,
                      FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& alias : aliases.elements()) {
    const FieldPath at = path.Index(index++);
    CheckIp(ctx, alias["ip"].AsString(), at.Child("ip"), errors);
    std::size_t name = 0;
    for (const json::Value& host : alias["hostnames"].elements()) {
      CheckSubdomain(host.AsString(), at.Child("hostnames").Index(name++), errors);
    }
  }
}

void CheckNames(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view field : {"serviceAccountName", "nodeName"}) {
    if (const std::string_view name = spec[field].AsString(); !name.empty()) {
      CheckSubdomain(name, path.Child(field), errors);
    }
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
}

void CheckHostnameOverride(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value name = spec["hostnameOverride"];
  if (name.is_null()) return;
  for (const std::string_view field : {"setHostnameAsFQDN", "hostNetwork"}) {
    if (!spec[field].AsBool()) continue;
    errors.push_back(
        api::Forbidden(path, base::StrCat("may not be specified when ", field, " is true")));
  }
  if (name.AsString().size() > 64) errors.push_back(api::TooLong(path, 64));
  CheckSubdomain(name.AsString(), path, errors);
}

// One way of scheduling has to be named; there is only one.
void CheckSchedulingGroup(json::Value group, const FieldPath& path, FieldErrors& errors) {
  if (group.is_null()) return;
  const json::Value name = group["podGroupName"];
  if (name.is_null()) {
    errors.push_back(api::Invalid(path, name, "must specify one of: `podGroupName`"));
  } else {
    CheckSubdomain(name.AsString(), path, errors);
  }
}

void CheckRest(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value spec = pod.spec;
  CheckTolerations(spec["tolerations"], path.Child("tolerations"), errors);
  CheckHostAliases(pod.ctx, spec["hostAliases"], path.Child("hostAliases"), errors);
  if (const std::string_view name = spec["priorityClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("priorityClassName"), errors);
  }
  if (const json::Value name = spec["runtimeClassName"]; !name.is_null()) {
    CheckSubdomain(name.AsString(), path.Child("runtimeClassName"), errors);
  }
  if (const json::Value policy = spec["preemptionPolicy"];
      !policy.is_null() && RequireField(spec, "preemptionPolicy", path, errors)) {
    CheckOneOf(policy, path.Child("preemptionPolicy"), {"PreemptLowerPriority", "Never"}, errors);
  }
  if (const json::Value overhead = spec["overhead"]; !overhead.is_null()) {
    json::Arena arena;
    CheckContainerResources(json::MakeObject(arena, {{"limits", overhead}}), {},
                            path.Child("overhead"), errors);
  }
  CheckOperatingSystem(pod, path, errors);
  CheckSchedulingGroup(spec["schedulingGroup"], path.Child("schedulingGroup", "podGroupName"),
                       errors);
  CheckFileKeyRefVolumes(spec, path, errors);
}

// The spec of the pod or of the template as the client's text had it.
json::Value SentSpec(json::Value sent, bool is_pod) {
  if (is_pod) return sent["spec"];
  if (sent["template"].is_object()) return sent["template"]["spec"];
  const json::Value job = sent["spec"]["jobTemplate"];
  return (job.is_object() ? job : sent)["spec"]["template"]["spec"];
}

// Whether a resize restarts an init container that has done its work.
bool RestartsInitContainers(json::Value spec) {
  for (const json::Value& container : spec["initContainers"].elements()) {
    if (IsSidecar(container)) continue;
    for (const json::Value& policy : container["resizePolicy"].elements()) {
      if (IsRestartedByResize(policy)) return true;
    }
  }
  return false;
}

// Whether a container has a rule that restarts all of them.
bool RestartsAll(json::Value spec) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::Value& container : spec[list].elements()) {
      for (const json::Value& rule : container["restartPolicyRules"].elements()) {
        if (rule["action"].AsString() == "RestartAllContainers") return true;
      }
    }
  }
  return false;
}

bool HasVolumeDevices(json::Value spec) {
  return !api::view::VisitContainers(spec, FieldPath(""),
                                     [](json::Value container, const FieldPath&, ContainerType) {
                                       return container["volumeDevices"].empty();
                                     });
}

// A stored spec that has what is not allowed may keep it.
void CheckHostUsers(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value spec = pod.spec;
  if (spec["hostUsers"].AsBool(true)) return;
  constexpr std::string_view kText = "when `hostUsers` is false";
  const bool had_users = !pod.old["hostUsers"].AsBool(true);
  const bool may_have_network =
      pod.has_users_in_host_network || (had_users && pod.old["hostNetwork"].AsBool());
  if (spec["hostNetwork"].AsBool() && !may_have_network) {
    errors.push_back(api::Forbidden(path.Child("hostNetwork"), kText));
  }
  if (spec["hostPID"].AsBool()) errors.push_back(api::Forbidden(path.Child("HostPID"), kText));
  if (spec["hostIPC"].AsBool()) errors.push_back(api::Forbidden(path.Child("HostIPC"), kText));
  if (had_users && HasVolumeDevices(pod.old)) return;
  api::view::VisitContainers(spec, path,
                             [&](json::Value container, const FieldPath& at, ContainerType) {
                               if (!container["volumeDevices"].empty()) {
                                 errors.push_back(api::Forbidden(at.Child("volumeDevices"), kText));
                               }
                               return true;
                             });
}

// `old` is the spec that an update replaces; `metadata` is the pod's, null for a template.
void CheckSpec(const Context& ctx, json::Value spec, json::Value old, json::Value metadata,
               const FieldPath& path, FieldErrors& errors) {
  if (spec["terminationGracePeriodSeconds"].is_null()) {
    errors.push_back(api::Required(path.Child("terminationGracePeriodSeconds"), ""));
  }
  PodContext pod{.ctx = ctx, .spec = spec};
  pod.is_pod = !metadata.is_null();
  pod.sent = SentSpec(ctx.sent, pod.is_pod);
  pod.old = old;
  pod.mounts_selinux = ctx.release->GateEnabled("SELinuxMount");
  pod.merges_spread_keys =
      ctx.release->GateEnabled("MatchLabelKeysInPodTopologySpreadSelectorMerge");
  pod.has_users_in_host_network = ctx.release->GateEnabled("UserNamespacesHostNetworkSupport");
  pod.restarts_init_containers = RestartsInitContainers(old);
  pod.restarts_all =
      ctx.release->GateEnabled("RestartAllContainersOnContainerExits") || RestartsAll(old);
  pod.has_env_files = ctx.release->GateEnabled("EnvFiles") || HasFileKeyRef(old);
  for (const json::Value& claim : spec["resourceClaims"].elements()) {
    if (const std::string_view name = claim["name"].AsString(); !name.empty()) {
      pod.claims.insert(name);
    }
  }
  CheckVolumes(pod, metadata, path.Child("volumes"), errors);
  CheckResourceClaims(spec["resourceClaims"], metadata, path.Child("resourceClaims"), errors);
  CheckContainers(pod, path, errors);
  if (!spec["ephemeralContainers"].empty()) {
    pod.sent = WithoutDisabledFieldsOfPods(ctx, "", pod.sent, old);
  }
  CheckEphemeralContainers(pod, path.Child("ephemeralContainers"), errors);
  CheckPodResources(pod, path.Child("resources"), errors);
  CheckHostNetworkPorts(pod, path, errors);
  CheckPolicies(spec, path, errors);
  CheckLabels(spec["nodeSelector"], path.Child("nodeSelector"), errors);
  CheckPodSecurityContext(pod, path.Child("securityContext"), errors);
  CheckAffinity(spec["affinity"], path.Child("affinity"), errors);
  CheckDnsConfig(ctx, spec, path.Child("dnsConfig"), errors);
  std::size_t index = 0;
  for (const json::Value& gate : spec["readinessGates"].elements()) {
    const std::string_view type = gate["conditionType"].AsString();
    AddInvalid(path.Child("readinessGates").Index(index++).Child("conditionType"), type,
               api::IsQualifiedName(type), errors);
  }
  CheckSchedulingGates(spec["schedulingGates"], path.Child("schedulingGates"), errors);
  CheckTopologySpread(pod, path.Child("topologySpreadConstraints"), errors);
  CheckHostProcess(pod, path, errors);
  CheckHostUsers(pod, path, errors);
  CheckHostnameOverride(spec, path.Child("hostnameOverride"), errors);
  CheckNames(spec, path, errors);
  CheckRest(pod, path, errors);
}

// Tokens can be projected only for a service account.
void CheckTokenSources(json::Value spec, FieldErrors& errors) {
  if (!spec["serviceAccountName"].AsString().empty()) return;
  std::size_t index = 0;
  for (const json::Value& volume : spec["volumes"].elements()) {
    const FieldPath at = FieldPath("spec", "volumes").Index(index++).Child("projected");
    std::size_t source_index = 0;
    for (const json::Value& source : volume["projected"]["sources"].elements()) {
      const FieldPath source_path = at.Child("sources").Index(source_index++);
      if (source["serviceAccountToken"].is_null()) continue;
      errors.push_back(api::Forbidden(source_path.Child("serviceAccountToken"),
                                      "must not be specified when serviceAccountName is not set"));
    }
  }
}

}  // namespace

void ValidatePodTemplateMetadata(json::Value pod_template, const FieldPath& path,
                                 FieldErrors& errors) {
  const json::Value metadata = pod_template["metadata"];
  CheckLabels(metadata["labels"], path.Child("labels"), errors);
  CheckAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  CheckPodAnnotations(metadata["annotations"], pod_template["spec"], path.Child("annotations"),
                      errors);
}

void ValidatePodTemplate(const Context& ctx, json::Value pod_template, json::Value old,
                         const FieldPath& path, FieldErrors& errors) {
  const json::Value metadata = pod_template["metadata"];
  const json::Value spec = pod_template["spec"];
  ValidatePodTemplateMetadata(pod_template, path, errors);
  CheckSpec(ctx, spec, old["spec"], json::Value(), path.Child("spec"), errors);
  CheckSeccompAnnotations(metadata["annotations"], spec, path.Child("spec"), errors);
  CheckAppArmorAgreement(metadata["annotations"], spec, path.Child("spec"), errors);
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(api::Forbidden(path.Child("spec", "ephemeralContainers"),
                                    "ephemeral containers not allowed in pod template"));
  }
}

void ValidatePodContent(const Context& ctx, json::Value object, json::Value old,
                        FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckPodAnnotations(object["metadata"]["annotations"], spec, FieldPath("metadata", "annotations"),
                      errors);
  CheckSpec(ctx, spec, old["spec"], object["metadata"], path, errors);
  CheckTokenSources(spec, errors);
  CheckContainersOfPod(spec, path, errors);
}

void ValidatePod(const Context& ctx, json::Value object, FieldErrors& errors) {
  ValidatePodContent(ctx, object, {}, errors);
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(api::Forbidden(path.Child("ephemeralContainers"), "cannot be set on create"));
  }
  if (!spec["nodeName"].AsString().empty() && !spec["schedulingGates"].empty()) {
    errors.push_back(api::Forbidden(path.Child("nodeName"),
                                    "cannot be set until all schedulingGates have been cleared"));
  }
  CheckSeccompAnnotations(object["metadata"]["annotations"], spec, path, errors);
  CheckAppArmorAgreement(object["metadata"]["annotations"], spec, path, errors);
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// Security contexts, host namespaces and operating systems.

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "api/named_value.h"
#include "api/view/pod.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "json/sorted.h"
#include "registry/pods/app_armor.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

using api::view::ContainerType;

void CheckId(json::Value context, std::string_view field, const FieldPath& path,
             FieldErrors& errors) {
  const json::Value id = context[field];
  if (!id.is_int() || (id.AsInt() >= 0 && id.AsInt() <= 2147483647)) return;
  errors.push_back(
      api::Invalid(path.Child(field), id.AsInt(), "must be between 0 and 2147483647, inclusive"));
}

std::string TextOrNull(json::Value value) {
  return value.is_null() ? "null" : Quoted(value.AsString());
}

void CheckSeccomp(json::Value profile, const FieldPath& path, FieldErrors& errors) {
  if (profile.is_null()) return;
  const std::string_view type = profile["type"].AsString();
  if (type.empty()) {
    errors.push_back(
        api::Required(path.Child("type"), "type is required when seccompProfile is set"));
  } else {
    CheckOneOf(profile["type"], path.Child("type"), {"Localhost", "RuntimeDefault", "Unconfined"},
               errors);
  }
  const json::Value local = profile["localhostProfile"];
  const FieldPath local_path = path.Child("localhostProfile");
  if (type == "Localhost") {
    if (local.is_null()) {
      errors.push_back(api::Required(local_path, "must be set when seccomp type is Localhost"));
    } else {
      CheckDescendingPath(local.AsString(), local_path, errors);
    }
  } else if (!local.is_null()) {
    errors.push_back(api::Invalid(
        local_path,
        api::BadValue::Raw(
            StructJson({{"Type", Quoted(type)}, {"LocalhostProfile", TextOrNull(local)}})),
        "can only be set when seccomp type is Localhost"));
  }
}

// At most 15 characters without a dot in front, of which some are not allowed.
bool IsNetBiosName(std::string_view domain) {
  constexpr std::string_view kNotAllowed = "\\/:*?\"<>|";
  return !domain.empty() && domain.front() != '.' && base::RuneCount(domain) <= 15 &&
         domain.find_first_of(kNotAllowed) == std::string_view::npos;
}

// Labels of letters of either case, digits and inner dashes.
bool IsDnsName(std::string_view domain) {
  const auto labels = base::Split(domain, '.');
  return std::all_of(labels.begin(), labels.end(), [](std::string_view label) {
    return api::IsDns1123Label(base::ToLower(label)).empty();
  });
}

void CheckWindowsOptions(json::Value options, const FieldPath& path, FieldErrors& errors) {
  if (const json::Value name = options["gmsaCredentialSpecName"]; !name.is_null()) {
    CheckSubdomain(name.AsString(), path.Child("gmsaCredentialSpecName"), errors);
  }
  if (const json::Value spec = options["gmsaCredentialSpec"]; !spec.is_null()) {
    const FieldPath at = path.Child("gmsaCredentialSpec");
    if (spec.AsString().empty()) {
      errors.push_back(api::Invalid(at, "", "gmsaCredentialSpec cannot be an empty string"));
    } else if (spec.AsString().size() > std::size_t{64} * 1024) {
      errors.push_back(
          api::Invalid(at, spec.AsString(), "gmsaCredentialSpec size must be under 64 KiB"));
    }
  }
  const json::Value user = options["runAsUserName"];
  if (user.is_null()) return;
  const FieldPath at = path.Child("runAsUserName");
  const auto refuse = [&](std::string_view why) {
    errors.push_back(api::Invalid(at, user.AsString(), why));
  };
  if (user.AsString().empty()) {
    refuse("runAsUserName cannot be an empty string");
    return;
  }
  const std::string_view text = user.AsString();
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return (c >= 0 && c < ' ') || c == 127; })) {
    refuse("runAsUserName cannot contain control characters");
    return;
  }
  const auto parts = base::Split(text, '\\');
  if (parts.size() > 2) {
    refuse("runAsUserName cannot contain more than one backslash");
    return;
  }
  if (parts.size() == 2 && parts.front().size() >= 256) {
    refuse("runAsUserName's Domain length must be under 256 characters");
  }
  if (parts.size() == 2 && !IsNetBiosName(parts.front()) && !IsDnsName(parts.front())) {
    refuse("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  const std::string_view name = parts.back();
  if (name.empty()) refuse("runAsUserName's User cannot be empty");
  if (name.size() > 104) {
    refuse("runAsUserName's User length must not be longer than 104 characters");
  }
  if (!name.empty() && name.find_first_not_of(". ") == std::string_view::npos) {
    refuse("runAsUserName's User cannot contain only periods or spaces");
  }
  if (name.find_first_of("\"/\\:;|=,+*?<>@[]") != std::string_view::npos) {
    refuse("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
  }
}

bool IsSysctlName(std::string_view name) {
  if (name.size() > 253) return false;
  std::string dotted(name);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  for (const std::string_view segment : base::Split(dotted, '.')) {
    const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (segment.empty() || !lower(segment.front()) || !lower(segment.back())) return false;
    for (const char c : segment) {
      if (!lower(c) && c != '-' && c != '_') return false;
    }
  }
  return true;
}

// The namespace of a sysctl: "net", "ipc" or neither.
std::string_view SysctlNamespace(std::string_view name) {
  for (const std::string_view prefix : {"net.", "net/"}) {
    if (name.starts_with(prefix)) return "net";
  }
  for (const std::string_view prefix : {"kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.",
                                        "kernel/shm", "kernel/msg", "kernel/sem", "fs/mqueue/"}) {
    if (name.starts_with(prefix)) return "ipc";
  }
  return "";
}

void CheckSysctls(json::Value spec, json::Value sysctls, const FieldPath& path,
                  FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& sysctl : sysctls.elements()) {
    const FieldPath at = path.Index(index++).Child("name");
    const std::string_view name = sysctl["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(at, ""));
    } else if (!IsSysctlName(name)) {
      errors.push_back(
          api::Invalid(at, name,
                       "must have at most 253 characters and match regex "
                       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"));
    } else if (names.contains(name)) {
      errors.push_back(api::Duplicate(at, name));
    }
    const std::string_view space = SysctlNamespace(name);
    if (space == "net" && spec["hostNetwork"].AsBool()) {
      errors.push_back(api::Invalid(at, name, "may not be specified when 'hostNetwork' is true"));
    } else if (space == "ipc" && spec["hostIPC"].AsBool()) {
      errors.push_back(api::Invalid(at, name, "may not be specified when 'hostIPC' is true"));
    }
    names.insert(name);
  }
}

// Fields that a pod of the other operating system has no use for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kNotOnWindows = {
    {{"securityContext", "appArmorProfile"},
     {"securityContext", "seLinuxOptions"},
     {"", "hostUsers"},
     {"", "hostPID"},
     {"", "hostIPC"},
     {"securityContext", "seccompProfile"},
     {"securityContext", "fsGroup"},
     {"securityContext", "fsGroupChangePolicy"},
     {"securityContext", "sysctls"},
     {"", "shareProcessNamespace"},
     {"securityContext", "runAsUser"},
     {"securityContext", "runAsGroup"},
     {"securityContext", "supplementalGroups"},
     {"securityContext", "supplementalGroupsPolicy"},
     {"securityContext", "seLinuxChangePolicy"}}};
constexpr std::array<std::string_view, 10> kContainerNotOnWindows = {"appArmorProfile",
                                                                     "seLinuxOptions",
                                                                     "seccompProfile",
                                                                     "capabilities",
                                                                     "readOnlyRootFilesystem",
                                                                     "privileged",
                                                                     "allowPrivilegeEscalation",
                                                                     "procMount",
                                                                     "runAsUser",
                                                                     "runAsGroup"};

void CheckWindows(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value spec = pod.spec;
  constexpr std::string_view kText = "cannot be set for a windows pod";
  for (const auto& [parent, field] : kNotOnWindows) {
    const json::Value held = parent.empty() ? spec[field] : spec[parent][field];
    const bool host = field == "hostPID" || field == "hostIPC";
    // Of these alone Go looks whether there is a list, not whether something is in it.
    const bool empty = field == "supplementalGroups" && IsSentEmpty(pod.sent[parent][field]);
    if (!empty && (held.is_null() || (host && !held.AsBool()))) continue;
    const FieldPath at = parent.empty() ? path : path.Child(parent);
    errors.push_back(api::Forbidden(at.Child(field), kText));
  }
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, ContainerType) {
        for (const std::string_view field : kContainerNotOnWindows) {
          if (container["securityContext"][field].is_null()) continue;
          errors.push_back(api::Forbidden(at.Child("securityContext", field), kText));
        }
        return true;
      });
}

void CheckLinux(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kText = "windows options cannot be set for a linux pod";
  if (!spec["securityContext"]["windowsOptions"].is_null()) {
    errors.push_back(api::Forbidden(path.Child("securityContext", "windowsOptions"), kText));
  }
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, ContainerType) {
        if (!container["securityContext"]["windowsOptions"].is_null()) {
          errors.push_back(api::Forbidden(at.Child("securityContext", "windowsOptions"), kText));
        }
        return true;
      });
}

// An annotation and a field that speak of the same profile must agree.
void CheckSeccompAgrees(std::string_view annotation, json::Value profile, const FieldPath& path,
                        FieldErrors& errors) {
  const std::string_view type = profile["type"].AsString();
  constexpr std::string_view kLocal = "localhost/";
  const bool same_type = type == "Unconfined" ? annotation == "unconfined"
                         : type == "RuntimeDefault"
                             ? annotation == "runtime/default" || annotation == "docker/default"
                         : type == "Localhost" ? annotation.starts_with(kLocal)
                                               : true;
  if (!same_type) {
    errors.push_back(
        api::Forbidden(path.Child("type"), "seccomp type in annotation and field must match"));
  } else if (type == "Localhost" &&
             annotation.substr(kLocal.size()) != profile["localhostProfile"].AsString()) {
    errors.push_back(api::Forbidden(path.Child("localhostProfile"),
                                    "seccomp profile in annotation and field must match"));
  }
}

std::unordered_set<std::string_view> NamesOfContainers(json::Value spec) {
  std::unordered_set<std::string_view> names;
  api::view::VisitContainers(spec, FieldPath("spec"),
                             [&](json::Value container, const FieldPath&, ContainerType) {
                               names.insert(container["name"].AsString());
                               return true;
                             });
  return names;
}

}  // namespace

void CheckAppArmor(json::Value profile, const FieldPath& path, FieldErrors& errors) {
  if (profile.is_null()) return;
  const std::string_view type = profile["type"].AsString();
  const json::Value local = profile["localhostProfile"];
  const FieldPath local_path = path.Child("localhostProfile");
  if (type.empty()) {
    errors.push_back(
        api::Required(path.Child("type"), "type is required when appArmorProfile is set"));
  } else if (type == "Localhost") {
    if (!local.is_null() && golang::TrimSpace(local.AsString()) != local.AsString()) {
      errors.push_back(
          api::Invalid(local_path, local.AsString(), "must not be padded with whitespace"));
    } else if (local.AsString().empty()) {
      errors.push_back(api::Required(local_path, "must be set when AppArmor type is Localhost"));
    }
    if (local.AsString().size() > 4095) errors.push_back(api::TooLong(local_path, 4095));
  } else if (CheckOneOf(profile["type"], path.Child("type"),
                        {"Localhost", "RuntimeDefault", "Unconfined"}, errors) &&
             !local.is_null()) {
    errors.push_back(api::Invalid(local_path, local.AsString(),
                                  "can only be set when AppArmor type is Localhost"));
  }
}

void CheckSecurityContext(const PodContext& pod, json::Value context, json::Value sent,
                          const FieldPath& path, FieldErrors& errors) {
  if (context.is_null()) return;
  if (context["privileged"].AsBool() && !pod.ctx.allow_privileged) {
    errors.push_back(api::Forbidden(path.Child("privileged"), "disallowed by cluster policy"));
  }
  CheckId(context, "runAsUser", path, errors);
  CheckId(context, "runAsGroup", path, errors);
  if (const json::Value mount = context["procMount"]; !mount.is_null()) {
    CheckOneOf(mount, path.Child("procMount"), {"Default", "Unmasked"}, errors);
    if (pod.spec["hostUsers"].AsBool(true) && mount.AsString() == "Unmasked") {
      errors.push_back(api::Invalid(path.Child("procMount"), mount.AsString(),
                                    "`hostUsers` must be false to use `Unmasked`"));
    }
  }
  CheckSeccomp(context["seccompProfile"], path.Child("seccompProfile"), errors);
  if (!context["allowPrivilegeEscalation"].AsBool(true)) {
    const auto refuse = [&](std::string_view why) {
      errors.push_back(api::Invalid(
          path, GoValue(pod.ctx, "io.k8s.api.core.v1.SecurityContext", context, sent), why));
    };
    if (context["privileged"].AsBool()) {
      refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    for (const json::Value& capability : context["capabilities"]["add"].elements()) {
      if (capability.AsString() == "CAP_SYS_ADMIN") {
        refuse(
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
            "CAP_SYS_ADMIN");
      }
    }
  }
  CheckWindowsOptions(context["windowsOptions"], path.Child("windowsOptions"), errors);
  CheckAppArmor(context["appArmorProfile"], path.Child("appArmorProfile"), errors);
}

void CheckPodSecurityContext(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value spec = pod.spec;
  const json::Value context = spec["securityContext"];
  if (context.is_null()) return;
  for (const std::string_view field : {"fsGroup", "runAsUser", "runAsGroup"}) {
    CheckId(context, field, path, errors);
  }
  std::size_t index = 0;
  for (const json::Value& group : context["supplementalGroups"].elements()) {
    const FieldPath at = path.Child("supplementalGroups").Index(index++);
    if (group.AsInt() < 0 || group.AsInt() > 2147483647) {
      errors.push_back(
          api::Invalid(at, group.AsInt(), "must be between 0 and 2147483647, inclusive"));
    }
  }
  if (spec["shareProcessNamespace"].AsBool() && spec["hostPID"].AsBool()) {
    errors.push_back(api::Invalid(path.Child("shareProcessNamespace"), true,
                                  "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
  CheckSysctls(spec, context["sysctls"], path.Child("sysctls"), errors);
  if (!context["fsGroupChangePolicy"].is_null()) {
    CheckOneOf(context["fsGroupChangePolicy"], path.Child("fsGroupChangePolicy"),
               {"Always", "OnRootMismatch"}, errors);
  }
  CheckSeccomp(context["seccompProfile"], path.Child("seccompProfile"), errors);
  CheckWindowsOptions(context["windowsOptions"], path.Child("windowsOptions"), errors);
  CheckAppArmor(context["appArmorProfile"], path.Child("appArmorProfile"), errors);
  if (!context["supplementalGroupsPolicy"].is_null()) {
    CheckOneOf(context["supplementalGroupsPolicy"], path.Child("supplementalGroupsPolicy"),
               {"Merge", "Strict"}, errors);
  }
  if (const json::Value policy = context["seLinuxChangePolicy"]; !policy.is_null()) {
    const FieldPath at = path.Child("seLinuxChangePolicy");
    if (pod.mounts_selinux || !pod.old["securityContext"]["seLinuxChangePolicy"].is_null()) {
      CheckOneOf(policy, at, {"MountOption", "Recursive"}, errors);
    } else {
      CheckOneOf(policy, at, {"Recursive"}, errors);
    }
  }
}

void CheckHostProcess(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value spec = pod.spec;
  const auto process_of = [](json::Value owner) -> std::optional<bool> {
    const json::Value value = owner["securityContext"]["windowsOptions"]["hostProcess"];
    return value.is_null() ? std::nullopt : std::optional<bool>(value.AsBool());
  };
  const std::optional<bool> of_pod = process_of(spec);
  std::size_t containers = 0;
  std::size_t processes = 0;
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, ContainerType) {
        ++containers;
        const std::optional<bool> own = process_of(container);
        if (of_pod && own && *of_pod != *own) {
          errors.push_back(api::Invalid(
              at.Child("securityContext", "windowsOptions", "hostProcess"), *own,
              base::StrCat("pod hostProcess value must be identical if both are specified, was ",
                           *of_pod ? "true" : "false")));
        }
        if (own.value_or(of_pod.value_or(false))) ++processes;
        return true;
      });
  if (processes == 0) return;
  if (processes != containers) {
    errors.push_back(api::Invalid(path, "",
                                  "If pod contains any hostProcess containers then all containers "
                                  "must be HostProcess containers"));
  }
  if (!spec["hostNetwork"].AsBool()) {
    errors.push_back(
        api::Invalid(path.Child("hostNetwork"), false,
                     "hostNetwork must be true if pod contains any hostProcess containers"));
  }
  if (!pod.ctx.allow_privileged) {
    errors.push_back(
        api::Forbidden(path, "hostProcess containers are disallowed by cluster policy"));
  }
}

void CheckOperatingSystem(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value os = pod.spec["os"];
  if (os.is_null()) return;
  const std::string_view name = os["name"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("os", "name"), ""));
  } else if (name == "linux") {
    CheckLinux(pod.spec, path, errors);
  } else if (name == "windows") {
    CheckWindows(pod, path, errors);
  } else {
    errors.push_back(
        api::NotSupported(path.Child("os"), api::NamedValue(name), {"linux", "windows"}));
  }
}

void CheckSeccompText(std::string_view profile, const FieldPath& path, FieldErrors& errors) {
  if (profile == "runtime/default" || profile == "docker/default" || profile == "unconfined") {
    return;
  }
  constexpr std::string_view kLocal = "localhost/";
  if (profile.starts_with(kLocal)) {
    CheckDescendingPath(profile.substr(kLocal.size()), path, errors);
  } else {
    errors.push_back(api::Invalid(path, profile, "must be a valid seccomp profile"));
  }
}

void CheckAppArmorText(std::string_view profile, const FieldPath& path, FieldErrors& errors) {
  if (profile.empty() || profile == "runtime/default" || profile == "unconfined" ||
      profile.starts_with("localhost/")) {
    return;
  }
  errors.push_back(api::Invalid(path, profile,
                                base::StrCat("invalid AppArmor profile name: ", Quoted(profile))));
}

void CheckPodAnnotations(json::Value annotations, json::Value spec, const FieldPath& path,
                         FieldErrors& errors) {
  if (annotations.Has(kMirrorAnnotation) && spec["nodeName"].AsString().empty()) {
    errors.push_back(api::Invalid(path.Key(kMirrorAnnotation),
                                  annotations[kMirrorAnnotation].AsString(),
                                  "must set spec.nodeName if mirror pod annotation is set"));
  }
  constexpr std::string_view kCost = "controller.kubernetes.io/pod-deletion-cost";
  if (annotations.Has(kCost)) {
    std::string_view text = annotations[kCost].AsString();
    const auto cost = base::ParseInt(text);
    const bool padded = text.starts_with("+") || (text.size() > 1 && text.starts_with("0"));
    if (!cost || padded || *cost < -2147483648LL || *cost > 2147483647LL) {
      errors.push_back(api::Invalid(path.Key(kCost), text, "must be a 32bit integer"));
    }
  }
  if (annotations.Has(kSeccompPod)) {
    CheckSeccompText(annotations[kSeccompPod].AsString(), path.Child(kSeccompPod), errors);
  }
  for (const json::Member* annotation : json::MembersByName(annotations)) {
    const std::string_view key = annotation->name();
    if (!key.starts_with(kSeccompContainer)) continue;
    CheckSeccompText(annotation->value.AsString(), path.Child(key), errors);
  }
  std::optional<std::unordered_set<std::string_view>> containers;
  for (const json::Member* annotation : json::MembersByName(annotations)) {
    const std::string_view key = annotation->name();
    if (!key.starts_with(kAppArmorAnnotation)) continue;
    if (!containers) containers = NamesOfContainers(spec);
    const std::string_view container = key.substr(kAppArmorAnnotation.size());
    if (!containers->contains(container)) {
      errors.push_back(api::Invalid(path.Key(key), container, "container not found"));
    }
    CheckAppArmorText(annotation->value.AsString(), path.Key(key), errors);
  }
}

void CheckSeccompAnnotations(json::Value annotations, json::Value spec, const FieldPath& spec_path,
                             FieldErrors& errors) {
  if (annotations.empty()) return;
  const json::Value of_pod = spec["securityContext"]["seccompProfile"];
  if (!of_pod.is_null() && annotations.Has(kSeccompPod)) {
    CheckSeccompAgrees(annotations[kSeccompPod].AsString(), of_pod,
                       spec_path.Child("securityContext", "seccompProfile"), errors);
  }
  api::view::VisitContainers(
      spec, spec_path, [&](json::Value container, const FieldPath& at, ContainerType) {
        const json::Value profile = container["securityContext"]["seccompProfile"];
        const std::string key = base::StrCat(kSeccompContainer, container["name"].AsString());
        if (!profile.is_null() && annotations.Has(key)) {
          CheckSeccompAgrees(annotations[key].AsString(), profile,
                             at.Child("securityContext", "seccompProfile"), errors);
        }
        return true;
      });
}

void CheckAppArmorAgreement(json::Value annotations, json::Value spec, const FieldPath& spec_path,
                            FieldErrors& errors) {
  if (annotations.empty() || spec["os"]["name"].AsString() == "windows") return;
  constexpr std::string_view kLocalhost = "localhost/";
  const json::Value of_pod = spec["securityContext"]["appArmorProfile"];
  api::view::VisitContainers(
      spec, spec_path, [&](json::Value container, const FieldPath& at, ContainerType) {
        const std::string key = base::StrCat(kAppArmorAnnotation, container["name"].AsString());
        const json::Value own = container["securityContext"]["appArmorProfile"];
        const json::Value profile = own.is_null() ? of_pod : own;
        const json::Value* annotation = annotations.Find(key);
        if (profile.is_null() || annotation == nullptr) return true;
        const std::string_view text = annotation->AsString();
        const std::string_view type = profile["type"].AsString();
        const FieldPath path = at.Child("securityContext", "appArmorProfile");
        const bool same = type == "Unconfined"       ? text == "unconfined"
                          : type == "RuntimeDefault" ? text == "runtime/default"
                          : type == "Localhost"      ? text.starts_with(kLocalhost)
                                                     : true;
        if (!same) {
          errors.push_back(api::Forbidden(path.Child("type"),
                                          "apparmor type in annotation and field must match"));
        } else if (type == "Localhost" &&
                   profile["localhostProfile"].AsString() != text.substr(kLocalhost.size())) {
          errors.push_back(api::Forbidden(path.Child("localhostProfile"),
                                          "apparmor profile in annotation and field must match"));
        }
        return true;
      });
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// PodSecurityPolicies (pkg/apis/policy/validation up to v1.24, docs/legacy.md).

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr std::array<std::string_view, 30> kVolumes = {"*",
                                                       "awsElasticBlockStore",
                                                       "azureDisk",
                                                       "azureFile",
                                                       "cephFS",
                                                       "cinder",
                                                       "configMap",
                                                       "csi",
                                                       "downwardAPI",
                                                       "emptyDir",
                                                       "ephemeral",
                                                       "fc",
                                                       "flexVolume",
                                                       "flocker",
                                                       "gcePersistentDisk",
                                                       "gitRepo",
                                                       "glusterfs",
                                                       "hostPath",
                                                       "iscsi",
                                                       "nfs",
                                                       "persistentVolumeClaim",
                                                       "photonPersistentDisk",
                                                       "portworxVolume",
                                                       "projected",
                                                       "quobyte",
                                                       "rbd",
                                                       "scaleIO",
                                                       "secret",
                                                       "storageos",
                                                       "vsphereVolume"};

bool Holds(json::Value list, std::string_view text) {
  const auto elements = list.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const json::Value& element) { return element.AsString() == text; });
}

// Annotations that were there before fields.
void CheckProfiles(json::Value annotations, FieldErrors& errors) {
  const FieldPath path("metadata", "annotations");
  constexpr std::string_view kAppArmorDefault =
      "apparmor.security.beta.kubernetes.io/defaultProfileName";
  constexpr std::string_view kAppArmorAllowed =
      "apparmor.security.beta.kubernetes.io/allowedProfileNames";
  constexpr std::string_view kSeccompDefault =
      "seccomp.security.alpha.kubernetes.io/defaultProfileName";
  constexpr std::string_view kSeccompAllowed =
      "seccomp.security.alpha.kubernetes.io/allowedProfileNames";
  CheckAppArmorText(annotations[kAppArmorDefault].AsString(), path.Key(kAppArmorDefault), errors);
  const std::string_view names = annotations[kAppArmorAllowed].AsString();
  FieldErrors of_names;
  for (const std::string_view profile : base::Split(names, ',')) {
    CheckAppArmorText(profile, path.Key(kAppArmorAllowed), of_names);
  }
  for (api::FieldError& error : of_names) {
    error.bad_value = names;  // the whole list is shown
    errors.push_back(std::move(error));
  }
  if (const std::string_view profile = annotations[kSeccompDefault].AsString(); !profile.empty()) {
    CheckSeccompText(profile, path.Key(kSeccompDefault), errors);
  }
  const std::string_view allowed = annotations[kSeccompAllowed].AsString();
  if (allowed.empty()) return;
  for (const std::string_view profile : base::Split(allowed, ',')) {
    if (profile != "*") CheckSeccompText(profile, path.Key(kSeccompAllowed), errors);
  }
}

void CheckRanges(json::Value ranges, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& range : ranges.elements()) {
    const FieldPath at = path.Index(index++);
    const std::int64_t min = range["min"].AsInt();
    const std::int64_t max = range["max"].AsInt();
    if (min < 0) errors.push_back(api::Invalid(at.Child("min"), min, "min cannot be negative"));
    if (max < 0) errors.push_back(api::Invalid(at.Child("max"), max, "max cannot be negative"));
    if (min > max) {
      errors.push_back(api::Invalid(at.Child("min"), min, "min cannot be greater than max"));
    }
  }
}

// {rule, ranges}; the rules in the order in which the message prints them.
void CheckIds(json::Value strategy, const FieldPath& path,
              std::initializer_list<std::string_view> rules, FieldErrors& errors) {
  CheckOneOf(strategy["rule"], path.Child("rule"), rules, errors);
  CheckRanges(strategy["ranges"], path.Child("ranges"), errors);
}

void CheckGroup(json::Value strategy, const FieldPath& path, FieldErrors& errors) {
  if (strategy.is_null()) return;
  const json::Value ranges = strategy["ranges"];
  const FieldPath at = path.Child("ranges");
  const std::string_view rule = strategy["rule"].AsString();
  if (rule == "RunAsAny") {
    if (ranges.empty()) return;
    std::string shown;
    for (const json::Value& range : ranges.elements()) {
      shown += base::StrCat(shown.empty() ? "[" : ",",
                            StructJson({{"Min", Json(range["min"])}, {"Max", Json(range["max"])}}));
    }
    errors.push_back(api::Invalid(at, api::BadValue::Raw(shown + "]"), "Ranges must be empty"));
    return;
  }
  if (!CheckOneOf(strategy["rule"], path.Child("rule"), {"MustRunAs", "RunAsAny", "MayRunAs"},
                  errors)) {
    return;
  }
  if (ranges.empty()) {
    errors.push_back(api::Invalid(at, ranges, "must provide at least one range"));
  }
  CheckRanges(ranges, at, errors);
}

void CheckVolumeTypes(json::Value volumes, const FieldPath& path, FieldErrors& errors) {
  for (const json::Value& volume : volumes.elements()) {
    const std::string_view type = volume.AsString();
    if (std::find(kVolumes.begin(), kVolumes.end(), type) != kVolumes.end()) continue;
    errors.push_back(api::NotSupported(path, type, std::span<const std::string_view>(kVolumes)));
  }
}

void CheckCapabilities(json::Value spec, FieldErrors& errors) {
  const json::Value drops = spec["requiredDropCapabilities"];
  if (!drops.empty() && Holds(spec["allowedCapabilities"], "*")) {
    errors.push_back(api::Invalid(FieldPath("requiredDropCapabilities"), drops,
                                  "must be empty when all capabilities are allowed by a wildcard"));
  }
  for (const std::string_view list : {"defaultAddCapabilities", "allowedCapabilities"}) {
    for (const json::Value& capability : spec[list].elements()) {
      if (!Holds(drops, capability.AsString())) continue;
      errors.push_back(api::Invalid(
          FieldPath(list), capability,
          base::StrCat("capability is listed in ", list, " and requiredDropCapabilities")));
    }
  }
}

void CheckHostPaths(json::Value paths, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& allowed : paths.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view prefix = allowed["pathPrefix"].AsString();
    if (prefix.empty()) {
      errors.push_back(api::Required(at, "is required"));
      return;
    }
    const auto parts = base::Split(prefix, '/');
    if (std::find(parts.begin(), parts.end(), "..") != parts.end()) {
      errors.push_back(api::Invalid(at, prefix, "must not contain '..'"));
    }
  }
}

// The paths that Kubernetes gives these repeat the name of the list.
void CheckDrivers(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& volume : spec["allowedFlexVolumes"].elements()) {
    const FieldPath at = path.Child("allowedFlexVolumes", "allowedFlexVolumes").Index(index++);
    if (volume["driver"].AsString().empty()) {
      errors.push_back(api::Required(at.Child("driver"), "must specify a driver"));
    }
  }
  index = 0;
  for (const json::Value& driver : spec["allowedCSIDrivers"].elements()) {
    const FieldPath at = path.Child("allowedCSIDrivers", "allowedCSIDriver").Index(index++);
    CheckCsiDriverName(driver["name"].AsString(), at.Child("name"), errors);
  }
}

// A name of a sysctl, whose last part may end in a star.
bool IsSysctlPattern(std::string_view name) {
  if (name.size() > 253) return false;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto parts = base::Split(name, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const bool is_last = i + 1 == parts.size();
    if (part.empty() || !(plain(part.back()) || (is_last && part.back() == '*'))) return false;
    if (part.size() > 1 && !plain(part.front())) return false;
    const std::string_view inner = part.substr(0, part.size() - 1);
    if (!std::all_of(inner.begin(), inner.end(),
                     [&](char c) { return plain(c) || c == '-' || c == '_'; })) {
      return false;
    }
  }
  return true;
}

void CheckSysctlPatterns(json::Value sysctls, const FieldPath& path, FieldErrors& errors) {
  bool covers_all = false;
  std::size_t index = 0;
  for (const json::Value& sysctl : sysctls.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = sysctl.AsString();
    if (name.empty()) {
      errors.push_back(api::Invalid(at, name, "empty sysctl not allowed"));
    } else if (!IsSysctlPattern(name)) {
      errors.push_back(
          api::Invalid(at, name,
                       "must have at most 253 characters and match regex "
                       "([a-z0-9]([-_a-z0-9]*[a-z0-9])?\\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"));
    } else if (name.front() == '*') {
      covers_all = true;
    }
  }
  if (covers_all && sysctls.size() > 1) {
    errors.push_back(
        api::Forbidden(path.Child("items"), "if '*' is present, must not specify other sysctls"));
  }
}

// Whether everything that `name` stands for is meant by `pattern`, too.
bool Covers(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  if (name.ends_with('*')) name.remove_suffix(1);
  return name.starts_with(pattern);
}

void CheckSysctlOverlaps(json::Value allowed, json::Value forbidden, const FieldPath& path,
                         FieldErrors& errors) {
  const FieldPath at_allowed = path.Child("allowedUnsafeSysctls");
  const FieldPath at_forbidden = path.Child("forbiddenSysctls");
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    for (std::size_t j = 0; j < forbidden.size(); ++j) {
      const std::string_view one = allowed[i].AsString();
      const std::string_view other = forbidden[j].AsString();
      if (Covers(other, one)) {
        errors.push_back(
            api::Invalid(at_allowed.Index(i), one, base::StrCat("sysctl overlaps with ", other)));
      } else if (Covers(one, other)) {
        errors.push_back(
            api::Invalid(at_forbidden.Index(j), other, base::StrCat("sysctl overlaps with ", one)));
      }
    }
  }
}

void CheckRuntimeClasses(json::Value classes, const FieldPath& path, FieldErrors& errors) {
  if (classes.is_null()) return;
  const json::Value names = classes["allowedRuntimeClassNames"];
  const FieldPath at = path.Child("allowedRuntimeClassNames");
  std::set<std::string_view> allowed;
  std::size_t index = 0;
  for (const json::Value& element : names.elements()) {
    const std::string_view name = element.AsString();
    if (name != "*") CheckSubdomain(name, at.Index(index), errors);
    if (!allowed.insert(name).second) errors.push_back(api::Duplicate(at.Index(index), name));
    ++index;
  }
  const json::Value chosen = classes["defaultRuntimeClassName"];
  if (!chosen.is_null()) {
    CheckSubdomain(chosen.AsString(), path.Child("defaultRuntimeClassName"), errors);
    if (!allowed.contains(chosen.AsString()) && !allowed.contains("*")) {
      errors.push_back(api::Required(
          at, base::StrCat("default ", base::GoQuote(chosen.AsString()), " must be allowed")));
    }
  }
  if (allowed.contains("*") && names.size() > 1) {
    errors.push_back(
        api::Invalid(at, names, "if '*' is present, must not specify other RuntimeClass names"));
  }
}

void ValidatePodSecurityPolicy(const Context&, json::Value object, FieldErrors& errors) {
  CheckProfiles(object["metadata"]["annotations"], errors);
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckIds(spec["runAsUser"], path.Child("runAsUser"),
           {"MustRunAs", "MustRunAsNonRoot", "RunAsAny"}, errors);
  CheckGroup(spec["runAsGroup"], path.Child("runAsGroup"), errors);
  CheckOneOf(spec["seLinux"]["rule"], path.Child("seLinux", "rule"), {"MustRunAs", "RunAsAny"},
             errors);
  for (const std::string_view group : {"supplementalGroups", "fsGroup"}) {
    CheckIds(spec[group], path.Child(group), {"MayRunAs", "MustRunAs", "RunAsAny"}, errors);
  }
  CheckVolumeTypes(spec["volumes"], path.Child("volumes"), errors);
  CheckCapabilities(spec, errors);
  if (spec["defaultAllowPrivilegeEscalation"].AsBool() &&
      !spec["allowPrivilegeEscalation"].AsBool(true)) {
    errors.push_back(api::Invalid(path.Child("defaultAllowPrivilegeEscalation"), true,
                                  "Cannot set DefaultAllowPrivilegeEscalation to true without "
                                  "also setting AllowPrivilegeEscalation to true"));
  }
  std::size_t index = 0;
  for (const json::Value& type : spec["allowedProcMountTypes"].elements()) {
    CheckOneOf(type, path.Child("allowedProcMountTypes").Index(index++), {"Default", "Unmasked"},
               errors);
  }
  CheckHostPaths(spec["allowedHostPaths"], path.Child("allowedHostPaths"), errors);
  CheckDrivers(spec, path, errors);
  for (const std::string_view list : {"allowedUnsafeSysctls", "forbiddenSysctls"}) {
    CheckSysctlPatterns(spec[list], path.Child(list), errors);
  }
  CheckSysctlOverlaps(spec["allowedUnsafeSysctls"], spec["forbiddenSysctls"], path, errors);
  CheckRuntimeClasses(spec["runtimeClass"], path.Child("runtimeClass"), errors);
}

}  // namespace

void AddPodSecurityPolicyStrategy(KindTable& table) {
  table.Add({.group = "policy",
             .resource = "podsecuritypolicies",
             .validate = &ValidatePodSecurityPolicy,
             .traits = {.returns_deleted = true}});
}

}  // namespace portcullis::registry

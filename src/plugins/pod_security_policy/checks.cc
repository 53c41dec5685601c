// SPDX-License-Identifier: Apache-2.0

// The half of a provider that says what a policy does not allow.

#include <algorithm>
#include <string>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/pod_security_policy/profiles.h"
#include "plugins/pod_security_policy/provider.h"

namespace portcullis::plugins::pod_security_policy {
namespace {

using api::FieldPath;

bool Holds(json::Value list, std::string_view text) {
  const auto elements = list.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const json::Value& element) { return element.AsString() == text; });
}

bool IsInRange(json::Value ranges, std::int64_t number) {
  const auto elements = ranges.elements();
  return std::any_of(elements.begin(), elements.end(), [&](const json::Value& range) {
    return number >= range["min"].AsInt() && number <= range["max"].AsInt();
  });
}

// "[{1 10} {20 30}]".
std::string RangesText(json::Value ranges) {
  std::vector<std::string> texts;
  for (const json::Value& range : ranges.elements()) {
    texts.push_back(base::StrCat("{", std::to_string(range["min"].AsInt()), " ",
                                 std::to_string(range["max"].AsInt()), "}"));
  }
  return base::StrCat("[", base::Join(texts, " "), "]");
}

// Whether one of the patterns, which may end in a star, stands for the name.
bool Matches(json::Value patterns, std::string_view name) {
  const auto elements = patterns.elements();
  return std::any_of(elements.begin(), elements.end(), [&](const json::Value& element) {
    std::string_view pattern = element.AsString();
    if (!pattern.ends_with('*')) return pattern == name;
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
  });
}

// At the bounds of path segments.
bool IsUnder(std::string_view path, std::string_view prefix) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '/';
}

// The name that policies have for the volume's source.
std::string_view TypeOf(json::Value volume) {
  for (const json::Member& member : volume.members()) {
    if (member.name() == "name" || member.value.is_null()) continue;
    return member.name() == "cephfs" ? "cephFS" : member.name();
  }
  return {};
}

// Levels of SELinux, whose categories may come in any order.
bool AreEqualLevels(std::string_view expected, std::string_view actual) {
  if (expected == actual) return true;
  const auto one = base::Cut(expected, ":");
  const auto other = base::Cut(actual, ":");
  if (!one || !other || one->first != other->first) return false;
  auto wanted = base::Split(one->second, ',');
  auto found = base::Split(other->second, ',');
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  return wanted == found;
}

class Checks {
 public:
  Checks(json::Value policy, json::Value pod, api::FieldErrors& errors)
      : spec_(policy["spec"]),
        profiles_(policy["metadata"]["annotations"]),
        pod_(pod),
        errors_(errors) {}

  void Run() {
    const FieldPath path("spec", "securityContext");
    const json::Value context = pod_["spec"]["securityContext"];
    const json::Value fs_group = context["fsGroup"];
    CheckGroups(spec_["fsGroup"],
                fs_group.is_null() ? std::vector<json::Value>() : std::vector{fs_group},
                path.Child("fsGroup"));
    const auto groups = context["supplementalGroups"].elements();
    CheckGroups(spec_["supplementalGroups"], {groups.begin(), groups.end()},
                path.Child("supplementalGroups"));
    CheckSeccomp(ProfileOfPod(), FieldPath("pod", "metadata", "annotations").Key(kSeccompOfPod));
    CheckSeLinux(context["seLinuxOptions"], path.Child("seLinuxOptions"));
    CheckHost("hostNetwork", "Host network is not allowed to be used");
    CheckHost("hostPID", "Host PID is not allowed to be used");
    CheckHost("hostIPC", "Host IPC is not allowed to be used");
    CheckSysctls(context["sysctls"]);
    CheckVolumes();
    CheckRuntimeClass();
    VisitContainers(
        [this](json::Value container, const FieldPath& at) { CheckContainer(container, at); });
  }

 private:
  template <typename Visit>
  void VisitContainers(const Visit& visit) const {
    for (const std::string_view list : kLists) {
      std::size_t index = 0;
      for (const json::Value& container : pod_["spec"][list].elements()) {
        visit(container, FieldPath("spec", list).Index(index++));
      }
    }
  }

  void Add(api::FieldError error) { errors_.push_back(std::move(error)); }

  void CheckGroups(json::Value strategy, const std::vector<json::Value>& groups,
                   const FieldPath& path) {
    const std::string_view rule = strategy["rule"].AsString();
    if (rule != kMustRunAs && rule != "MayRunAs") return;
    std::string shown;
    for (const json::Value& group : groups) {
      shown += base::StrCat(shown.empty() ? "[" : ",", std::to_string(group.AsInt()));
    }
    const api::BadValue value = api::BadValue::Raw(shown.empty() ? "null" : shown + "]");
    if (groups.empty() && rule == kMustRunAs) {
      Add(api::Invalid(path, value, "unable to validate empty groups against required ranges"));
    }
    for (const json::Value& group : groups) {
      if (IsInRange(strategy["ranges"], group.AsInt())) continue;
      Add(api::Invalid(path, value,
                       base::StrCat("group ", std::to_string(group.AsInt()),
                                    " must be in the ranges: ", RangesText(strategy["ranges"]))));
    }
  }

  std::string ProfileOfPod() const {
    const json::Value text = pod_["metadata"]["annotations"][kSeccompOfPod];
    if (!text.AsString().empty()) return std::string(text.AsString());
    return SeccompText(pod_["spec"]["securityContext"]["seccompProfile"]);
  }
  std::string ProfileOf(json::Value container, std::string_view key) const {
    const json::Value text = pod_["metadata"]["annotations"][key];
    if (!text.is_null()) return std::string(text.AsString());
    std::string own = SeccompText(container["securityContext"]["seccompProfile"]);
    return own.empty() ? ProfileOfPod() : own;
  }
  void CheckSeccomp(const std::string& profile, const FieldPath& path) {
    const json::Value names = profiles_[kSeccompAllowed];
    const auto allowed =
        names.is_null() ? std::vector<std::string_view>() : base::Split(names.AsString(), ',');
    const auto has = [&](std::string_view name) {
      return std::find(allowed.begin(), allowed.end(), name) != allowed.end();
    };
    if (has("*") || has(profile)) return;
    if (allowed.empty()) {
      if (!profile.empty()) Add(api::Forbidden(path, "seccomp may not be set"));
      return;
    }
    Add(api::Forbidden(
        path, base::StrCat(profile, " is not an allowed seccomp profile. Valid values are ",
                           names.AsString())));
  }

  void CheckAppArmor(std::string_view container) {
    const json::Value names = profiles_[kAppArmorAllowed];
    if (names.is_null()) return;
    const std::string key = base::StrCat(kAppArmorOfContainer, container);
    const FieldPath path = FieldPath("pod", "metadata", "annotations").Key(key);
    const std::string_view profile = pod_["metadata"]["annotations"][key].AsString();
    const auto allowed = base::Split(names.AsString(), ',');
    if (profile.empty()) return Add(api::Forbidden(path, "AppArmor profile must be set"));
    if (std::find(allowed.begin(), allowed.end(), profile) != allowed.end()) return;
    Add(api::Forbidden(path, base::StrCat(profile, " is not an allowed profile. Allowed values: ",
                                          base::GoQuote(names.AsString()))));
  }

  void CheckSeLinux(json::Value options, const FieldPath& path) {
    if (spec_["seLinux"]["rule"].AsString() != kMustRunAs) return;
    if (options.is_null()) return Add(api::Required(path, ""));
    for (const std::string_view field : {"level", "role", "type", "user"}) {
      const std::string_view wanted = spec_["seLinux"]["seLinuxOptions"][field].AsString();
      const std::string_view found = options[field].AsString();
      if (field == "level" ? AreEqualLevels(wanted, found) : wanted == found) continue;
      Add(api::Invalid(path.Child(field), found, base::StrCat("must be ", wanted)));
    }
  }

  void CheckHost(std::string_view field, std::string_view detail) {
    if (spec_[field].AsBool() || !pod_["spec"][field].AsBool()) return;
    Add(api::Invalid(FieldPath("spec", "securityContext", field), true, detail));
  }

  void CheckSysctls(json::Value sysctls) {
    constexpr std::string_view kSafe[] = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
                                          "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range"};
    std::size_t index = 0;
    for (const json::Value& sysctl : sysctls.elements()) {
      const FieldPath path = FieldPath("pod", "spec", "securityContext", "sysctls").Index(index++);
      const std::string_view name = sysctl["name"].AsString();
      const std::string text = base::StrCat("sysctl ", base::GoQuote(name), " is not allowed");
      if (Matches(spec_["forbiddenSysctls"], name)) {
        Add(api::Forbidden(path, text));
      } else if (std::find(std::begin(kSafe), std::end(kSafe), name) == std::end(kSafe) &&
                 !Matches(spec_["allowedUnsafeSysctls"], name)) {
        Add(api::Forbidden(path, "unsafe " + text));
      }
    }
  }

  void CheckVolumes() {
    std::size_t index = 0;
    for (const json::Value& volume : pod_["spec"]["volumes"].elements()) {
      const FieldPath path = FieldPath("spec", "volumes").Index(index++);
      const std::string_view type = TypeOf(volume);
      if (!Holds(spec_["volumes"], "*") && !Holds(spec_["volumes"], type)) {
        Add(api::Invalid(path, type, base::StrCat(type, " volumes are not allowed to be used")));
      } else if (type == "hostPath") {
        CheckHostPath(volume, path);
      } else if (type == "flexVolume") {
        CheckDriver(volume["flexVolume"]["driver"], {"allowedFlexVolumes", "driver"},
                    path.Child("driver"), "Flexvolume driver is not allowed to be used");
      } else if (type == "csi") {
        CheckDriver(volume["csi"]["driver"], {"allowedCSIDrivers", "name"},
                    path.Child("csi", "driver"), "Inline CSI driver is not allowed to be used");
      }
    }
  }

  void CheckHostPath(json::Value volume, const FieldPath& path) {
    const json::Value allowed = spec_["allowedHostPaths"];
    if (allowed.empty()) return;
    const std::string_view host_path = volume["hostPath"]["path"].AsString();
    bool is_allowed = false;
    for (const json::Value& entry : allowed.elements()) {
      if (!IsUnder(host_path, entry["pathPrefix"].AsString())) continue;
      if (!entry["readOnly"].AsBool()) return;
      is_allowed = true;
    }
    if (!is_allowed) {
      Add(api::Invalid(path.Child("hostPath", "pathPrefix"), host_path,
                       "is not allowed to be used"));
      return;
    }
    VisitContainers([&](json::Value container, const FieldPath& at) {
      std::size_t index = 0;
      for (const json::Value& mount : container["volumeMounts"].elements()) {
        const std::size_t number = index++;
        if (mount["name"] != volume["name"] || mount["readOnly"].AsBool()) continue;
        Add(api::Invalid(at.Child("volumeMounts").Index(number).Child("readOnly"), false,
                         "must be read-only"));
      }
    });
  }

  struct DriverList {
    std::string_view list;
    std::string_view member;
  };
  void CheckDriver(json::Value driver, const DriverList& allowed, const FieldPath& path,
                   std::string_view detail) {
    const auto entries = spec_[allowed.list].elements();
    if (entries.empty()) return;
    const bool found = std::any_of(entries.begin(), entries.end(), [&](const json::Value& entry) {
      return entry[allowed.member].AsString() == driver.AsString();
    });
    if (!found) Add(api::Invalid(path, driver, detail));
  }

  void CheckRuntimeClass() {
    const json::Value name = pod_["spec"]["runtimeClassName"];
    const json::Value allowed = spec_["runtimeClass"]["allowedRuntimeClassNames"];
    if (spec_["runtimeClass"].is_null() || name.is_null()) return;
    if (Holds(allowed, "*") || Holds(allowed, name.AsString())) return;
    Add(api::Invalid(FieldPath("spec", "runtimeClassName"), name, ""));
  }

  void CheckContainer(json::Value container, const FieldPath& at) {
    const FieldPath path = at.Child("securityContext");
    const std::string_view name = container["name"].AsString();
    CheckUser(Effective(pod_, container, "runAsNonRoot"), Effective(pod_, container, "runAsUser"),
              path);
    const json::Value group = Effective(pod_, container, "runAsGroup");
    CheckGroups(spec_["runAsGroup"],
                group.is_null() ? std::vector<json::Value>() : std::vector{group}, path);
    CheckSeLinux(Effective(pod_, container, "seLinuxOptions"), path.Child("seLinuxOptions"));
    CheckAppArmor(name);
    const std::string key = base::StrCat(kSeccompOfContainer, name);
    CheckSeccomp(ProfileOf(container, key), FieldPath("pod", "metadata", "annotations").Key(key));
    const json::Value context = container["securityContext"];
    if (!spec_["privileged"].AsBool() && context["privileged"].AsBool()) {
      Add(api::Invalid(path.Child("privileged"), true, "Privileged containers are not allowed"));
    }
    CheckProcMount(context["procMount"], path.Child("procMount"));
    CheckCapabilities(context["capabilities"], path.Child("capabilities"));
    CheckHostPorts(container["ports"], at.Child("hostPort"));
    if (spec_["readOnlyRootFilesystem"].AsBool()) {
      const json::Value read_only = context["readOnlyRootFilesystem"];
      const FieldPath place = path.Child("readOnlyRootFilesystem");
      if (read_only.is_null()) {
        Add(api::Invalid(place, read_only,
                         "ReadOnlyRootFilesystem may not be nil and must be set to true"));
      } else if (!read_only.AsBool()) {
        Add(api::Invalid(place, false, "ReadOnlyRootFilesystem must be set to true"));
      }
    }
    const json::Value escalation = context["allowPrivilegeEscalation"];
    if (!spec_["allowPrivilegeEscalation"].AsBool(true) && escalation.AsBool(true)) {
      Add(api::Invalid(path.Child("allowPrivilegeEscalation"), escalation,
                       "Allowing privilege escalation for containers is not allowed"));
    }
  }

  void CheckUser(json::Value non_root, json::Value user, const FieldPath& path) {
    const json::Value strategy = spec_["runAsUser"];
    const std::string_view rule = strategy["rule"].AsString();
    const FieldPath at = path.Child("runAsUser");
    if (rule == kMustRunAs) {
      if (user.is_null()) return Add(api::Required(at, ""));
      if (IsInRange(strategy["ranges"], user.AsInt())) return;
      Add(api::Invalid(at, user,
                       base::StrCat("must be in the ranges: ", RangesText(strategy["ranges"]))));
    }
    if (rule != "MustRunAsNonRoot") return;
    if (non_root.is_null() && user.is_null()) {
      Add(api::Required(path.Child("runAsNonRoot"), "must be true"));
    } else if (!non_root.AsBool(true)) {
      Add(api::Invalid(path.Child("runAsNonRoot"), false, "must be true"));
    } else if (!user.is_null() && user.AsInt() == 0) {
      Add(api::Invalid(at, user, "running with the root UID is forbidden"));
    }
  }

  void CheckProcMount(json::Value mount, const FieldPath& path) {
    const std::string_view type = mount.is_null() ? "Default" : mount.AsString();
    const json::Value allowed = spec_["allowedProcMountTypes"];
    if (allowed.empty() ? type == "Default" : Holds(allowed, type)) return;
    Add(api::Invalid(path, type, "ProcMountType is not allowed"));
  }

  void CheckCapabilities(json::Value capabilities, const FieldPath& path) {
    const json::Value defaults = spec_["defaultAddCapabilities"];
    const json::Value required = spec_["requiredDropCapabilities"];
    const json::Value allowed = spec_["allowedCapabilities"];
    if (capabilities.is_null()) {
      if (defaults.empty() && required.empty()) return;
      return Add(api::Invalid(path, capabilities,
                              "required capabilities are not set on the securityContext"));
    }
    if (Holds(allowed, "*")) return;
    for (const json::Value& name : capabilities["add"].elements()) {
      if (Holds(defaults, name.AsString()) || Holds(allowed, name.AsString())) continue;
      Add(api::Invalid(path.Child("add"), name, "capability may not be added"));
    }
    for (const json::Value& name : required.elements()) {
      if (Holds(capabilities["drop"], name.AsString())) continue;
      Add(api::Invalid(
          path.Child("drop"), capabilities["drop"],
          base::StrCat(name.AsString(), " is required to be dropped but was not found")));
    }
  }

  void CheckHostPorts(json::Value ports, const FieldPath& path) {
    std::vector<std::string> allowed;
    for (const json::Value& range : spec_["hostPorts"].elements()) {
      const std::string min = std::to_string(range["min"].AsInt());
      const std::string max = std::to_string(range["max"].AsInt());
      allowed.push_back(min == max ? min : base::StrCat(min, "-", max));
    }
    for (const json::Value& port : ports.elements()) {
      const std::int64_t number = port["hostPort"].AsInt();
      if (number <= 0 || IsInRange(spec_["hostPorts"], number)) continue;
      Add(api::Invalid(path, number,
                       base::StrCat("Host port ", std::to_string(number),
                                    " is not allowed to be used. Allowed ports: [",
                                    base::Join(allowed, ","), "]")));
    }
  }

  const json::Value spec_;
  const json::Value profiles_;  // annotations of the policy
  const json::Value pod_;
  api::FieldErrors& errors_;
};

}  // namespace

base::Result<Provider> Provider::Create(json::Value policy) {
  const json::Value spec = policy["spec"];
  for (const std::string_view field :
       {"runAsUser", "runAsGroup", "supplementalGroups", "fsGroup"}) {
    if (spec[field]["rule"].AsString() == kMustRunAs && spec[field]["ranges"].empty()) {
      return base::ConfigError(base::StrCat(field, ": ranges must be supplied for MustRunAs"));
    }
  }
  if (spec["seLinux"]["rule"].AsString() == kMustRunAs &&
      spec["seLinux"]["seLinuxOptions"].is_null()) {
    return base::ConfigError("MustRunAs requires SELinuxOptions");
  }
  return Provider(policy);
}

void Provider::Validate(json::Value pod, api::FieldErrors& errors) const {
  Checks(policy_, pod, errors).Run();
}

}  // namespace portcullis::plugins::pod_security_policy

// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/pod_warnings.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "api/field_error.h"
#include "api/quantity.h"
#include "api/selector/label_selector.h"
#include "api/view/pod.h"
#include "base/gotext.h"
#include "base/inline_vector.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "registry/pods/app_armor.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/volume_path_warnings.h"
#include "registry/validation/addresses.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

using api::FieldPath;
using Texts = std::vector<std::string>;

struct Deprecation {
  std::string_view name;
  std::string_view text;
};
constexpr Deprecation kNodeLabels[] = {
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone",
     "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type",
     "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
    {"app.kubernetes.io/created-by", "deprecated since v1.9"},
    {"scheduler.alpha.kubernetes.io/preferAvoidPods",
     "deprecated since v1.22; use Taints and Tolerations instead"},
    {"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
};
constexpr Deprecation kDeprecatedVolumes[] = {
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};
constexpr Deprecation kAnnotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod",
     "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    {"security.alpha.kubernetes.io/sysctls",
     "non-functional in v1.11+; use the \"sysctls\" field instead"},
    {"security.alpha.kubernetes.io/unsafe-sysctls",
     "non-functional in v1.11+; use the \"sysctls\" field instead"},
};

// "" if the table does not have it.
std::string_view Find(std::span<const Deprecation> table, std::string_view name) {
  for (const Deprecation& one : table) {
    if (one.name == name) return one.text;
  }
  return "";
}

constexpr std::string_view kUseSeccomp =
    ": non-functional in v1.27+; use the \"seccompProfile\" field instead";
constexpr std::string_view kNoSelector = ": a null labelSelector results in matching no pod";

constexpr std::size_t kMostDigits = 18;   // of what int64 holds a thousand times
constexpr std::size_t kMostOfBinary = 8;  // likewise, up to "999999Gi"

// Whether there is nothing in the amount's text that could make it a fraction, as nearly always.
bool IsPlainlyWhole(json::Value value) {
  const std::string_view text = value.AsString();
  const bool binary = text.ends_with('i');
  return !text.empty() && text.size() <= (binary ? kMostOfBinary : kMostDigits) &&
         text.find_first_of(binary ? ".-mnuTPE" : ".-mnu") == std::string_view::npos;
}

// Whether Go's count of thousandths is no multiple of 1000. What int64 cannot hold counts as none if
// it has at most 18 digits; longer whole numbers, and what is in binary units, are multiplied in 64
// bits, whatever comes of it.
bool CountsAsFraction(const api::Quantity& amount, std::string_view text) {
  const std::int64_t milli = amount.MilliValue();
  using Limits = std::numeric_limits<std::int64_t>;
  if (milli != Limits::max() && milli != Limits::min()) return milli % 1000 != 0;
  constexpr std::string_view kUnits = "m kMGTPE";  // a thousand times as much each; ' ' is none
  std::uint64_t wrapped = 0;
  std::size_t unit = kUnits.find(' ');
  if (text.ends_with('i')) {
    wrapped = static_cast<std::uint64_t>(amount.Value());
  } else {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits <= kMostDigits) return false;
    for (const char c : text.substr(0, digits)) {
      wrapped = wrapped * 10 + static_cast<std::uint64_t>(c - '0');
    }
    const std::string_view suffix = text.substr(digits);
    if (!suffix.empty()) unit = kUnits.find(suffix);
    if (unit == std::string_view::npos) return false;
  }
  for (; unit > 0; --unit) wrapped *= 1000;
  return static_cast<std::int64_t>(wrapped) % 1000 != 0;
}

// `names` lead from `path` to the amounts.
template <typename... Names>
void Fraction(json::Value amounts, std::string_view resource, Texts& warnings,
              const FieldPath& path, Names... names) {
  const json::Value* value = amounts.Find(resource);
  if (value == nullptr || IsPlainlyWhole(*value)) return;
  const api::Quantity amount = QuantityOf(*value);
  if (!CountsAsFraction(amount, value->AsString())) return;
  const FieldPath at = path.Child(names...).Key(resource);
  warnings.push_back(base::StrCat(at.ToString(), ": fractional byte value ",
                                  base::GoQuote(amount.ToString()),
                                  " is invalid, must be an integer"));
}

void SchedulingWarnings(json::Value spec, const FieldPath& path, Texts& warnings) {
  for (const json::Member* entry : json::MembersByName(spec["nodeSelector"])) {
    const std::string_view text = DeprecatedNodeLabel(entry->name());
    if (text.empty()) continue;
    warnings.push_back(
        base::StrCat(path.Child("nodeSelector").Key(entry->name()).ToString(), ": ", text));
  }
  const json::Value node = spec["affinity"]["nodeAffinity"];
  const FieldPath node_path = path.Child("affinity", "nodeAffinity");
  std::size_t index = 0;
  const FieldPath required =
      node_path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms");
  for (const json::Value& term :
       node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].elements()) {
    NodeTermWarnings(term, false, required.Index(index++), warnings);
  }
  index = 0;
  const FieldPath preferred = node_path.Child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const json::Value& term :
       node["preferredDuringSchedulingIgnoredDuringExecution"].elements()) {
    NodeTermWarnings(term["preference"], true, preferred.Index(index++).Child("preference"),
                     warnings);
  }
  index = 0;
  for (const json::Value& constraint : spec["topologySpreadConstraints"].elements()) {
    const FieldPath at = path.Child("topologySpreadConstraints").Index(index++);
    const std::string_view key = constraint["topologyKey"].AsString();
    if (const std::string_view text = DeprecatedNodeLabel(key); !text.empty()) {
      warnings.push_back(base::StrCat(at.Child("topologyKey").ToString(), ": ", key, " is ", text));
    }
    if (constraint["labelSelector"].is_null()) {
      warnings.push_back(base::StrCat(at.Child("labelSelector").ToString(), kNoSelector));
    }
  }
}

void VolumeWarnings(json::Value spec, const FieldPath& path, Texts& warnings) {
  std::size_t index = 0;
  for (const json::Value& volume : spec["volumes"].elements()) {
    const FieldPath at = path.Child("volumes").Index(index++);
    const auto deprecated = [&](std::string_view source) {
      if (volume[source].is_null()) return;
      warnings.push_back(
          base::StrCat(at.Child(source == "storageos" ? "storageOS" : source).ToString(), ": ",
                       DeprecatedVolume(source)));
    };
    for (const std::string_view source : {"photonPersistentDisk", "gitRepo", "scaleIO", "flocker",
                                          "storageos", "quobyte", "glusterfs"}) {
      deprecated(source);
    }
    if (const json::Value claim = volume["ephemeral"]["volumeClaimTemplate"]; !claim.is_null()) {
      ClaimSpecWarnings(claim["spec"], at.Child("ephemeral", "volumeClaimTemplate", "spec"),
                        warnings);
    }
    deprecated("cephfs");
    deprecated("rbd");
  }
}

// The names of a list so far. Most lists have few.
class SeenNames {
 public:
  // Whether it is there for the first time.
  bool Insert(std::string_view name) {
    if (few_.size() == kFew) {
      if (all_.empty()) all_.insert(few_.begin(), few_.end());
      return all_.insert(name).second;
    }
    if (std::find(few_.begin(), few_.end(), name) != few_.end()) return false;
    few_.push_back(name);
    return true;
  }

 private:
  static constexpr std::size_t kFew = 16;
  base::InlineVector<std::string_view, kFew> few_;
  std::set<std::string_view> all_;  // once there are more
};

// "<place>: duplicate <what> "<text>"" for each that was there before.
void Duplicates(json::Value list, std::string_view field, std::string_view what,
                const FieldPath& path, Texts& warnings) {
  SeenNames seen;
  std::size_t index = 0;
  for (const json::Value& element : list.elements()) {
    const std::size_t place = index++;
    const std::string_view text = element[field].AsString();
    if (seen.Insert(text)) continue;
    const FieldPath at = path.Index(place).Child(field);
    warnings.push_back(base::StrCat(at.ToString(), ": duplicate ", what, " ", base::GoQuote(text)));
  }
}

void EnvWarnings(json::Value env, const FieldPath& path, Texts& warnings) {
  SeenNames names;
  std::size_t index = 0;
  for (const json::Value& variable : env.elements()) {
    const std::size_t place = index++;
    const std::string_view name = variable["name"].AsString();
    if (names.Insert(name)) continue;
    const std::string reference = base::StrCat("$(", name, ")");
    const std::string_view value = variable["value"].AsString();
    const bool bad = !variable["valueFrom"].is_null() || value == reference ||
                     value.find(reference) == std::string_view::npos;
    if (!bad) continue;
    warnings.push_back(base::StrCat(path.Index(place).ToString(), ": hides previous definition of ",
                                    base::GoQuote(name),
                                    ", which may be dropped when using apply"));
  }
}

struct Port {
  FieldPath place;
  std::int64_t host_port = 0;
  std::string_view host_ip;
};

// The ports of one number and protocol so far.
class SamePorts {
 public:
  // Warns of each earlier one that this one may conflict with, in their order.
  void Add(Port one, Texts& warnings) {
    while (indexed_ < ports_.size()) Index(indexed_++);
    for (const std::size_t index : Conflicts(one)) {
      if (warnings.size() >= kMostWarnings) break;
      const Port& other = ports_[index];
      const bool same = one.host_ip == other.host_ip && one.host_port == other.host_port;
      const bool redundant = one.host_port == 0 || other.host_port == 0;
      warnings.push_back(base::StrCat(one.place.ToString(),
                                      same        ? ": duplicate port definition with "
                                      : redundant ? ": overlapping port definition with "
                                                  : ": dangerously ambiguous port definition with ",
                                      other.place.ToString()));
    }
    ports_.push_back(std::move(one));
  }

 private:
  using Indices = std::vector<std::size_t>;

  void Index(std::size_t place) {
    const Port& port = ports_[place];
    by_host_port_[port.host_port].push_back(place);
    by_address_[{port.host_port, port.host_ip}].push_back(place);
  }

  // Without a host port it conflicts with all; else with those without one, and with those of the
  // same one whose host IP is the same or says nothing, or that have any if it says nothing itself.
  Indices Conflicts(const Port& one) const {
    Indices out;
    const auto add = [&](const auto& index, const auto& key) {
      const auto found = index.find(key);
      if (found == index.end()) return;
      const std::size_t most = std::min(found->second.size(), kMostWarnings);
      out.insert(out.end(), found->second.begin(),
                 found->second.begin() + static_cast<std::ptrdiff_t>(most));
    };
    if (one.host_port == 0) {
      out.resize(std::min(ports_.size(), kMostWarnings));
      std::iota(out.begin(), out.end(), 0U);
      return out;
    }
    add(by_host_port_, std::int64_t{0});
    if (one.host_ip.empty()) {
      add(by_host_port_, one.host_port);
    } else {
      add(by_address_, std::pair(one.host_port, one.host_ip));
      add(by_address_, std::pair(one.host_port, std::string_view()));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::vector<Port> ports_;
  // Of ports_, but for the last one: most ports are the only one of their number.
  std::size_t indexed_ = 0;
  std::map<std::int64_t, Indices> by_host_port_;
  std::map<std::pair<std::int64_t, std::string_view>, Indices> by_address_;
};

// By number and protocol.
using AllPorts = std::map<std::pair<std::int64_t, std::string_view>, SamePorts>;

void PortWarnings(json::Value container, const FieldPath& path, AllPorts& all, Texts& warnings) {
  std::size_t index = 0;
  for (const json::Value& port : container["ports"].elements()) {
    const Port one{path.Child("ports").Index(index++), port["hostPort"].AsInt(),
                   port["hostIP"].AsString()};
    const std::int64_t number = port["containerPort"].AsInt();
    const std::string_view protocol = port["protocol"].AsString();
    if (!one.host_ip.empty() && one.host_port == 0) {
      warnings.push_back(base::StrCat(
          one.place.ToString(), ": hostIP set without hostPort: {Name:", port["name"].AsString(),
          " HostPort:0 ContainerPort:", std::to_string(number), " Protocol:", protocol,
          " HostIP:", one.host_ip, "}"));
    }
    all[{number, protocol}].Add(one, warnings);
  }
}

void PortNameWarnings(json::Value spec, const FieldPath& path, Texts& warnings) {
  std::map<std::string_view, std::string> places;
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, api::view::ContainerType) {
        std::size_t index = 0;
        for (const json::Value& port : container["ports"].elements()) {
          const std::size_t number = index++;
          const std::string_view name = port["name"].AsString();
          if (name.empty()) continue;
          std::string place = at.Child("ports").Index(number).ToString();
          const auto found = places.find(name);
          if (found == places.end()) {
            places.emplace(name, std::move(place));
          } else if (warnings.size() < kMostWarnings) {
            warnings.push_back(base::StrCat(
                place, ": duplicate port name ", base::GoQuote(name), " with ", found->second,
                ", services and probes that select ports by name will use ", found->second));
          }
        }
        return true;
      });
}

void ProfileWarnings(json::Value container, json::Value metadata, json::Value spec,
                     bool is_template, const FieldPath& annotations, Texts& warnings) {
  const json::Value held = metadata["annotations"];
  if (held.empty()) return;
  const std::string_view name = container["name"].AsString();
  const json::Value context = container["securityContext"];
  const std::string seccomp = base::StrCat(kSeccompContainer, name);
  if (context["seccompProfile"].is_null() && held.Has(seccomp)) {
    warnings.push_back(base::StrCat(annotations.Key(seccomp).ToString(), kUseSeccomp));
  }
  // Of a pod itself ReadAppArmorAnnotations() has warned.
  if (!is_template || !context["appArmorProfile"].is_null()) return;
  const std::string apparmor = base::StrCat(kAppArmorAnnotation, name);
  const json::Value* annotation = held.Find(apparmor);
  if (annotation != nullptr &&
      !SaysAppArmorProfile(annotation->AsString(), spec["securityContext"]["appArmorProfile"])) {
    warnings.push_back(AppArmorAnnotationWarning(annotations.Key(apparmor).ToString()));
  }
}

void ContainerWarnings(json::Value container, const FieldPath& path, Texts& warnings) {
  const json::Value resources = container["resources"];
  for (const std::string_view resource : {"memory", "ephemeral-storage"}) {
    for (const std::string_view list : {"limits", "requests"}) {
      Fraction(resources[list], resource, warnings, path, "resources", list);
    }
  }
  EnvWarnings(container["env"], path.Child("env"), warnings);
}

void AffinityWarnings(json::Value affinity, const FieldPath& path, Texts& warnings) {
  std::size_t index = 0;
  const FieldPath required = path.Child("requiredDuringSchedulingIgnoredDuringExecution");
  for (const json::Value& term :
       affinity["requiredDuringSchedulingIgnoredDuringExecution"].elements()) {
    const FieldPath at = required.Index(index++);
    if (!term["labelSelector"].is_null()) continue;
    warnings.push_back(base::StrCat(at.Child("labelSelector").ToString(), kNoSelector));
  }
  index = 0;
  const FieldPath preferred = path.Child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const json::Value& term :
       affinity["preferredDuringSchedulingIgnoredDuringExecution"].elements()) {
    const FieldPath at = preferred.Index(index++);
    if (!term["podAffinityTerm"]["labelSelector"].is_null()) continue;
    warnings.push_back(
        base::StrCat(at.Child("podAffinityTerm", "labelSelector").ToString(), kNoSelector));
  }
}

}  // namespace

std::string_view DeprecatedNodeLabel(std::string_view key) { return Find(kNodeLabels, key); }

std::string_view DeprecatedVolume(std::string_view source) {
  return Find(kDeprecatedVolumes, source);
}

void NodeTermWarnings(json::Value term, bool check_values, const FieldPath& path, Texts& warnings) {
  std::size_t index = 0;
  for (const json::Value& expression : term["matchExpressions"].elements()) {
    const FieldPath at = path.Child("matchExpressions").Index(index++);
    const std::string_view key = expression["key"].AsString();
    if (const std::string_view text = DeprecatedNodeLabel(key); !text.empty()) {
      warnings.push_back(base::StrCat(at.Child("key").ToString(), ": ", key, " is ", text));
    }
    if (!check_values) continue;
    std::size_t value_index = 0;
    for (const json::Value& value : expression["values"].elements()) {
      const FieldPath value_path = at.Child("values").Index(value_index++);
      for (const std::string& text : api::IsValidLabelValue(value.AsString())) {
        warnings.push_back(
            base::StrCat(value_path.ToString(), ": ", value.AsString(), " is invalid, ", text));
      }
    }
  }
}

void ClaimSpecWarnings(json::Value spec, const FieldPath& path, Texts& warnings) {
  for (const std::string_view list : {"requests", "limits"}) {
    Fraction(spec["resources"][list], "storage", warnings, path, "resources", list);
  }
}

void PodWarnings(json::Value metadata, json::Value spec, const FieldPath& root, Texts& warnings) {
  const bool is_template = !root.empty();
  const FieldPath annotations =
      is_template ? root.Child("metadata", "annotations") : FieldPath("metadata", "annotations");
  const FieldPath path = is_template ? root.Child("spec") : FieldPath("spec");
  SchedulingWarnings(spec, path, warnings);
  for (const Deprecation& annotation : kAnnotations) {
    if (!metadata["annotations"].Has(annotation.name)) continue;
    warnings.push_back(
        base::StrCat(annotations.Key(annotation.name).ToString(), ": ", annotation.text));
  }
  VolumeWarnings(spec, path, warnings);
  VolumePathWarnings(spec["volumes"], warnings);
  Duplicates(spec["hostAliases"], "ip", "ip", path.Child("hostAliases"), warnings);
  Duplicates(spec["imagePullSecrets"], "name", "name", path.Child("imagePullSecrets"), warnings);
  std::size_t index = 0;
  for (const json::Value& secret : spec["imagePullSecrets"].elements()) {
    const std::size_t place = index++;
    if (!secret["name"].AsString().empty()) continue;
    const FieldPath at = path.Child("imagePullSecrets").Index(place).Child("name");
    warnings.push_back(base::StrCat(at.ToString(), ": invalid empty name \"\""));
  }
  for (const std::string_view resource : {"memory", "ephemeral-storage"}) {
    Fraction(spec["overhead"], resource, warnings, path, "overhead");
  }
  if (spec["securityContext"]["seccompProfile"].is_null() &&
      metadata["annotations"].Has(kSeccompPod)) {
    warnings.push_back(base::StrCat(annotations.Key(kSeccompPod).ToString(), kUseSeccomp));
  }
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, api::view::ContainerType) {
        ProfileWarnings(container, metadata, spec, is_template, annotations, warnings);
        ContainerWarnings(container, at, warnings);
        return true;
      });
  AllPorts ports;
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, api::view::ContainerType) {
        PortWarnings(container, at, ports, warnings);
        return true;
      });
  PortNameWarnings(spec, path, warnings);
  const json::Value grace = spec["terminationGracePeriodSeconds"];
  if (grace.is_int() && grace.AsInt() < 0) {
    warnings.push_back(
        base::StrCat(path.Child("terminationGracePeriodSeconds").ToString(),
                     ": must be >= 0; negative values are invalid and will be treated as 1"));
  }
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    AffinityWarnings(spec["affinity"][kind], path.Child("affinity", kind), warnings);
  }
  index = 0;
  for (const json::Value& server : spec["dnsConfig"]["nameservers"].elements()) {
    WarnOfIp(server.AsString(), path.Child("dnsConfig", "nameservers").Index(index++), warnings);
  }
  index = 0;
  for (const json::Value& alias : spec["hostAliases"].elements()) {
    WarnOfIp(alias["ip"].AsString(), path.Child("hostAliases").Index(index++).Child("ip"),
             warnings);
  }
}

}  // namespace portcullis::registry

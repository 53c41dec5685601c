// SPDX-License-Identifier: Apache-2.0

// The core group, without what makes pods.

#include <algorithm>

#include "base/strings.h"
#include "server/table/cells.h"

namespace portcullis::server::table {
namespace {

std::string PortsText(json::Value service) {
  std::vector<std::string> ports;
  for (const json::Value& port : service["spec"]["ports"].elements()) {
    std::string text = std::to_string(port["port"].AsInt());
    if (port["nodePort"].AsInt() > 0) {
      text += base::StrCat(":", std::to_string(port["nodePort"].AsInt()));
    }
    ports.push_back(base::StrCat(text, "/", port["protocol"].AsString()));
  }
  return base::Join(ports, ",");
}

std::string ExternalAddress(json::Value service) {
  const std::string_view type = service["spec"]["type"].AsString();
  if (type.empty()) return "<unknown>";
  if (type == "ExternalName") return std::string(service["spec"]["externalName"].AsString());
  std::vector<std::string_view> addresses;
  if (type == "LoadBalancer") addresses = LoadBalancerAddresses(service);
  for (const json::Value& ip : service["spec"]["externalIPs"].elements()) {
    addresses.push_back(ip.AsString());
  }
  if (addresses.empty()) return type == "LoadBalancer" ? "<pending>" : "<none>";
  return base::Join(addresses, ",");
}

void Service(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  writer.Name(object)
      .Text(spec["type"].AsString())
      .TextOr(spec["clusterIPs"][0].AsString(), "<none>")
      .Text(ExternalAddress(object))
      .TextOr(PortsText(object), "<none>")
      .Age(object)
      .Text(LabelsText(spec["selector"]));
}

void ComponentStatus(CellWriter& writer, json::Value object) {
  const json::Value condition = object["conditions"][0];
  writer.Name(object)
      .Text(condition["status"].AsString() == "True" ? "Healthy" : "Unhealthy")
      .Text(condition["message"].AsString())
      .Text(condition["error"].AsString());
}

void ConfigMap(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Int(static_cast<std::int64_t>(object["data"].size() + object["binaryData"].size()))
      .Age(object);
}

void Secret(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Text(object["type"].AsString())
      .Int(static_cast<std::int64_t>(object["data"].size()))
      .Age(object);
}

void Namespace(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(object["status"]["phase"].AsString()).Age(object);
}

void ServiceAccount(CellWriter& writer, json::Value object) { writer.Name(object).Age(object); }

void Node(CellWriter& writer, json::Value object) {
  std::vector<std::string> status;
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    if (condition["type"].AsString() != "Ready") continue;
    status.emplace_back(condition["status"].AsString() == "True" ? "Ready" : "NotReady");
  }
  if (status.empty()) status.emplace_back("Unknown");
  if (object["spec"]["unschedulable"].AsBool()) status.emplace_back("SchedulingDisabled");
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const json::Member& label : object["metadata"]["labels"].members()) {
    if (label.name().substr(0, kRolePrefix.size()) == kRolePrefix) {
      const std::string_view role = label.name().substr(kRolePrefix.size());
      if (!role.empty()) roles.emplace_back(role);
    } else if (label.name() == "kubernetes.io/role" && !label.value.AsString().empty()) {
      roles.emplace_back(label.value.AsString());
    }
  }
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  // The address itself may be empty.
  const auto address = [&](std::string_view type) -> std::string_view {
    for (const json::Value& entry : object["status"]["addresses"].elements()) {
      if (entry["type"].AsString() == type) return entry["address"].AsString();
    }
    return "<none>";
  };
  const json::Value info = object["status"]["nodeInfo"];
  std::string kernel(info["kernelVersion"].AsString("<unknown>"));
  if (kernel.empty()) kernel = "<unknown>";
  if (const std::string_view built_for = info["architecture"].AsString(); !built_for.empty()) {
    kernel += base::StrCat(" (", built_for, ")");
  }
  writer.Name(object)
      .Text(base::Join(status, ","))
      .TextOr(base::Join(roles, ","), "<none>")
      .Age(object)
      .Text(info["kubeletVersion"].AsString())
      .Text(address("InternalIP"))
      .Text(address("ExternalIP"))
      .TextOr(info["osImage"].AsString(), "<unknown>")
      .Text(kernel)
      .TextOr(info["containerRuntimeVersion"].AsString(), "<unknown>");
}

std::string AccessModes(json::Value modes) {
  std::vector<std::string_view> short_names;
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"ReadWriteOnce", "RWO"},
                                                                      {"ReadOnlyMany", "ROX"},
                                                                      {"ReadWriteMany", "RWX"},
                                                                      {"ReadWriteOncePod", "RWOP"}};
  for (const auto& [name, short_name] : kNames) {
    for (const json::Value& mode : modes.elements()) {
      if (mode.AsString() == name) {
        short_names.push_back(short_name);
        break;
      }
    }
  }
  return base::Join(short_names, ",");
}

std::string StorageClassOf(json::Value object) {
  const json::Value* beta =
      object["metadata"]["annotations"].Find("volume.beta.kubernetes.io/storage-class");
  return std::string(beta != nullptr ? beta->AsString()
                                     : object["spec"]["storageClassName"].AsString());
}

void PersistentVolumeClaim(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  std::string_view phase = object["status"]["phase"].AsString();
  if (!object["metadata"]["deletionTimestamp"].is_null()) phase = "Terminating";
  const bool bound = !spec["volumeName"].AsString().empty();
  writer.Name(object)
      .Text(phase)
      .Text(spec["volumeName"].AsString())
      .Text(bound ? object["status"]["capacity"]["storage"].AsString("0") : std::string_view())
      .Text(bound ? AccessModes(object["status"]["accessModes"]) : "")
      .Text(StorageClassOf(object))
      .TextOr(spec["volumeAttributesClassName"].AsString(), "<unset>")
      .Age(object)
      .TextOr(spec["volumeMode"].AsString(), "<unset>");
}

void PersistentVolume(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  std::string_view phase = object["status"]["phase"].AsString();
  if (!object["metadata"]["deletionTimestamp"].is_null()) phase = "Terminating";
  std::string claim;
  if (!spec["claimRef"].is_null()) {
    claim = base::StrCat(spec["claimRef"]["namespace"].AsString(), "/",
                         spec["claimRef"]["name"].AsString());
  }
  writer.Name(object)
      .Text(spec["capacity"]["storage"].AsString("0"))
      .Text(AccessModes(spec["accessModes"]))
      .Text(spec["persistentVolumeReclaimPolicy"].AsString())
      .Text(phase)
      .Text(claim)
      .Text(StorageClassOf(object))
      .TextOr(spec["volumeAttributesClassName"].AsString(), "<unset>")
      .Text(object["status"]["reason"].AsString())
      .Age(object)
      .TextOr(spec["volumeMode"].AsString(), "<unset>");
}

void ResourceQuota(CellWriter& writer, json::Value object) {
  std::vector<std::string> requests;
  std::vector<std::string> limits;
  std::vector<std::string_view> names;
  for (const json::Member& hard : object["status"]["hard"].members()) names.push_back(hard.name());
  std::sort(names.begin(), names.end());
  for (std::string_view name : names) {
    std::string text = base::StrCat(name, ": ", object["status"]["used"][name].AsString("0"), "/",
                                    object["status"]["hard"][name].AsString());
    (name.starts_with("limits.") ? limits : requests).push_back(std::move(text));
  }
  writer.Name(object).Text(base::Join(requests, ", ")).Text(base::Join(limits, ", ")).Age(object);
}

void LimitRange(CellWriter& writer, json::Value object) { writer.Name(object).Creation(object); }

// At most three addresses, port by port, then how many more there are.
void Endpoints(CellWriter& writer, json::Value object) {
  const json::Value subsets = object["subsets"];
  ShortList list;
  for (const json::Value& subset : subsets.elements()) {
    const auto addresses = subset["addresses"].elements();
    if (subset["ports"].empty()) {
      for (const json::Value& address : addresses) list.Add(address["ip"].AsString());
    }
    for (const json::Value& port : subset["ports"].elements()) {
      for (const json::Value& address : addresses) {
        const std::string_view ip = address["ip"].AsString();
        const bool six = ip.find(':') != std::string_view::npos;
        list.Add(base::StrCat(six ? "[" : "", ip, six ? "]:" : ":",
                              std::to_string(port["port"].AsInt())));
      }
    }
  }
  writer.Name(object).Text(subsets.empty() ? "<none>" : list.ToString()).Age(object);
}

std::string_view FirstOf(json::Value object, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    if (!object[name].AsString().empty()) return object[name].AsString();
  }
  return "";
}

// The members have other names in events.k8s.io.
void Event(CellWriter& writer, json::Value object) {
  const json::Value about =
      object["involvedObject"].is_null() ? object["regarding"] : object["involvedObject"];
  const json::Value source =
      object["source"].is_null() ? object["deprecatedSource"] : object["source"];
  const json::Value series = object["series"];
  const std::string_view first =
      FirstOf(object, {"firstTimestamp", "deprecatedFirstTimestamp", "eventTime"});
  std::string_view last = FirstOf(object, {"lastTimestamp", "deprecatedLastTimestamp"});
  if (last.empty()) last = first;
  std::int64_t count = object["count"].AsInt(object["deprecatedCount"].AsInt());
  if (!series.is_null()) {
    last = series["lastObservedTime"].AsString();
    count = series["count"].AsInt();
  } else if (count == 0) {
    count = 1;  // events of events.k8s.io that happened once have none
  }
  std::string component(source["component"].AsString());
  if (component.empty()) component = FirstOf(object, {"reportingComponent", "reportingController"});
  std::string_view instance = source["host"].AsString();
  if (instance.empty()) instance = object["reportingInstance"].AsString();
  if (!instance.empty()) component += base::StrCat(", ", instance);
  std::string name = base::ToLower(about["kind"].AsString());
  if (!about["name"].AsString().empty()) name += base::StrCat("/", about["name"].AsString());
  writer.Since(last)
      .Text(object["type"].AsString())
      .Text(object["reason"].AsString())
      .Text(name)
      .Text(about["fieldPath"].AsString())
      .Text(component)
      .Text(base::Trim(FirstOf(object, {"message", "note"})))
      .Since(first)
      .Int(count)
      .Name(object);
}

constexpr PrinterRow kCoreRows[] = {
    {"", "componentstatuses", &ComponentStatus},
    {"", "configmaps", &ConfigMap},
    {"", "endpoints", &Endpoints},
    {"", "events", &Event},
    {"events.k8s.io", "events", &Event},
    {"", "limitranges", &LimitRange},
    {"", "namespaces", &Namespace},
    {"", "nodes", &Node},
    {"", "persistentvolumeclaims", &PersistentVolumeClaim},
    {"", "persistentvolumes", &PersistentVolume},
    {"", "resourcequotas", &ResourceQuota},
    {"", "secrets", &Secret},
    {"", "serviceaccounts", &ServiceAccount},
    {"", "services", &Service},
};

}  // namespace

std::span<const PrinterRow> CorePrinters() { return kCoreRows; }

}  // namespace portcullis::server::table

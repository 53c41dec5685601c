// SPDX-License-Identifier: Apache-2.0

// Kinds outside the core group that do not make pods.

#include <algorithm>

#include "api/condition.h"
#include "base/strings.h"
#include "json/writer.h"
#include "server/table/cells.h"

namespace portcullis::server::table {
namespace {

std::int64_t Size(json::Value list) { return static_cast<std::int64_t>(list.size()); }

void NameAndAge(CellWriter& writer, json::Value object) { writer.Name(object).Age(object); }

void NameAndCreation(CellWriter& writer, json::Value object) {
  writer.Name(object).Creation(object);
}

void WebhookConfiguration(CellWriter& writer, json::Value object) {
  writer.Name(object).Int(Size(object["webhooks"])).Age(object);
}

std::string ParamKind(json::Value kind) {
  if (kind.is_null()) return "<unset>";
  return base::StrCat(kind["apiVersion"].AsString(), "/", kind["kind"].AsString());
}

void ValidatingPolicy(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Int(Size(object["spec"]["validations"]))
      .Text(ParamKind(object["spec"]["paramKind"]))
      .Age(object);
}

void MutatingPolicy(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Int(Size(object["spec"]["mutations"]))
      .Text(ParamKind(object["spec"]["paramKind"]))
      .Age(object);
}

// A LabelSelector as Go's String method of the generated type writes it.
std::string GoSelector(json::Value selector) {
  std::vector<std::string> labels;
  for (const json::Member& label : selector["matchLabels"].members()) {
    labels.push_back(base::StrCat(label.name(), ": ", label.value.AsString(), ","));
  }
  std::sort(labels.begin(), labels.end());
  std::string expressions;
  for (const json::Value& one : selector["matchExpressions"].elements()) {
    std::vector<std::string_view> values;
    for (const json::Value& value : one["values"].elements()) values.push_back(value.AsString());
    expressions += base::StrCat("LabelSelectorRequirement{Key:", one["key"].AsString(), ",",
                                "Operator:", one["operator"].AsString(), ",Values:[",
                                base::Join(values, " "), "],},");
  }
  return base::StrCat("&LabelSelector{MatchLabels:map[string]string{", base::Join(labels, " "),
                      "},MatchExpressions:[]LabelSelectorRequirement{", expressions, "},}");
}

void PolicyBinding(CellWriter& writer, json::Value object) {
  const json::Value ref = object["spec"]["paramRef"];
  std::string text = "<unset>";
  if (!ref.is_null()) {
    const std::string_view ns = ref["namespace"].AsString();
    if (!ref["name"].AsString().empty()) {
      text = ns.empty() ? base::StrCat("*/", ref["name"].AsString())
                        : base::StrCat(ns, "/", ref["name"].AsString());
    } else if (!ref["selector"].is_null()) {
      text = GoSelector(ref["selector"]);
    }
  }
  writer.Name(object).Text(object["spec"]["policyName"].AsString()).Text(text).Age(object);
}

void RoleBinding(CellWriter& writer, json::Value object) {
  std::vector<std::string> users;
  std::vector<std::string> groups;
  std::vector<std::string> accounts;
  for (const json::Value& subject : object["subjects"].elements()) {
    const std::string_view kind = subject["kind"].AsString();
    const std::string_view name = subject["name"].AsString();
    if (kind == "User") users.emplace_back(name);
    if (kind == "Group") groups.emplace_back(name);
    if (kind == "ServiceAccount") {
      accounts.push_back(base::StrCat(subject["namespace"].AsString(), "/", name));
    }
  }
  writer.Name(object)
      .Text(base::StrCat(object["roleRef"]["kind"].AsString(), "/",
                         object["roleRef"]["name"].AsString()))
      .Age(object)
      .Text(base::Join(users, ", "))
      .Text(base::Join(groups, ", "))
      .Text(base::Join(accounts, ", "));
}

void PriorityClass(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Int(object["value"].AsInt())
      .Bool(object["globalDefault"].AsBool())
      .Age(object)
      .Text(object["preemptionPolicy"].AsString());
}

// The name of a class, which is marked if one of the annotations makes it the default.
std::string ClassName(json::Value object, std::initializer_list<std::string_view> annotations) {
  const std::string_view name = object["metadata"]["name"].AsString();
  const bool is_default =
      std::any_of(annotations.begin(), annotations.end(), [&](std::string_view annotation) {
        return object["metadata"]["annotations"][annotation].AsString() == "true";
      });
  return base::StrCat(name, is_default ? " (default)" : "");
}

void StorageClass(CellWriter& writer, json::Value object) {
  writer
      .Text(ClassName(object, {"storageclass.kubernetes.io/is-default-class",
                               "storageclass.beta.kubernetes.io/is-default-class"}))
      .Text(object["provisioner"].AsString())
      .Text(object["reclaimPolicy"].AsString("Delete"))  // empty if it was set so
      .Text(object["volumeBindingMode"].AsString("Immediate"))
      .Bool(object["allowVolumeExpansion"].AsBool())
      .Age(object);
}

void IngressClass(CellWriter& writer, json::Value object) {
  const json::Value parameters = object["spec"]["parameters"];
  std::string text = "<none>";
  if (!parameters.is_null()) {
    text = std::string(parameters["kind"].AsString());
    const std::string_view group = parameters["apiGroup"].AsString();
    if (!group.empty()) text += base::StrCat(".", group);
    text += base::StrCat("/", parameters["name"].AsString());
  }
  writer.Text(ClassName(object, {"ingressclass.kubernetes.io/is-default-class"}))
      .Text(object["spec"]["controller"].AsString())
      .Text(text)
      .Age(object);
}

// At most three hosts; how many more is counted in rules, also those of any host.
std::string IngressHosts(json::Value rules) {
  std::vector<std::string_view> hosts;
  bool more = false;
  for (const json::Value& rule : rules.elements()) {
    more = more || hosts.size() == 3;
    if (!more && !rule["host"].AsString().empty()) hosts.push_back(rule["host"].AsString());
  }
  if (hosts.empty()) return "*";
  if (!more) return base::Join(hosts, ",");
  return base::StrCat(base::Join(hosts, ","), " + ", std::to_string(rules.size() - 3), " more...");
}

void Ingress(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .TextOr(object["spec"]["ingressClassName"].AsString(), "<none>")
      .Text(IngressHosts(object["spec"]["rules"]))
      .Text(base::Join(LoadBalancerAddresses(object), ","))
      .Text(object["spec"]["tls"].empty() ? "80" : "80, 443")
      .Age(object);
}

void NetworkPolicy(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(SelectorText(object["spec"]["podSelector"])).Age(object);
}

std::string IntOrPercent(json::Value value) {
  if (value.is_null()) return "N/A";
  return value.is_string() ? std::string(value.AsString()) : std::to_string(value.AsInt());
}

void DisruptionBudget(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Text(IntOrPercent(object["spec"]["minAvailable"]))
      .Text(IntOrPercent(object["spec"]["maxUnavailable"]))
      .Int(object["status"]["disruptionsAllowed"].AsInt())
      .Age(object);
}

void Lease(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(object["spec"]["holderIdentity"].AsString()).Age(object);
}

void EndpointSlice(CellWriter& writer, json::Value object) {
  ShortList ports;
  for (const json::Value& port : object["ports"].elements()) {
    const std::string_view name = port["name"].AsString("*");
    ports.Add(port["port"].is_null() ? std::string(name) : std::to_string(port["port"].AsInt()));
  }
  ShortList addresses;
  for (const json::Value& endpoint : object["endpoints"].elements()) {
    for (const json::Value& address : endpoint["addresses"].elements()) {
      addresses.Add(address.AsString());
    }
  }
  writer.Name(object)
      .Text(object["addressType"].AsString())
      .TextOr(ports.ToString(), "<unset>")
      .TextOr(addresses.ToString(), "<unset>")
      .Age(object);
}

void CertificateRequest(CellWriter& writer, json::Value object) {
  bool approved = false;
  bool denied = false;
  bool failed = false;
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    const std::string_view type = condition["type"].AsString();
    approved = approved || type == "Approved";
    denied = denied || type == "Denied";
    failed = failed || type == "Failed";
  }
  std::string state = denied ? "Denied" : approved ? "Approved" : "Pending";
  if (failed) state += ",Failed";
  if (!object["status"]["certificate"].AsString().empty()) state += ",Issued";
  const json::Value seconds = object["spec"]["expirationSeconds"];
  writer.Name(object)
      .Age(object)
      .TextOr(object["spec"]["signerName"].AsString(), "<none>")
      .Text(object["spec"]["username"].AsString())
      .Text(seconds.is_null() ? "<none>" : HumanDuration(seconds.AsInt()))
      .Text(state);
}

void TrustBundle(CellWriter& writer, json::Value object) {
  writer.Name(object).TextOr(object["spec"]["signerName"].AsString(), "<none>");
}

void PodCertificateRequest(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  writer.Name(object);
  for (const std::string_view name : {"podName", "serviceAccountName", "nodeName", "signerName"}) {
    writer.Text(spec[name].AsString());
  }
  std::string_view state = "Pending";
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    const std::string_view type = condition["type"].AsString();
    if (type == "Issued" || type == "Denied" || type == "Failed") state = type;
  }
  writer.Text(state).Text(LabelsText(spec["unverifiedUserAnnotations"]));
}

void PodGroup(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  const json::Value reference = spec["podGroupTemplateRef"];
  std::string_view status = "Pending";
  std::string_view disruption;
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    const std::string_view type = condition["type"].AsString();
    if (type == "PodGroupScheduled") {
      status = condition["status"].AsString() == "True" ? "Scheduled" : "Unschedulable";
    } else if (type == "DisruptionTarget") {
      disruption = condition["reason"].AsString();
    }
  }
  writer.Name(object)
      .Text(spec["schedulingPolicy"]["gang"].is_null() ? "Basic" : "Gang")
      .Text(reference.is_null() ? "<none>" : reference["workload"]["workloadName"].AsString())
      .Text(disruption.empty() ? status : disruption)
      .Age(object);
}

void DeviceTaint(CellWriter& writer, json::Value object) {
  const json::Value taint = object["spec"]["taint"];
  writer.Name(object);
  for (const std::string_view name : {"key", "value", "effect"}) {
    writer.Text(taint[name].AsString());
  }
  const json::Value added = taint["timeAdded"];
  (added.is_null() ? writer.Text("") : writer.Since(added.AsString())).Age(object);
}

void PoolStatus(CellWriter& writer, json::Value object) {
  const json::Value status = object["status"];
  std::string state = "Pending";
  json::Value completed;
  for (const json::Value& condition : status["conditions"].elements()) {
    const std::string_view type = condition["type"].AsString();
    if (condition["status"].AsString() != "True" || (type != "Complete" && type != "Failed"))
      continue;
    state = type;
    if (type == "Complete") completed = condition["lastTransitionTime"];
    break;
  }
  const std::int64_t pools = status["poolCount"].AsInt();
  const bool counts = !status.is_null() && state != "Failed";
  if (state == "Complete" && pools > Size(status["pools"])) {
    state = base::StrCat("Complete (", std::to_string(Size(status["pools"])), "/",
                         std::to_string(pools), " pools)");
  }
  writer.Name(object).Text(object["spec"]["driver"].AsString());
  for (const std::string_view name : {"totalDevices", "availableDevices", "allocatedDevices",
                                      "unavailableDevices", "validationError"}) {
    std::int64_t sum = 0;
    for (const json::Value& pool : status["pools"].elements()) {
      sum += name == "validationError" ? std::int64_t{pool.Has(name)} : pool[name].AsInt();
    }
    writer.Text(counts ? std::to_string(sum) : "-");
  }
  writer.Int(pools).Text(state);
  completed.is_null() ? writer.Text("<none>") : writer.Since(completed.AsString());
}

void RuntimeClass(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(object["handler"].AsString()).Age(object);
}

void CsiDriver(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  std::vector<std::string_view> modes;
  for (const json::Value& mode : spec["volumeLifecycleModes"].elements()) {
    modes.push_back(mode.AsString());
  }
  std::vector<std::string_view> audiences;
  for (const json::Value& request : spec["tokenRequests"].elements()) {
    audiences.push_back(request["audience"].AsString());
  }
  writer.Name(object)
      .Bool(spec["attachRequired"].AsBool(true))
      .Bool(spec["podInfoOnMount"].AsBool())
      .Bool(spec["storageCapacity"].AsBool())
      .Text(audiences.empty() ? "<unset>" : base::Join(audiences, ","))
      .Bool(spec["requiresRepublish"].AsBool())
      .TextOr(base::Join(modes, ","), "<none>")
      .Age(object);
}

void CsiNode(CellWriter& writer, json::Value object) {
  writer.Name(object).Int(Size(object["spec"]["drivers"])).Age(object);
}

void VolumeAttachment(CellWriter& writer, json::Value object) {
  writer.Name(object)
      .Text(object["spec"]["attacher"].AsString())
      .Text(object["spec"]["source"]["persistentVolumeName"].AsString())
      .Text(object["spec"]["nodeName"].AsString())
      .Bool(object["status"]["attached"].AsBool())
      .Age(object);
}

void VolumeAttributesClass(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(object["driverName"].AsString()).Age(object);
}

void FlowSchema(CellWriter& writer, json::Value object) {
  const json::Value dangling = api::ConditionOf(object, "Dangling");
  writer.Name(object)
      .Text(object["spec"]["priorityLevelConfiguration"]["name"].AsString())
      .Int(object["spec"]["matchingPrecedence"].AsInt())
      .TextOr(object["spec"]["distinguisherMethod"]["type"].AsString(), "<none>")
      .Age(object)
      .Text(dangling.is_null() ? "?" : dangling["status"].AsString());
}

void PriorityLevel(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  const json::Value queuing = spec["limited"]["limitResponse"]["queuing"];
  const auto number = [&](json::Value value) {
    if (value.is_null()) {
      writer.Text("<none>");
    } else {
      writer.Int(value.AsInt());
    }
  };
  writer.Name(object).Text(spec["type"].AsString());
  number(spec["limited"]["nominalConcurrencyShares"]);
  number(queuing["queues"]);
  number(queuing["handSize"]);
  number(queuing["queueLengthLimit"]);
  writer.Age(object);
}

// The columns do not name the third cell.
void IpAddress(CellWriter& writer, json::Value object) {
  const json::Value ref = object["spec"]["parentRef"];
  std::string text = "<none>";
  if (!ref.is_null()) {
    const std::string_view group = ref["group"].AsString();
    const std::string_view ns = ref["namespace"].AsString();
    text = base::ToLower(base::StrCat(ref["resource"].AsString(), group.empty() ? "" : ".", group));
    text += base::StrCat(ns.empty() ? "" : "/", ns, "/", ref["name"].AsString());
  }
  writer.Name(object).Text(text).Age(object);
}

void LeaseCandidate(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  writer.Name(object)
      .Text(spec["leaseName"].AsString())
      .Text(spec["binaryVersion"].AsString())
      .Text(spec["emulationVersion"].AsString())
      .Age(object);
}

void ResourceClaim(CellWriter& writer, json::Value object) {
  const bool deleted = !object["metadata"]["deletionTimestamp"].is_null();
  std::vector<std::string_view> states;
  if (deleted) states.emplace_back("deleted");
  if (!object["status"]["allocation"].is_null()) {
    states.emplace_back("allocated");
    if (!object["status"]["reservedFor"].empty()) states.emplace_back("reserved");
  } else if (!deleted) {
    states.emplace_back("pending");
  }
  writer.Name(object).Text(base::Join(states, ",")).Age(object);
}

void ResourceSlice(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  writer.Name(object)
      .Text(spec["nodeName"].AsString())
      .Text(spec["driver"].AsString())
      .Text(spec["pool"]["name"].AsString())
      .Age(object);
}

void ServiceCidr(CellWriter& writer, json::Value object) {
  std::vector<std::string_view> ranges;
  for (const json::Value& range : object["spec"]["cidrs"].elements()) {
    ranges.push_back(range.AsString());
  }
  writer.Name(object).Text(base::Join(ranges, ",")).Age(object);
}

void ApiService(CellWriter& writer, json::Value object) {
  const json::Value service = object["spec"]["service"];
  std::string available = "Unknown";
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    if (condition["type"].AsString() != "Available") continue;
    available = condition["status"].AsString();
    if (available != "True") {
      available += base::StrCat(" (", condition["reason"].AsString(), ")");
    }
  }
  writer.Name(object)
      .Text(service.is_null()
                ? "Local"
                : base::StrCat(service["namespace"].AsString(), "/", service["name"].AsString()))
      .Text(available)
      .Age(object);
}

std::string Joined(json::Value list) {
  std::vector<std::string_view> texts;
  for (const json::Value& text : list.elements()) texts.push_back(text.AsString());
  return base::Join(texts, ",");
}

// docs/legacy.md.
void PodSecurityPolicy(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  const auto yes = [&](std::string_view field) { return spec[field].AsBool() ? "true" : "false"; };
  writer.Name(object).Text(yes("privileged")).Text(Joined(spec["allowedCapabilities"]));
  for (const std::string_view part : {"seLinux", "runAsUser", "fsGroup", "supplementalGroups"}) {
    writer.Text(spec[part]["rule"].AsString());
  }
  writer.Text(yes("readOnlyRootFilesystem")).Text(Joined(spec["volumes"]));
}

constexpr PrinterRow kGroupRows[] = {
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies", &MutatingPolicy},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", &PolicyBinding},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", &WebhookConfiguration},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", &ValidatingPolicy},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", &PolicyBinding},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations", &WebhookConfiguration},
    {"apiextensions.k8s.io", "customresourcedefinitions", &NameAndCreation, StatusTable::kRefused},
    {"apiregistration.k8s.io", "apiservices", &ApiService, StatusTable::kRefused},
    {"autoscaling", "horizontalpodautoscalers", &PodAutoscaler},
    {"certificates.k8s.io", "certificatesigningrequests", &CertificateRequest},
    {"certificates.k8s.io", "clustertrustbundles", &TrustBundle},
    {"certificates.k8s.io", "podcertificaterequests", &PodCertificateRequest},
    {"coordination.k8s.io", "leasecandidates", &LeaseCandidate},
    {"coordination.k8s.io", "leases", &Lease},
    {"discovery.k8s.io", "endpointslices", &EndpointSlice},
    {"flowcontrol.apiserver.k8s.io", "flowschemas", &FlowSchema},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", &PriorityLevel},
    {"networking.k8s.io", "ingressclasses", &IngressClass},
    {"networking.k8s.io", "ingresses", &Ingress},
    {"networking.k8s.io", "ipaddresses", &IpAddress},
    {"networking.k8s.io", "networkpolicies", &NetworkPolicy},
    {"networking.k8s.io", "servicecidrs", &ServiceCidr},
    {"node.k8s.io", "runtimeclasses", &RuntimeClass},
    {"policy", "poddisruptionbudgets", &DisruptionBudget},
    {"policy", "podsecuritypolicies", &PodSecurityPolicy},
    {"rbac.authorization.k8s.io", "clusterrolebindings", &RoleBinding},
    {"rbac.authorization.k8s.io", "clusterroles", &NameAndCreation},
    {"rbac.authorization.k8s.io", "rolebindings", &RoleBinding},
    {"rbac.authorization.k8s.io", "roles", &NameAndCreation},
    {"resource.k8s.io", "deviceclasses", &NameAndAge},
    {"resource.k8s.io", "devicetaintrules", &DeviceTaint, StatusTable::kRefused},
    {"resource.k8s.io", "resourceclaims", &ResourceClaim, StatusTable::kRefused},
    {"resource.k8s.io", "resourceclaimtemplates", &NameAndAge},
    {"resource.k8s.io", "resourcepoolstatusrequests", &PoolStatus, StatusTable::kRefused},
    {"resource.k8s.io", "resourceslices", &ResourceSlice},
    {"scheduling.k8s.io", "podgroups", &PodGroup, StatusTable::kRefused},
    {"scheduling.k8s.io", "priorityclasses", &PriorityClass},
    {"scheduling.k8s.io", "workloads", &NameAndAge},
    {"storage.k8s.io", "csidrivers", &CsiDriver},
    {"storage.k8s.io", "csinodes", &CsiNode},
    {"storage.k8s.io", "csistoragecapacities", &NameAndCreation},
    {"storage.k8s.io", "storageclasses", &StorageClass},
    {"storage.k8s.io", "volumeattachments", &VolumeAttachment},
    {"storage.k8s.io", "volumeattributesclasses", &VolumeAttributesClass},
};

}  // namespace

std::span<const PrinterRow> GroupPrinters() { return kGroupRows; }

}  // namespace portcullis::server::table

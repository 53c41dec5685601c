// Kinds outside the core group that do not make pods.

#include "base/strings.h"
#include "json/writer.h"
#include "server/table/cells.h"

namespace portcullis::server::table {
namespace {

std::int64_t Size(json::Value list) { return static_cast<std::int64_t>(list.size()); }

void NameAndAge(CellWriter& writer, json::Value object) { writer.Name(object).Age(object); }

void NameAndCreation(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(object["metadata"]["creationTimestamp"].AsString());
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

void PolicyBinding(CellWriter& writer, json::Value object) {
  const json::Value ref = object["spec"]["paramRef"];
  std::string text = "<unset>";
  if (!ref.is_null()) {
    const std::string_view ns = ref["namespace"].AsString();
    if (!ref["name"].AsString().empty()) {
      text = ns.empty() ? base::StrCat("*/", ref["name"].AsString())
                        : base::StrCat(ns, "/", ref["name"].AsString());
    } else if (!ref["selector"].is_null()) {
      text = SelectorText(ref["selector"]);
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

bool IsDefaultClass(json::Value object, std::string_view annotation) {
  return object["metadata"]["annotations"][annotation].AsString() == "true";
}

void StorageClass(CellWriter& writer, json::Value object) {
  std::string name(object["metadata"]["name"].AsString());
  if (IsDefaultClass(object, "storageclass.kubernetes.io/is-default-class") ||
      IsDefaultClass(object, "storageclass.beta.kubernetes.io/is-default-class")) {
    name += " (default)";
  }
  writer.Text(name)
      .Text(object["provisioner"].AsString())
      .TextOr(object["reclaimPolicy"].AsString(), "Delete")
      .TextOr(object["volumeBindingMode"].AsString(), "Immediate")
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
  writer.Name(object).Text(object["spec"]["controller"].AsString()).Text(text).Age(object);
}

void Ingress(CellWriter& writer, json::Value object) {
  std::vector<std::string> hosts;
  std::size_t more = 0;
  for (const json::Value& rule : object["spec"]["rules"].elements()) {
    if (hosts.size() == 3) {
      ++more;
      continue;
    }
    if (!rule["host"].AsString().empty()) hosts.emplace_back(rule["host"].AsString());
  }
  std::string host_text = hosts.empty() ? "*" : base::Join(hosts, ",");
  if (more > 0) host_text += base::StrCat(" + ", std::to_string(more), " more...");
  std::vector<std::string_view> addresses;
  for (const json::Value& entry : object["status"]["loadBalancer"]["ingress"].elements()) {
    const std::string_view ip = entry["ip"].AsString();
    addresses.push_back(ip.empty() ? entry["hostname"].AsString() : ip);
  }
  writer.Name(object)
      .TextOr(object["spec"]["ingressClassName"].AsString(), "<none>")
      .Text(host_text)
      .Text(base::Join(addresses, ","))
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

std::string MetricTargets(json::Value object) {
  std::vector<std::string> targets;
  for (const json::Value& metric : object["spec"]["metrics"].elements()) {
    const json::Value resource = metric["resource"];
    if (resource.is_null()) {
      targets.emplace_back("<unknown>/<auto>");
      continue;
    }
    const json::Value target = resource["target"];
    std::string text = base::StrCat(resource["name"].AsString(), ": <unknown>/");
    if (!target["averageUtilization"].is_null()) {
      text += std::to_string(target["averageUtilization"].AsInt()) + "%";
    } else if (!target["averageValue"].is_null()) {
      text += target["averageValue"].AsString();
    } else {
      text += "<auto>";
    }
    targets.push_back(std::move(text));
  }
  const json::Value percentage = object["spec"]["targetCPUUtilizationPercentage"];
  if (targets.empty() && !percentage.is_null()) {
    targets.push_back(base::StrCat("cpu: <unknown>/", std::to_string(percentage.AsInt()), "%"));
  }
  if (targets.empty()) return "<none>";
  std::string text;
  for (std::size_t i = 0; i < targets.size() && i < 2; ++i) {
    if (i > 0) text += ", ";
    text += targets[i];
  }
  if (targets.size() > 2)
    text += base::StrCat(" + ", std::to_string(targets.size() - 2), " more...");
  return text;
}

void PodAutoscaler(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  const json::Value ref = spec["scaleTargetRef"];
  writer.Name(object)
      .Text(base::StrCat(ref["kind"].AsString(), "/", ref["name"].AsString()))
      .Text(MetricTargets(object))
      .Text(spec["minReplicas"].is_null() ? "<unset>" : std::to_string(spec["minReplicas"].AsInt()))
      .Int(spec["maxReplicas"].AsInt())
      .Int(object["status"]["currentReplicas"].AsInt())
      .Age(object);
}

void Lease(CellWriter& writer, json::Value object) {
  writer.Name(object).Text(object["spec"]["holderIdentity"].AsString()).Age(object);
}

void EndpointSlice(CellWriter& writer, json::Value object) {
  std::vector<std::string> ports;
  for (const json::Value& port : object["ports"].elements()) {
    ports.push_back(port["port"].is_null() ? "*" : std::to_string(port["port"].AsInt()));
  }
  std::vector<std::string_view> addresses;
  for (const json::Value& endpoint : object["endpoints"].elements()) {
    for (const json::Value& address : endpoint["addresses"].elements()) {
      addresses.push_back(address.AsString());
    }
  }
  const auto few = [](const auto& list, std::string_view none) -> std::string {
    if (list.empty()) return std::string(none);
    std::string text;
    for (std::size_t i = 0; i < list.size() && i < 3; ++i) {
      if (i > 0) text += ",";
      text.append(list[i]);
    }
    if (list.size() > 3) text += base::StrCat(" + ", std::to_string(list.size() - 3), " more...");
    return text;
  };
  writer.Name(object)
      .Text(object["addressType"].AsString())
      .Text(few(ports, "<unset>"))
      .Text(few(addresses, "<unset>"))
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
      .TextOr(base::Join(audiences, ","), "<unset>")
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
  writer.Name(object)
      .TextOr(object["spec"]["priorityLevelConfiguration"]["name"].AsString(), "<none>")
      .Int(object["spec"]["matchingPrecedence"].AsInt())
      .TextOr(object["spec"]["distinguisherMethod"]["type"].AsString(), "<none>")
      .Age(object)
      .Text("?");
}

void PriorityLevel(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  const json::Value part = spec["limited"].is_null() ? spec["exempt"] : spec["limited"];
  const json::Value queuing = spec["limited"]["limitResponse"]["queuing"];
  const auto number = [&](json::Value value) {
    if (value.is_null()) {
      writer.Text("<none>");
    } else {
      writer.Int(value.AsInt());
    }
  };
  writer.Name(object).Text(spec["type"].AsString());
  number(part["nominalConcurrencyShares"]);
  number(queuing["queues"]);
  number(queuing["handSize"]);
  number(queuing["queueLengthLimit"]);
  writer.Age(object);
}

void IpAddress(CellWriter& writer, json::Value object) {
  const json::Value ref = object["spec"]["parentRef"];
  std::string text;
  for (std::string_view name : {"resource", "namespace", "name"}) {
    if (name == "resource" && !ref["group"].AsString().empty()) {
      text += base::StrCat(ref[name].AsString(), ".", ref["group"].AsString());
      continue;
    }
    if (!text.empty()) text += "/";
    text += ref[name].AsString();
  }
  writer.Name(object).Text(text);
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

constexpr PrinterRow kRows[] = {
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies", &MutatingPolicy},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", &PolicyBinding},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", &WebhookConfiguration},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", &ValidatingPolicy},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", &PolicyBinding},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations", &WebhookConfiguration},
    {"apiextensions.k8s.io", "customresourcedefinitions", &NameAndCreation},
    {"apiregistration.k8s.io", "apiservices", &ApiService},
    {"autoscaling", "horizontalpodautoscalers", &PodAutoscaler},
    {"certificates.k8s.io", "certificatesigningrequests", &CertificateRequest},
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
    {"rbac.authorization.k8s.io", "clusterrolebindings", &RoleBinding},
    {"rbac.authorization.k8s.io", "clusterroles", &NameAndCreation},
    {"rbac.authorization.k8s.io", "rolebindings", &RoleBinding},
    {"rbac.authorization.k8s.io", "roles", &NameAndCreation},
    {"resource.k8s.io", "deviceclasses", &NameAndAge},
    {"resource.k8s.io", "resourceclaimtemplates", &NameAndAge},
    {"scheduling.k8s.io", "priorityclasses", &PriorityClass},
    {"storage.k8s.io", "csidrivers", &CsiDriver},
    {"storage.k8s.io", "csinodes", &CsiNode},
    {"storage.k8s.io", "csistoragecapacities", &NameAndCreation},
    {"storage.k8s.io", "storageclasses", &StorageClass},
    {"storage.k8s.io", "volumeattachments", &VolumeAttachment},
    {"storage.k8s.io", "volumeattributesclasses", &VolumeAttributesClass},
};

}  // namespace

std::span<const PrinterRow> GroupPrinters() { return kRows; }

}  // namespace portcullis::server::table

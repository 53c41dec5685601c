#include "registry/kind_warnings.h"

#include "api/field_path.h"
#include "api/selector/label_selector.h"
#include "api/view/pod.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/pod_warnings.h"

namespace portcullis::registry {
namespace {

using api::FieldPath;

void NameWarnings(const Context& ctx, json::Value object, std::vector<std::string>& warnings) {
  const std::string_view name = object["metadata"]["name"].AsString();
  const auto wrong = api::IsDns1123Label(name);
  if (wrong.empty()) return;
  const bool pod = ctx.kind.kind == "Pod";
  warnings.push_back(base::StrCat(
      "metadata.name: this is used in ", pod ? "the Pod's hostname" : "Pod names and hostnames",
      ", which can result in surprising behavior; a DNS label is recommended: ",
      base::GoList(wrong)));
}

constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";

void BetaClassWarning(json::Value object, std::vector<std::string>& warnings) {
  if (!object["metadata"]["annotations"].Has(kBetaClass)) return;
  warnings.push_back(
      base::StrCat("metadata.annotations[", kBetaClass,
                   "]: deprecated since v1.8; use \"storageClassName\" attribute instead"));
}

void VolumeWarnings(json::Value object, std::vector<std::string>& warnings) {
  BetaClassWarning(object, warnings);
  const json::Value spec = object["spec"];
  if (spec["persistentVolumeReclaimPolicy"].AsString() == "Recycle") {
    warnings.emplace_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
        "the recommended approach is to use dynamic provisioning.");
  }
  const FieldPath terms("spec", "nodeAffinity", "required", "nodeSelectorTerms");
  std::size_t index = 0;
  for (const json::Value& term : spec["nodeAffinity"]["required"]["nodeSelectorTerms"].elements()) {
    NodeTermWarnings(term, false, terms.Index(index++), warnings);
  }
  for (const json::Member& field : spec.members()) {
    const std::string_view text = DeprecatedVolume(field.name());
    if (text.empty()) continue;
    const std::string_view place = field.name() == "storageos" ? "storageOS" : field.name();
    warnings.push_back(base::StrCat("spec.", place, ": ", text));
  }
}

void ClaimWarnings(json::Value object, std::vector<std::string>& warnings) {
  BetaClassWarning(object, warnings);
  ClaimSpecWarnings(object["spec"], FieldPath("spec"), warnings);
}

void ServiceWarnings(json::Value object, std::vector<std::string>& warnings) {
  const json::Value spec = object["spec"];
  const std::string_view type = spec["type"].AsString();
  const bool headless = type == "ClusterIP" && spec["clusterIP"].AsString() == "None";
  const bool has_external = !spec["externalIPs"].empty();
  if (object["metadata"]["annotations"].Has("service.kubernetes.io/topology-aware-hints")) {
    warnings.emplace_back(
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead");
  }
  if (headless) {
    if (!spec["loadBalancerIP"].AsString().empty()) {
      warnings.emplace_back("spec.loadBalancerIP is ignored for headless services");
    }
    if (has_external) warnings.emplace_back("spec.externalIPs is ignored for headless services");
    if (spec["sessionAffinity"].AsString() != "None") {
      warnings.emplace_back("spec.SessionAffinity is ignored for headless services");
    }
  }
  if (has_external && !headless && type != "ExternalName") {
    warnings.emplace_back(
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (has_external && type == "ExternalName") {
    warnings.emplace_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  }
  if (type != "ExternalName" && !spec["externalName"].AsString().empty()) {
    warnings.emplace_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  }
  if (spec["trafficDistribution"].AsString() == "PreferClose") {
    warnings.emplace_back(
        "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
  }
}

void SecretWarnings(json::Value object, std::vector<std::string>& warnings) {
  if (object["type"].AsString() != "kubernetes.io/tls") return;
  const auto holds_pem = [&](std::string_view key) {
    const auto text = base::Base64Decode(object["data"][key].AsString());
    return text && text->find("-----BEGIN ") != std::string::npos;
  };
  if (!holds_pem("tls.crt")) {
    warnings.emplace_back("tls: failed to find any PEM data in certificate input");
  } else if (!holds_pem("tls.key")) {
    warnings.emplace_back("tls: failed to find any PEM data in key input");
  }
}

void ServiceAccountWarnings(json::Value object, std::vector<std::string>& warnings) {
  constexpr std::string_view kEnforce = "kubernetes.io/enforce-mountable-secrets";
  if (!object["metadata"]["annotations"].Has(kEnforce)) return;
  warnings.push_back(base::StrCat("metadata.annotations[", kEnforce,
                                  "]: deprecated in v1.32+; prefer separate namespaces to isolate "
                                  "access to mounted secrets"));
}

bool MakesPods(std::string_view kind) {
  for (std::string_view name : {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job",
                                "CronJob", "ReplicationController"}) {
    if (name == kind) return true;
  }
  return false;
}

}  // namespace

void KindWarnings(const Context& ctx, json::Value object, json::Value old,
                  std::vector<std::string>& warnings) {
  if (!ctx.subresource.empty()) return;
  const std::string& kind = ctx.kind.kind;
  const bool creates = old.is_null();
  if (kind == "Pod") {
    if (creates) NameWarnings(ctx, object, warnings);
    PodWarnings(object["metadata"], object["spec"], FieldPath(), warnings);
  } else if (MakesPods(kind)) {
    if (creates) NameWarnings(ctx, object, warnings);
    FieldPath path;
    for (std::string_view step : api::view::PodTemplatePath(ctx.kind.group_kind())) {
      path = path.empty() ? FieldPath(step) : path.Child(step);
    }
    const json::Value pod = api::view::PodTemplateOf(ctx.kind.group_kind(), object);
    // A spec that stays as it was has been warned of before.
    const bool by_template = kind == "DaemonSet";
    const bool changed = by_template
                             ? !(pod == api::view::PodTemplateOf(ctx.kind.group_kind(), old))
                             : !(object["metadata"]["generation"] == old["metadata"]["generation"]);
    if (creates || changed) PodWarnings(pod["metadata"], pod["spec"], path, warnings);
    if (kind == "CronJob" && !creates &&
        object["spec"]["schedule"].AsString().find("TZ") != std::string_view::npos) {
      warnings.emplace_back(
          "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
          "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
    }
  } else if (kind == "Service") {
    ServiceWarnings(object, warnings);
  } else if (kind == "PersistentVolumeClaim") {
    ClaimWarnings(object, warnings);
  } else if (kind == "PersistentVolume") {
    VolumeWarnings(object, warnings);
  } else if (kind == "ServiceAccount") {
    // Who keeps the annotation has been warned of it before.
    if (creates || !old["metadata"]["annotations"].Has("kubernetes.io/enforce-mountable-secrets")) {
      ServiceAccountWarnings(object, warnings);
    }
  } else if (kind == "Secret") {
    SecretWarnings(object, warnings);
  } else if (kind == "Ingress" && creates &&
             object["metadata"]["annotations"].Has("kubernetes.io/ingress.class")) {
    warnings.emplace_back(
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
        "'spec.ingressClassName' instead");
  }
}

}  // namespace portcullis::registry

#include "registry/kind_warnings.h"

#include <map>
#include <set>

#include "api/field_path.h"
#include "api/selector/label_selector.h"
#include "api/view/pod.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::registry {
namespace {

using api::FieldPath;

struct DeprecatedLabel {
  std::string_view key;
  std::string_view since;
  std::string_view instead;
};
constexpr DeprecatedLabel kNodeLabels[] = {
    {"beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"},
    {"beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"},
    {"failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"},
    {"beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"},
};

constexpr std::string_view kAppArmor = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kSeccompContainer = "container.seccomp.security.alpha.kubernetes.io/";

void AnnotationWarnings(json::Value metadata, const FieldPath& path,
                        std::vector<std::string>& warnings) {
  std::set<std::string_view> names;
  for (const json::Member& member : metadata["annotations"].members()) names.insert(member.name());
  for (std::string_view name : names) {
    const std::string at = path.Child("annotations").Key(name).ToString();
    if (name.starts_with(kAppArmor)) {
      warnings.push_back(
          base::StrCat(at, ": deprecated since v1.30; use the \"appArmorProfile\" field instead"));
    } else if (name.starts_with(kSeccompContainer) ||
               name == "seccomp.security.alpha.kubernetes.io/pod") {
      warnings.push_back(
          base::StrCat(at, ": non-functional in v1.27+; use the \"seccompProfile\" field instead"));
    } else if (name == "scheduler.alpha.kubernetes.io/critical-pod") {
      warnings.push_back(base::StrCat(
          at, ": non-functional in v1.16+; use the \"priorityClassName\" field instead"));
    }
  }
}

void ContainerWarnings(json::Value container, const FieldPath& path,
                       std::vector<std::string>& warnings) {
  std::map<std::string_view, std::size_t> variables;
  std::size_t index = 0;
  for (const json::Value& variable : container["env"].elements()) {
    const std::string_view name = variable["name"].AsString();
    if (!variables.emplace(name, index).second) {
      const bool refers = variable["value"].AsString().find(base::StrCat("$(", name, ")")) !=
                          std::string_view::npos;
      if (!refers) {
        warnings.push_back(base::StrCat(path.Child("env").Index(index).ToString(),
                                        ": hides previous definition of ", base::GoQuote(name),
                                        ", which may be dropped when using apply"));
      }
    }
    ++index;
  }
}

void PodWarnings(json::Value metadata, json::Value spec, const FieldPath& root,
                 std::vector<std::string>& warnings) {
  const FieldPath metadata_path = root.empty() ? FieldPath("metadata") : root.Child("metadata");
  const FieldPath path = root.empty() ? FieldPath("spec") : root.Child("spec");
  for (const DeprecatedLabel& label : kNodeLabels) {
    if (!spec["nodeSelector"].Has(label.key)) continue;
    warnings.push_back(base::StrCat(path.Child("nodeSelector").Key(label.key).ToString(),
                                    ": deprecated since ", label.since, "; use ",
                                    base::GoQuote(label.instead), " instead"));
  }
  AnnotationWarnings(metadata, metadata_path, warnings);
  api::view::VisitContainers(
      spec, path, [&](json::Value container, const FieldPath& at, api::view::ContainerType) {
        ContainerWarnings(container, at, warnings);
        return true;
      });
  std::size_t index = 0;
  for (const json::Value& secret : spec["imagePullSecrets"].elements()) {
    if (secret["name"].AsString().empty()) {
      warnings.push_back(base::StrCat(path.Child("imagePullSecrets").Index(index).ToString(),
                                      ": invalid empty name \"\""));
    }
    ++index;
  }
  const json::Value grace = spec["terminationGracePeriodSeconds"];
  if (grace.is_int() && grace.AsInt() < 0) {
    warnings.push_back(
        base::StrCat(path.Child("terminationGracePeriodSeconds").ToString(),
                     ": must be >= 0; negative values are invalid and will be treated as 1"));
  }
}

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

void VolumeWarnings(json::Value object, std::vector<std::string>& warnings) {
  constexpr std::string_view kClass = "volume.beta.kubernetes.io/storage-class";
  if (!object["metadata"]["annotations"].Has(kClass)) return;
  warnings.push_back(
      base::StrCat("metadata.annotations[", kClass,
                   "]: deprecated since v1.8; use \"storageClassName\" attribute instead"));
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
    const json::Value before = api::view::PodTemplateOf(ctx.kind.group_kind(), old);
    // A template that stays as it was has been warned of before.
    if (creates || !(pod == before)) PodWarnings(pod["metadata"], pod["spec"], path, warnings);
  } else if (kind == "Service") {
    if (!object["spec"]["externalIPs"].empty()) {
      warnings.emplace_back(
          "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
  } else if (kind == "PersistentVolumeClaim" || kind == "PersistentVolume") {
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

#include "authz/node/node_authorizer.h"

#include "authz/rbac/bootstrap.h"
#include "authz/rbac/policy_rule.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::authz::node {
namespace {

constexpr std::string_view kUserPrefix = "system:node:";

// Whether the pod's spec names the object: a secret, config map or claim of its namespace.
class PodReferences {
 public:
  PodReferences(std::string_view resource, std::string_view name)
      : resource_(resource), name_(name) {}

  bool Find(json::Value spec) const {
    if (resource_ == "secrets" && AnyNames(spec["imagePullSecrets"], "name")) return true;
    for (json::Value volume : spec["volumes"].elements()) {
      if (InVolume(volume)) return true;
    }
    for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
      for (json::Value container : spec[list].elements()) {
        if (InContainer(container)) return true;
      }
    }
    return resource_ == "serviceaccounts" && spec["serviceAccountName"].AsString() == name_;
  }

 private:
  bool AnyNames(json::Value list, std::string_view key) const {
    for (json::Value item : list.elements()) {
      if (item[key].AsString() == name_) return true;
    }
    return false;
  }
  bool InSource(json::Value source) const {
    if (resource_ == "secrets") {
      return source["secret"]["secretName"].AsString() == name_ ||
             source["secret"]["name"].AsString() == name_;
    }
    if (resource_ == "configmaps") return source["configMap"]["name"].AsString() == name_;
    return resource_ == "persistentvolumeclaims" &&
           source["persistentVolumeClaim"]["claimName"].AsString() == name_;
  }
  bool InVolume(json::Value volume) const {
    if (InSource(volume)) return true;
    for (json::Value source : volume["projected"]["sources"].elements()) {
      if (InSource(source)) return true;
    }
    if (resource_ != "secrets") return false;
    // Drivers that need credentials name a secret beside their other settings.
    for (const json::Member& driver : volume.members()) {
      if (driver.value["secretRef"]["name"].AsString() == name_ && driver.name() != "name")
        return true;
    }
    return volume["csi"]["nodePublishSecretRef"]["name"].AsString() == name_;
  }
  bool InContainer(json::Value container) const {
    const std::string_view env = resource_ == "secrets" ? "secretRef" : "configMapRef";
    const std::string_view key = resource_ == "secrets" ? "secretKeyRef" : "configMapKeyRef";
    if (resource_ != "secrets" && resource_ != "configmaps") return false;
    for (json::Value from : container["envFrom"].elements()) {
      if (from[env]["name"].AsString() == name_) return true;
    }
    for (json::Value var : container["env"].elements()) {
      if (var["valueFrom"][key]["name"].AsString() == name_) return true;
    }
    return false;
  }

  const std::string_view resource_;
  const std::string_view name_;
};

class NodeAuthorizer final : public Authorizer {
 public:
  explicit NodeAuthorizer(const store::Reader& reader) : reader_(reader) {
    json::Arena arena;
    for (const rbac::BootstrapObject& object : rbac::BootstrapObjects(arena)) {
      if (object.resource == "clusterroles" && object.name == "system:node") {
        rules_ = rbac::RulesFromJson(object.object["rules"]);
      }
    }
  }

  Decision Authorize(const Attributes& a) const override {
    if (!a.user->InGroup("system:nodes") || !a.user->name.starts_with(kUserPrefix)) return {};
    const std::string_view node = std::string_view(a.user->name).substr(kUserPrefix.size());
    if (a.resource_request && (a.group.empty() && IsGuarded(a.resource)) && a.verb != "create") {
      return Referenced(a, node);
    }
    if (a.resource_request && a.group.empty() && a.resource == "serviceaccounts" &&
        a.subresource == "token" && a.verb == "create") {
      return Referenced(a, node);
    }
    for (const rbac::PolicyRule& rule : rules_) {
      if (rbac::Allows(rule, a)) return {Verdict::kAllowed, "", ""};
    }
    return {};
  }

  Rules RulesFor(const api::UserInfo&, std::string_view) const override {
    Rules rules;
    rules.incomplete = true;
    rules.error = "node authorizer does not support user rule resolution";
    return rules;
  }

 private:
  static bool IsGuarded(std::string_view resource) {
    return resource == "secrets" || resource == "configmaps" ||
           resource == "persistentvolumeclaims";
  }

  Decision Referenced(const Attributes& a, std::string_view node) const {
    if (a.name.empty()) return {Verdict::kNoOpinion, "No Object name found", ""};
    const PodReferences references(a.resource, a.name);
    for (const store::ObjectPtr& pod : reader_.List({"", "pods"}, a.ns)) {
      const json::Value spec = pod->document()["spec"];
      if (spec["nodeName"].AsString() == node && references.Find(spec)) {
        return {Verdict::kAllowed, "", ""};
      }
    }
    return {Verdict::kNoOpinion,
            base::StrCat("no relationship found between node '", node, "' and this object"), ""};
  }

  const store::Reader& reader_;
  std::vector<rbac::PolicyRule> rules_;
};

}  // namespace

std::unique_ptr<Authorizer> MakeNodeAuthorizer(const store::Reader& reader) {
  return std::make_unique<NodeAuthorizer>(reader);
}

}  // namespace portcullis::authz::node

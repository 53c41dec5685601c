// SPDX-License-Identifier: Apache-2.0

// Service account tokens: a node asks only for tokens of pods that run on it, and only for
// audiences that the pod's volumes name.
#include <set>
#include <vector>

#include "api/field_error.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/state.h"
#include "plugins/node_restriction/node_restriction_rules.h"

namespace portcullis::plugins::node_restriction {
namespace {

// Whether a volume of the pod asks for tokens of an audience: by projection, or through its driver.
class AudienceSearch {
 public:
  AudienceSearch(const NodeRequest& node, std::string_view audience)
      : node_(node), audience_(audience) {}

  bool Find(json::Value pod) {
    for (const json::Value& volume : pod["spec"]["volumes"].elements()) {
      if (InProjection(volume) || InDriver(pod, volume)) return true;
    }
    return false;
  }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  bool InProjection(json::Value volume) const {
    for (const json::Value& source : volume["projected"]["sources"].elements()) {
      const json::Value token = source["serviceAccountToken"];
      if (!token.is_null() && token["audience"].AsString() == audience_) return true;
    }
    return false;
  }

  bool InDriver(json::Value pod, json::Value volume) {
    const std::string driver = DriverOf(pod, volume);
    if (driver.empty()) return false;
    const store::ObjectPtr found =
        common::Find(node_.reader, "storage.k8s.io", "csidrivers", "", driver);
    if (found == nullptr) {
      errors_.push_back(
          base::StrCat("csidriver.storage.k8s.io ", base::GoQuote(driver), " not found"));
      return false;
    }
    for (const json::Value& token : found->document()["spec"]["tokenRequests"].elements()) {
      if (token["audience"].AsString() == audience_) return true;
    }
    return false;
  }

  std::string DriverOf(json::Value pod, json::Value volume) {
    if (!volume["csi"].is_null()) return std::string(volume["csi"]["driver"].AsString());
    if (!volume["ephemeral"]["volumeClaimTemplate"].is_null()) {
      return DriverOfClaim(
          base::StrCat(pod["metadata"]["name"].AsString(), "-", volume["name"].AsString()));
    }
    const json::Value claim = volume["persistentVolumeClaim"];
    if (!claim.is_null()) return DriverOfClaim(claim["claimName"].AsString());
    return std::string(MigratedDriver(volume));
  }

  std::string DriverOfClaim(std::string_view name) {
    const store::ObjectPtr claim = common::Find(node_.reader, "", "persistentvolumeclaims",
                                                node_.request.namespace_name(), name);
    if (claim == nullptr) {
      errors_.push_back(base::StrCat("persistentvolumeclaim ", base::GoQuote(name), " not found"));
      return {};
    }
    // A claim that is not bound names the volume "", which does not exist either.
    std::string_view volume = claim->document()["spec"]["volumeName"].AsString();
    const store::ObjectPtr found = common::Find(node_.reader, "", "persistentvolumes", "", volume);
    if (found == nullptr) {
      errors_.push_back(base::StrCat("persistentvolume ", base::GoQuote(volume), " not found"));
      return {};
    }
    const json::Value spec = found->document()["spec"];
    if (!spec["csi"].is_null()) return std::string(spec["csi"]["driver"].AsString());
    return std::string(MigratedDriver(spec));
  }

  // Volume kinds that a CSI driver has taken over.
  static std::string_view MigratedDriver(json::Value source) {
    constexpr std::string_view kDrivers[][2] = {
        {"awsElasticBlockStore", "ebs.csi.aws.com"},
        {"azureDisk", "disk.csi.azure.com"},
        {"azureFile", "file.csi.azure.com"},
        {"cinder", "cinder.csi.openstack.org"},
        {"gcePersistentDisk", "pd.csi.storage.gke.io"},
        {"portworxVolume", "pxd.portworx.com"},
        {"vsphereVolume", "csi.vsphere.vmware.com"},
    };
    for (const auto& [member, driver] : kDrivers) {
      if (!source[member].is_null()) return driver;
    }
    return {};
  }

  const NodeRequest& node_;
  std::string_view audience_;
  std::vector<std::string> errors_;
};

base::Status CheckAudience(const NodeRequest& node, json::Value pod) {
  const json::Value audiences = node.request.object()["spec"]["audiences"];
  if (audiences.size() > 1) return node.Refuse("node may only request 0 or 1 audiences");
  std::string_view audience = audiences[std::size_t{0}].AsString();
  const std::string quoted = base::GoQuote(audience);
  AudienceSearch search(node, audience);
  if (search.Find(pod)) return base::OkStatus();
  if (!search.errors().empty()) {
    return node.Refuse(base::StrCat("error validating audience ", quoted, ": ",
                                    api::AggregateText(search.errors())));
  }
  const std::string& user = node.request.user().name;
  if (node.authorizer == nullptr) return base::OkStatus();
  authz::Attributes attributes;
  attributes.user = &node.request.user();
  attributes.verb = "request-serviceaccounts-token-audience";
  attributes.version = "v1";
  attributes.resource = audience;
  attributes.ns = node.request.namespace_name();
  attributes.name = node.request.name();
  const authz::Decision decision = node.authorizer->Authorize(attributes);
  if (decision.allowed()) return base::OkStatus();
  if (!decision.error.empty()) {
    return node.Refuse(base::StrCat("audience ", quoted,
                                    " not found in pod spec volume, error authorizing ", user,
                                    " to request tokens for this audience: ", decision.error));
  }
  return node.Refuse(base::StrCat("audience ", quoted, " not found in pod spec volume, ", user,
                                  " is not authorized to request tokens for this audience"));
}

}  // namespace

base::Status CheckToken(const NodeRequest& node, bool check_audience) {
  const admission::Request& request = node.request;
  if (!node.Is(admission::kCreate) || request.subresource() != "token") return base::OkStatus();
  const json::Value bound = request.object()["spec"]["boundObjectRef"];
  std::string_view name = bound["name"].AsString();
  if (bound["apiVersion"].AsString() != "v1" || bound["kind"].AsString() != "Pod" || name.empty()) {
    return node.Refuse("node requested token not bound to a pod");
  }
  std::string_view uid = bound["uid"].AsString();
  if (uid.empty()) return node.Refuse("node requested token with a pod binding without a uid");
  const json::Value pod = common::RootOf(
      request.arena(), common::Find(node.reader, "", "pods", request.namespace_name(), name));
  if (pod.is_null()) return common::AbsentFromCache("", "pod", name);
  std::string_view actual = pod["metadata"]["uid"].AsString();
  if (uid != actual) {
    return node.Refuse(base::StrCat("the UID in the bound object reference (", uid,
                                    ") does not match the UID in record. The object might have "
                                    "been deleted and then recreated"));
  }
  if (pod["spec"]["nodeName"].AsString() != node.name) {
    return node.Refuse("node requested token bound to a pod scheduled on a different node");
  }
  return check_audience ? CheckAudience(node, pod) : base::OkStatus();
}

}  // namespace portcullis::plugins::node_restriction

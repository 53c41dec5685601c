// SPDX-License-Identifier: Apache-2.0

#include "authz/node/node_authorizer.h"

#include <gtest/gtest.h>

#include "authz/node/graph.h"
#include "base/strings.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::authz::node {
namespace {

constexpr std::string_view kUnrelated = "no relationship found between node 'n1' and this object";

// Everything that a pod can need, by the names of what is needed.
constexpr std::string_view kNeedy = R"("spec":{"nodeName":"n1","serviceAccountName":"account",
    "imagePullSecrets":[{"name":"pull"}],
    "initContainers":[{"envFrom":[{"secretRef":{"name":"init-env"}}]}],
    "containers":[{"envFrom":[{"configMapRef":{"name":"env-map"}}],"env":[
      {"valueFrom":{"secretKeyRef":{"name":"key"}}},
      {"valueFrom":{"configMapKeyRef":{"name":"key-map"}}}]}],
    "ephemeralContainers":[{"envFrom":[{"secretRef":{"name":"debug-env"}}]}],
    "resourceClaims":[{"name":"a","resourceClaimName":"claimed"},
      {"name":"b","resourceClaimTemplateName":"t"},{"name":"c","resourceClaimTemplateName":"t"}],
    "volumes":[{"secret":{"secretName":"mounted"}},{"azureFile":{"secretName":"azure"}},
      {"cephfs":{"secretRef":{"name":"ceph"}}},{"csi":{"nodePublishSecretRef":{"name":"csi"}}},
      {"flexVolume":{"secretRef":{"name":"flex"}}},{"configMap":{"name":"map"}},
      {"projected":{"sources":[{"secret":{"name":"projected"}},
        {"configMap":{"name":"projected-map"}}]}},
      {"persistentVolumeClaim":{"claimName":"claim"}},{"name":"scratch","ephemeral":{}}]},
    "status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"made"},{"name":"c"}],
      "extendedResourceClaimStatus":{"resourceClaimName":"extended"}})";

class NodeAuthorizerTest : public ::testing::Test {
 protected:
  void Put(std::string_view group, std::string_view resource, std::string_view ns,
           std::string_view name, std::string_view rest) {
    const store::Key key{group, resource, ns, name};
    const std::string json = base::StrCat(R"({"metadata":{"name":")", name, R"(","namespace":")",
                                          ns, R"(","resourceVersion":""},)", rest, "}");
    const bool exists = store_->Get(key) != nullptr;
    const auto encoded = store::testing::EncodeText(json);
    const auto put = exists ? store_->Update(key, encoded, {}) : store_->Create(key, encoded);
    ASSERT_TRUE(put.ok()) << put.status().message();
  }
  void PutPod(std::string_view name, std::string_view rest) { Put("", "pods", "ns", name, rest); }
  void Remove(std::string_view group, std::string_view resource, std::string_view ns,
              std::string_view name) {
    ASSERT_TRUE(store_->Delete({group, resource, ns, name}, {}).ok());
  }

  // "" if it is allowed, else the reason, "no" without one. `what` is group/resource/subresource.
  std::string Ask(std::string_view verb, std::string_view what, std::string_view ns = {},
                  std::string_view name = {}, const Selectors* selectors = nullptr) {
    const auto parts = base::Split(what, '/');
    Attributes a;
    a.user = &user_;
    a.verb = verb;
    a.group = parts[0];
    a.resource = parts[1];
    if (parts.size() > 2) a.subresource = parts[2];
    a.ns = ns;
    a.name = name;
    a.selectors = selectors;
    const Decision decision = authorizer_->Authorize(a);
    if (decision.allowed()) return "";
    EXPECT_EQ(decision.verdict, Verdict::kNoOpinion);
    return decision.reason.empty() ? "no" : decision.reason;
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  std::unique_ptr<Authorizer> authorizer_ = MakeNodeAuthorizer(*store_, {});
  api::UserInfo user_{"system:node:n1", "", {"system:nodes"}, {}};
};

TEST_F(NodeAuthorizerTest, GivesWhatItsPodsNeed) {
  PutPod("p", kNeedy);
  for (std::string_view name : {"pull", "init-env", "key", "debug-env", "mounted", "azure", "ceph",
                                "csi", "flex", "projected"}) {
    for (std::string_view verb : {"get", "list", "watch"}) {
      EXPECT_EQ(Ask(verb, "/secrets", "ns", name), "") << name;
    }
    EXPECT_EQ(Ask("get", "/secrets", "other", name), kUnrelated) << name;
  }
  for (std::string_view name : {"env-map", "key-map", "map", "projected-map"}) {
    EXPECT_EQ(Ask("get", "/configmaps", "ns", name), "") << name;
  }
  EXPECT_EQ(Ask("get", "/configmaps", "ns", "pull"), kUnrelated);
  for (std::string_view name : {"claim", "p-scratch"}) {
    EXPECT_EQ(Ask("get", "/persistentvolumeclaims", "ns", name), "") << name;
    EXPECT_EQ(Ask("update", "/persistentvolumeclaims/status", "ns", name), "") << name;
  }
  for (std::string_view name : {"claimed", "made", "extended"}) {
    EXPECT_EQ(Ask("get", "resource.k8s.io/resourceclaims", "ns", name), "") << name;
  }
  EXPECT_EQ(Ask("get", "/serviceaccounts", "ns", "account"), "");
  EXPECT_EQ(Ask("create", "/serviceaccounts/token", "ns", "account"), "");
  EXPECT_EQ(Ask("get", "/pods", "ns", "p"), "");
  EXPECT_EQ(Ask("list", "/pods", "ns", "p"), "");
}

TEST_F(NodeAuthorizerTest, OnlyLetsNodesReadWhatPodsNeed) {
  PutPod("p", kNeedy);
  for (std::string_view verb : {"create", "update", "patch", "delete", "deletecollection", "*"}) {
    EXPECT_EQ(Ask(verb, "/secrets", "ns", "key"), "can only read resources of this type");
    EXPECT_EQ(Ask(verb, "/configmaps", "ns", "map"), "can only read resources of this type");
    EXPECT_EQ(Ask(verb, "/persistentvolumeclaims", "ns", "claim"),
              "can only get individual resources of this type");
  }
  EXPECT_EQ(Ask("get", "/secrets/status", "ns", "key"), "cannot read subresource");
  EXPECT_EQ(Ask("get", "/persistentvolumeclaims/x", "ns", "claim"), "cannot get subresource");
  EXPECT_EQ(Ask("get", "/persistentvolumeclaims/status", "ns", "claim"),
            "can only get/update/patch this type");
  EXPECT_EQ(Ask("list", "/secrets", "", "key"), "can only read namespaced object of this type");
  EXPECT_EQ(Ask("list", "/secrets", "ns", ""), "No Object name found");
  EXPECT_EQ(Ask("list", "/serviceaccounts", "ns", "account"),
            "can only create tokens for individual service accounts");
  EXPECT_EQ(Ask("create", "/serviceaccounts", "ns", "account"),
            "can only create token subresource of serviceaccount");
}

TEST_F(NodeAuthorizerTest, KnowsOnlyNodesWithAName) {
  PutPod("pending", R"("spec":{"volumes":[{"secret":{"secretName":"s"}}]})");
  user_.name = "system:node:";
  EXPECT_EQ(Ask("get", "/secrets", "ns", "s"), R"(unknown node for user "system:node:")");
  user_ = {"system:node:n1", "", {"others"}, {}};
  EXPECT_EQ(Ask("get", "/nodes", "", "n1"), "no");
}

TEST_F(NodeAuthorizerTest, FollowsEachWrite) {
  EXPECT_EQ(Ask("get", "/secrets", "ns", "s"), kUnrelated);
  PutPod("p", R"("spec":{"volumes":[{"secret":{"secretName":"s"}}]})");
  EXPECT_EQ(Ask("get", "/secrets", "ns", "s"), kUnrelated);
  PutPod("p", R"("spec":{"nodeName":"n1","volumes":[{"secret":{"secretName":"s"}}]})");
  PutPod("q", R"("spec":{"nodeName":"n1","volumes":[{"secret":{"secretName":"s"}}]})");
  EXPECT_EQ(Ask("get", "/secrets", "ns", "s"), "");
  Remove("", "pods", "ns", "p");
  EXPECT_EQ(Ask("get", "/secrets", "ns", "s"), "");
  Remove("", "pods", "ns", "q");
  EXPECT_EQ(Ask("get", "/secrets", "ns", "s"), kUnrelated);
}

TEST_F(NodeAuthorizerTest, ReadsWhatWasStoredBefore) {
  PutPod("p", kNeedy);
  authorizer_ = MakeNodeAuthorizer(*store_, {});
  EXPECT_EQ(Ask("get", "/secrets", "ns", "key"), "");
}

TEST_F(NodeAuthorizerTest, MirrorPodsGiveNothing) {
  const std::string json = base::StrCat(
      R"({"metadata":{"name":"m","namespace":"ns","resourceVersion":"",
          "annotations":{"kubernetes.io/config.mirror":"x"}},)",
      kNeedy, "}");
  ASSERT_TRUE(store_->Create({"", "pods", "ns", "m"}, store::testing::EncodeText(json)).ok());
  EXPECT_EQ(Ask("get", "/pods", "ns", "m"), "");
  EXPECT_EQ(Ask("get", "/secrets", "ns", "key"), kUnrelated);
  EXPECT_EQ(Ask("create", "/serviceaccounts/token", "ns", "account"), kUnrelated);
}

TEST_F(NodeAuthorizerTest, VolumesGoWithTheirClaims) {
  PutPod("p", kNeedy);
  const auto put = [&](std::string_view name, std::string_view claim, std::string_view source) {
    Put("", "persistentvolumes", "", name,
        base::StrCat(R"("spec":{"claimRef":{"namespace":"ns","name":")", claim, "\"},", source,
                     "}"));
  };
  put("mine", "claim", R"("csi":{"nodeStageSecretRef":{"namespace":"vault","name":"stage"},
      "controllerPublishSecretRef":{"namespace":"vault","name":"publish"}})");
  put("beside", "claim", R"("rbd":{"secretRef":{"name":"beside"}})");
  put("theirs", "foreign", R"("cephfs":{"secretRef":{"name":"foreign"}})");
  EXPECT_EQ(Ask("get", "/persistentvolumes", "", "mine"), "");
  EXPECT_EQ(Ask("get", "/persistentvolumes", "", "theirs"), kUnrelated);
  EXPECT_EQ(Ask("list", "/persistentvolumes"), "can only get individual resources of this type");
  EXPECT_EQ(Ask("get", "/secrets", "vault", "stage"), "");
  EXPECT_EQ(Ask("get", "/secrets", "vault", "publish"), kUnrelated);
  EXPECT_EQ(Ask("get", "/secrets", "ns", "beside"), "");
  EXPECT_EQ(Ask("get", "/secrets", "ns", "foreign"), kUnrelated);

  put("mine", "foreign", R"("csi":{"nodeStageSecretRef":{"namespace":"vault","name":"stage"}})");
  EXPECT_EQ(Ask("get", "/secrets", "vault", "stage"), kUnrelated);
  Remove("", "pods", "ns", "p");
  EXPECT_EQ(Ask("get", "/persistentvolumes", "", "beside"), kUnrelated);
}

TEST_F(NodeAuthorizerTest, ObjectsThatNameTheirNodeAreItsOwn) {
  for (std::string_view node : {"n1", "n2"}) {
    const std::string spec = base::StrCat(R"("spec":{"nodeName":")", node, "\"}");
    Put("storage.k8s.io", "volumeattachments", "", node, spec);
    Put("resource.k8s.io", "resourceslices", "", node, spec);
  }
  EXPECT_EQ(Ask("get", "storage.k8s.io/volumeattachments", "", "n1"), "");
  EXPECT_EQ(Ask("get", "storage.k8s.io/volumeattachments", "", "n2"), kUnrelated);
  EXPECT_EQ(Ask("delete", "resource.k8s.io/resourceslices", "", "n1"), "");
  EXPECT_EQ(Ask("delete", "resource.k8s.io/resourceslices", "", "n2"), kUnrelated);
  EXPECT_EQ(Ask("create", "resource.k8s.io/resourceslices"), "");
  EXPECT_EQ(Ask("deletecollection", "resource.k8s.io/resourceslices"),
            "can only list/watch/deletecollection resourceslices with nodeName field selector");
  const Selectors own{.fields = {{"spec.nodeName", "n1", false}}, .labels = {}};
  EXPECT_EQ(Ask("deletecollection", "resource.k8s.io/resourceslices", "", "", &own), "");
}

TEST_F(NodeAuthorizerTest, PodsAndNodesAreSelectedByTheNode) {
  const Selectors own{.fields = {{"status.phase", "Running", true}, {"spec.nodeName", "n1", false}},
                      .labels = {}};
  const Selectors others{.fields = {{"spec.nodeName", "n2", false}}, .labels = {}};
  const Selectors no{.fields = {{"spec.nodeName", "n1", true}}, .labels = {}};
  const std::string refused = "can only list/watch pods with spec.nodeName field selector";
  for (std::string_view verb : {"list", "watch"}) {
    EXPECT_EQ(Ask(verb, "/pods", "", "", &own), "");
    EXPECT_EQ(Ask(verb, "/pods", "", "", &others), refused);
    EXPECT_EQ(Ask(verb, "/pods", "", "", &no), refused);
    EXPECT_EQ(Ask(verb, "/pods"), refused);
    EXPECT_EQ(Ask(verb, "/pods", "ns", "p"), kUnrelated);
  }
  EXPECT_EQ(Ask("deletecollection", "/pods", "ns", "", &own), "no");
  EXPECT_EQ(Ask("create", "/pods", "ns"), "");
  EXPECT_EQ(Ask("update", "/pods", "ns", "p"), "no");
  EXPECT_EQ(Ask("patch", "/pods/status", "ns", "p"), "");
  EXPECT_EQ(Ask("create", "/pods/eviction", "ns", "p"), "");
  EXPECT_EQ(Ask("get", "/pods/log", "ns", "p"), "no");

  EXPECT_EQ(Ask("get", "/nodes", "", "n1"), "");
  EXPECT_EQ(Ask("watch", "/nodes", "", "n1"), "");
  EXPECT_EQ(Ask("get", "/nodes", "", "n2"), "node 'n1' cannot read 'n2', only its own Node object");
  EXPECT_EQ(Ask("list", "/nodes"), "node 'n1' cannot read all nodes, only its own Node object");
  EXPECT_EQ(Ask("delete", "/nodes", "", "n1"), "no");
  EXPECT_EQ(Ask("patch", "/nodes/status", "", "n1"), "");
  EXPECT_EQ(Ask("get", "/nodes/proxy", "", "n1"), "no");
}

TEST_F(NodeAuthorizerTest, LeasesAndCsiNodesBearTheNodesName) {
  const std::string lease = "coordination.k8s.io/leases";
  EXPECT_EQ(Ask("update", lease, "kube-node-lease", "n1"), "");
  EXPECT_EQ(Ask("create", lease, "kube-node-lease"), "");
  EXPECT_EQ(Ask("get", lease, "kube-node-lease", "n2"),
            "can only access node lease with the same name as the requesting node");
  EXPECT_EQ(Ask("get", lease, "ns", "n1"),
            R"(can only access leases in the "kube-node-lease" system namespace)");
  EXPECT_EQ(Ask("list", lease, "kube-node-lease", "n1"),
            "can only get, create, update, patch, or delete a node lease");
  const std::string csi = "storage.k8s.io/csinodes";
  EXPECT_EQ(Ask("patch", csi, "", "n1"), "");
  EXPECT_EQ(Ask("delete", csi, "", "n2"),
            "can only access CSINode with the same name as the requesting node");
  EXPECT_EQ(Ask("watch", csi), "can only get, create, update, patch, or delete a CSINode");
  EXPECT_EQ(Ask("get", csi + "/status", "", "n1"), "cannot authorize CSINode subresources");
}

TEST_F(NodeAuthorizerTest, CertificateRequestsGoByTheFeature) {
  const std::string requests = "certificates.k8s.io/podcertificaterequests";
  Put("certificates.k8s.io", "podcertificaterequests", "ns", "r", R"("spec":{"nodeName":"n1"})");
  EXPECT_EQ(Ask("get", requests, "ns", "r"), "no");
  authorizer_ = MakeNodeAuthorizer(*store_, {.pod_certificate_requests = true});
  EXPECT_EQ(Ask("get", requests, "ns", "r"), "");
  EXPECT_EQ(Ask("create", requests, "ns"), "");
  EXPECT_EQ(Ask("get", requests, "ns", "s"), kUnrelated);
  EXPECT_EQ(Ask("delete", requests, "ns", "r"), "nodes may not delete podcertificaterequests");
  EXPECT_EQ(Ask("list", requests, "ns"),
            "can only list/watch podcertificaterequests with nodeName field selector");
  EXPECT_EQ(Ask("update", requests + "/status", "ns", "r"),
            "nodes may not access the status subresource of PodCertificateRequests");
}

TEST_F(NodeAuthorizerTest, TrustBundlesGoByTheFeature) {
  const std::string bundles = "certificates.k8s.io/clustertrustbundles";
  EXPECT_EQ(Ask("list", bundles), "no");
  authorizer_ = MakeNodeAuthorizer(*store_, {.cluster_trust_bundles = true});
  EXPECT_EQ(Ask("list", bundles), "");
  EXPECT_EQ(Ask("update", bundles, "", "b"), "no");
}

TEST_F(NodeAuthorizerTest, TheRestGoesByTheRole) {
  EXPECT_EQ(Ask("list", "/services"), "");
  EXPECT_EQ(Ask("create", "/events", "ns"), "");
  EXPECT_EQ(Ask("get", "node.k8s.io/runtimeclasses", "", "r"), "");
  EXPECT_EQ(Ask("create", "/services", "ns"), "no");
  EXPECT_EQ(Ask("list", "/namespaces"), "no");
}

TEST(NodeGraph, ForgetsWhatIsGone) {
  const auto store = store::OpenMemory();
  const auto graph = Graph::Open(*store);
  for (int round = 0; round < 2; ++round) {
    const std::string json = base::StrCat(
        R"({"metadata":{"name":"p","namespace":"ns","resourceVersion":""},)", kNeedy, "}");
    ASSERT_TRUE(store->Create({"", "pods", "ns", "p"}, store::testing::EncodeText(json)).ok());
    EXPECT_EQ(graph->size(), 21u);
    ASSERT_TRUE(store->Delete({"", "pods", "ns", "p"}, {}).ok());
    EXPECT_EQ(graph->size(), 0u);
  }
}

}  // namespace
}  // namespace portcullis::authz::node

// SPDX-License-Identifier: Apache-2.0

// The paths are those that Kubernetes' own integration test of etcd expects.

#include "store/storage_key.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/catalog/catalog.h"

namespace portcullis::store {
namespace {

struct Row {
  Key key;
  std::string_view path;
};

TEST(StorageKey, IsWhereKubeApiserverKeepsTheObject) {
  const Row rows[] = {
      {{"", "configmaps", "default", "a"}, "/registry/configmaps/default/a"},
      {{"", "namespaces", "", "namespace1"}, "/registry/namespaces/namespace1"},
      {{"", "nodes", "", "node1"}, "/registry/minions/node1"},
      {{"", "services", "n", "web"}, "/registry/services/specs/n/web"},
      {{"", "endpoints", "n", "web"}, "/registry/services/endpoints/n/web"},
      {{"", "replicationcontrollers", "n", "a"}, "/registry/controllers/n/a"},
      {{"networking.k8s.io", "ingresses", "n", "a"}, "/registry/ingress/n/a"},
      {{"networking.k8s.io", "ipaddresses", "", "10.0.0.1"}, "/registry/ipaddresses/10.0.0.1"},
      {{"rbac.authorization.k8s.io", "clusterroles", "", "system:node"},
       "/registry/clusterroles/system:node"},
      {{"apiextensions.k8s.io", "customresourcedefinitions", "", "foos.cr.bar.com"},
       "/registry/apiextensions.k8s.io/customresourcedefinitions/foos.cr.bar.com"},
      {{"apiregistration.k8s.io", "apiservices", "", "v1.apps"},
       "/registry/apiregistration.k8s.io/apiservices/v1.apps"},
      {{"cr.bar.com", "foos", "n", "cr1foo"}, "/registry/cr.bar.com/foos/n/cr1foo"},
      {{"awesome.bears.com", "pandas", "", "cr3panda"},
       "/registry/awesome.bears.com/pandas/cr3panda"},
      // Custom resources may be of a group of Kubernetes, or be called like its resources.
      {{"gateway.networking.k8s.io", "gateways", "n", "a"},
       "/registry/gateway.networking.k8s.io/gateways/n/a"},
      {{"example.com", "pods", "n", "a"}, "/registry/example.com/pods/n/a"},
      {{"example.com", "services", "", "specs"}, "/registry/example.com/services/specs"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(StorageKey(row.key), row.path);
    const auto parsed = ParseStorageKey(row.path);
    ASSERT_TRUE(parsed) << row.path;
    EXPECT_EQ(parsed->group, row.key.group) << row.path;
    EXPECT_EQ(parsed->resource, row.key.resource) << row.path;
    EXPECT_EQ(parsed->ns, row.key.ns) << row.path;
    EXPECT_EQ(parsed->name, row.key.name) << row.path;
  }
  EXPECT_EQ(StorageKey({"", "pods", "n", "a"}, "/other/place"), "/other/place/pods/n/a");
  EXPECT_EQ(ParseStorageKey("/other/place/pods/n/a", "/other/place")->name, "a");
}

TEST(StorageKey, LeavesOtherKeysAlone) {
  for (const std::string_view path :
       {"/registry", "/registry/", "/registry/pods", "/registry/pods/", "/registry/pods/n/",
        "/registry/pods/n/a/b", "/registry/pods//a", "/registryX/pods/n/a", "pods/n/a",
        "/registry/masterleases/10.0.0.1", "/registry/ranges/serviceips",
        "/registry/ranges/servicenodeports", "/registry/peerserverleases/x",
        "/registry/services/other/n/a", "/registry/services/specs", "/registry/cr.bar.com/foos",
        "/registry/cr.bar.com//n/a", "compact_rev_key", ""}) {
    EXPECT_FALSE(ParseStorageKey(path)) << path;
  }
}

TEST(StorageKey, KnowsEveryBuiltInResource) {
  const auto catalog = api::catalog::Catalog::BuiltIn({{"api/all", true}});
  ASSERT_TRUE(catalog.ok()) << catalog.status().message();
  int stored = 0;
  for (const api::catalog::ResourceInfo* info : (*catalog)->resources()) {
    if (info->storage_version_hash.empty()) continue;
    ++stored;
    const api::GroupResource resource = info->stored_as();
    const std::string path = StorageKey({resource.group, resource.resource, "", "x"}, "/r");
    const bool in_group = path.starts_with("/r/" + resource.group + "/");
    EXPECT_EQ(in_group, resource.group == "apiextensions.k8s.io" ||
                            resource.group == "apiregistration.k8s.io")
        << path << ": not in the table";
    const auto parsed = ParseStorageKey(path, "/r");
    ASSERT_TRUE(parsed) << path;
    EXPECT_EQ(parsed->group, resource.group) << path;
    EXPECT_EQ(parsed->resource, resource.resource) << path;
  }
  EXPECT_GT(stored, 60);
}

}  // namespace
}  // namespace portcullis::store

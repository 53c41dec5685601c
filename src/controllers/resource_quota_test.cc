// SPDX-License-Identifier: Apache-2.0

#include "controllers/resource_quota.h"

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/writer.h"
#include "kube_cel/compiler.h"
#include "release/release.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::controllers {
namespace {

// Keeps the last object that was written.
class LastWrite final : public Client {
 public:
  base::Result<store::ObjectPtr> Do(const Request& request) override {
    path = base::StrCat(request.resource.resource, "/", request.ns, "/", request.name, "/",
                        request.subresource);
    used = json::ToString(request.body["status"]["used"]);
    return store::ObjectPtr();
  }
  std::string path;
  std::string used;
};

// What the controller writes for a claim that asks for 1Gi and is being expanded to 5Gi.
std::string UsedOfAnExpandedClaim(const std::string& version) {
  const auto store = store::OpenMemory();
  const auto put = [&](std::string_view resource, std::string_view name, std::string_view text) {
    return store->Create({"", resource, "n", name}, store::testing::EncodeText(text)).ok();
  };
  EXPECT_TRUE(put("persistentvolumeclaims", "c", R"({"apiVersion":"v1",
      "kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"n","uid":"1",
      "resourceVersion":""},"spec":{"resources":{"requests":{"storage":"1Gi"}}},
      "status":{"allocatedResources":{"storage":"5Gi"}}})"));
  EXPECT_TRUE(put("resourcequotas", "q", R"({"apiVersion":"v1","kind":"ResourceQuota",
      "metadata":{"name":"q","namespace":"n","uid":"2","resourceVersion":""},
      "spec":{"hard":{"requests.storage":"10Gi"}}})"));
  LastWrite client;
  const auto release = release::Release::Open(version);
  const base::Published<api::catalog::Catalog> catalog;
  const base::FakeClock clock;
  kube_cel::Compiler compiler;
  const ControllerContext context{*store, client, catalog, clock, compiler, "", *release};
  kResourceQuota.create(context)->Reconcile("n");
  EXPECT_EQ(client.path, "resourcequotas/n/q/status");
  return client.used;
}

TEST(ResourceQuotaController, CountsAsTheReleaseDoes) {
  EXPECT_EQ(UsedOfAnExpandedClaim("1.33"), R"({"requests.storage":"1Gi"})");
  EXPECT_EQ(UsedOfAnExpandedClaim("1.36"), R"({"requests.storage":"5Gi"})");
}

}  // namespace
}  // namespace portcullis::controllers

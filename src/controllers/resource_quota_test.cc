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
#include "store/testing/partly_readable.h"

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

TEST(ResourceQuotaController, KeepsTheNumbersOfWhatCannotBeRead) {
  const auto store = store::OpenMemory();
  const auto put = [&](std::string_view resource, std::string_view name, std::string_view text) {
    return store->Create({"", resource, "n", name}, store::testing::EncodeText(text)).ok();
  };
  EXPECT_TRUE(put("services", "s", R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s",
      "namespace":"n","uid":"1","resourceVersion":""},"spec":{}})"));
  EXPECT_TRUE(put("resourcequotas", "q", R"({"apiVersion":"v1","kind":"ResourceQuota",
      "metadata":{"name":"q","namespace":"n","uid":"2","resourceVersion":""},
      "spec":{"hard":{"secrets":"9","services":"5"}},"status":{"used":{"secrets":"7"}}})"));
  LastWrite client;
  const auto release = release::Release::Open("1.36");
  const base::Published<api::catalog::Catalog> catalog;
  const base::FakeClock clock;
  kube_cel::Compiler compiler;
  store::testing::PartlyReadable reader(*store);
  reader.unreadable = "secrets";
  const ControllerContext context{reader, client, catalog, clock, compiler, "", *release};
  kResourceQuota.create(context)->Reconcile("n");
  EXPECT_EQ(client.used, R"({"secrets":"7","services":"1"})");
}

// Every change of an object is heard, but where no quota is there is nothing to do.
TEST(ResourceQuotaController, LooksOnlyWhereAQuotaIs) {
  const auto store = store::OpenMemory();
  const auto put = [&](std::string_view resource, std::string_view ns) {
    const store::Key key{"", resource, ns, "x"};
    EXPECT_TRUE(store
                    ->Create(key, store::testing::EncodeText(
                                      base::StrCat(R"({"metadata":{"name":"x","namespace":")", ns,
                                                   R"(","uid":"1","resourceVersion":""}})")))
                    .ok());
    return store->Get(key);
  };
  const auto limited = put("configmaps", "limited");
  const auto free = put("configmaps", "free");
  const auto quota = put("resourcequotas", "limited");
  LastWrite client;
  const base::Published<api::catalog::Catalog> catalog;
  const base::FakeClock clock;
  kube_cel::Compiler compiler;
  const ControllerContext context{
      *store, client, catalog, clock, compiler, "", release::Release::Newest()};
  const auto controller = kResourceQuota.create(context);
  const auto heard = [&](store::EventType type, const store::ObjectPtr& object) {
    std::string keys;
    controller->OnEvent({.type = type, .object = object}, [&](std::string key) { keys += key; });
    return keys;
  };
  EXPECT_EQ(heard(store::EventType::kModified, limited), "limited");
  EXPECT_EQ(heard(store::EventType::kDeleted, limited), "limited");
  EXPECT_EQ(heard(store::EventType::kAdded, limited), "");
  EXPECT_EQ(heard(store::EventType::kModified, free), "");
  EXPECT_EQ(heard(store::EventType::kDeleted, free), "");
  EXPECT_EQ(heard(store::EventType::kAdded, quota), "limited");
}

}  // namespace
}  // namespace portcullis::controllers

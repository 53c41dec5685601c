// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/hidden_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/codec/codec.h"
#include "store/memory/memory_store.h"

namespace portcullis::engine {
namespace {

class HiddenFieldsTest : public ::testing::Test {
 protected:
  store::ObjectPtr Stored(const store::Key& key, std::string bytes) {
    const std::size_t at = bytes.find(R"("resourceVersion":")") + 19;
    const auto stored = store_->Create(key, {std::move(bytes), at});
    return stored.ok() ? *stored : nullptr;
  }
  // The bytes that answers show.
  std::string Shows(const api::catalog::ResourceInfo& resource, const store::ObjectPtr& object) {
    const auto shown = InVersion(resource, {object});
    return shown.ok() ? std::string((*shown)[0]->bytes()) : shown.status().message();
  }

  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
  const std::shared_ptr<const api::catalog::Catalog> catalog_ = *api::catalog::Catalog::BuiltIn({});
  const api::catalog::ResourceInfo& services_ = *catalog_->Find("", "v1", "services");
};

TEST_F(HiddenFieldsTest, ListsAndWatchesShowNoPolicyOfAnExternalName) {
  const store::ObjectPtr outside =
      Stored({"", "services", "n", "a"},
             R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"a","resourceVersion":""},)"
             R"("spec":{"type":"ExternalName","internalTrafficPolicy":"Local"}})");
  EXPECT_EQ(Shows(services_, outside),
            R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"a","resourceVersion":")" +
                std::to_string(outside->revision()) + R"("},"spec":{"type":"ExternalName"}})");
  const auto shown = Shown(services_, outside);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ((*shown)->revision(), outside->revision());
  EXPECT_EQ((*shown)->name(), "a");
  json::Arena arena;
  // What patches and the status see.
  EXPECT_EQ((*FromStore(arena, outside, services_))["spec"]["internalTrafficPolicy"].AsString(),
            "Local");
}

TEST_F(HiddenFieldsTest, ListsAndWatchesShowTheFamiliesOfAddresses) {
  const store::ObjectPtr made =
      Stored({"", "services", "n", "c"},
             R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"c","resourceVersion":""},)"
             R"("spec":{"clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9","fd00::9"],)"
             R"("type":"ClusterIP","internalTrafficPolicy":"Cluster"}})");
  EXPECT_NE(Shows(services_, made)
                .find(R"("type":"ClusterIP","ipFamilies":["IPv4","IPv6"],)"
                      R"("ipFamilyPolicy":"RequireDualStack","internalTrafficPolicy":"Cluster")"),
            std::string::npos);
  json::Arena arena;
  EXPECT_FALSE((*FromStore(arena, made, services_))["spec"].Has("ipFamilies"));
}

TEST_F(HiddenFieldsTest, OtherServicesAreShownAsTheyAre) {
  const store::ObjectPtr inside =
      Stored({"", "services", "n", "b"},
             R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"b","resourceVersion":""},)"
             R"("spec":{"type":"ClusterIP","internalTrafficPolicy":"Local"}})");
  const auto shown = Shown(services_, inside);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(*shown, inside);
}

TEST_F(HiddenFieldsTest, AnEmptyBundleIsSeenByTheStrategyAlone) {
  const api::catalog::ResourceInfo& configurations =
      *catalog_->Find("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
  const store::ObjectPtr stored = Stored(
      {"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "a"},
      R"({"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1",)"
      R"("metadata":{"name":"a","resourceVersion":""},)"
      R"("webhooks":[{"name":"a.b.c","clientConfig":{"url":"https://a","caBundle":""}}]})");
  EXPECT_EQ(Shows(configurations, stored).find("caBundle"), std::string::npos);
  json::Arena arena;
  const json::Value live = FromStore(arena, stored, configurations).value();
  EXPECT_FALSE(live["webhooks"][0]["clientConfig"].Has("caBundle"));
  const json::Value whole = StoredForm(arena, configurations, stored, live).value();
  EXPECT_TRUE(whole["webhooks"][0]["clientConfig"].Has("caBundle"));
}

}  // namespace
}  // namespace portcullis::engine

// SPDX-License-Identifier: Apache-2.0

#include "admission/catalog_objects.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "api/catalog/catalog.h"
#include "json/reader.h"

namespace portcullis::admission {
namespace {

// In extensions/v1beta1 they have nothing but a scale (docs/legacy.md).
TEST(CatalogObjects, ReplicationControllersOfExtensionsAreTheSameInTheirScaleOnly) {
  std::shared_ptr<const api::catalog::Catalog> catalog =
      api::catalog::Catalog::BuiltIn({{"extensions/v1beta1", true}}).value();
  const CatalogObjects objects([&] { return catalog; }, nullptr);
  const api::GroupVersionResource core{"", "v1", "replicationcontrollers"};
  const api::GroupVersionResource old{"extensions", "v1beta1", "replicationcontrollers"};
  using List = std::vector<api::GroupVersionResource>;
  EXPECT_EQ(objects.Equivalents(core, ""), List({core}));
  EXPECT_EQ(objects.Equivalents(core, "scale"), List({core, old}));
  EXPECT_EQ(objects.Equivalents(core, "status"), List({core}));
  EXPECT_EQ(objects.Equivalents(old, "scale"), List({old, core}));
}

// A part that an earlier state has as well is of another type where the kind is another.
TEST(CatalogObjects, DecodesWhatIsKnownUnlessTheKindIsAnother) {
  std::shared_ptr<const api::catalog::Catalog> catalog = api::catalog::Catalog::BuiltIn({}).value();
  const CatalogObjects objects([&] { return catalog; }, nullptr);
  const api::GroupVersionKind kind{"", "v1", "ConfigMap"};
  json::Arena arena;
  const json::Value known =
      *json::Parse(arena, R"({"apiVersion":"v1","kind":"ConfigMap","data":{"a":"not base64"}})");
  const json::Value patched =
      json::SetPath(arena, known, {"metadata", "name"}, json::String(arena, "m"));
  const auto decoded = objects.Decode(arena, patched, kind, false, known);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_TRUE((*decoded)["data"].IsSameAs(known["data"]));
  const json::Value secret = json::With(arena, known, "kind", json::String(arena, "Secret"));
  EXPECT_EQ(objects.Decode(arena, secret, kind, false, known).status().message(),
            "illegal base64 data at input byte 3");
}

}  // namespace
}  // namespace portcullis::admission

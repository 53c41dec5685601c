// SPDX-License-Identifier: Apache-2.0

#include "admission/catalog_objects.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "api/catalog/catalog.h"

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

}  // namespace
}  // namespace portcullis::admission

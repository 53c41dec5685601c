// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"

namespace portcullis::api::catalog {
namespace {

// As kube-apiserver 1.36 with --emulated-version.
TEST(StorageHash, HashesTheVersionThatTheReleaseStores) {
  const auto hash = [](int minor, std::string_view group, std::string_view resource) {
    return Catalog::BuiltIn({}, {.minor = minor})
        .value()
        ->Find(group, "v1", resource)
        ->storage_version_hash;
  };
  EXPECT_EQ(hash(36, "resource.k8s.io", "deviceclasses"), "Yk2PTc1Ybxk=");
  EXPECT_EQ(hash(35, "resource.k8s.io", "deviceclasses"), "Yk2PTc1Ybxk=");
  EXPECT_EQ(hash(34, "resource.k8s.io", "deviceclasses"), "weQRMT6DeYM=");
  EXPECT_EQ(hash(34, "resource.k8s.io", "resourceclaims"), "EJAWH5WrAYg=");
  EXPECT_EQ(hash(34, "storage.k8s.io", "volumeattributesclasses"), "Bl3MtjZ/n/s=");
}

}  // namespace
}  // namespace portcullis::api::catalog

// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/in_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing/temporary_folder.h"

namespace portcullis::kubeconfig {
namespace {

class InClusterTest : public ::testing::Test {
 protected:
  void Mount() const {
    ASSERT_TRUE(base::WriteFile(folder_.path() + "/token", "secret").ok());
    ASSERT_TRUE(base::WriteFile(folder_.path() + "/ca.crt", "PEM").ok());
  }
  ClusterPlace At(const char* host) const {
    return {host, *host == '\0' ? "" : "443", folder_.path()};
  }

  const base::TemporaryFolder folder_;
};

TEST_F(InClusterTest, IsNotInOneWithoutAnAddress) {
  Mount();
  EXPECT_FALSE(IsInCluster(At("")));
  EXPECT_THAT(InCluster(At("")).status().message(),
              ::testing::HasSubstr("KUBERNETES_SERVICE_HOST"));
}

TEST_F(InClusterTest, IsNotInOneWithoutAToken) {
  EXPECT_FALSE(IsInCluster(At("10.0.0.1")));
  EXPECT_FALSE(InCluster(At("10.0.0.1")).ok());
}

TEST_F(InClusterTest, TakesAddressAuthorityAndTokenFile) {
  Mount();
  ASSERT_TRUE(IsInCluster(At("fd00::1")));
  const auto config = InCluster(At("fd00::1"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->url, "https://[fd00::1]:443");
  EXPECT_EQ(config->tls.ca_pem, "PEM");
  EXPECT_EQ(config->user.token_file, folder_.path() + "/token");
}

}  // namespace
}  // namespace portcullis::kubeconfig

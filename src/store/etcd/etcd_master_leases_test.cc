// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/etcd_master_leases.h"

#include <gtest/gtest.h>

#include "store/etcd/testing/fake_etcd.h"

namespace portcullis::store {
namespace {

using namespace std::chrono_literals;
using Addresses = std::vector<std::string>;

constexpr char kOne[] = "/registry/masterleases/10.0.0.1";

class EtcdMasterLeasesTest : public ::testing::Test {
 protected:
  testing::FakeEtcd etcd_;
  std::unique_ptr<etcd::Client> client_ = etcd_.MakeClient();
  EtcdMasterLeases leases_{*client_, base::SystemClock(), "/registry"};
};

TEST_F(EtcdMasterLeasesTest, KeepsKubeApiserversKeysAndValues) {
  ASSERT_TRUE(leases_.Renew("10.0.0.1", 15s).ok());
  EXPECT_EQ(etcd_.ValueOf(kOne),
            "{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{\"generation\":1},"
            "\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\"}]}]}\n");
  EXPECT_NE(etcd_.LeaseOf(kOne), 0);
}

TEST_F(EtcdMasterLeasesTest, ListsWhoeverHasALease) {
  EXPECT_EQ(leases_.List().value(), Addresses());
  ASSERT_TRUE(leases_.Renew("10.0.0.2", 15s).ok());
  ASSERT_TRUE(leases_.Renew("10.0.0.1", 15s).ok());
  etcd_.Put("/registry/masterleases/10.0.0.10", "k8s-form");  // of a kube-apiserver
  etcd_.Put("/registry/masterleases", "not below");
  EXPECT_EQ(leases_.List().value(), (Addresses{"10.0.0.1", "10.0.0.10", "10.0.0.2"}));
  etcd_.Expire(etcd_.LeaseOf(kOne));
  EXPECT_EQ(leases_.List().value(), (Addresses{"10.0.0.10", "10.0.0.2"}));
}

TEST_F(EtcdMasterLeasesTest, ARenewedLeaseOutlivesTheFormerOne) {
  ASSERT_TRUE(leases_.Renew("10.0.0.1", 15s).ok());
  const std::int64_t former = etcd_.LeaseOf(kOne);
  ASSERT_TRUE(leases_.Renew("10.0.0.1", 15s).ok());
  etcd_.Expire(former);
  EXPECT_EQ(leases_.List().value(), Addresses{"10.0.0.1"});
}

TEST_F(EtcdMasterLeasesTest, RemovesAnAddress) {
  EXPECT_EQ(leases_.Remove("10.0.0.1").reason(), base::Reason::kNotFound);
  ASSERT_TRUE(leases_.Renew("10.0.0.1", 15s).ok());
  EXPECT_TRUE(leases_.Remove("10.0.0.1").ok());
  EXPECT_EQ(leases_.List().value(), Addresses());
}

}  // namespace
}  // namespace portcullis::store

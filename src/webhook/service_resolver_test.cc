// SPDX-License-Identifier: Apache-2.0

#include "webhook/service_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "store/memory/memory_store.h"

namespace portcullis::webhook {
namespace {

class ServiceResolverTest : public ::testing::Test {
 protected:
  void Put(std::string_view group, std::string_view resource, std::string_view name,
           std::string_view metadata, std::string_view rest) {
    store::Encoded object;
    object.bytes = base::StrCat(R"({"metadata":{"name":")", name, R"(",)", metadata,
                                R"("resourceVersion":""},)", rest, "}");
    object.revision_at = object.bytes.find(R"("resourceVersion":")") + 19;
    ASSERT_TRUE(store_->Create({group, resource, "ns", name}, object).ok());
  }
  void PutService(std::string_view address) {
    Put("", "services", "hook", "",
        base::StrCat(R"("spec":{"clusterIP":")", address, R"(","ports":[{"port":443}]})"));
  }
  void PutEndpoint(std::string_view address) {
    Put("discovery.k8s.io", "endpointslices", "hook-1",
        R"("labels":{"kubernetes.io/service-name":"hook"},)",
        base::StrCat(R"("ports":[{"port":8443}],"endpoints":[{"addresses":[")", address,
                     R"("]}])"));
  }

  // "host:port", or the text of the error.
  std::string Resolve(ServiceResolverOptions options = {}, int port = 443) {
    const auto address =
        MakeServiceResolver(*store_, std::move(options))->Resolve("ns", "hook", port);
    if (!address.ok()) return address.status().message();
    return base::StrCat(address->host, ":", std::to_string(address->port));
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemory();
};

TEST_F(ServiceResolverTest, DoesNotDialAClusterIpThatMayBeAnothersAddress) {
  PutService("10.0.0.5");
  EXPECT_EQ(Resolve(),
            "service \"hook\" is not called at its cluster IP 10.0.0.5, which may belong to "
            "another machine: give --webhook-service-map=ns/hook:443=HOST:PORT or "
            "--service-cluster-ip-range");
}

TEST_F(ServiceResolverTest, DialsClusterIpsThatTheOperatorKnows) {
  PutService("10.0.0.5");
  EXPECT_EQ(Resolve({.dials_cluster_ips = true}), "10.0.0.5:443");
}

TEST_F(ServiceResolverTest, DialsClusterIpsOfTheLoopback) {
  PutService("127.0.0.5");
  EXPECT_EQ(Resolve(), "127.0.0.5:443");
}

TEST_F(ServiceResolverTest, DialsAReadyEndpointOnTheLoopback) {
  PutService("10.0.0.5");
  PutEndpoint("127.0.0.1");
  EXPECT_EQ(Resolve(), "127.0.0.1:8443");
}

TEST_F(ServiceResolverTest, DoesNotDialEndpointsElsewhere) {
  PutService("10.0.0.5");
  PutEndpoint("192.168.1.7");
  EXPECT_THAT(Resolve(), ::testing::HasSubstr("is not called at its cluster IP"));
}

TEST_F(ServiceResolverTest, AsksTheTableFirst) {
  PutService("10.0.0.5");
  EXPECT_EQ(Resolve({.table = {{"ns/hook:443", "127.0.0.1:9443"}}}), "127.0.0.1:9443");
}

TEST_F(ServiceResolverTest, KeepsKubernetesTextsForWhatIsMissing) {
  EXPECT_EQ(Resolve(), "service \"hook\" not found");
  PutService("10.0.0.5");
  EXPECT_EQ(Resolve({}, 80), "no service port 80 found for service \"hook\"");
}

}  // namespace
}  // namespace portcullis::webhook

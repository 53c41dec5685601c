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
    PutSlice("hook-1", "IPv4", base::StrCat(R"({"addresses":[")", address, R"("]})"));
  }
  void PutSlice(std::string_view name, std::string_view family, std::string_view endpoints,
                std::string_view port = R"({"port":8443})") {
    Put("discovery.k8s.io", "endpointslices", name,
        R"("labels":{"kubernetes.io/service-name":"hook"},)",
        base::StrCat(R"("addressType":")", family, R"(","ports":[)", port, R"(],"endpoints":[)",
                     endpoints, "]"));
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

// --enable-aggregator-routing.
class EndpointsTest : public ServiceResolverTest {
 protected:
  std::string Route(int port = 443) { return Resolve({.route_to_endpoints = true}, port); }
};

TEST_F(EndpointsTest, GoesToAReadyEndpointWhereverThatIs) {
  PutService("10.0.0.5");
  PutSlice("hook-1", "IPv4",
           R"({"addresses":["192.168.1.7"],"conditions":{"ready":false}},
              {"addresses":["192.168.1.8","192.168.1.9"],"conditions":{"ready":true}})");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Route(), "192.168.1.8:8443");
}

TEST_F(EndpointsTest, TakesTheirTurns) {
  PutService("10.0.0.5");
  PutSlice("hook-1", "IPv4", R"({"addresses":["192.168.1.7"]},{"addresses":["192.168.1.8"]})");
  const auto resolver = MakeServiceResolver(*store_, {.route_to_endpoints = true});
  const auto first = resolver->Resolve("ns", "hook", 443);
  const auto second = resolver->Resolve("ns", "hook", 443);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->host, second->host);
}

TEST_F(EndpointsTest, PrefersTheFirstFamilyOfTheService) {
  Put("", "services", "hook", "",
      R"("spec":{"clusterIP":"10.0.0.5","ipFamilies":["IPv6","IPv4"],"ports":[{"port":443}]})");
  PutSlice("hook-1", "IPv4", R"({"addresses":["192.168.1.7"]})");
  EXPECT_EQ(Route(), "192.168.1.7:8443");
  PutSlice("hook-2", "IPv6", R"({"addresses":["fd00::7"]})");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Route(), "fd00::7:8443");
}

TEST_F(EndpointsTest, KeepsKubernetesTexts) {
  EXPECT_EQ(Route(), "service \"hook\" not found");
  PutService("10.0.0.5");
  EXPECT_EQ(Route(80), "no service port 80 found for service \"hook\"");
  EXPECT_EQ(Route(), "no endpoints available for service \"hook\"");
  PutSlice("hook-1", "IPv4", R"({"addresses":["192.168.1.7"]})", R"({"name":"other","port":8443})");
  EXPECT_EQ(Route(), "no endpoints available for service \"hook\"");
}

TEST_F(EndpointsTest, DoesNotFollowExternalNames) {
  Put("", "services", "hook", "", R"("spec":{"type":"ExternalName","externalName":"localhost"})");
  EXPECT_EQ(Route(), "unsupported service type \"ExternalName\"");
}

}  // namespace
}  // namespace portcullis::webhook

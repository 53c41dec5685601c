// SPDX-License-Identifier: Apache-2.0

#include "registry/services/service_network.h"

#include <gtest/gtest.h>

#include "metrics/allocator_metrics.h"

namespace portcullis::registry {
namespace {

TEST(ServiceNetworkTest, GivesOutNodePortsThatUsersRarelyChooseFirst) {
  const auto network = ServiceNetwork::Create("10.0.0.0/24", "30000-32767").value();
  ASSERT_TRUE(network->TakePort(30086).ok());
  EXPECT_EQ(network->TakeAnyPort().value(), 30087);
  for (int port = 30088; port <= 32767; ++port) EXPECT_EQ(network->TakeAnyPort().value(), port);
  EXPECT_EQ(network->TakeAnyPort().value(), 30000);
  network->ReleasePort(31000);
  EXPECT_EQ(network->TakeAnyPort().value(), 31000);
}

TEST(ServiceNetworkTest, KeepsNoNodePortsOfSmallRanges) {
  const auto network = ServiceNetwork::Create("10.0.0.0/24", "30000-30015").value();
  EXPECT_EQ(network->TakeAnyPort().value(), 30000);
}

constexpr std::string_view kPorts = "30000-32767";

TEST(ServiceNetworkTest, GivesOutAddressesOfBothFamilies) {
  const auto network = ServiceNetwork::Create("fd00:1::/112,10.0.0.0/24", kPorts).value();
  EXPECT_EQ(network->families(), (std::vector<std::string_view>{"IPv6", "IPv4"}));
  EXPECT_EQ(network->ranges(), (std::vector<std::string>{"fd00:1::/112", "10.0.0.0/24"}));
  EXPECT_EQ(network->first_address(), "fd00:1::1");
  EXPECT_EQ(network->TakeAnyAddress("IPv6", {}).value(), "fd00:1::101");
  EXPECT_EQ(network->TakeAnyAddress("IPv4", {}).value(), "10.0.0.17");
  EXPECT_EQ(network->TakeAnyAddress("IPv6", {}).value(), "fd00:1::102");
  EXPECT_EQ(network->DryRunAddress("IPv6").value(), "fd00:1::");
  EXPECT_EQ(network->DryRunAddress("IPv4").value(), "10.0.0.0");
}

TEST(ServiceNetworkTest, KnowsAnAddressInAnyForm) {
  const auto network = ServiceNetwork::Create("10.0.0.0/24,fd00:1::/112", kPorts).value();
  ASSERT_TRUE(network->TakeAddress("fd00:1:0:0::0007").ok());
  EXPECT_EQ(network->TakeAddress("FD00:1::7").message(), "provided IP is already allocated");
  network->ReleaseAddress("fd00:1::7");
  EXPECT_TRUE(network->TakeAddress("fd00:1::7").ok());
  ASSERT_TRUE(network->TakeAddress("::ffff:10.0.0.7").ok());
  EXPECT_EQ(network->TakeAddress("10.0.0.7").message(), "provided IP is already allocated");
  EXPECT_EQ(network->TakeAddress("fd00:2::7").message(),
            "the provided network does not match the current range");
  EXPECT_EQ(network->CheckAddress("fd00:2:0::7").message(),
            "the provided IP (fd00:2::7) is not in the valid range. The range of valid IPs is "
            "fd00:1::/112");
}

TEST(ServiceNetworkTest, GivesOutTheWholeRange) {
  const auto network = ServiceNetwork::Create("10.0.0.0/27", kPorts).value();
  for (int i = 17; i <= 30; ++i) {
    EXPECT_EQ(network->TakeAnyAddress("IPv4", {}).value(), "10.0.0." + std::to_string(i));
  }
  for (int i = 1; i <= 16; ++i) {
    EXPECT_EQ(network->TakeAnyAddress("IPv4", {}).value(), "10.0.0." + std::to_string(i));
  }
  EXPECT_EQ(network->TakeAnyAddress("IPv4", {}).status().message(), "range is full");
  EXPECT_EQ(network->TakeAnyAddress("IPv6", {}).status().message(), "range is full");
}

// kube-apiserver has no allocator for them.
TEST(ServiceNetworkTest, HasNoAddressesOfNetworksThatAreTooLarge) {
  const auto network = ServiceNetwork::Create("fd00::/63", kPorts).value();
  EXPECT_EQ(network->TakeAnyAddress("IPv6", {}).status().message(), "range is full");
  EXPECT_EQ(network->DryRunAddress("IPv6").status().message(), "allocator not ready");
  EXPECT_EQ(network->TakeAddress("fd00::1").message(),
            "the provided network does not match the current range");
}

TEST(ServiceNetworkTest, CountsWhatIsTaken) {
  metrics::Registry registry;
  const metrics::AllocatorMetrics metrics(registry, base::SystemClock());
  const auto network = ServiceNetwork::Create("10.0.0.0/24", kPorts).value();
  ASSERT_TRUE(network->TakeAddress("10.0.0.1").ok());  // stored already, and not counted
  network->set_metrics(&metrics);

  ASSERT_TRUE(network->TakeAnyAddress(kIpv4, {}).ok());
  ASSERT_TRUE(network->TakeAddress("10.0.0.77").ok());
  EXPECT_FALSE(network->TakeAddress("10.0.0.77").ok());
  ASSERT_TRUE(network->TakeAnyPort().ok());
  EXPECT_FALSE(network->TakePort(1).ok());
  network->PublishUse();

  EXPECT_EQ(metrics.ip_allocations.With({"10.0.0.0/24", "dynamic"}).value(), 1U);
  EXPECT_EQ(metrics.ip_allocations.With({"10.0.0.0/24", "static"}).value(), 1U);
  EXPECT_EQ(metrics.ip_errors.With({"10.0.0.0/24", "static"}).value(), 1U);
  EXPECT_EQ(metrics.ip_duration.With({"10.0.0.0/24"}).count(), 3U);
  EXPECT_EQ(metrics.allocated_ips.With({"10.0.0.0/24"}).value(), 3);
  EXPECT_EQ(metrics.available_ips.With({"10.0.0.0/24"}).value(), 251);
  EXPECT_EQ(metrics.port_allocations.With({"dynamic"}).value(), 1U);
  EXPECT_EQ(metrics.port_errors.With({"static"}).value(), 1U);
  EXPECT_EQ(metrics.available_ports.value(), 2767);
}

}  // namespace
}  // namespace portcullis::registry

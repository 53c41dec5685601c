// SPDX-License-Identifier: Apache-2.0

#include "registry/services/service_network.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace portcullis::registry

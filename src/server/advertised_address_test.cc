// SPDX-License-Identifier: Apache-2.0

#include "server/advertised_address.h"

#include <gtest/gtest.h>

#include "golang/netip.h"

namespace portcullis::server {
namespace {

std::string Of(std::string bound, std::string advertised = "") {
  Options options;
  options.bind_address = std::move(bound);
  options.advertise_address = std::move(advertised);
  return AdvertisedAddress(options);
}

TEST(AdvertisedAddress, IsTheOneThatIsNamed) {
  EXPECT_EQ(Of("127.0.0.1", "192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(Of("127.0.0.1", "::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(Of("127.0.0.1", "fd00:0::1"), "fd00::1");
  EXPECT_EQ(Of("10.0.0.1", "127.0.0.1"), "127.0.0.1");
}

TEST(AdvertisedAddress, IsTheOneThatTheServerListensOn) {
  EXPECT_EQ(Of("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(Of("10.0.0.1", "0.0.0.0"), "10.0.0.1");
}

TEST(AdvertisedAddress, TheLoopbackIsNone) {
  EXPECT_EQ(Of("127.0.0.1"), "");
  EXPECT_EQ(Of("::1"), "");
}

TEST(AdvertisedAddress, OfEveryAddressTheMachinesIsTaken) {
  const std::string address = Of("0.0.0.0");
  if (address.empty()) GTEST_SKIP() << "this machine has no default route";
  const auto ip = golang::ParseIp(address);
  ASSERT_TRUE(ip.has_value()) << address;
  EXPECT_FALSE(ip->IsUnspecified());
}

}  // namespace
}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

#include "registry/services/address_range.h"

#include <gtest/gtest.h>

#include <map>

#include "base/strings.h"

namespace portcullis::registry {
namespace {

using Texts = std::vector<std::string>;

// What kube-apiserver says about --service-cluster-ip-range.
Texts Problems(std::string_view flag, std::string_view version = "1.36") {
  const auto networks = ParseServiceRanges(flag);
  if (!networks.ok()) return {networks.status().message()};
  return CheckServiceRanges(flag, *networks, release::Release::Open(version, {}).value());
}

TEST(ServiceRangesTest, AreOneNetworkOrOneOfEachFamily) {
  constexpr std::string_view kSmall =
      "error determining service IP ranges for primary service cidr: the service cluster IP range "
      "must be at least 8 IP addresses";
  constexpr std::string_view kMany =
      "--service-cluster-ip-range must not contain more than two entries";
  constexpr std::string_view kAlike =
      "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP "
      "family";
  const std::map<std::string_view, std::vector<std::string_view>> problems = {
      {"", {}},
      {"10.0.0.0/29", {}},
      {"10.0.0.0/8", {}},
      {"fd00:1::/64", {}},
      {"10.0.0.0/24,fd00:1::/112", {}},
      {"fd00:1::/112,10.0.0.0/32", {}},
      {"10.0.0.0/24x", {"service-cluster-ip-range[0] is not a valid cidr"}},
      {",10.0.0.0/24", {"service-cluster-ip-range[0] is not a valid cidr"}},
      {"10.0.0.0/24,", {"service-cluster-ip-range[1] is not an ip net"}},
      {"10.0.0.0/30", {kSmall}},
      {"10.0.0.0/1", {kSmall}},
      {"fd00::/126", {kSmall}},
      {"10.0.0.5/24,10.0.0.7/25", {kAlike}},
      {"10.0.0.0/24,fd00::/112,10.1.0.0/24", {kMany}},
      {"10.0.0.0/24,10.2.0.0/24,x", {kMany, kAlike}},
  };
  for (const auto& [flag, expected] : problems) {
    EXPECT_EQ(Problems(flag), Texts(expected.begin(), expected.end())) << flag;
  }
}

TEST(ServiceRangesTest, AreSmallerInReleasesThatKeepBitmaps) {
  EXPECT_EQ(
      Problems("fd00::/107,10.0.0.0/11", "1.33"),
      (Texts{
          "specified --service-cluster-ip-range is too large; for 128-bit addresses, the mask must "
          "be >= 108",
          "specified --service-cluster-ip-range[1] is too large; for 32-bit addresses, the mask "
          "must be >= 12"}));
  EXPECT_EQ(Problems("fd00::/108,10.0.0.0/12", "1.33"), Texts{});
}

AddressRange Range(std::string_view text) {
  return AddressRange(golang::ParsePrefixSloppy(text).value());
}

TEST(AddressRangeTest, LeavesOutTheNetworkAndTheBroadcastOfIpv4) {
  const AddressRange v4 = Range("10.0.1.0/24");
  EXPECT_EQ(v4.At(1), "10.0.1.1");
  EXPECT_EQ(v4.At(v4.last()), "10.0.1.254");
  EXPECT_EQ(v4.At(v4.first_dynamic()), "10.0.1.17");
  const AddressRange v6 = Range("fd00:1::/112");
  EXPECT_EQ(v6.At(1), "fd00:1::1");
  EXPECT_EQ(v6.At(v6.last()), "fd00:1::ffff");
  EXPECT_EQ(v6.At(v6.first_dynamic()), "fd00:1::101");
  for (const auto& [range, address, has] :
       std::vector<std::tuple<const AddressRange*, std::string_view, bool>>{
           {&v4, "10.0.1.0", false},
           {&v4, "10.0.1.1", true},
           {&v4, "10.0.1.255", false},
           {&v4, "fd00:1::1", false},
           {&v6, "fd00:1::", false},
           {&v6, "fd00:1::ffff", true},
           {&v6, "fd00:1::1:0", false}}) {
    EXPECT_EQ(range->Has(golang::ParseIp(address).value()), has) << address;
  }
}

TEST(AddressRangeTest, HasAtMostSixtyFourBits) {
  const AddressRange largest = Range("fd00:1::/64");
  EXPECT_EQ(largest.At(largest.last()), "fd00:1::ffff:ffff:ffff:ffff");
  EXPECT_EQ(largest.At(largest.first_dynamic()), "fd00:1::101");
  EXPECT_FALSE(AddressRange::Serves(golang::ParsePrefixSloppy("fd00::/63").value()));
  for (std::string_view none : {"10.0.0.0/32", "10.0.0.0/31", "fd00::/128"}) {
    EXPECT_EQ(Range(none).last(), 0U) << none;
  }
}

}  // namespace
}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// Networks whose addresses Services get: what --service-cluster-ip-range names, and which addresses of a
// network a Service can have. Behaviour: pkg/registry/core/service/ipallocator, Complete() and Validate() of
// kube-apiserver's options. Value types, pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "golang/netip.h"
#include "release/release.h"

namespace portcullis::registry {

inline constexpr std::string_view kIpv4 = "IPv4";
inline constexpr std::string_view kIpv6 = "IPv6";

std::string_view FamilyOf(const golang::IpAddress& address);
// Of an address that has been checked, in any form that Go has ever taken.
std::string_view FamilyOf(std::string_view address);
// As IPAddresses are named; an IPv4 address inside IPv6 is one of IPv4. "" if it is no address.
std::string CanonicalAddress(std::string_view address);

// The networks that the flag names, one or two; those of 10.0.0.0/24 if it is empty. Errors: texts of
// kube-apiserver, which looks at nothing else then.
base::Result<std::vector<golang::IpPrefix>> ParseServiceRanges(std::string_view flag);
// What else is wrong with a flag that has been parsed.
std::vector<std::string> CheckServiceRanges(std::string_view flag,
                                            const std::vector<golang::IpPrefix>& networks,
                                            const release::Release& release);

// Addresses of a network by their distance from its first one, which no Service can have.
class AddressRange {
 public:
  // Whether Services get addresses of the network: not of one with more than 64 bits for them.
  static bool Serves(const golang::IpPrefix& network);
  explicit AddressRange(const golang::IpPrefix& network);

  const golang::IpPrefix& network() const { return network_; }
  std::string_view family() const { return FamilyOf(network_.address); }
  // The last one that a Service can have; the first one is 1. 0: there is none.
  std::uint64_t last() const { return last_; }
  // The first one that is given out before those which are kept for what users choose.
  std::uint64_t first_dynamic() const { return first_dynamic_; }
  std::string At(std::uint64_t distance) const;
  bool Has(const golang::IpAddress& address) const;

 private:
  golang::IpPrefix network_;
  std::uint64_t last_ = 0;
  std::uint64_t first_dynamic_ = 1;
};

// How many of a range of `size` at its beginning are kept for what users choose, and given out last
// (Kubernetes docs: Service ClusterIP allocation, avoiding collisions of node ports).
std::uint64_t StaticBand(std::uint64_t size, std::uint64_t share, std::uint64_t most);

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// IP addresses and prefixes with the semantics and error texts of Go's net/netip and net, and of
// k8s.io/utils/net. Value types.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace portcullis::golang {

struct IpAddress {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 address is in the first four
  std::string zone;

  int bits() const { return is_v6 ? 128 : 32; }
  // ::ffff:1.2.3.4
  bool IsMapped() const;
  // 1.2.3.4 of ::ffff:1.2.3.4; others unchanged.
  IpAddress Unmap() const;
  bool IsUnspecified() const;
  bool IsLoopback() const;
  bool IsMulticast() const;
  bool IsLinkLocalMulticast() const;
  bool IsLinkLocalUnicast() const;
  // Go's notion: whatever is none of the above, private ranges included.
  bool IsGlobalUnicast() const;
  std::string ToString() const;
  bool operator==(const IpAddress&) const = default;
};

// netip.ParseAddr. Errors: `ParseAddr("x"): unable to parse IP`.
base::Result<IpAddress> ParseIpAddress(std::string_view text);
// net.ParseIP: without a zone. ::ffff:1.2.3.4 stays what it is: see Unmap().
std::optional<IpAddress> ParseIp(std::string_view text);
// k8s.io/utils/net.ParseIPSloppy: as Go before 1.17, leading zeros in decimal octets and in groups.
std::optional<IpAddress> ParseIpSloppy(std::string_view text);

struct IpPrefix {
  IpAddress address;  // as written, host bits included
  int length = 0;

  IpPrefix Masked() const;
  bool Contains(const IpAddress& ip) const;
  // Every address of `other` is in this one.
  bool Contains(const IpPrefix& other) const;
  std::string ToString() const;
  bool operator==(const IpPrefix&) const = default;
};

// netip.ParsePrefix. Errors: `netip.ParsePrefix("x"): no '/'`.
base::Result<IpPrefix> ParseIpPrefix(std::string_view text);
// k8s.io/utils/net.ParseCIDRSloppy.
std::optional<IpPrefix> ParsePrefixSloppy(std::string_view text);

// net.JoinHostPort: "host:port" with brackets around IPv6 addresses.
std::string JoinHostPort(std::string_view host, std::string_view port);
// net.SplitHostPort. Errors: "address x: missing port in address".
base::Result<std::pair<std::string, std::string>> SplitHostPort(std::string_view address);

}  // namespace portcullis::golang

// IP addresses and prefixes with the semantics and error texts of Go's net/netip. Value types.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::kube_cel {

struct IpAddress {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 address is in the first four
  std::string zone;

  int bits() const { return is_v6 ? 128 : 32; }
  // ::ffff:1.2.3.4
  bool IsMapped() const;
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

// Errors: `ParseAddr("x"): unable to parse IP`.
base::Result<IpAddress> ParseIpAddress(std::string_view text);

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

// Errors: `netip.ParsePrefix("x"): no '/'`.
base::Result<IpPrefix> ParseIpPrefix(std::string_view text);

}  // namespace portcullis::kube_cel

// SPDX-License-Identifier: Apache-2.0

#include "registry/services/address_range.h"

#include <algorithm>
#include <limits>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kDefaultRange = "10.0.0.0/24";
constexpr std::uint64_t kSmallestRange = 8;
constexpr int kMostBits = 20;  // of addresses in a network that an allocator keeps as a bitmap
constexpr int kMostBitsOfAllocator = 64;

// k8s.io/utils/net.RangeSize: 0 for the largest networks.
std::uint64_t RangeSize(const golang::IpPrefix& network) {
  const int bits = network.address.bits() - network.length;
  if (bits >= network.address.bits() - 1) return 0;
  constexpr int kOverflows = 63;
  if (bits >= kOverflows) return std::numeric_limits<std::int64_t>::max();
  return std::uint64_t{1} << bits;
}

std::optional<golang::IpPrefix> ParseNetwork(std::string_view text) {
  auto network = golang::ParsePrefixSloppy(text);
  if (!network) return std::nullopt;
  constexpr int kPrefixOfMapped = 96;
  if (network->address.IsMapped() && network->length >= kPrefixOfMapped) {
    network = golang::IpPrefix{network->address.Unmap(), network->length - kPrefixOfMapped};
  }
  return network->Masked();
}

std::string TooLarge(std::string_view flag, const golang::IpPrefix& network) {
  const int bits = network.address.bits();
  if (bits - network.length <= kMostBits) return "";
  return base::StrCat("specified ", flag, " is too large; for ", std::to_string(bits),
                      "-bit addresses, the mask must be >= ", std::to_string(bits - kMostBits));
}

// The part of an address that tells those of a range apart.
std::uint64_t LowBits(const golang::IpAddress& address) {
  const int bytes = address.bits() / 8;
  std::uint64_t low = 0;
  for (int i = std::max(0, bytes - 8); i < bytes; ++i) {
    low = low << 8 | address.bytes[static_cast<std::size_t>(i)];
  }
  return low;
}

}  // namespace

std::string_view FamilyOf(const golang::IpAddress& address) {
  return address.is_v6 ? kIpv6 : kIpv4;
}

std::string_view FamilyOf(std::string_view address) {
  const auto parsed = golang::ParseIpSloppy(address);
  return parsed ? FamilyOf(parsed->Unmap()) : kIpv4;
}

std::string CanonicalAddress(std::string_view address) {
  const auto parsed = golang::ParseIpSloppy(address);
  return parsed ? parsed->Unmap().ToString() : "";
}

base::Result<std::vector<golang::IpPrefix>> ParseServiceRanges(std::string_view flag) {
  const auto texts = base::Split(flag.empty() ? kDefaultRange : flag, ',');
  const auto primary = ParseNetwork(texts.front());
  if (!primary) return base::ConfigError("service-cluster-ip-range[0] is not a valid cidr");
  if (RangeSize(*primary) < kSmallestRange) {
    return base::ConfigError(
        base::StrCat("error determining service IP ranges for primary service cidr: the service "
                     "cluster IP range must be at least ",
                     std::to_string(kSmallestRange), " IP addresses"));
  }
  std::vector<golang::IpPrefix> networks = {*primary};
  if (texts.size() > 1) {
    const auto secondary = ParseNetwork(texts[1]);
    if (!secondary) return base::ConfigError("service-cluster-ip-range[1] is not an ip net");
    networks.push_back(*secondary);
  }
  return networks;
}

std::vector<std::string> CheckServiceRanges(std::string_view flag,
                                            const std::vector<golang::IpPrefix>& networks,
                                            const release::Release& release) {
  std::vector<std::string> problems;
  const bool keeps_bitmaps = !release.GateEnabled("MultiCIDRServiceAllocator") ||
                             !release.GateEnabled("DisableAllocatorDualWrite");
  const auto check_size = [&](std::string_view name, const golang::IpPrefix& network) {
    std::string problem = keeps_bitmaps ? TooLarge(name, network) : "";
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  if (base::Split(flag, ',').size() > 2) {
    problems.emplace_back("--service-cluster-ip-range must not contain more than two entries");
  }
  check_size("--service-cluster-ip-range", networks.front());
  if (networks.size() < 2) return problems;
  if (networks[0].address.is_v6 == networks[1].address.is_v6) {
    problems.emplace_back(
        "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP "
        "family");
  }
  check_size("--service-cluster-ip-range[1]", networks[1]);
  return problems;
}

std::uint64_t StaticBand(std::uint64_t size, std::uint64_t share, std::uint64_t most) {
  constexpr std::uint64_t kLeast = 16;
  return size <= kLeast ? 0 : std::clamp(size / share, kLeast, most);
}

bool AddressRange::Serves(const golang::IpPrefix& network) {
  return network.address.bits() - network.length <= kMostBitsOfAllocator;
}

AddressRange::AddressRange(const golang::IpPrefix& network) : network_(network.Masked()) {
  const int bits = network_.address.bits() - network_.length;
  if (!Serves(network_)) return;
  const std::uint64_t broadcast = bits == kMostBitsOfAllocator
                                      ? std::numeric_limits<std::uint64_t>::max()
                                      : (std::uint64_t{1} << bits) - 1;
  last_ = network_.address.is_v6 || broadcast == 0 ? broadcast : broadcast - 1;
  first_dynamic_ = 1 + StaticBand(RangeSize(network_), 16, 256);
}

std::string AddressRange::At(std::uint64_t distance) const {
  golang::IpAddress address = network_.address;
  std::uint64_t low = LowBits(address) + distance;
  for (int i = address.bits() / 8 - 1; i >= std::max(0, address.bits() / 8 - 8); --i) {
    address.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(low);
    low >>= 8;
  }
  return address.ToString();
}

bool AddressRange::Has(const golang::IpAddress& address) const {
  if (!network_.Contains(address) || last_ == 0) return false;
  const std::uint64_t distance = LowBits(address) - LowBits(network_.address);
  return distance >= 1 && distance <= last_;
}

}  // namespace portcullis::registry

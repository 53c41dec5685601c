// SPDX-License-Identifier: Apache-2.0

// Values of the types net.IP and net.CIDR.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "cel/value.h"
#include "golang/netip.h"
#include "kube_cel/libraries.h"

namespace portcullis::kube_cel {

class IpValue final : public cel::Object {
 public:
  explicit IpValue(golang::IpAddress ip) : ip_(std::move(ip)) {}
  ~IpValue() = default;
  const cel::Type* type() const override { return &kIpType; }
  const golang::IpAddress& ip() const { return ip_; }
  cel::Value Equals(json::Arena& arena, cel::Value other) const override;
  // Bytes of the address.
  std::uint64_t CostSize() const override { return static_cast<std::uint64_t>(ip_.bits() / 8); }
  cel::Value ToStringValue(json::Arena& arena) const override {
    return cel::MakeString(arena, ip_.ToString());
  }
  std::string_view GoType() const override { return "cel.IP"; }
  std::string KeyText() const override { return ip_.ToString(); }

 private:
  golang::IpAddress ip_;
};

class CidrValue final : public cel::Object {
 public:
  explicit CidrValue(golang::IpPrefix prefix) : prefix_(std::move(prefix)) {}
  ~CidrValue() = default;
  const cel::Type* type() const override { return &kCidrType; }
  const golang::IpPrefix& prefix() const { return prefix_; }
  cel::Value Equals(json::Arena& arena, cel::Value other) const override;
  // Bytes that the prefix spans.
  std::uint64_t CostSize() const override {
    return static_cast<std::uint64_t>((prefix_.length + 7) / 8);
  }
  cel::Value ToStringValue(json::Arena& arena) const override {
    return cel::MakeString(arena, prefix_.ToString());
  }
  std::string_view GoType() const override { return "cel.CIDR"; }
  std::string KeyText() const override { return prefix_.ToString(); }

 private:
  golang::IpPrefix prefix_;
};

// As expressions accept them: no zones, no IPv4-mapped addresses. Texts as Kubernetes shows them.
base::Result<golang::IpAddress> ParseIp(std::string_view text);
base::Result<golang::IpPrefix> ParseCidr(std::string_view text);

}  // namespace portcullis::kube_cel

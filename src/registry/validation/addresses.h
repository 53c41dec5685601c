// SPDX-License-Identifier: Apache-2.0

// IP addresses and networks in fields (apimachinery/pkg/util/validation/ip.go). Pure functions; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// An address in any form Go has ever taken, leading zeros included.
bool IsIp(std::string_view text);
// Such an address, which is not an IPv4 address inside IPv6 either.
bool IsIpv6(std::string_view text);

// Fields that are older than canonical forms: any form Go has ever taken; with the gate
// StrictIPCIDRValidation neither leading zeros nor IPv4 inside IPv6, and networks without bits beyond
// their prefix. False if something is wrong.
bool CheckIp(const Context& ctx, std::string_view text, const FieldPath& path, FieldErrors& errors);
bool CheckCidr(const Context& ctx, std::string_view text, const FieldPath& path,
               FieldErrors& errors);
// Newer fields: the canonical form and no other.
void CheckCanonicalIp(std::string_view text, const FieldPath& path, FieldErrors& errors);
void CheckCanonicalCidr(std::string_view text, const FieldPath& path, FieldErrors& errors);
// An address with the length of its network, in canonical form.
void CheckInterfaceAddress(std::string_view text, const FieldPath& path, FieldErrors& errors);
// Not unspecified, loopback, link-local or link-local multicast.
void CheckNonSpecialIp(std::string_view text, const FieldPath& path, FieldErrors& errors);

// What is unusual about an older field's value.
void WarnOfIp(std::string_view text, const FieldPath& path, std::vector<std::string>& warnings);
// Of addresses at which something is reached, each below `path` by its number.
void WarnOfIngressPoints(json::Value points, const FieldPath& path,
                         std::vector<std::string>& warnings);
void WarnOfCidr(std::string_view text, const FieldPath& path, std::vector<std::string>& warnings);

}  // namespace portcullis::registry

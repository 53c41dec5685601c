// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/addresses.h"

#include <optional>

#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::registry {
namespace {

using golang::IpAddress;
using golang::IpPrefix;

// As Go's net.IP prints it: an IPv4 address inside IPv6 is an IPv4 address.
std::string Canonical(const IpAddress& address) { return address.Unmap().ToString(); }

std::string Canonical(const IpPrefix& prefix) {
  const IpAddress network = prefix.Masked().address;
  const int length = network.IsMapped() ? prefix.length - 96 : prefix.length;
  return base::StrCat(Canonical(network), "/", std::to_string(length));
}

void AddError(const FieldPath& path, std::string_view text, std::string_view what,
              FieldErrors& errors) {
  errors.push_back(api::Invalid(path, text, what));
}

bool IsStrict(const Context& ctx) { return ctx.release->GateEnabled("StrictIPCIDRValidation"); }

bool CheckAnyIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (golang::ParseIpSloppy(text)) return true;
  AddError(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)", errors);
  return false;
}

bool CheckStrictIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (!CheckAnyIp(text, path, errors)) return false;
  const auto strict = golang::ParseIpAddress(text);
  if (!strict.ok()) {
    AddError(path, text, "must not have leading 0s", errors);
  } else if (strict->IsMapped()) {
    AddError(path, text, "must not be an IPv4-mapped IPv6 address", errors);
  } else {
    return true;
  }
  return false;
}

bool CheckAnyCidr(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (golang::ParsePrefixSloppy(text)) return true;
  AddError(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)", errors);
  return false;
}

bool CheckStrictCidr(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (!CheckAnyCidr(text, path, errors)) return false;
  const auto strict = golang::ParseIpPrefix(text);
  if (!strict.ok()) {
    AddError(path, text, "must not have leading 0s in IP or prefix length", errors);
  } else if (strict->address.IsMapped()) {
    AddError(path, text, "must not have an IPv4-mapped IPv6 address", errors);
  } else if (!(strict->address == strict->Masked().address)) {
    AddError(path, text, "must not have bits set beyond the prefix length", errors);
  } else {
    return true;
  }
  return false;
}

}  // namespace

bool IsIp(std::string_view text) { return golang::ParseIpSloppy(text).has_value(); }

bool IsIpv6(std::string_view text) {
  const auto address = golang::ParseIpSloppy(text);
  return address && address->Unmap().is_v6;
}

bool CheckIp(const Context& ctx, std::string_view text, const FieldPath& path,
             FieldErrors& errors) {
  return IsStrict(ctx) ? CheckStrictIp(text, path, errors) : CheckAnyIp(text, path, errors);
}

bool CheckCidr(const Context& ctx, std::string_view text, const FieldPath& path,
               FieldErrors& errors) {
  return IsStrict(ctx) ? CheckStrictCidr(text, path, errors) : CheckAnyCidr(text, path, errors);
}

void CheckCanonicalIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (!CheckStrictIp(text, path, errors)) return;
  const std::string canonical = Canonical(*golang::ParseIpSloppy(text));
  if (text == canonical) return;
  AddError(path, text, base::StrCat("must be in canonical form (", Quoted(canonical), ")"), errors);
}

void CheckCanonicalCidr(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (!CheckStrictCidr(text, path, errors)) return;
  const std::string canonical = Canonical(*golang::ParsePrefixSloppy(text));
  if (text == canonical) return;
  AddError(path, text, base::StrCat("must be in canonical form (", Quoted(canonical), ")"), errors);
}

void CheckInterfaceAddress(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  const auto prefix = golang::ParsePrefixSloppy(text);
  if (!prefix) {
    AddError(path, text,
             "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)", errors);
    return;
  }
  const golang::IpAddress address = prefix->address.Unmap();
  const bool was_mapped = prefix->address.is_v6 && !address.is_v6;
  const int length = was_mapped && prefix->length > 32 ? prefix->length - 96 : prefix->length;
  const std::string canonical = base::StrCat(address.ToString(), "/", std::to_string(length));
  if (text == canonical) return;
  AddError(path, text, base::StrCat("must be in canonical form (", Quoted(canonical), ")"), errors);
}

void CheckNonSpecialIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  auto address = golang::ParseIpSloppy(text);
  if (!address) {
    AddError(path, text, "must be a valid IP address", errors);
    return;
  }
  address = address->Unmap();
  if (address->IsUnspecified()) {
    AddError(path, text, base::StrCat("may not be unspecified (", text, ")"), errors);
  }
  if (address->IsLoopback()) {
    AddError(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)", errors);
  }
  if (address->IsLinkLocalUnicast()) {
    AddError(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)", errors);
  }
  if (address->IsLinkLocalMulticast()) {
    AddError(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
             errors);
  }
}

void WarnOfIp(std::string_view text, const FieldPath& path, std::vector<std::string>& warnings) {
  const auto sloppy = golang::ParseIpSloppy(text);
  if (!sloppy) return;
  const auto strict = golang::ParseIpAddress(text);
  if (!strict.ok() || strict->IsMapped()) {
    warnings.push_back(base::StrCat(path.ToString(), ": non-standard IP address ", Quoted(text),
                                    " is invalid: use ", Quoted(Canonical(*sloppy))));
  } else if (strict->is_v6 && strict->ToString() != text) {
    warnings.push_back(base::StrCat(path.ToString(), ": IPv6 address ", Quoted(text),
                                    " should be in RFC 5952 canonical format (",
                                    Quoted(strict->ToString()), ")"));
  }
}

void WarnOfIngressPoints(json::Value points, const FieldPath& path,
                         std::vector<std::string>& warnings) {
  std::size_t index = 0;
  for (const json::Value& point : points.elements()) {
    WarnOfIp(point["ip"].AsString(), path.Index(index++), warnings);
  }
}

void WarnOfCidr(std::string_view text, const FieldPath& path, std::vector<std::string>& warnings) {
  const auto sloppy = golang::ParsePrefixSloppy(text);
  if (!sloppy) return;
  const std::size_t known = warnings.size();
  const std::string canonical = Canonical(*sloppy);
  if (!(sloppy->address == sloppy->Masked().address)) {
    warnings.push_back(base::StrCat(path.ToString(), ": CIDR value ", Quoted(text),
                                    " is ambiguous in this context (should be ", Quoted(canonical),
                                    " or ",
                                    Quoted(base::StrCat(Canonical(sloppy->address), "/",
                                                        std::to_string(sloppy->address.bits()))),
                                    "?)"));
  }
  const auto strict = golang::ParseIpPrefix(text);
  if (!strict.ok() || strict->address.IsMapped()) {
    warnings.push_back(base::StrCat(path.ToString(), ": non-standard CIDR value ", Quoted(text),
                                    " is invalid: use ", Quoted(canonical)));
  } else if (warnings.size() == known && strict->address.is_v6 && strict->ToString() != text) {
    warnings.push_back(base::StrCat(path.ToString(), ": IPv6 CIDR value ", Quoted(text),
                                    " should be in RFC 5952 canonical format (",
                                    Quoted(strict->ToString()), ")"));
  }
}

}  // namespace portcullis::registry

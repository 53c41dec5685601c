// SPDX-License-Identifier: Apache-2.0

// Any text as a network, or two of them with a space between: containment follows from the bits.
#include "golang/netip.h"
#include "kube_cel_text.h"

namespace golang = portcullis::golang;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const portcullis::fuzz::TextExpression kLaws(
      "!isCIDR(object) || (cidr(object) == cidr(string(cidr(object))) && "
      "cidr(object).containsCIDR(cidr(object)) && cidr(object).containsCIDR(object) && "
      "cidr(object).containsIP(cidr(object).ip()) && "
      "cidr(object).masked() == cidr(object).masked().masked() && "
      "cidr(object).masked().containsCIDR(cidr(object)) && cidr(object).prefixLength() >= 0)");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kLaws.Check(text);
  const std::size_t space = text.find(' ');
  const auto a = golang::ParseIpPrefix(text.substr(0, space));
  if (!a.ok()) return 0;
  if (!a->Masked().Contains(a->address) || a->length > a->address.bits()) std::abort();
  if (space == text.npos) return 0;
  const auto b = golang::ParseIpPrefix(text.substr(space + 1));
  if (!b.ok()) return 0;
  if (a->Contains(*b) && !a->Contains(b->address)) std::abort();
  if (a->Contains(*b) && b->Contains(*a) && !(a->Masked() == b->Masked())) std::abort();
  return 0;
}

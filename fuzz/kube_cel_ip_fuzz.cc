// SPDX-License-Identifier: Apache-2.0

// Any text as an IP address: what is accepted prints as a text that is the same address and is
// canonical, and belongs to the classes it can belong to.
#include "golang/netip.h"
#include "kube_cel_text.h"

namespace golang = portcullis::golang;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const portcullis::fuzz::TextExpression kLaws(
      "!isIP(object) || (ip(object) == ip(string(ip(object))) && "
      "ip.isCanonical(string(ip(object))) && (ip(object).family() in [4, 6]) && "
      "[ip(object).isUnspecified(), ip(object).isLoopback(), ip(object).isLinkLocalMulticast(), "
      "ip(object).isLinkLocalUnicast(), ip(object).isGlobalUnicast()].filter(x, x).size() <= 1)");
  static const portcullis::fuzz::TextExpression kReads(
      "ip.isCanonical(object) == (string(ip(object)) == object)");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kLaws.Check(text);
  kReads.Check(text, /*may_fail=*/true);
  if (const auto ip = golang::ParseIpAddress(text); ip.ok()) {
    const auto again = golang::ParseIpAddress(ip->ToString());
    if (!again.ok() || !(*again == *ip)) std::abort();
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0

// Any text as a version, or two of them with a space between: what is accepted has an order.
#include "golang/semver.h"
#include "kube_cel_text.h"

namespace golang = portcullis::golang;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const portcullis::fuzz::TextExpression kLaws(
      "(!isSemver(object) || (isSemver(object, true) && semver(object) == semver(object, true) && "
      "semver(object).compareTo(semver(object)) == 0)) && "
      "(!isSemver(object, true) || (semver(object, true).major() >= 0 || "
      "semver(object, true).major() < 0))");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kLaws.Check(text, /*may_fail=*/true);
  const std::size_t space = text.find(' ');
  const auto a = golang::ParseSemver(text.substr(0, space));
  if (!a.ok()) return 0;
  if (!(*a == *a) || !golang::ParseSemverNormalized(text.substr(0, space)).ok()) std::abort();
  if (space == text.npos) return 0;
  const auto b = golang::ParseSemver(text.substr(space + 1));
  if (!b.ok()) return 0;
  if ((*a < *b) != (*b > *a) || (*a == *b) != (*b == *a)) std::abort();
  return 0;
}

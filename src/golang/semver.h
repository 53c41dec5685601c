// SPDX-License-Identifier: Apache-2.0

// Semantic versions 2.0.0 (https://semver.org), with the error texts Kubernetes shows. Value type.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::golang {

struct Semver {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> prerelease;

  // Build metadata does not count.
  std::strong_ordering operator<=>(const Semver& other) const;
  bool operator==(const Semver& other) const { return (*this <=> other) == 0; }
};

base::Result<Semver> ParseSemver(std::string_view text);
// Lenient: a leading `v`, leading zeros and missing minor and patch are accepted.
base::Result<Semver> ParseSemverNormalized(std::string_view text);

}  // namespace portcullis::golang

// SPDX-License-Identifier: Apache-2.0

// The function libraries that Kubernetes adds to CEL, each a table (cel/library.h).
//
// Source of the behaviour: Kubernetes documentation, "Common Expression Language in Kubernetes".
// Rows carry the Kubernetes minor release that introduced them as their version.
#pragma once

#include "cel/library.h"
#include "cel/types.h"

namespace portcullis::kube_cel {

inline constexpr cel::Type kUrlType{cel::TypeKind::kOpaque, "kubernetes.URL", {}};
inline constexpr cel::Type kQuantityType{cel::TypeKind::kOpaque, "kubernetes.Quantity", {}};
inline constexpr cel::Type kSemverType{cel::TypeKind::kOpaque, "kubernetes.Semver", {}};
inline constexpr cel::Type kFormatType{cel::TypeKind::kOpaque, "kubernetes.NamedFormat", {}};
inline constexpr cel::Type kIpType{cel::TypeKind::kOpaque, "net.IP", {}};
inline constexpr cel::Type kCidrType{cel::TypeKind::kOpaque, "net.CIDR", {}};

extern const cel::Library kListLibrary;
extern const cel::Library kRegexLibrary;
extern const cel::Library kUrlLibrary;
extern const cel::Library kQuantityLibrary;
extern const cel::Library kIpLibrary;
extern const cel::Library kCidrLibrary;
extern const cel::Library kFormatLibrary;
extern const cel::Library kSemverLibrary;
extern const cel::Library kAuthorizerLibrary;
extern const cel::Library kJsonPatchLibrary;
// What Kubernetes charges for functions that CEL itself has.
extern const cel::Library kCostLibrary;

}  // namespace portcullis::kube_cel

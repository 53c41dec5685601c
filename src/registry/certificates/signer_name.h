// SPDX-License-Identifier: Apache-2.0

// What signing requests, trust bundles and pods' certificates share (pkg/apis/certificates/validation). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// `example.com/signer-name`: a domain of at least two labels, and labels between dots.
void CheckSignerName(std::string_view name, const FieldPath& path, FieldErrors& errors);
// The name of a ClusterTrustBundle of this signer, "" if it has none.
std::vector<std::string> IsTrustBundleName(std::string_view name, std::string_view signer);
// Annotations for a signer: domain-prefixed keys, in any case.
void CheckUserAnnotations(json::Value annotations, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry

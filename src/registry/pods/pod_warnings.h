// SPDX-License-Identifier: Apache-2.0

// Warnings about pods and pod templates (pkg/api/pod/warnings.go): texts in Kubernetes' order.
// Free of state; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_path.h"
#include "json/value.h"

namespace portcullis::registry {

// kube-apiserver sends 4096 runes of warnings at most, so that more texts than that cannot matter.
inline constexpr std::size_t kMostWarnings = 4096;

// `root` is the place of {"metadata", "spec"}; empty for a pod itself.
void PodWarnings(json::Value metadata, json::Value spec, const api::FieldPath& root,
                 std::vector<std::string>& warnings);
// The requests of a claim's spec.
void ClaimSpecWarnings(json::Value spec, const api::FieldPath& path,
                       std::vector<std::string>& warnings);
// A term of a node selector. Values are looked at only where validation lets them pass.
void NodeTermWarnings(json::Value term, bool check_values, const api::FieldPath& path,
                      std::vector<std::string>& warnings);
// What is deprecated about a label of nodes, "" if nothing.
std::string_view DeprecatedNodeLabel(std::string_view key);
// What is deprecated about a volume source, "" if nothing: `deprecated in v1.11, …`.
std::string_view DeprecatedVolume(std::string_view source);

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// The version this server shows to clients: the Kubernetes release it speaks, marked as ours.
#pragma once

#include <string>

#include "metrics/metrics.h"
#include "release/release.h"

namespace portcullis::server {

// "v1.36.0+portcullis"
std::string GitVersion(const release::Release& release);

// The body of GET /version.
std::string VersionDocument(const release::Release& release);

// kubernetes_build_info, with what /version says.
void AddBuildInfo(metrics::Registry& registry, const release::Release& release);

}  // namespace portcullis::server

// The version this server shows to clients: the Kubernetes release it speaks, marked as ours.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::server {

inline constexpr std::string_view kGitVersion = "v1.36.0+portcullis";

// The body of GET /version.
std::string VersionDocument();

}  // namespace portcullis::server

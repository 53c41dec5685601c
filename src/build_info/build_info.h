// SPDX-License-Identifier: Apache-2.0

// What this program was built from. The version stands in the project() line of CMakeLists.txt and
// nowhere else.
#pragma once

#include <string_view>

namespace portcullis {

struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view commit;      // 40 hex digits; "" of an archive without git
  std::string_view tree_state;  // "clean", "dirty": sources differ from the commit; "archive"
  std::string_view date;        // the commit's, "2026-11-23T01:45:00Z"
  std::string_view compiler;    // "gcc" or "clang"
  std::string_view platform;    // "linux/amd64", as Go names it
};

const BuildInfo& ThisBuild();

}  // namespace portcullis

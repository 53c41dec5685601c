// SPDX-License-Identifier: Apache-2.0

#include "build_info/build_info.h"

#include <build_info_generated.h>

namespace portcullis {

const BuildInfo& ThisBuild() {
  static constexpr BuildInfo kBuild = {
    .version = PC_VERSION,
    .commit = PC_COMMIT,
    .tree_state = PC_TREE_STATE,
    .date = PC_COMMIT_DATE,
#if defined(__clang__)
    .compiler = "clang",
#else
    .compiler = "gcc",
#endif
#if defined(__aarch64__)
    .platform = "linux/arm64",
#else
    .platform = "linux/amd64",
#endif
  };
  return kBuild;
}

}  // namespace portcullis

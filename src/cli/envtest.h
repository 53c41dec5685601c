// SPDX-License-Identifier: Apache-2.0

// What controller-runtime's envtest starts, by the names of the programs in $KUBEBUILDER_ASSETS:
// `kube-apiserver` is a server that keeps its objects in memory and writes no files, `etcd`
// says that it is healthy. `portcullis envtest-assets DIR` makes links of these names.
// Sources: controller-runtime, pkg/internal/testing/controlplane and process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kEnvtestAssets;

// Runs as the program that argv[0] names; no value if that is none of these.
std::optional<int> RunAsAsset(std::string_view argv0, const std::vector<std::string>& arguments);

}  // namespace portcullis::cli

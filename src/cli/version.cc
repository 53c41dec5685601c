// SPDX-License-Identifier: Apache-2.0

#include "cli/version.h"

#include <cstdio>

#include "release/release.h"
#include "server/discovery/version.h"

namespace portcullis::cli {
namespace {

struct Options {};

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>({}, arguments, {"portcullis version"}, options);
  if (!line.ok()) return UsageError(kVersion.name, line.status().message());
  if (line->help) {
    std::puts("Prints the version.\n\nUsage:\n  portcullis version");
    return kExitOk;
  }
  std::printf("portcullis 0.1.0, speaks Kubernetes %s\n",
              server::GitVersion(release::Release::Newest()).c_str());
  return kExitOk;
}

}  // namespace

const Command kVersion = {"version", "print the version", &Run};

}  // namespace portcullis::cli

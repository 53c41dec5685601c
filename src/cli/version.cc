#include "cli/version.h"

#include <cstdio>

#include "release/release.h"
#include "server/discovery/version.h"

namespace portcullis::cli {
namespace {

int Run(const std::vector<std::string>&) {
  std::printf("portcullis 0.1.0, speaks Kubernetes %s\n",
              server::GitVersion(release::Release::Newest()).c_str());
  return kExitOk;
}

}  // namespace

const Command kVersion = {"version", "print the version", &Run};

}  // namespace portcullis::cli

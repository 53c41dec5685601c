// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/version.h"

#include "base/strings.h"
#include "build_info/build_info.h"

namespace portcullis::server {

std::string GitVersion(const release::Release& release) {
  return base::StrCat("v", release.version(), ".0+portcullis");
}

std::string VersionDocument(const release::Release& release) {
  const BuildInfo& build = ThisBuild();
  const std::string minor = std::to_string(release.minor());
  return base::StrCat("{\n  \"major\": \"1\",\n  \"minor\": \"", minor,
                      "\",\n  \"emulationMajor\": \"1\",\n  \"emulationMinor\": \"", minor,
                      "\",\n  \"minCompatibilityMajor\": \"1\",\n  \"minCompatibilityMinor\": \"",
                      std::to_string(release.minor() - 1), "\",\n  \"gitVersion\": \"",
                      GitVersion(release), "\",\n  \"gitCommit\": \"", build.commit,
                      "\",\n  \"gitTreeState\": \"", build.tree_state, "\",\n  \"buildDate\": \"",
                      build.date, "\",\n  \"goVersion\": \"none\",\n  \"compiler\": \"",
                      build.compiler, "\",\n  \"platform\": \"", build.platform, "\"\n}");
}

}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/version.h"

#include "base/strings.h"

namespace portcullis::server {

std::string GitVersion(const release::Release& release) {
  return base::StrCat("v", release.version(), ".0+portcullis");
}

std::string VersionDocument(const release::Release& release) {
  const std::string minor = std::to_string(release.minor());
  return base::StrCat(
      "{\n  \"major\": \"1\",\n  \"minor\": \"", minor,
      "\",\n  \"emulationMajor\": \"1\",\n  \"emulationMinor\": \"", minor,
      "\",\n  \"minCompatibilityMajor\": \"1\",\n  \"minCompatibilityMinor\": \"",
      std::to_string(release.minor() - 1), "\",\n  \"gitVersion\": \"", GitVersion(release),
      "\",\n  \"gitCommit\": \"\",\n  \"gitTreeState\": \"clean\",\n  \"buildDate\": "
      "\"1970-01-01T00:00:00Z\",\n  \"goVersion\": \"none\",\n  \"compiler\": \"",
#if defined(__clang__)
      "clang",
#else
      "gcc",
#endif
      "\",\n  \"platform\": \"linux/amd64\"\n}");
}

}  // namespace portcullis::server

#include "server/discovery/version.h"

#include "base/strings.h"

namespace portcullis::server {

std::string VersionDocument() {
  return base::StrCat(
      "{\n  \"major\": \"1\",\n  \"minor\": \"36\",\n  \"emulationMajor\": \"1\",\n  "
      "\"emulationMinor\": \"36\",\n  \"minCompatibilityMajor\": \"1\",\n  "
      "\"minCompatibilityMinor\": \"35\",\n  \"gitVersion\": \"",
      kGitVersion,
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

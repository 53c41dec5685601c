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

void AddBuildInfo(metrics::Registry& registry, const release::Release& release) {
  const BuildInfo& build = ThisBuild();
  registry
      .AddGauge({"kubernetes_build_info",
                 "A metric with a constant '1' value labeled by major, minor, git version, git "
                 "commit, git tree state, build date, Go version, and compiler from which "
                 "Kubernetes was built, and platform on which it is running.",
                 metrics::Stability::kBeta},
                {"build_date", "compiler", "git_commit", "git_tree_state", "git_version",
                 "go_version", "major", "minor", "platform"})
      .With({build.date, build.compiler, build.commit, build.tree_state, GitVersion(release),
             "none", "1", std::to_string(release.minor()), build.platform})
      .Set(1);
  const auto minor = [](int number) { return base::StrCat("1.", std::to_string(number)); };
  registry
      .AddGauge({"version_info",
                 "Provides the compatibility version info of the component. The component label is "
                 "the name of the component, usually kube, but is relevant for "
                 "aggregated-apiservers."},
                {"component", "binary", "emulation", "min_compat"})
      .With({"kube", minor(release::kNewestMinor) + ".0", minor(release.minor()),
             minor(release.minor() - 1)})
      .Set(1);
}

}  // namespace portcullis::server

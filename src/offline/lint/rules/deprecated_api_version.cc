// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const Manifest& manifest : facts.manifests()) {
    const auto version = api::ParseGroupVersion(manifest.api_version);
    if (!version.ok()) continue;
    const auto* resource =
        facts.catalog().FindKind({version->group, version->version, manifest.kind});
    if (resource == nullptr || resource->deprecation_warning.empty()) continue;
    findings.Add(manifest, std::vector<std::string>{"apiVersion"}, resource->deprecation_warning);
    const std::string_view newer = SameInNewerVersion(manifest);
    if (!newer.empty()) findings.Fix({"apiVersion"}, newer);
  }
}

}  // namespace

const LintRule kDeprecatedApiVersion = {
    "deprecated-api-version",
    Severity::kWarning,
    "an object in a deprecated API version",
    "The version will no longer be served in the release that the message names.",
    "Write the object in the newer version.",
    &Check,
    "writes the newer version where it has the same fields and defaults"};

}  // namespace portcullis::offline

// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "engine/codec/codec.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const Manifest& manifest : facts.manifests()) {
    const auto version = api::ParseGroupVersion(manifest.api_version);
    if (!version.ok()) continue;
    if (facts.catalog().FindKind({version->group, version->version, manifest.kind}) != nullptr) {
      continue;
    }
    for (const api::catalog::ResourceInfo* resource : facts.catalog().resources()) {
      const bool same_group =
          resource->kind.group == version->group || version->group == "extensions";
      if (!same_group || resource->kind.kind != manifest.kind) continue;
      findings.Add(manifest, std::vector<std::string>{"apiVersion"},
                   base::StrCat(manifest.api_version, " ", manifest.kind,
                                " is not served: ", engine::ApiVersion(resource->kind), " is"));
      const std::string_view newer = SameInNewerVersion(manifest);
      if (newer == engine::ApiVersion(resource->kind)) findings.Fix({"apiVersion"}, newer);
      break;
    }
  }
}

}  // namespace

const LintRule kRemovedApiVersion = {
    "removed-api-version",
    Severity::kError,
    "an object in an API version that is not served",
    "The API server refuses it; after an upgrade of the cluster, a repository that worked "
    "does so no longer.",
    "Write the object in the version that the message names.",
    &Check,
    "writes the newer version where it has the same fields and defaults"};

}  // namespace portcullis::offline

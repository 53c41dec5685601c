// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    const std::string_view ns = webhook.service()["namespace"].AsString();
    const std::string_view name = webhook.service()["name"].AsString();
    if (ns.empty() || facts.FindManifest("Service", ns, name) != nullptr) continue;
    bool has_others = false;
    for (const Manifest& manifest : facts.manifests()) {
      has_others = has_others || (manifest.kind == "Service" && manifest.ns == ns);
    }
    if (!has_others) continue;
    findings.Add(*webhook.configuration, webhook.Steps({"clientConfig", "service", "name"}),
                 base::StrCat("no file has Service ", name, " of namespace ", ns,
                              ", though others of it are there"));
  }
}

}  // namespace

const LintRule kWebhookMissingService = {
    "webhook-missing-service",
    Severity::kWarning,
    "a webhook whose Service is in none of the files that have its namespace",
    "Each call fails until the Service is there: `service \"x\" not found` (kubernetes "
    "#92738).",
    "Correct clientConfig.service, or give the Service.",
    &Check};

}  // namespace portcullis::offline

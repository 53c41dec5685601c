// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"
#include "pki/certificates.h"

namespace portcullis::offline {
namespace {

constexpr std::chrono::hours kSoon{30 * 24};

// When the last of them ends, or of a chain its leaf; 1970 if it cannot be read (webhook-certificate says that).
base::WallTime EndOf(std::string_view pem, bool is_chain) {
  base::WallTime end{};
  const auto certificates = pki::ParseCertificates(pem);
  if (!certificates.ok()) return end;
  if (is_chain) return certificates->front().not_after;
  for (const pki::CertificateInfo& one : *certificates) end = std::max(end, one.not_after);
  return end;
}

void Check(const LintFacts& facts, Findings& findings) {
  const base::WallTime now = facts.now();
  for (const WebhookFact& webhook : facts.webhooks()) {
    const json::Value bundle = webhook.hook["clientConfig"]["caBundle"];
    const base::WallTime end = EndOf(base::Base64Decode(bundle.AsString()).value_or(""), false);
    if (end > now && end < now + kSoon) {
      findings.Add(*webhook.configuration, webhook.Steps({"clientConfig", "caBundle"}),
                   base::StrCat("the CA bundle of webhook ", webhook.name(), " expires at ",
                                base::FormatTime(end)));
    }
    for (const Manifest* secret : CertificatesOfOwnPods(facts, webhook)) {
      const base::WallTime own = EndOf(CertificateOf(*secret), true);
      if (own <= now || own >= now + kSoon) continue;
      findings.Add(*webhook.configuration, webhook.Steps({"clientConfig"}),
                   base::StrCat("the certificate of Secret ", secret->name, " (",
                                secret->Find({}).ToString(), "), which the pods of webhook ",
                                webhook.name(), " mount, expires at ", base::FormatTime(own)));
    }
  }
}

}  // namespace

const LintRule kWebhookCertificateExpires = {
    "webhook-certificate-expires",
    Severity::kWarning,
    "a CA bundle or a certificate of a webhook that expires within 30 days",
    "From that moment each call fails, and with failurePolicy Fail so does each request "
    "(cert-manager "
    "#1731, karina #281).",
    "Renew it; let a controller (cert-manager, the webhook itself) do that in time.",
    &Check};

}  // namespace portcullis::offline

// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"
#include "pki/certificates.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    const json::Value bundle = webhook.hook["clientConfig"]["caBundle"];
    const auto steps = webhook.Steps({"clientConfig", "caBundle"});
    const auto add = [&](std::string_view what) {
      findings.Add(*webhook.configuration, steps,
                   base::StrCat("the CA bundle of webhook ", webhook.name(), " ", what));
    };
    if (bundle.AsString().empty()) continue;  // a controller may write it
    const auto pem = base::Base64Decode(bundle.AsString());
    if (!pem) continue;  // the API server refuses it
    const auto certificates = pki::ParseCertificates(*pem);
    if (!certificates.ok()) {
      add("holds no certificate");
      continue;
    }
    bool valid = false;
    for (const pki::CertificateInfo& one : *certificates) {
      valid = valid || one.not_after > facts.now();
    }
    if (!valid) add("has expired");
  }
}

}  // namespace

const LintRule kWebhookCertificate = {
    "webhook-certificate",
    Severity::kError,
    "a CA bundle that cannot verify the webhook",
    "Each call fails with an error of TLS, hours or years after the bundle was made "
    "(kyverno #3300, cert-manager #1731 and #4713, HAMi #693, karina #281).",
    "Renew the CA bundle; let a controller (cert-manager, the webhook itself) write it.",
    &Check};

}  // namespace portcullis::offline

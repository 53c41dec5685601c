// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"
#include "pki/certificates.h"

namespace portcullis::offline {
namespace {

class CertificateCheck {
 public:
  CertificateCheck(const LintFacts& facts, const WebhookFact& webhook, Findings& findings)
      : facts_(facts), webhook_(webhook), findings_(findings) {}

  void Run() {
    const json::Value bundle = webhook_.hook["clientConfig"]["caBundle"];
    // Without one, a controller may write it.
    if (!bundle.AsString().empty()) {
      const auto pem = base::Base64Decode(bundle.AsString());
      if (!pem) return;  // the API server refuses it
      authorities_ = *pem;
      if (!CheckAuthorities()) return;
    }
    CheckSecrets();
    CheckServed();
  }

 private:
  void Add(std::string_view what) {
    const bool has_bundle = !authorities_.empty();
    findings_.Add(*webhook_.configuration,
                  has_bundle ? webhook_.Steps({"clientConfig", "caBundle"})
                             : webhook_.Steps({"clientConfig"}),
                  std::string(what));
  }

  bool CheckAuthorities() {
    const auto certificates = pki::ParseCertificates(authorities_);
    if (!certificates.ok()) {
      Add(base::StrCat("the CA bundle of webhook ", webhook_.name(), " holds no certificate"));
      return false;
    }
    for (const pki::CertificateInfo& one : *certificates) {
      if (one.not_after > facts_.now()) return true;
    }
    Add(base::StrCat("the CA bundle of webhook ", webhook_.name(), " has expired"));
    return false;
  }

  // What the pods of the webhook mount: one that fits is enough.
  void CheckSecrets() {
    std::string first;
    for (const Manifest* secret : CertificatesOfOwnPods(facts_, webhook_)) {
      const std::string error = ErrorOf(CertificateOf(*secret));
      if (error.empty()) return;
      if (!first.empty()) continue;
      first = base::StrCat("the certificate of Secret ", secret->name, " (",
                           secret->Find({}).ToString(), "), which the pods of webhook ",
                           webhook_.name(), " mount, is not good for it: ", error);
    }
    if (!first.empty()) Add(first);
  }

  std::string ErrorOf(const std::string& pem) const {
    const auto certificates = pki::ParseCertificates(pem);
    if (!certificates.ok()) return certificates.status().message();
    std::vector<std::string> chain;
    for (const pki::CertificateInfo& one : *certificates) chain.push_back(one.der);
    const json::Value service = webhook_.service();
    const std::string host =
        base::StrCat(service["name"].AsString(), ".", service["namespace"].AsString(), ".svc");
    // Without a CA bundle its names and dates are looked at.
    const auto pool = pki::CertificatePool::Create(authorities_.empty() ? pem : authorities_);
    if (!pool.ok()) return pool.status().message();
    return (*pool)->VerifyServer(chain, host, facts_.now());
  }

  // What the webhook shows, if webhooks are called.
  void CheckServed() {
    const JudgeOptions& options = facts_.options();
    if (options.handshakes == nullptr) return;
    if (options.stand_in != nullptr &&
        options.stand_in->AnswerFor(webhook_.configuration->name, webhook_.name())) {
      return;
    }
    const std::string error = options.handshakes->ErrorOf(webhook_.hook["clientConfig"]);
    if (error.empty()) return;
    Add(base::StrCat("no TLS connection to webhook ", webhook_.name(), " comes about: ", error));
  }

  const LintFacts& facts_;
  const WebhookFact& webhook_;
  Findings& findings_;
  std::string authorities_;
};

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    CertificateCheck(facts, webhook, findings).Run();
  }
}

}  // namespace

const LintRule kWebhookCertificate = {
    "webhook-certificate",
    Severity::kError,
    "a CA bundle or a certificate with which the webhook cannot be called",
    "Each call fails with an error of TLS: the CA bundle or the certificate has expired, the "
    "certificate has another name than SERVICE.NAMESPACE.svc, or it does not chain to the CA "
    "bundle "
    "(kyverno #3300, cert-manager #1731 and #4713, HAMi #693, karina #281). Looked at are the "
    "bundle, "
    "the Secrets among the files that the pods of the webhook mount, and with --webhooks=call or "
    "--webhooks=FILE what the webhook serves.",
    "Renew the certificate for SERVICE.NAMESPACE.svc together with the CA bundle; let a controller "
    "(cert-manager, the webhook itself) write both.",
    &Check};

}  // namespace portcullis::offline

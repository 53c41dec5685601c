// SPDX-License-Identifier: Apache-2.0

#include "server/rest/issued_certificates.h"

#include <chrono>
#include <utility>

#include "base/strings.h"
#include "metrics/metrics.h"
#include "pki/certificates.h"
#include "server/environment.h"

namespace portcullis::server::rest {
namespace {

void Count(metrics::Registry& registry, std::string_view name, std::string_view what,
           std::string_view signer) {
  const bool is_ours = signer.starts_with("kubernetes.io/");
  registry
      .AddCounter(
          {base::StrCat("apiserver_certificates_registry_csr_", name, "_duration_total"),
           base::StrCat("Total number of issued CSRs with a requested duration", what,
                        ", sliced by signer (only kubernetes.io signer names are specifically "
                        "identified)"),
           metrics::Stability::kAlpha},
          {"signerName"})
      .With({is_ours ? signer : "other"})
      .Increment();
}

// Within 5 %, and the five minutes by which signers date certificates back.
bool IsHonored(std::chrono::seconds wanted, const pki::CertificateInfo& issued) {
  const base::Duration difference = wanted - (issued.not_after - issued.not_before);
  const base::Duration most = std::chrono::minutes(5) + base::Duration(wanted) / 20;
  return (difference < base::Duration::zero() ? -difference : difference) < most;
}

class Counted final : public engine::Execution {
 public:
  Counted(const Call& call, std::unique_ptr<engine::Execution> execution)
      : call_(call), execution_(std::move(execution)) {}

  std::optional<engine::PendingWrite> Advance() override {
    auto write = execution_->Advance();
    if (!write) return write;
    const api::GroupVersionResource& resource = call_.resource->resource;
    before_ = call_.env.store->Get({resource.group, resource.resource, write->ns, write->name});
    if (before_ != nullptr && before_->revision() != write->expected) before_ = nullptr;
    return write;
  }

  void Committed(base::Result<store::ObjectPtr> stored) override {
    if (stored.ok() && *stored != nullptr && before_ != nullptr) CountOf(**stored);
    execution_->Committed(std::move(stored));
  }

  base::Result<engine::Outcome> TakeOutcome() override { return execution_->TakeOutcome(); }

 private:
  void CountOf(const store::Object& stored) const {
    const json::Value old = before_->document().root();
    const json::Value wanted = old["spec"]["expirationSeconds"];
    const json::Value issued = stored.document()["status"]["certificate"];
    if (!old["status"]["certificate"].AsString().empty() || !wanted.is_int()) return;
    const auto pem = base::Base64Decode(issued.AsString());
    if (!pem || pem->empty()) return;
    const std::string_view signer = old["spec"]["signerName"].AsString();
    Count(*call_.env.metrics, "requested", "", signer);
    const auto certificates = pki::ParseCertificates(*pem);
    if (certificates.ok() &&
        IsHonored(std::chrono::seconds(wanted.AsInt()), certificates->front())) {
      Count(*call_.env.metrics, "honored", " that was honored", signer);
    }
  }

  const Call& call_;
  const std::unique_ptr<engine::Execution> execution_;
  store::ObjectPtr before_;  // what the write under way replaces
};

}  // namespace

std::unique_ptr<engine::Execution> CountIssued(const Call& call,
                                               std::unique_ptr<engine::Execution> execution) {
  const bool counts = call.subresource_name() == "status" && !call.dry_run &&
                      call.env.metrics != nullptr &&
                      call.resource->resource.resource == "certificatesigningrequests" &&
                      call.resource->resource.group == "certificates.k8s.io";
  if (!counts) return execution;
  return std::make_unique<Counted>(call, std::move(execution));
}

}  // namespace portcullis::server::rest

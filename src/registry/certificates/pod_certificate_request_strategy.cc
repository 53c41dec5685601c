// SPDX-License-Identifier: Apache-2.0

// PodCertificateRequests (pkg/apis/certificates/validation, pkg/registry/certificates/podcertificaterequest).

#include <string>

#include "api/condition.h"
#include "api/domain.h"
#include "api/named_value.h"
#include "authz/signer_authorization.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "pki/certificate_request.h"
#include "pki/public_key.h"
#include "registry/certificates/issued_chain.h"
#include "registry/certificates/signer_name.h"
#include "registry/kind_table.h"
#include "registry/validation/conditions.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostKeyBytes = std::size_t{10} << 10;
constexpr std::size_t kMostUid = 128;
constexpr std::int64_t kHour = 60 * 60;

std::string BytesOf(json::Value field) {
  return base::Base64Decode(field.AsString()).value_or(std::string());
}

// What is wrong with the kind of a key, told about the field at `path`; `curves`: those that the text names.
bool CheckKeyKind(const pki::PublicKey& key, const FieldPath& path, api::BadValue value,
                  std::string_view curves, FieldErrors& errors) {
  switch (key.kind) {
    case pki::KeyKind::kEd25519:
      return true;
    case pki::KeyKind::kEcdsa:
      if (key.curve != "P-224") return true;
      errors.push_back(api::Invalid(path, "curve " + key.curve,
                                    base::StrCat("elliptic public keys must use curve ", curves)));
      return false;
    case pki::KeyKind::kRsa:
      if (key.bits == 3072 || key.bits == 4096) return true;
      errors.push_back(api::Invalid(path, std::to_string(key.bits) + "-bit modulus",
                                    "RSA keys must have modulus size 3072 or 4096"));
      return false;
    default:
      errors.push_back(
          api::Invalid(path, std::move(value),
                       "unknown public key type; supported types are Ed25519, ECDSA, and RSA"));
      return false;
  }
}

void CheckKeyAndProof(json::Value spec, FieldErrors& errors) {
  const FieldPath key_path("spec", "pkixPublicKey");
  const FieldPath proof_path("spec", "proofOfPossession");
  const std::string der = BytesOf(spec["pkixPublicKey"]);
  const std::string proof = BytesOf(spec["proofOfPossession"]);
  if (der.size() > kMostKeyBytes || proof.size() > kMostKeyBytes) {
    errors.push_back(api::TooLong(der.size() > kMostKeyBytes ? key_path : proof_path,
                                  static_cast<int>(kMostKeyBytes)));
    return;
  }
  const auto key = pki::ReadPublicKey(der);
  if (!key || key->kind == pki::KeyKind::kUnknown) {
    errors.push_back(api::Invalid(key_path, spec["pkixPublicKey"],
                                  "must be a valid PKIX-serialized public key"));
    return;
  }
  if (!CheckKeyKind(*key, key_path, spec["pkixPublicKey"], "P256 or P384", errors)) return;
  if (pki::IsSignedBy(der, spec["podUID"].AsString(), proof)) return;
  errors.push_back(api::Invalid(proof_path, api::BadValue::Omitted(),
                                "could not verify proof-of-possession signature"));
}

void CheckStubRequest(json::Value spec, FieldErrors& errors) {
  const FieldPath path("spec", "stubPKCS10Request");
  const auto wrong = [&](std::string_view what) {
    errors.push_back(api::Invalid(path, api::BadValue::Omitted(), what));
  };
  const std::string bytes = BytesOf(spec["stubPKCS10Request"]);
  if (bytes.size() > kMostKeyBytes) {
    errors.push_back(api::TooLong(path, static_cast<int>(kMostKeyBytes)));
    return;
  }
  const auto request = pki::ParseCertificateRequest(bytes);
  if (!request.ok()) return wrong("must be a valid PKCS#10 CSR");
  const auto key = pki::ReadPublicKey(request->public_key);
  if (!CheckKeyKind(*key, path, api::BadValue::Omitted(), "P256, P384, or P521", errors)) return;
  if (!pki::RequestSignatureProblem(*request).empty()) wrong("invalid signature");
}

void CheckUid(json::Value uid, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = uid.AsString();
  if (text.empty()) errors.push_back(api::Invalid(path, "", "must not be empty"));
  if (text.size() > kMostUid) errors.push_back(api::TooLong(path, static_cast<int>(kMostUid)));
}

void ValidatePodCertificate(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view signer = spec["signerName"].AsString();
  CheckSignerName(signer, path.Child("signerName"), errors);
  CheckUserAnnotations(spec["unverifiedUserAnnotations"], path.Child("unverifiedUserAnnotations"),
                       errors);
  for (const auto& [name, uid] :
       {std::pair{"podName", "podUID"}, std::pair{"serviceAccountName", "serviceAccountUID"},
        std::pair{"nodeName", "nodeUID"}}) {
    CheckSubdomain(spec[name].AsString(), path.Child(name), errors);
    CheckUid(spec[uid], path.Child(uid), errors);
  }
  const json::Value seconds = spec["maxExpirationSeconds"];
  const FieldPath seconds_path = path.Child("maxExpirationSeconds");
  if (seconds.is_null()) {
    errors.push_back(api::Required(seconds_path, "must be set"));
    return;
  }
  const std::string_view host = signer.substr(0, signer.find('/'));
  const std::int64_t most = (api::IsInDomain(host, "kubernetes.io") ? 1 : 91) * 24 * kHour;
  if (seconds.AsInt() < kHour || seconds.AsInt() > most) {
    errors.push_back(api::Invalid(seconds_path, seconds,
                                  base::StrCat("must be in the range [", std::to_string(kHour),
                                               ", ", std::to_string(most), "]")));
  }
  const bool has_stub = !spec["stubPKCS10Request"].AsString().empty();
  const bool has_key = !spec["pkixPublicKey"].AsString().empty();
  const bool has_proof = !spec["proofOfPossession"].AsString().empty();
  if (has_stub && !has_key && !has_proof) {
    CheckStubRequest(spec, errors);
  } else if (!has_stub && has_key && has_proof) {
    CheckKeyAndProof(spec, errors);
  } else {
    errors.push_back(api::Invalid(path, api::BadValue::Omitted(),
                                  "exactly one of (stubPKCS10Request) or (pkixPublicKey, "
                                  "proofOfPossession) must be set"));
  }
}

bool IsOutcome(std::string_view type) {
  return type == "Issued" || type == "Denied" || type == "Failed";
}

void CheckOutcomes(json::Value conditions, FieldErrors& errors) {
  std::size_t outcomes = 0;
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const std::string place = base::StrCat("[", std::to_string(index++), "]");
    const FieldPath at("status", "conditions", std::string_view(place));
    const std::string_view type = condition["type"].AsString();
    if (!IsOutcome(type)) {
      errors.push_back(api::NotSupported(at.Child("type"), type, {"Issued", "Denied", "Failed"}));
      continue;
    }
    if (++outcomes > 1) {
      errors.push_back(api::Invalid(
          at.Child("type"), type,
          R"(There may be at most one condition with type "Issued", "Denied", or "Failed")"));
    }
    const std::string_view status = condition["status"].AsString();
    if (status != "True") {
      errors.push_back(api::NotSupported(at.Child("status"), api::NamedValue(status), {"True"}));
    }
  }
}

// The type of the condition that ends a request, or "".
std::string_view OutcomeOf(json::Value object) {
  for (const std::string_view type : {"Denied", "Failed", "Issued"}) {
    if (api::HasTrueCondition(object, type)) return type;
  }
  return {};
}

bool IsEmptyButConditions(json::Value status) {
  for (const json::Member& member : status.members()) {
    if (member.name() != "conditions" && !member.value.AsString().empty()) return false;
  }
  return true;
}

void CheckStatusChange(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  const json::Value status = object["status"];
  const FieldPath path("status");
  CheckOutcomes(status["conditions"], errors);
  ValidateConditions(status["conditions"], path.Child("conditions"), errors);
  if (!errors.empty()) return;
  const auto refuse = [&](std::string_view what) {
    errors.push_back(api::Invalid(path, api::BadValue::Omitted(), what));
  };
  const bool same = SemanticallyEqual(status, old["status"]);
  const std::string_view outcome = OutcomeOf(object);
  if (!OutcomeOf(old).empty()) {
    if (!same) refuse("immutable after PodCertificateRequest is issued, denied, or failed");
  } else if (outcome == "Issued") {
    CheckIssued(object, old["spec"], ctx.clock.Now(), errors);
  } else if (!outcome.empty()) {
    if (IsEmptyButConditions(status)) return;
    refuse(
        "non-condition status fields must be empty when denying or failing the "
        "PodCertificateRequest");
  } else if (!same) {
    refuse(R"(status is immutable unless transitioning to "Issued", "Denied", or "Failed")");
  }
}

// Bytes that are set and empty are none to Go.
json::Value WithoutEmptyBytes(const Context& ctx, json::Value spec) {
  for (const std::string_view name : {"pkixPublicKey", "proofOfPossession", "stubPKCS10Request"}) {
    if (spec[name].AsString().empty()) spec = json::Without(ctx.arena, spec, name);
  }
  return spec;
}

void ValidatePodCertificateUpdate(const Context& ctx, json::Value object, json::Value old,
                                  FieldErrors& errors) {
  if (ctx.subresource.empty()) {
    if (SemanticallyEqual(WithoutEmptyBytes(ctx, object["spec"]),
                          WithoutEmptyBytes(ctx, old["spec"]))) {
      return;
    }
    constexpr std::string_view kSpec = "io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec";
    errors.push_back(api::Invalid(FieldPath("spec"),
                                  GoValue(ctx, kSpec, object["spec"], ctx.sent["spec"]),
                                  "field is immutable"));
    return;
  }
  if (!errors.empty()) return;
  CheckStatusChange(ctx, object, old, errors);
  if (!errors.empty() || ctx.authorizer == nullptr ||
      SemanticallyEqual(object["status"], old["status"])) {
    return;
  }
  const std::string_view signer = old["spec"]["signerName"].AsString();
  if (authz::MayUseSigner(ctx.authorizer, ctx.user, "sign", signer)) return;
  errors.push_back(api::Forbidden(
      FieldPath("spec", "signerName"),
      base::StrCat("User ", base::GoQuote(ctx.user.name),
                   " is not permitted to \"sign\" for signer ", base::GoQuote(signer))));
}

// A write of the request itself resets nothing of the status for its managers.
class PodCertificateRequests final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  std::vector<std::string_view> ResetFields(const Context& ctx) const override {
    if (ctx.subresource.empty()) return {};
    return {"spec"};
  }
};

}  // namespace

void AddPodCertificateRequestStrategy(KindTable& table) {
  table.Add({.group = "certificates.k8s.io",
             .resource = "podcertificaterequests",
             .validate = &ValidatePodCertificate,
             .validate_update = &ValidatePodCertificateUpdate,
             .traits = {.needs_version = true, .status_keeps = StatusKeeps::kMetadata},
             .make = &Make<PodCertificateRequests>});
}

}  // namespace portcullis::registry

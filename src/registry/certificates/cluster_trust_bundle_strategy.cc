// SPDX-License-Identifier: Apache-2.0

// ClusterTrustBundles (pkg/apis/certificates/validation).

#include <map>
#include <string>

#include "base/strings.h"
#include "pki/certificate.h"
#include "pki/pem.h"
#include "registry/certificates/signer_name.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRules[] = {{"spec.signerName", FieldRuleKind::kImmutable}};

// What is wrong with one entry of a bundle; "" if it is a trust anchor.
std::string WrongEntry(const pki::PemBlock& block) {
  if (block.type != "CERTIFICATE") return base::StrCat("has bad block type: ", block.type);
  if (block.has_headers) return "has PEM block headers";
  const auto certificate = pki::ParseCertificate(block.bytes);
  if (!certificate.ok()) return "does not parse as X.509";
  if (!certificate->is_authority) return "does not have the CA bit set";
  if (!certificate->has_basic_constraints) return "has invalid basic constraints";
  return "";
}

void CheckTrustBundle(std::string_view bundle, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const std::size_t before = errors.size();
  const auto add = [&](std::string_view what) {
    errors.push_back(api::Invalid(path, "<value omitted>", what));
  };
  if (bundle.size() > kMost) {
    errors.push_back(api::TooLong(path, static_cast<int>(kMost)));
    return;
  }
  std::map<std::string, std::string> entries;  // the numbers of equal ones
  pki::PemBlock block;
  for (std::size_t i = 0; pki::NextPemBlock(bundle, block); ++i) {
    const std::string number = std::to_string(i);
    if (const std::string wrong = WrongEntry(block); !wrong.empty()) {
      add(base::StrCat("entry ", number, " ", wrong));
      continue;
    }
    std::string& numbers = entries[block.bytes];
    numbers += base::StrCat(numbers.empty() ? "" : " ", number);
  }
  if (errors.size() != before) return;
  if (entries.empty()) add("at least one trust anchor must be provided");
  for (const auto& [bytes, numbers] : entries) {
    if (numbers.find(' ') == std::string::npos) continue;
    add(base::StrCat("duplicate trust anchor (indices [", numbers, "])"));
  }
}

void CheckNameAndSigner(json::Value object, FieldErrors& errors) {
  const std::string_view signer = object["spec"]["signerName"].AsString();
  const std::string_view name = object["metadata"]["name"].AsString();
  if (const std::string_view start = object["metadata"]["generateName"].AsString();
      !start.empty()) {
    AddInvalid(FieldPath("metadata", "generateName"), start,
               IsTrustBundleName(api::MaskTrailingDash(start), signer), errors);
  }
  if (!name.empty()) {
    AddInvalid(FieldPath("metadata", "name"), name, IsTrustBundleName(name, signer), errors);
  }
  if (!signer.empty()) CheckSignerName(signer, FieldPath("spec", "signerName"), errors);
}

void ValidateClusterTrustBundle(const Context&, json::Value object, FieldErrors& errors) {
  CheckNameAndSigner(object, errors);
  CheckTrustBundle(object["spec"]["trustBundle"].AsString(), FieldPath("spec", "trustBundle"),
                   errors);
}

// A bundle that does not change need not become better.
void ValidateClusterTrustBundleUpdate(const Context&, json::Value object, json::Value old,
                                      FieldErrors& errors) {
  CheckNameAndSigner(object, errors);
  const json::Value bundle = object["spec"]["trustBundle"];
  if (bundle == old["spec"]["trustBundle"]) return;
  CheckTrustBundle(bundle.AsString(), FieldPath("spec", "trustBundle"), errors);
}

}  // namespace

void AddClusterTrustBundleStrategy(KindTable& table) {
  table.Add({.group = "certificates.k8s.io",
             .resource = "clustertrustbundles",
             .validate = &ValidateClusterTrustBundle,
             .validate_between = &ValidateClusterTrustBundleUpdate,
             .rules = kRules,
             .traits = {.needs_version = true, .names = NameStyle::kAny},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

// ClusterTrustBundles (pkg/apis/certificates/validation).

#include "base/strings.h"
#include "registry/certificates/signer_name.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRules[] = {{"spec.signerName", FieldRuleKind::kImmutable}};

void ValidateClusterTrustBundle(const Context&, json::Value object, FieldErrors& errors) {
  const std::string_view signer = object["spec"]["signerName"].AsString();
  const std::string_view name = object["metadata"]["name"].AsString();
  const FieldPath name_path("metadata", "name");
  if (signer.empty()) {
    if (name.find(':') != std::string_view::npos) {
      errors.push_back(
          api::Invalid(name_path, name,
                       "ClusterTrustBundle without signer name must not have \":\" in its name"));
    }
  } else {
    const std::string prefix = base::ReplaceAll(signer, "/", ":") + ":";
    if (!name.starts_with(prefix)) {
      errors.push_back(api::Invalid(name_path, name,
                                    base::StrCat("ClusterTrustBundle for signerName ", signer,
                                                 " must be named with prefix ", prefix)));
    }
    CheckSignerName(signer, FieldPath("spec", "signerName"), errors);
  }
  const std::string_view bundle = object["spec"]["trustBundle"].AsString();
  if (PemType(bundle).empty()) {
    errors.push_back(api::Invalid(FieldPath("spec", "trustBundle"), "<value omitted>",
                                  "at least one trust anchor must be provided"));
  }
}

}  // namespace

void AddClusterTrustBundleStrategy(KindTable& table) {
  table.Add({.group = "certificates.k8s.io",
             .resource = "clustertrustbundles",
             .validate = &ValidateClusterTrustBundle,
             .validate_between = &AsNew<&ValidateClusterTrustBundle>,
             .rules = kRules,
             .traits = {.needs_version = true, .names = NameStyle::kPathSegment},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry

// SPDX-License-Identifier: Apache-2.0

#include "registry/certificates/signer_name.h"

#include <string>
#include <vector>

#include "api/annotations.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/sorted.h"

namespace portcullis::registry {
namespace {

constexpr int kMaxDomain = 253;
constexpr int kMaxSignerName = kMaxDomain + 1 + 63 + 1 + 253;

// What is wrong with the first bad label between the dots.
void CheckEachLabel(std::string_view text, std::vector<std::string> (*check)(std::string_view),
                    const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view label : base::Split(text, '.')) {
    const auto faults = check(label);
    for (const std::string& fault : faults) {
      errors.push_back(api::Invalid(
          path, text, base::StrCat("validating label ", base::GoQuote(label), ": ", fault)));
    }
    if (!faults.empty()) return;
  }
}

}  // namespace

void CheckSignerName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const auto segments = base::Split(name, '/');
  if (segments.size() != 2) {
    errors.push_back(api::Invalid(
        path, name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
    return;
  }
  const std::string_view domain = segments[0];
  const std::string_view signer = segments[1];
  if (std::ssize(domain) > kMaxDomain) errors.push_back(api::TooLong(path, kMaxDomain));
  CheckEachLabel(domain, api::IsDns1123Label, path, errors);
  if (domain.find('.') == std::string_view::npos) {
    errors.push_back(api::Invalid(
        path, domain, "should be a domain with at least two segments separated by dots"));
  }
  CheckEachLabel(signer, api::IsDns1123Subdomain, path, errors);
  if (std::ssize(name) > kMaxSignerName) errors.push_back(api::TooLong(path, kMaxSignerName));
}

std::vector<std::string> IsTrustBundleName(std::string_view name, std::string_view signer) {
  if (signer.empty()) {
    if (name.find(':') == std::string_view::npos) return api::IsDns1123Subdomain(name);
    return {"ClusterTrustBundle without signer name must not have \":\" in its name"};
  }
  const std::string prefix = base::ReplaceAll(signer, "/", ":") + ":";
  if (name.starts_with(prefix)) return api::IsDns1123Subdomain(name.substr(prefix.size()));
  return {base::StrCat("ClusterTrustBundle for signerName ", signer, " must be named with prefix ",
                       prefix)};
}

void CheckUserAnnotations(json::Value annotations, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* annotation : json::MembersByName(annotations)) {
    const std::string key = base::ToLower(annotation->name());
    const std::size_t before = errors.size();
    if (key.empty()) errors.push_back(api::Required(path, ""));
    if (!key.empty()) AddInvalid(path, key, api::IsQualifiedName(key), errors);
    if (errors.size() == before && key.find('/') == std::string::npos) {
      errors.push_back(
          api::Invalid(path, key, "must be a domain-prefixed key (such as \"acme.io/foo\")"));
    }
  }
  if (api::AnnotationBytes(annotations) > api::kMaxAnnotationBytes) {
    errors.push_back(api::TooLong(path, static_cast<int>(api::kMaxAnnotationBytes)));
  }
}

}  // namespace portcullis::registry

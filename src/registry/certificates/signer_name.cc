// SPDX-License-Identifier: Apache-2.0

#include "registry/certificates/signer_name.h"

#include "base/strings.h"

namespace portcullis::registry {

void CheckSignerName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const auto parts = base::Cut(name, "/");
  const auto bad = [&] {
    errors.push_back(api::Invalid(
        path, name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
  };
  if (!parts || parts->first.empty() || parts->second.empty()) return bad();
  if (parts->first.find('.') == std::string_view::npos) {
    errors.push_back(api::Invalid(path, name,
                                  "should be a domain with at least two segments separated by "
                                  "dots"));
    return;
  }
  AddInvalid(path, name, api::IsDns1123Subdomain(parts->first), errors);
}

std::string_view PemType(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  const std::size_t begin = pem.find(kBegin);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = pem.substr(begin + kBegin.size());
  const std::size_t end = rest.find("-----");
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace portcullis::registry

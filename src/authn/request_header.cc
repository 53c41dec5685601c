// SPDX-License-Identifier: Apache-2.0

#include "authn/request_header.h"

#include <algorithm>

#include "base/strings.h"
#include "golang/url.h"
#include "net/http.h"
#include "net/server.h"
#include "pki/certificates.h"

namespace portcullis::authn {
namespace {

std::string FirstValue(const net::Headers& headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string_view value = headers.Get(name);
    if (!value.empty()) return std::string(value);
  }
  return "";
}

std::vector<std::string> AllValues(const net::Headers& headers,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    for (const net::Header& header : headers) {
      if (base::EqualsIgnoreCase(header.name, name) && !header.value.empty()) {
        values.push_back(header.value);
      }
    }
  }
  return values;
}

// Keys of extra data are lower case and may be percent-encoded; what cannot be decoded stays.
std::string ExtraKey(std::string_view encoded) {
  const std::string lower = base::ToLower(encoded);
  auto decoded = golang::PathUnescape(lower);
  return decoded.ok() ? std::move(decoded).value() : lower;
}

class RequestHeader final : public Authenticator {
 public:
  RequestHeader(const RequestHeaderOptions& options,
                std::shared_ptr<const pki::CertificatePool> authorities, const base::Clock& clock)
      : options_(options), authorities_(std::move(authorities)), clock_(clock) {}

  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    const net::ClientCertificate* certificate = request.certificate;
    if (certificate == nullptr) return std::optional<Identity>();
    TRY(CheckProxy(*certificate));
    Identity identity;
    identity.user.name = FirstValue(request.headers, options_.username_headers);
    if (identity.user.name.empty()) return std::optional<Identity>();
    identity.user.uid = FirstValue(request.headers, options_.uid_headers);
    identity.user.groups = AllValues(request.headers, options_.group_headers);
    for (const std::string& prefix : options_.extra_prefixes) {
      for (const net::Header& header : request.headers) {
        if (header.name.size() < prefix.size() ||
            !base::EqualsIgnoreCase(std::string_view(header.name).substr(0, prefix.size()),
                                    prefix)) {
          continue;
        }
        const std::string key = ExtraKey(std::string_view(header.name).substr(prefix.size()));
        identity.user.extra[key].push_back(header.value);
      }
    }
    return std::optional<Identity>(std::move(identity));
  }

 private:
  base::Status CheckProxy(const net::ClientCertificate& certificate) const {
    const std::string error = authorities_->VerifyClient(certificate.chain, clock_.Now());
    if (!error.empty()) {
      return {base::Reason::kUnauthorized,
              base::StrCat("verifying certificate SN=", certificate.serial, " failed: ", error)};
    }
    const auto& allowed = options_.allowed_names;
    if (allowed.empty() ||
        std::find(allowed.begin(), allowed.end(), certificate.common_name) != allowed.end()) {
      return base::OkStatus();
    }
    return {base::Reason::kUnauthorized,
            base::StrCat("x509: subject with cn=", certificate.common_name,
                         " is not in the allowed list")};
  }

  const RequestHeaderOptions options_;
  const std::shared_ptr<const pki::CertificatePool> authorities_;
  const base::Clock& clock_;
};

}  // namespace

base::Result<std::unique_ptr<Authenticator>> MakeRequestHeader(const RequestHeaderOptions& options,
                                                               const base::Clock& clock) {
  auto authorities = TRY(pki::CertificatePool::Create(options.authorities_pem));
  return std::unique_ptr<Authenticator>(
      std::make_unique<RequestHeader>(options, std::move(authorities), clock));
}

}  // namespace portcullis::authn

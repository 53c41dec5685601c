// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/identity.h"

#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"

namespace portcullis::kubeconfig {
namespace {

using namespace std::chrono_literals;

// client-go reads a token again ten seconds before it is a minute old.
constexpr auto kTokenAge = 50s;
constexpr auto kCertificateAge = 1s;
constexpr std::size_t kMaxSecret = std::size_t{1} << 20;

base::Result<std::string> DataOrFile(const std::string& data, const std::string& path) {
  if (!data.empty() || path.empty()) return data;
  return base::ReadFile(path, kMaxSecret);
}

bool HasToken(const User& user) { return !user.token.empty() || !user.token_file.empty(); }

bool HasCertificate(const User& user) {
  return !(user.client_certificate.empty() && user.client_certificate_data.empty()) &&
         !(user.client_key.empty() && user.client_key_data.empty());
}

// A key of `as-user-extra` as part of a header's name: what may not stand there in percent escapes.
std::string EscapeHeaderKey(std::string_view key) {
  constexpr std::string_view kLegal = "!#$&'*+-.^_`|~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    const bool is_alphanumeric =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_alphanumeric || kLegal.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

net::Headers Impersonation(const User& user) {
  net::Headers headers;
  if (user.as.empty()) return headers;
  headers.Add("Impersonate-User", user.as);
  if (!user.as_uid.empty()) headers.Add("Impersonate-Uid", user.as_uid);
  for (const std::string& group : user.as_groups) headers.Add("Impersonate-Group", group);
  for (const auto& [key, values] : user.as_user_extra) {
    for (const std::string& value : values) {
      headers.Add(base::StrCat("Impersonate-Extra-", EscapeHeaderKey(key)), value);
    }
  }
  return headers;
}

base::Status CheckExec(const ExecConfig& exec) {
  if (exec.api_version == "client.authentication.k8s.io/v1" ||
      exec.api_version == "client.authentication.k8s.io/v1beta1") {
    return base::OkStatus();
  }
  return base::ConfigError(
      base::StrCat("exec plugin: invalid apiVersion ", base::GoQuote(exec.api_version)));
}

}  // namespace

base::Result<ClientCertificate> ReadClientCertificate(const User& user) {
  ClientCertificate out;
  out.certificate_pem = TRY(DataOrFile(user.client_certificate_data, user.client_certificate));
  out.key_pem = TRY(DataOrFile(user.client_key_data, user.client_key));
  return out;
}

base::Result<std::unique_ptr<Identity>> Identity::Create(
    const User& user, const net::ClientTlsOptions& tls, ExecProgram* program,
    const ExecCluster& cluster, net::ClientTlsCache& cache, const base::Clock& clock) {
  std::unique_ptr<Identity> identity(new Identity(user, tls, cache, clock));
  TRY(identity->Prepare(program, cluster));
  return identity;
}

base::Status Identity::Prepare(ExecProgram* program, const ExecCluster& cluster) {
  std::string token = user_.token;
  if (token.empty() && !user_.token_file.empty()) token = TRY(ReadToken());
  if (user_.exec) TRY(CheckExec(*user_.exec));
  if (!tls_options_.ca_pem.empty() && tls_options_.insecure_skip_verify) {
    return base::ConfigError(
        "specifying a root certificates file with the insecure flag is not allowed");
  }
  reloads_certificate_ = !user_.client_certificate.empty() && !user_.client_key.empty() &&
                         user_.client_certificate_data.empty() && user_.client_key_data.empty();
  auto certificate = TRY(ReadCertificate());
  if (HasToken(user_) && !user_.username.empty()) {
    return base::ConfigError("username/password or bearer token may be set, but not both");
  }
  impersonation_ = Impersonation(user_);
  // Static credentials win over a program.
  if (program != nullptr && !HasToken(user_) && user_.username.empty() && !HasCertificate(user_)) {
    exec_ = program->For(cluster);
  }
  const base::MutexLock lock(mutex_);
  token_ = {std::move(token), std::nullopt};
  certificate_ = {std::move(certificate), clock_.Steady()};
  return base::OkStatus();
}

base::Result<std::string> Identity::ReadToken() const {
  const std::string content = TRY(base::ReadFile(user_.token_file, kMaxSecret));
  std::string token(base::Trim(content));
  if (!token.empty()) return token;
  return base::ConfigError(
      base::StrCat("read empty token from file ", base::GoQuote(user_.token_file)));
}

base::Result<std::shared_ptr<const net::ClientTls>> Identity::ReadCertificate() const {
  net::ClientTlsOptions options = tls_options_;
  ClientCertificate certificate = TRY(ReadClientCertificate(user_));
  if (HasCertificate(user_)) {
    options.certificate_pem = std::move(certificate.certificate_pem);
    options.key_pem = std::move(certificate.key_pem);
  }
  return cache_.Get(options);
}

std::string Identity::CurrentToken() const {
  const base::SteadyTime now = clock_.Steady();
  {
    const base::MutexLock lock(mutex_);
    const bool is_fresh = token_.read && now - *token_.read < kTokenAge;
    if (user_.token_file.empty() || is_fresh) return token_.text;
  }
  auto token = ReadToken();
  const base::MutexLock lock(mutex_);
  if (token.ok()) {
    token_ = {std::move(*token), now};
  } else {
    base::LogError("Unable to rotate token", {{"error", token.status().message()}});
  }
  return token_.text;
}

std::shared_ptr<const net::ClientTls> Identity::CurrentTls() const {
  const base::SteadyTime now = clock_.Steady();
  {
    const base::MutexLock lock(mutex_);
    if (!reloads_certificate_ || now - certificate_.read < kCertificateAge) {
      return certificate_.tls;
    }
    certificate_.read = now;  // others do not wait for the files
  }
  auto tls = ReadCertificate();
  const base::MutexLock lock(mutex_);
  if (tls.ok()) {
    certificate_.tls = std::move(*tls);
  } else {
    base::LogError("Loading client cert failed", {{"error", tls.status().message()}});
  }
  return certificate_.tls;
}

base::Status Identity::Apply(net::ClientRequest& request) const {
  for (const net::Header& header : impersonation_) request.headers.Add(header.name, header.value);
  request.tls = CurrentTls();
  if (HasToken(user_)) {
    request.headers.Add("Authorization", base::StrCat("Bearer ", CurrentToken()));
  } else if (!user_.username.empty()) {
    request.headers.Add("Authorization",
                        base::StrCat("Basic ", base::Base64Encode(base::StrCat(user_.username, ":",
                                                                               user_.password))));
  }
  if (exec_ == nullptr) return base::OkStatus();
  const auto credential = exec_->Get();
  if (!credential.ok()) {
    return {base::Reason::kServiceUnavailable,
            base::StrCat("getting credentials: ", credential.status().message())};
  }
  if (!credential->token.empty()) {
    request.headers.Add("Authorization", base::StrCat("Bearer ", credential->token));
  }
  if (credential->certificate_pem.empty()) return base::OkStatus();
  net::ClientTlsOptions options = tls_options_;
  options.certificate_pem = credential->certificate_pem;
  options.key_pem = credential->key_pem;
  request.tls = TRY(cache_.Get(options));
  return base::OkStatus();
}

void Identity::Refused() const {
  if (exec_ != nullptr) exec_->Forget();
}

}  // namespace portcullis::kubeconfig

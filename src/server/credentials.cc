#include "server/credentials.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "authn/jwt.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"

namespace portcullis::server {
namespace {

namespace fs = std::filesystem;
constexpr int kAuthorityDays = 3650;
constexpr int kCertificateDays = 365;
constexpr std::chrono::hours kRenewBefore{24 * 30};
constexpr std::string_view kAuthority = "portcullis-ca";
constexpr std::string_view kServer = "portcullis";
constexpr std::string_view kAdministrator = "kubernetes-admin";

// Written beside and renamed, so that a crash leaves no half of a key; readable by the owner only.
base::Status WriteFile(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".new";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const auto failed = [&](std::string_view what) {
    return base::ConfigError(base::StrCat(what, " ", path, ": ", std::strerror(errno)));
  };
  if (file < 0) return failed("open");
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = write(file, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      close(file);
      return failed("write");
    }
    written += static_cast<std::size_t>(count);
  }
  // On the disk before it gets its name: a power cut leaves no empty key behind.
  const bool synced = fsync(file) == 0;
  close(file);
  if (!synced) return failed("fsync");
  if (rename(temporary.c_str(), path.c_str()) != 0) return failed("rename");
  return base::OkStatus();
}

base::Status WritePair(const fs::path& folder, const std::string& name, const net::KeyPair& pair) {
  TRY(WriteFile((folder / (name + ".key")).string(), pair.key_pem));
  return WriteFile((folder / (name + ".crt")).string(), pair.certificate_pem);
}

// A folder on the way that may not be searched is an error, and no absent file.
base::Result<bool> Exists(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT) return false;
  return base::ConfigError(base::StrCat("open ", path, ": ", base::ErrnoText(errno)));
}

enum class Renewal : std::uint8_t { kNotNeeded, kDue, kNotOurs };

// Certificates that Portcullis has made are known by their names: `subject`, and `issuer` who has
// signed them. A pair that somebody else has put there is never replaced.
base::Result<Renewal> JudgeAge(const std::string& path, const net::KeyPair& pair,
                               std::string_view subject, std::string_view issuer,
                               base::WallTime now) {
  const auto chain = net::ParseCertificates(pair.certificate_pem);
  if (!chain.ok()) return chain.status().Annotate(path);
  const net::CertificateInfo& leaf = chain->front();
  // Made while the clock was ahead: nobody would accept it for all that time.
  const bool is_premature = leaf.not_before > now;
  if (!is_premature && leaf.not_after > now + kRenewBefore) return Renewal::kNotNeeded;
  if (leaf.common_name == subject && leaf.issuer_common_name == issuer) return Renewal::kDue;
  const std::string end = base::FormatTime(leaf.not_after);
  if (leaf.not_after <= now) {
    return base::ConfigError(
        base::StrCat(path, ": the certificate has expired at ", end,
                     " and is not replaced, because it was not made by Portcullis: renew it, or "
                     "choose another --cert-dir"));
  }
  if (is_premature) {
    base::LogWarning("certificate is not valid yet and is not replaced: not made by Portcullis",
                     {{"file", path}, {"begins", base::FormatTime(leaf.not_before)}});
    return Renewal::kNotOurs;
  }
  base::LogWarning("certificate expires soon and is not renewed: it was not made by Portcullis",
                   {{"file", path}, {"expires", end}});
  return Renewal::kNotOurs;
}

// The pair kept under that name, or what `make` makes, kept from now on.
template <typename Make>
base::Result<net::KeyPair> KeptPair(const fs::path& folder, const std::string& name,
                                    std::string_view subject, std::string_view issuer,
                                    base::WallTime now, const Make& make) {
  const std::string certificate = (folder / (name + ".crt")).string();
  if (TRY(Exists(certificate))) {
    net::KeyPair pair = TRY(net::LoadKeyPair(certificate, (folder / (name + ".key")).string()));
    const Renewal renewal = TRY(JudgeAge(certificate, pair, subject, issuer, now));
    if (renewal != Renewal::kDue) return pair;
    base::LogInfo("certificate renewed", {{"file", certificate}});
  }
  net::KeyPair pair = TRY(make());
  TRY(WritePair(folder, name, pair));
  return pair;
}

net::CertificateRequest ServingRequest(const Options& options, std::string_view service_ip) {
  net::CertificateRequest request;
  request.common_name = kServer;
  request.server = true;
  request.valid_days = kCertificateDays;
  request.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                       "kubernetes.default.svc.cluster.local"};
  request.ip_addresses = {"127.0.0.1", "::1", std::string(service_ip)};
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0 && host[0] != '\0') {
    request.dns_names.emplace_back(host);
  }
  if (!options.external_hostname.empty()) request.dns_names.push_back(options.external_hostname);
  for (const std::string& address : {options.bind_address, options.advertise_address}) {
    if (!address.empty() && address != "0.0.0.0" && address != "::" && address != "127.0.0.1") {
      request.ip_addresses.push_back(address);
    }
  }
  return request;
}

base::Result<std::string> KeptSigningKey(const fs::path& folder, base::WallTime now) {
  const std::string path = (folder / "sa.key").string();
  if (TRY(Exists(path))) return base::ReadFile(path);
  // Only the key is of interest; ECDSA keys take no time to make.
  const net::KeyPair pair = TRY(net::MakeAuthority("service-accounts", now, kAuthorityDays));
  TRY(WriteFile(path, pair.key_pem));
  return pair.key_pem;
}

}  // namespace

base::Result<Credentials> PrepareCredentials(const Options& options, std::string_view service_ip,
                                             const base::Clock& clock) {
  const base::WallTime now = clock.Now();
  const fs::path folder =
      options.cert_dir.empty() ? fs::path(options.data_dir) / "pki" : fs::path(options.cert_dir);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return base::ConfigError(base::StrCat("mkdir ", folder.string(), ": ", error.message()));
  }
  Credentials credentials;
  const net::KeyPair authority = TRY(KeptPair(folder, "ca", kAuthority, kAuthority, now, [&] {
    return net::MakeAuthority(kAuthority, now, kAuthorityDays);
  }));
  credentials.authority_pem = authority.certificate_pem;
  credentials.client_ca_pem = authority.certificate_pem;
  if (!options.client_ca_file.empty()) {
    credentials.client_ca_pem += TRY(net::LoadCertificates(options.client_ca_file));
  }
  if (!options.tls_cert_file.empty()) {
    credentials.serving =
        TRY(net::LoadKeyPair(options.tls_cert_file, options.tls_private_key_file));
  } else {
    credentials.serving = TRY(KeptPair(folder, "server", kServer, kAuthority, now, [&] {
      return net::Issue(authority, ServingRequest(options, service_ip), now);
    }));
  }
  net::CertificateRequest administrator;
  administrator.common_name = kAdministrator;
  administrator.organizations = {"system:masters"};
  administrator.client = true;
  administrator.valid_days = kCertificateDays;
  credentials.administrator = TRY(KeptPair(folder, "admin", kAdministrator, kAuthority, now, [&] {
    return net::Issue(authority, administrator, now);
  }));
  if (const std::string& file = options.service_account_signing_key_file; !file.empty()) {
    credentials.signing_key_pem = TRY(base::ReadFile(file));
    if (auto key = authn::ParseJwtSigningKey(credentials.signing_key_pem); !key.ok()) {
      return key.status().Annotate(base::StrCat("--service-account-signing-key-file=", file));
    }
  } else {
    credentials.signing_key_pem = TRY(KeptSigningKey(folder, now));
  }
  credentials.verifying_keys_pem.push_back(credentials.signing_key_pem);
  for (const std::string& file : options.service_account_key_files) {
    credentials.verifying_keys_pem.push_back(TRY(base::ReadFile(file)));
    if (auto keys = authn::ParseJwtKeys(credentials.verifying_keys_pem.back()); !keys.ok()) {
      return keys.status().Annotate(base::StrCat("--service-account-key-file=", file));
    }
  }
  return credentials;
}

base::Status WriteKubeconfig(const std::string& path, const Credentials& credentials,
                             std::string_view server) {
  // Who brings their own certificate for serving brings its authority along, too.
  const std::string authority = base::Base64Encode(credentials.authority_pem);
  return WriteFile(
      path,
      base::StrCat("apiVersion: v1\nkind: Config\nclusters:\n- name: portcullis\n  cluster:\n"
                   "    server: ",
                   server, "\n    certificate-authority-data: ", authority,
                   "\nusers:\n- name: admin\n  user:\n    client-certificate-data: ",
                   base::Base64Encode(credentials.administrator.certificate_pem),
                   "\n    client-key-data: ", base::Base64Encode(credentials.administrator.key_pem),
                   "\ncontexts:\n- name: portcullis\n  context:\n    cluster: portcullis\n"
                   "    user: admin\ncurrent-context: portcullis\n"));
}

}  // namespace portcullis::server

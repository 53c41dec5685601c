// SPDX-License-Identifier: Apache-2.0

#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "base/allocation_failure.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "net/internal/tls_context.h"
#include "pki/certificates.h"
#include "pki/verify.h"

namespace portcullis::net {
namespace internal {
namespace {

// Lists of protocols as ALPN has them (RFC 7301 §3.1).
constexpr std::string_view kHttp1Only = "\x08http/1.1";
constexpr std::string_view kHttp2Only = "\x02h2";
constexpr std::string_view kHttp2And1 = "\x02h2\x08http/1.1";

std::string_view ListOf(ClientProtocols protocols) {
  switch (protocols) {
    case ClientProtocols::kHttp1:
      return kHttp1Only;
    case ClientProtocols::kHttp2:
      return kHttp2Only;
    case ClientProtocols::kHttp2OrHttp1:
      return kHttp2And1;
  }
  return kHttp1Only;
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

PeerCheck* CheckOf(X509_STORE_CTX* context) {
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  return static_cast<PeerCheck*>(SSL_get_app_data(ssl));
}

// What the peer has sent, as Go reads it; it refuses long RSA keys for the time they take.
base::Result<pki::ReadCertificates> ReadPeer(X509* leaf, const STACK_OF(X509) * others,
                                             std::string_view peer) {
  constexpr int kMaxRsaBits = 8192;
  auto all = pki::ReadAll(leaf, others);
  if (!all.ok()) return all;
  for (const auto& certificate : *all) {
    EVP_PKEY* key = X509_get0_pubkey(certificate.x509.get());
    if (key == nullptr || EVP_PKEY_base_id(key) != EVP_PKEY_RSA) continue;
    if (EVP_PKEY_bits(key) <= kMaxRsaBits) continue;
    return base::ConfigError(base::StrCat("tls: ", peer, " sent certificate containing RSA key ",
                                          "larger than ", std::to_string(kMaxRsaBits), " bits"));
  }
  ERR_clear_error();
  return all;
}

// Ends the handshake unless there is no error. Alert bad_certificate, as Go.
int Judge(X509_STORE_CTX* context, std::string error) {
  if (error.empty()) return 1;
  CheckOf(context)->error = std::move(error);
  X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REJECTED);
  return 0;
}

std::string VerificationError(const pki::VerifyRequest& request) {
  const std::string error = pki::VerifyCertificate(request).error;
  return error.empty() ? error : base::StrCat("tls: failed to verify certificate: ", error);
}

// One of the verifications below; OpenSSL, which is no C++, must not be unwound.
template <int (*Verify)(X509_STORE_CTX*, void*)>
int Contained(X509_STORE_CTX* context, void* unused) {
  int result = 0;
  if (!base::UnlessMemoryRunsOut([&] { result = Verify(context, unused); })) {
    X509_STORE_CTX_set_error(context, X509_V_ERR_OUT_OF_MEM);
  }
  return result;
}

// Called by OpenSSL instead of its own verification. The answer's text waits in the PeerCheck.
int VerifyServer(X509_STORE_CTX* context, void* unused) {
  (void)unused;
  PeerCheck* check = CheckOf(context);
  const STACK_OF(X509)* sent = X509_STORE_CTX_get0_untrusted(context);
  const auto chain = ReadPeer(X509_STORE_CTX_get0_cert(context), sent, "server");
  if (!chain.ok()) {
    return Judge(context, base::StrCat("tls: failed to parse certificate from server: ",
                                       chain.status().message()));
  }
  check->without_san = !(*chain)[0].parsed.has_alternative_names;
  for (const auto& certificate : *chain) {
    const bool self_issued = certificate.parsed.raw_subject == certificate.parsed.raw_issuer;
    if (!self_issued && pki::HasInsecureSignature(certificate.x509.get())) check->with_sha1 = true;
  }
  if (check->roots == nullptr) return 1;
  return Judge(context, VerificationError({.chain = *chain,
                                           .roots = const_cast<X509_STORE*>(check->roots),
                                           .host = check->host,
                                           .use = pki::CertificateUse::kServer,
                                           .now = base::SystemClock().Now()}));
}

int VerifyClient(X509_STORE_CTX* context, void* unused) {
  (void)unused;
  PeerCheck* check = CheckOf(context);
  const auto chain =
      ReadPeer(X509_STORE_CTX_get0_cert(context), X509_STORE_CTX_get0_untrusted(context), "client");
  if (!chain.ok()) {
    return Judge(context, base::StrCat("tls: failed to parse client certificate: ",
                                       chain.status().message()));
  }
  if (check->roots == nullptr) return 1;  // judged by the authenticator: see PeerOf
  return Judge(context, VerificationError({.chain = *chain,
                                           .roots = const_cast<X509_STORE*>(check->roots),
                                           .host = {},
                                           .use = pki::CertificateUse::kClient,
                                           .now = base::SystemClock().Now()}));
}

int ChooseProtocol(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned int offered_size, void* tls) {
  (void)ssl;
  const bool http2 = static_cast<const ServerTlsContext*>(tls)->http2();
  const std::string_view ours = http2 ? kHttp2And1 : kHttp1Only;
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, Bytes(ours), static_cast<unsigned>(ours.size()),
                            offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;  // RFC 7301 §3.2: no_application_protocol
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

int ChooseCertificate(SSL* ssl, int* alert, void* tls) {
  (void)alert;
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  const bool chosen = base::UnlessMemoryRunsOut([&] {
    if (name == nullptr) return;
    SSL_set_SSL_CTX(ssl, static_cast<const ServerTlsContext*>(tls)->ContextFor(name));
  });
  return chosen ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void SetCommonOptions(SSL_CTX* context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_security_level(context, 1);
}

base::Status UseKeyPair(SSL_CTX* context, std::string_view certificate_pem,
                        std::string_view key_pem) {
  const pki::ChainAndKey pair = TRY(pki::ParseKeyPair(certificate_pem, key_pem));
  bool good = SSL_CTX_use_certificate(context, pair.chain[0].get()) == 1 &&
              SSL_CTX_use_PrivateKey(context, pair.key.get()) == 1;
  for (std::size_t i = 1; good && i < pair.chain.size(); ++i) {
    good = SSL_CTX_add1_chain_cert(context, pair.chain[i].get()) == 1;
  }
  if (good) return base::OkStatus();
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return base::ConfigError(base::StrCat("tls: ", reason != nullptr ? reason : "unusable key pair"));
}

// As Go's crypto/tls: a list limits TLS 1.2; the suites of TLS 1.3 are always those that there are.
base::Status SetCiphers(SSL_CTX* context, const std::vector<std::string>& suites) {
  std::vector<std::string> tls12;
  bool has_13 = false;
  for (const auto& suite : suites) {
    const SSL_CIPHER* cipher = nullptr;
    STACK_OF(SSL_CIPHER)* known = SSL_CTX_get_ciphers(context);
    for (int i = 0; i < sk_SSL_CIPHER_num(known) && cipher == nullptr; ++i) {
      const SSL_CIPHER* candidate = sk_SSL_CIPHER_value(known, i);
      if (suite == SSL_CIPHER_standard_name(candidate)) cipher = candidate;
    }
    if (cipher == nullptr) continue;
    const bool is_13 = std::string_view(SSL_CIPHER_get_version(cipher)) == "TLSv1.3";
    has_13 = has_13 || is_13;
    if (!is_13) tls12.emplace_back(SSL_CIPHER_get_name(cipher));
  }
  if (!tls12.empty()) {
    SSL_CTX_set_cipher_list(context, base::Join(tls12, ":").c_str());
  } else if (has_13) {
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  } else {
    return base::ConfigError(
        base::StrCat("OpenSSL has none of the cipher suites ", base::Join(suites, ",")));
  }
  return base::OkStatus();
}

// The names of the CAs a client may choose a certificate by.
void AnnounceClientCas(SSL_CTX* context, std::string_view pem) {
  pki::PemBlock block;
  while (pki::NextPemBlock(pem, block)) {
    const auto certificate = pki::ParseDer(block.bytes);
    if (certificate) SSL_CTX_add_client_CA(context, certificate.get());
  }
}

bool MatchesName(std::string_view pattern, std::string_view name) {
  if (!pattern.starts_with("*.")) return pattern == name;
  const auto dot = name.find('.');
  return dot != std::string_view::npos && name.substr(dot) == pattern.substr(1);
}

base::Status SetCurves(SSL_CTX* context, const std::vector<int>& curves) {
  constexpr std::pair<int, int> kKnown[] = {
      {29, NID_X25519}, {23, NID_X9_62_prime256v1}, {24, NID_secp384r1}, {25, NID_secp521r1}};
  std::vector<int> nids;
  for (const auto& [curve, nid] : kKnown) {
    if (std::find(curves.begin(), curves.end(), curve) != curves.end()) nids.push_back(nid);
  }
  if (nids.empty()) {
    return base::ConfigError(
        "OpenSSL knows no curve of the preferences: 23, 24, 25 and 29 it does");
  }
  SSL_CTX_set1_groups(context, nids.data(), static_cast<int>(nids.size()));
  return base::OkStatus();
}

}  // namespace

std::string NegotiatedProtocol(SSL* ssl) {
  const unsigned char* data = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &data, &size);
  return {reinterpret_cast<const char*>(data), size};
}

base::Status ServerTlsContext::AddCertificate(const ServingCertificate& certificate,
                                              const ServerTlsOptions& options) {
  Entry entry;
  entry.context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = entry.context.get();
  SetCommonOptions(context);
  SSL_CTX_set_min_proto_version(
      context, options.min_version == TlsVersion::k13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (!options.cipher_suites.empty()) TRY(SetCiphers(context, options.cipher_suites));
  if (!options.curves.empty()) TRY(SetCurves(context, options.curves));
  TRY(UseKeyPair(context, certificate.certificate_pem, certificate.key_pem));
  for (const auto& name : certificate.names) entry.names.push_back(base::ToLower(name));
  if (entry.names.empty()) {
    const auto infos = TRY(pki::ParseCertificates(certificate.certificate_pem));
    for (const auto& name : infos[0].dns_names) entry.names.push_back(base::ToLower(name));
  }
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, this);
  SSL_CTX_set_tlsext_servername_callback(context, ChooseCertificate);
  SSL_CTX_set_tlsext_servername_arg(context, this);
  if (options.client_certificates != ClientCertificates::kNone) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (require_ ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
    SSL_CTX_set_cert_verify_callback(context, Contained<VerifyClient>, nullptr);
    AnnounceClientCas(context, options.client_ca_pem);
    AnnounceClientCas(context, options.announced_ca_pem);
  }
  entries_.push_back(std::move(entry));
  return base::OkStatus();
}

SSL* ServerTlsContext::NewSession() const {
  SSL* ssl = SSL_new(entries_[0].context.get());
  SSL_set_accept_state(ssl);
  return ssl;
}

SSL_CTX* ServerTlsContext::ContextFor(std::string_view server_name) const {
  const std::string name = base::ToLower(server_name);
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    for (const auto& pattern : entries_[i].names) {
      if (MatchesName(pattern, name)) return entries_[i].context.get();
    }
  }
  return entries_[0].context.get();
}

std::shared_ptr<const ClientCertificate> ServerTlsContext::PeerOf(SSL* ssl,
                                                                  base::WallTime now) const {
  X509* leaf = SSL_get0_peer_certificate(ssl);
  if (leaf == nullptr) return nullptr;
  const auto chain = pki::ReadAll(leaf, SSL_get_peer_cert_chain(ssl));
  auto peer = std::make_shared<ClientCertificate>();
  if (!chain.ok()) {
    peer->error = chain.status().message();
    return peer;
  }
  for (const auto& certificate : *chain) peer->chain.push_back(pki::DerOf(certificate.x509.get()));
  auto info = pki::DescribeCertificate(peer->chain[0]);
  peer->common_name = std::move(info.common_name);
  peer->organizations = std::move(info.organizations);
  peer->uids = std::move(info.uids);
  peer->sha256 = std::move(info.sha256);
  peer->serial = std::move(info.serial);
  peer->not_after =
      std::chrono::duration_cast<std::chrono::seconds>(info.not_after.time_since_epoch()).count();
  if (!client_roots_) {
    peer->error = "x509: certificate signed by unknown authority";
  } else {
    pki::Verdict verdict = pki::VerifyCertificate({.chain = *chain,
                                                   .roots = client_roots_.get(),
                                                   .host = {},
                                                   .use = pki::CertificateUse::kClient,
                                                   .now = now});
    peer->error = std::move(verdict.error);
    peer->judged_from = verdict.from;
    peer->judged_until = verdict.until;
  }
  return peer;
}

SSL* ClientTlsContext::NewSession(const std::string& host) const {
  SSL* ssl = SSL_new(context_.get());
  const std::string& name = server_name_.empty() ? host : server_name_;
  if (!golang::ParseIp(name).has_value()) SSL_set_tlsext_host_name(ssl, name.c_str());
  SSL_set_connect_state(ssl);
  return ssl;
}

PeerCheck ClientTlsContext::Check(const std::string& host) const {
  PeerCheck check;
  check.roots = roots_.get();
  check.host = server_name_.empty() ? host : server_name_;
  return check;
}

}  // namespace internal

base::Result<std::shared_ptr<const ServerTls>> ServerTls::Create(const ServerTlsOptions& options) {
  auto tls = std::make_shared<internal::ServerTlsContext>();
  tls->http2_ = options.http2;
  tls->require_ = options.client_certificates == ClientCertificates::kRequire;
  if (options.client_certificates != ClientCertificates::kNone && !options.client_ca_pem.empty()) {
    tls->client_roots_.reset(X509_STORE_new());
    TRY(pki::AddRoots(*tls->client_roots_, options.client_ca_pem));
  }
  if (tls->require_ && !tls->client_roots_) {
    return base::ConfigError("client certificates are required but there is no client CA");
  }
  TRY(tls->AddCertificate(options.certificate, options));
  for (const auto& certificate : options.sni) TRY(tls->AddCertificate(certificate, options));
  return std::shared_ptr<const ServerTls>(std::move(tls));
}

base::Result<std::shared_ptr<const ClientTls>> ClientTls::Create(const ClientTlsOptions& options) {
  auto tls = std::make_shared<internal::ClientTlsContext>();
  tls->server_name_ = options.server_name;
  tls->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = tls->context_.get();
  internal::SetCommonOptions(context);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  tls->offers_http2_ = options.protocols != ClientProtocols::kHttp1;
  const std::string_view offered = internal::ListOf(options.protocols);
  SSL_CTX_set_alpn_protos(context, internal::Bytes(offered), static_cast<unsigned>(offered.size()));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, internal::Contained<internal::VerifyServer>, nullptr);
  if (!options.insecure_skip_verify) {
    tls->roots_.reset(X509_STORE_new());
    if (options.ca_pem.empty()) {
      X509_STORE_set_default_paths(tls->roots_.get());
      ERR_clear_error();
    } else if (auto status = pki::AddRoots(*tls->roots_, options.ca_pem); !status.ok()) {
      return status.Annotate("unable to load root certificates");
    }
  }
  if (!options.certificate_pem.empty() || !options.key_pem.empty()) {
    TRY(internal::UseKeyPair(context, options.certificate_pem, options.key_pem));
  }
  return std::shared_ptr<const ClientTls>(std::move(tls));
}

struct ClientTlsCache::State {
  base::Mutex mutex;
  std::vector<std::pair<ClientTlsOptions, std::weak_ptr<const ClientTls>>> known
      PC_GUARDED_BY(mutex);
};

ClientTlsCache::ClientTlsCache() : state_(std::make_unique<State>()) {}
ClientTlsCache::~ClientTlsCache() = default;

base::Result<std::shared_ptr<const ClientTls>> ClientTlsCache::Get(
    const ClientTlsOptions& options) {
  base::MutexLock lock(state_->mutex);
  auto& known = state_->known;
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& [candidate, weak] : known) {
    if (!(candidate == options)) continue;
    if (auto tls = weak.lock()) return tls;
  }
  auto tls = TRY(ClientTls::Create(options));
  known.emplace_back(options, tls);
  return tls;
}

}  // namespace portcullis::net

// SPDX-License-Identifier: Apache-2.0

#include "net/testing/raw_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <tuple>

#include "net/internal/tls_texts.h"
#include "pki/x509.h"

namespace portcullis::net::testing {
namespace {

SSL* Ssl(void* pointer) { return static_cast<SSL*>(pointer); }

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int ChooseProtocol(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned int offered_size, void* chosen) {
  (void)ssl;
  const std::string& alpn = *static_cast<const std::string*>(chosen);
  const std::string ours = static_cast<char>(alpn.size()) + alpn;
  const std::string_view list(reinterpret_cast<const char*>(offered), offered_size);
  const auto found = alpn.empty() ? std::string_view::npos : list.find(ours);
  if (found == std::string_view::npos) return SSL_TLSEXT_ERR_NOACK;
  *out = offered + found + 1;
  *out_size = static_cast<unsigned char>(alpn.size());
  return SSL_TLSEXT_ERR_OK;
}

void Use(SSL_CTX* context, const pki::KeyPair& pair) {
  const auto parsed = pki::ParseKeyPair(pair.certificate_pem, pair.key_pem);
  if (!parsed.ok()) return;
  SSL_CTX_use_certificate(context, parsed->chain[0].get());
  for (std::size_t i = 1; i < parsed->chain.size(); ++i) {
    SSL_CTX_add1_chain_cert(context, parsed->chain[i].get());
  }
  SSL_CTX_use_PrivateKey(context, parsed->key.get());
}

}  // namespace

RawPeer::RawPeer(int fd) : fd_(fd) {
  // OpenSSL's own socket I/O, used here and nowhere else, has no MSG_NOSIGNAL.
  std::signal(SIGPIPE, SIG_IGN);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  timeval timeout{.tv_sec = 10, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

RawPeer::~RawPeer() {
  SSL_free(Ssl(ssl_));
  SSL_CTX_free(static_cast<SSL_CTX*>(context_));
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<RawPeer> RawPeer::Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = Loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<RawPeer>(new RawPeer(fd));
}

std::unique_ptr<RawPeer> RawPeer::ConnectTls(int port, const Tls& tls, std::string* error) {
  auto peer = Connect(port);
  if (!peer) return nullptr;
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  peer->context_ = context;
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_min_proto_version(context, tls.min_version);
  SSL_CTX_set_max_proto_version(context, tls.max_version);
  if (!tls.client.key_pem.empty()) Use(context, tls.client);
  if (!tls.alpn.empty()) {
    const std::string wire = static_cast<char>(tls.alpn.size()) + tls.alpn;
    SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned int>(wire.size()));
  }
  SSL* ssl = SSL_new(context);
  peer->ssl_ = ssl;
  if (!tls.server_name.empty()) SSL_set_tlsext_host_name(ssl, tls.server_name.c_str());
  SSL_set_fd(ssl, peer->fd_);
  errno = 0;
  if (SSL_connect(ssl) == 1) return peer;
  const bool silent = errno == EAGAIN || errno == EWOULDBLOCK;
  if (error != nullptr) {
    *error = silent ? "timed out" : internal::TlsErrorText(ERR_peek_last_error());
  }
  ERR_clear_error();
  return nullptr;
}

bool RawPeer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto put = ssl_ != nullptr
                         ? SSL_write(Ssl(ssl_), bytes.data(), static_cast<int>(bytes.size()))
                         : static_cast<int>(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (put <= 0) {
      ERR_clear_error();
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string RawPeer::Read() {
  std::array<char, 16384> buffer{};
  errno = 0;
  const auto got = ssl_ != nullptr ? SSL_read(Ssl(ssl_), buffer.data(), buffer.size())
                                   : static_cast<int>(recv(fd_, buffer.data(), buffer.size(), 0));
  timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  ERR_clear_error();
  return got <= 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(got));
}

std::string RawPeer::ReadUntil(std::string_view mark) {
  std::string all;
  while (all.find(mark) == std::string::npos) {
    const auto piece = Read();
    if (piece.empty()) break;
    all += piece;
  }
  return all;
}

std::string RawPeer::ReadToEnd() {
  std::string all;
  for (auto piece = Read(); !piece.empty(); piece = Read()) all += piece;
  return all;
}

bool RawPeer::HasPending() const { return ssl_ != nullptr && SSL_pending(Ssl(ssl_)) > 0; }

void RawPeer::Relay(RawPeer& a, RawPeer& b) {
  while (true) {
    std::array<pollfd, 2> files = {{{a.fd_, POLLIN, 0}, {b.fd_, POLLIN, 0}}};
    const bool pending = a.HasPending() || b.HasPending();
    if (poll(files.data(), files.size(), pending ? 0 : 10'000) <= 0 && !pending) return;
    for (auto [from, to, file] : {std::tuple(&a, &b, files[0]), std::tuple(&b, &a, files[1])}) {
      if (file.revents == 0 && !from->HasPending()) continue;
      const auto piece = from->Read();
      if (piece.empty() || !to->Send(piece)) return to->ShutdownWrite();
    }
  }
}

void RawPeer::ShutdownWrite() {
  if (ssl_ != nullptr) SSL_shutdown(Ssl(ssl_));
  shutdown(fd_, SHUT_WR);
}

void RawPeer::Reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(fd_);
  fd_ = -1;
}

std::string RawPeer::PeerCertificate() const {
  X509* leaf = SSL_get0_peer_certificate(Ssl(ssl_));
  if (leaf == nullptr) return "";
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, leaf);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return pem;
}

RawServer::RawServer(Script script) : RawServer(std::move(script), pki::KeyPair{}) {}

RawServer::RawServer(Script script, pki::KeyPair serving, int max_tls_version, std::string alpn)
    : script_(std::move(script)),
      serving_(std::move(serving)),
      max_tls_version_(max_tls_version),
      alpn_(std::move(alpn)) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = Loopback(0);
  bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  listen(fd_, 64);
  socklen_t size = sizeof(address);
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

RawServer::~RawServer() {
  shutdown(fd_, SHUT_RDWR);
  thread_.join();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (auto& worker : workers_) worker.join();
  close(fd_);
}

void RawServer::Run() {
  for (;;) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int number = ++connections_;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      open_.insert(fd);
    }
    workers_.emplace_back([this, fd, number] { Serve(fd, number); });
  }
}

void RawServer::Serve(int fd, int number) {
  // The destructor's copy: the peer may close its own in the script.
  RawPeer peer(dup(fd));
  bool good = true;
  if (!serving_.key_pem.empty()) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    peer.context_ = context;
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, max_tls_version_);
    Use(context, serving_);
    SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, &alpn_);
    SSL* ssl = SSL_new(context);
    peer.ssl_ = ssl;
    SSL_set_fd(ssl, peer.fd_);
    good = SSL_accept(ssl) == 1;
    ERR_clear_error();
  }
  if (good) script_(peer, number);
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(fd);
  close(fd);
}

TestCertificates TestCertificates::Make(const std::vector<std::string>& dns_names) {
  const auto now = base::SystemClock().Now();
  TestCertificates certificates;
  certificates.authority = pki::MakeAuthority("test-ca", now).value();
  const auto issue = [&](bool server) {
    return Issue(certificates.authority,
                 {.common_name = "test",
                  .organizations = {},
                  .dns_names = dns_names,
                  .ip_addresses = {"127.0.0.1"},
                  .server = server,
                  .client = !server,
                  .valid_days = 1},
                 now)
        .value();
  };
  certificates.serving = issue(true);
  certificates.client = issue(false);
  return certificates;
}

}  // namespace portcullis::net::testing

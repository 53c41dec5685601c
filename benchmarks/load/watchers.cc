// SPDX-License-Identifier: Apache-2.0

#include "watchers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/strings.h"

namespace portcullis::load {
namespace {

// HTTP/2 by hand (RFC 9113, RFC 7541): the preface, settings, and one request whose fields are
// literals that enter no table.
std::string Frame(char type, char flags, char stream, std::string_view payload) {
  std::string frame;
  frame += '\0';
  frame += static_cast<char>(payload.size() >> 8U);
  frame += static_cast<char>(payload.size() & 0xFFU);
  frame += type;
  frame += flags;
  frame.append(3, '\0');
  frame += stream;
  frame += payload;
  return frame;
}

std::string Literal(std::string_view name_index, std::string_view value) {
  std::string text(name_index);
  text += static_cast<char>(value.size());  // REQUIRES: less than 127
  text += value;
  return text;
}

std::string Http2Request(const std::string& path) {
  constexpr char kSettings = 4;
  constexpr char kHeaders = 1;
  constexpr char kAck = 1;
  constexpr char kEndStreamAndHeaders = 5;
  const std::string fields = base::StrCat("\x82\x87",             // :method GET, :scheme https
                                          Literal("\x04", path),  // :path
                                          Literal("\x01", "127.0.0.1"),              // :authority
                                          Literal("\x0F\x2B", "portcullis-load"),    // user-agent
                                          Literal("\x0F\x04", "application/json"));  // accept
  return base::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettings, 0, 0, ""),
                      Frame(kSettings, kAck, 0, ""),
                      Frame(kHeaders, kEndStreamAndHeaders, 1, fields));
}

std::string Http1Request(const std::string& path, const std::string& token) {
  return base::StrCat("GET ", path,
                      " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: portcullis-load\r\n"
                      "Accept: application/json\r\n",
                      token.empty() ? "" : base::StrCat("Authorization: Bearer ", token, "\r\n"),
                      "\r\n");
}

bool UseIdentity(SSL_CTX* context, const TargetOptions& server) {
  BIO* certificate = BIO_new_mem_buf(server.certificate_pem.data(),
                                     static_cast<int>(server.certificate_pem.size()));
  BIO* key = BIO_new_mem_buf(server.key_pem.data(), static_cast<int>(server.key_pem.size()));
  X509* leaf = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  EVP_PKEY* secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  const bool ok = leaf != nullptr && secret != nullptr &&
                  SSL_CTX_use_certificate(context, leaf) == 1 &&
                  SSL_CTX_use_PrivateKey(context, secret) == 1;
  X509_free(leaf);
  EVP_PKEY_free(secret);
  BIO_free(certificate);
  BIO_free(key);
  return ok;
}

}  // namespace

base::Result<std::unique_ptr<Watchers>> Watchers::Create(const TargetOptions& server,
                                                         WatchProtocol protocol) {
  auto watchers = std::unique_ptr<Watchers>(new Watchers);
  watchers->protocol_ = protocol;
  const auto port = base::ParseInt(server.url.substr(server.url.rfind(':') + 1));
  if (!port) return base::ConfigError("no port in the server's address");
  watchers->port_ = static_cast<int>(*port);
  watchers->context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(watchers->context_, SSL_MODE_RELEASE_BUFFERS);
  watchers->token_ = server.token;
  if (server.token.empty() && !UseIdentity(watchers->context_, server)) {
    return base::ConfigError("bad client certificate");
  }
  const auto* alpn = reinterpret_cast<const unsigned char*>("\x02h2\x08http/1.1");
  if (protocol == WatchProtocol::kHttp2) {
    SSL_CTX_set_alpn_protos(watchers->context_, alpn, 3);
  } else {
    SSL_CTX_set_alpn_protos(watchers->context_, alpn + 3, 9);
  }
  return watchers;
}

Watchers::~Watchers() {
  stopping_ = true;
  if (reader_.joinable()) reader_.join();
  if (poll_ >= 0) close(poll_);
  for (const Connection& watch : watches_) {
    SSL_free(watch.ssl);
    close(watch.fd);
  }
  SSL_CTX_free(context_);
}

base::Status Watchers::AddMany(const std::string& path, std::size_t count) {
  constexpr std::size_t kThreads = 8;
  const std::size_t first = watches_.size();
  watches_.resize(first + count);
  std::array<base::Status, kThreads> results;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = first + t; i < watches_.size() && results[t].ok(); i += kThreads) {
        results[t] = Open(path, watches_[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const base::Status& result : results) TRY(result);
  return base::OkStatus();
}

base::Status Watchers::Open(const std::string& path, Connection& watch) const {
  watch.fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  if (connect(watch.fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return base::ConfigError("a watch cannot connect");
  }
  watch.ssl = SSL_new(context_);
  SSL_set_fd(watch.ssl, watch.fd);
  const bool h2 = protocol_ == WatchProtocol::kHttp2;
  const std::string request = h2 ? Http2Request(path) : Http1Request(path, token_);
  if (SSL_connect(watch.ssl) != 1 ||
      SSL_write(watch.ssl, request.data(), static_cast<int>(request.size())) <= 0) {
    return base::ConfigError("a watch cannot be started");
  }
  // The head of the answer; in HTTP/2 its fields are compressed, but the value of :status 200 is
  // the single byte 0x88 at the start of a HEADERS frame of stream 1.
  using namespace std::string_literals;
  return Await(watch, h2 ? "\x01\x04\0\0\0\x01\x88"s : "\r\n\r\n"s);
}

base::Status Watchers::AwaitAll(const std::string& mark) {
  for (const Connection& watch : watches_) TRY(Await(watch, mark));
  return base::OkStatus();
}

base::Status Watchers::StartReading() {
  poll_ = epoll_create1(EPOLL_CLOEXEC);
  for (Connection& watch : watches_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &watch;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, watch.fd, &event) != 0) {
      return base::ConfigError("watches cannot be read");
    }
  }
  reader_ = std::thread([this] { ReadAll(); });
  return base::OkStatus();
}

void Watchers::ReadAll() {
  std::array<epoll_event, 64> events{};
  std::array<char, 16384> buffer{};
  while (!stopping_) {
    const int ready = epoll_wait(poll_, events.data(), events.size(), 100);
    for (int i = 0; i < ready; ++i) {
      auto* watch = static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      do {
        const int got = SSL_read(watch->ssl, buffer.data(), buffer.size());
        // The last chunk ends a watch, not its connection.
        const std::string_view text(buffer.data(), static_cast<std::size_t>(std::max(got, 0)));
        if (got > 0 && !text.ends_with("0\r\n\r\n")) continue;
        epoll_ctl(poll_, EPOLL_CTL_DEL, watch->fd, nullptr);
        ++ended_;
        break;
      } while (SSL_pending(watch->ssl) > 0);
    }
  }
}

base::Status Watchers::Await(const Connection& connection, const std::string& mark) {
  std::string seen;
  std::array<char, 16384> buffer{};
  while (seen.find(mark) == std::string::npos) {
    const int got = SSL_read(connection.ssl, buffer.data(), buffer.size());
    if (got <= 0) return base::ConfigError("a watch has ended");
    seen.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return base::OkStatus();
}

}  // namespace portcullis::load

// SPDX-License-Identifier: Apache-2.0

// Everything in net/ that reads bytes of strangers: HTTP/1.1 heads and bodies arriving in pieces,
// URLs, certificates, gzip, and a whole server on a plain connection. The first byte chooses.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "golang/netip.h"
#include "golang/url.h"
#include "net/internal/gzip.h"
#include "net/internal/http1_parser.h"
#include "net/server.h"
#include "net/url.h"
#include "pki/certificates.h"

namespace {

namespace golang = portcullis::golang;
namespace net = portcullis::net;
namespace pki = portcullis::pki;
using net::internal::Http1Parser;

// Takes everything, and remembers it for comparison.
struct Sink final : net::internal::MessageSink {
  void OnRequestLine(std::string_view method, std::string_view target, int version) override {
    seen.append(method).append(target).append(std::to_string(version));
  }
  void OnField(std::string_view name, std::string_view value) override {
    seen.append(name).append(value);
  }
  bool OnHead() override { return true; }
  bool OnBody(std::string_view piece) override {
    body.append(piece);
    return body.size() < 1 << 20;
  }
  std::string seen;
  std::string body;
};

Http1Parser::State Parse(Http1Parser::Kind kind, std::string_view text, std::size_t step,
                         Sink& sink) {
  const auto parser = Http1Parser::Create(kind, sink, 8192);
  std::string pending;
  for (;;) {
    const auto take = std::min(step, text.size());
    pending.append(text.substr(0, take));
    text.remove_prefix(take);
    std::size_t consumed = 0;
    const auto state = parser->Feed(pending, consumed);
    if (state != Http1Parser::State::kNeedMore) return state;
    pending.erase(0, consumed);
    if (text.empty()) return state;
  }
}

// However a message is cut into pieces, it must be read alike.
void ParseMessage(Http1Parser::Kind kind, std::string_view text) {
  Sink whole;
  Sink pieces;
  const auto a = Parse(kind, text, text.size() + 1, whole);
  const auto b = Parse(kind, text, 1 + text.size() / 7, pieces);
  if (a == Http1Parser::State::kDone && (b != a || whole.body != pieces.body)) std::abort();
}

void Serve(std::string_view text) {
  static net::IoThreads threads(1);
  static const auto server =
      net::HttpsServer::Listen(threads, {}, [](const std::shared_ptr<net::Exchange>& exchange) {
        net::Response response;
        response.body = exchange->request().body;
        exchange->Respond(std::move(response));
      }).value();
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(server->port()));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    std::array<char, 4096> buffer{};
    while (recv(fd, buffer.data(), buffer.size(), 0) > 0) {
    }
  }
  close(fd);
}

void ReadUrls(std::string_view text) {
  const auto url = net::ParseUrl(text);
  if (url.ok() && !net::ParseUrl(url->ToString()).ok()) std::abort();
  static const auto base = net::ParseUrl("https://example.com/a/b?c").value();
  (void)net::ResolveReference(base, text);
  (void)portcullis::golang::SplitHostPort(text);
  (void)portcullis::golang::ParseQuery(text);
}

}  // namespace

// In pieces of growing size, as a body arrives.
void Inflate(std::string_view text) {
  net::internal::Inflater inflater(1 << 20);
  std::string plain;
  for (std::size_t size = 1; !text.empty(); ++size) {
    if (!inflater.Add(text.substr(0, size), plain).ok()) return;
    text.remove_prefix(std::min(size, text.size()));
  }
  (void)inflater.Finish();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      ParseMessage(Http1Parser::Kind::kRequest, text);
      break;
    case 1:
      ParseMessage(Http1Parser::Kind::kResponse, text);
      break;
    case 2:
      ReadUrls(text);
      break;
    case 3:
      (void)pki::ParseCertificates(text);
      (void)pki::CheckKeyPair(text, text);
      break;
    case 4:
      Inflate(text);
      break;
    default:
      Serve(text);
      break;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0

#include "net/http2_client.h"

#include "net/internal/http2_client_connection.h"
#include "net/internal/resolver.h"

namespace portcullis::net {
namespace {

class Client final : public Http2Client {
 public:
  explicit Client(const IoLoop& loop) : loop_(loop) {}

  std::shared_ptr<Http2Connection> Connect(const Http2Target& target, const Http2Options& options,
                                           Http2Listener& listener) override {
    auto connection = std::make_shared<internal::Http2ClientConnection>(loop_.loop(), resolver_,
                                                                        target, options, listener);
    connection->Connect();
    return connection;
  }

 private:
  const IoLoop loop_;
  internal::Resolver resolver_;
};

}  // namespace

std::unique_ptr<Http2Client> Http2Client::Create(const IoLoop& loop) {
  return std::make_unique<Client>(loop);
}

}  // namespace portcullis::net

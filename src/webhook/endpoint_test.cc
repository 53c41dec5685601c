// SPDX-License-Identifier: Apache-2.0

// Which version of HTTP a webhook is called by, against a real server that speaks both.
#include "webhook/endpoint.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/strings.h"
#include "net/server.h"
#include "net/testing/test_server.h"
#include "webhook/configuration.h"

namespace portcullis::webhook {
namespace {

// Every Service is the server of the test.
class OneServer : public admission::ServiceResolver {
 public:
  base::Result<admission::ServiceAddress> Resolve(std::string_view, std::string_view,
                                                  int) const override {
    return admission::ServiceAddress{.host = "127.0.0.1", .port = port};
  }
  std::uint16_t port = 0;
};

class EndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& serving = certificates_.serving;
    net::ServerOptions options;
    options.tls =
        net::ServerTls::Create({.certificate = {serving.certificate_pem, serving.key_pem, {}}})
            .value();
    server_ = net::HttpsServer::Listen(io_, std::move(options),
                                       [this](const std::shared_ptr<net::Exchange>& exchange) {
                                         protocol_ = exchange->protocol();
                                         exchange->Respond({.status = 200});
                                       })
                  .value();
    services_.port = static_cast<std::uint16_t>(server_->port());
  }

  std::optional<net::Protocol> ProtocolOf(ClientConfig config) {
    config.ca_bundle = certificates_.authority.certificate_pem;
    const auto endpoint = endpoints_.Get(config);
    const auto request = endpoint->RequestFor("a.x.y", std::chrono::seconds(10));
    if (!request.ok()) return std::nullopt;
    const auto result = client_->Call(*request, net::testing::TestServer::Soon());
    EXPECT_TRUE(result.ok()) << result.failure->message;
    return protocol_;
  }
  std::string Url(std::string_view host) const {
    return base::StrCat("https://", host, ":", std::to_string(server_->port()), "/validate");
  }

  net::IoThreads io_{1};
  const net::testing::TestCertificates certificates_ =
      net::testing::TestCertificates::Make({"localhost", "web.team.svc"});
  std::optional<net::Protocol> protocol_;
  std::unique_ptr<net::HttpsServer> server_;
  std::unique_ptr<net::HttpsClient> client_ = net::HttpsClient::Create(io_);
  OneServer services_;
  EndpointCache endpoints_{{.services = &services_}};
};

TEST_F(EndpointTest, SpeaksHttp2ToUrlsOfThisMachine) {
  EXPECT_EQ(ProtocolOf({.url = Url("127.0.0.1")}), net::Protocol::kHttp2);
  EXPECT_EQ(ProtocolOf({.url = Url("LocalHost")}), net::Protocol::kHttp2);
}

TEST_F(EndpointTest, SpeaksHttp1ToServices) {
  EXPECT_EQ(ProtocolOf({.service = ServiceReference{"team", "web", "/validate", 443}}),
            net::Protocol::kHttp11);
}

}  // namespace
}  // namespace portcullis::webhook

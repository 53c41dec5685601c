// SPDX-License-Identifier: Apache-2.0

// What the client's tests have in common: a client, and how it calls scripted servers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/testing/test_server.h"

namespace portcullis::net::testing {

inline constexpr std::string_view kOk =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok";

// A client and scripted servers.
class ClientTest : public ::testing::Test {
 protected:
  ClientRequest Post(int port, std::string scheme = "http") {
    ClientRequest request;
    request.url = scheme + "://127.0.0.1:" + std::to_string(port) + "/p?timeout=5s";
    request.body = std::make_shared<const std::string>("{}");
    return request;
  }
  ClientRequest Secure(int port, const std::string& ca_pem) {
    auto request = Post(port, "https");
    request.tls = ClientTls::Create({.ca_pem = ca_pem}).value();
    return request;
  }
  CallResult Call(ClientRequest request,
                  std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    return client_->Call(std::move(request), TestServer::Soon(limit));
  }
  static std::string Prefix(const ClientRequest& request) {
    return "Post \"" + request.url + "\": ";
  }

  IoThreads io_{2};
  std::unique_ptr<HttpsClient> client_ = HttpsClient::Create(io_);
};

inline void AnswerOk(RawPeer& peer, int) {
  while (!peer.ReadUntil("{}").empty()) peer.Send(kOk);
}

}  // namespace portcullis::net::testing

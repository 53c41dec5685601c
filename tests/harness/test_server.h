// SPDX-License-Identifier: Apache-2.0

// TestServer runs the API server in the test's process: empty store in memory, a folder of its own,
// port 0; and a client with the administrator's certificate.
//
//   TestServer server;
//   const Answer made = server.Post("/api/v1/namespaces/default/configmaps",
//                                   R"({"metadata":{"name":"a"}})");
//   EXPECT_EQ(made.status, 201);
//   EXPECT_EQ(made["metadata"]["name"].AsString(), "a");
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "server/api_server.h"
#include "server/options.h"

namespace portcullis::testing {

struct Answer {
  int status = 0;  // 0: no answer; `error` says why
  std::string error;
  net::Headers headers;
  std::string body;
  json::Document document;  // null if the body is no JSON

  json::Value operator[](std::string_view name) const { return document[name]; }
  std::string_view message() const { return document["message"].AsString(); }
  std::vector<std::string> warnings() const;
};

class TestServer {
 public:
  // `adjust` changes the options before the server starts; `clock` outlives the server.
  explicit TestServer(const std::function<void(server::Options&)>& adjust = {},
                      const base::Clock& clock = base::SystemClock());
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  Answer Call(std::string_view method, std::string_view path, std::string_view body = {},
              net::Headers headers = {});
  Answer Get(std::string_view path) { return Call("GET", path); }
  Answer Post(std::string_view path, std::string_view body) {
    return Call("POST", path, body, {{"Content-Type", "application/json"}});
  }
  Answer Put(std::string_view path, std::string_view body) {
    return Call("PUT", path, body, {{"Content-Type", "application/json"}});
  }
  Answer Patch(std::string_view path, std::string_view type, std::string_view body) {
    return Call("PATCH", path, body, {{"Content-Type", std::string(type)}});
  }
  Answer Delete(std::string_view path) { return Call("DELETE", path); }
  // Without the client certificate.
  Answer Anonymous(std::string_view path);
  // By a bearer token and no client certificate; a body is JSON.
  Answer As(std::string_view token, std::string_view method, std::string_view path,
            std::string_view body = {});

  // Reads a watch until `count` lines have come or it has ended. `meanwhile` runs once `after` of
  // them have: with 0 the watch may not have begun when it does.
  std::vector<json::Document> Watch(std::string_view path, std::size_t count,
                                    const std::function<void()>& meanwhile = {},
                                    std::size_t after = 0);
  // Whether the server has ended the last watch, not the client.
  bool has_ended_watch() const { return has_ended_watch_; }

  // Stops the server, whatever it is at. Only Restart makes it useful again.
  void Stop() { server_->Stop(std::chrono::milliseconds(0)); }
  // Stops the server and starts another one on the same folder.
  void Restart();
  const std::string& folder() const { return folder_; }
  const std::string& url() const { return server_->url(); }

 private:
  void Start();

  const base::Clock& clock_;
  std::string folder_;
  server::Options options_;
  std::unique_ptr<server::ApiServer> server_;
  net::IoThreads io_{1};
  std::unique_ptr<net::HttpsClient> client_;
  std::shared_ptr<const net::ClientTls> administrator_;
  std::shared_ptr<const net::ClientTls> nobody_;
  bool has_ended_watch_ = false;
};

}  // namespace portcullis::testing

// SPDX-License-Identifier: Apache-2.0

// The API server that is measured: in this process, in memory, without background controllers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "server/api_server.h"

namespace portcullis::cost_law {

// A request as data.
struct Ask {
  std::string method = "POST";
  std::string path;
  std::string body;
  std::string content_type = "application/json";
  net::Headers headers;
};

class Subject {
 public:
  static base::Result<std::unique_ptr<Subject>> Start();
  ~Subject();

  // Makes a request ready, so that sending it is all that is measured.
  net::ClientRequest Prepare(const Ask& ask) const;
  // Blocks. The status, or 0 if there was no answer; `text` receives the body, or why not.
  int Send(net::ClientRequest request, std::string* text = nullptr);
  // Deletes an object at once, with all its finalizers: no controller takes them away.
  void Remove(const std::string& path);
  int Send(const Ask& ask, std::string* text = nullptr) { return Send(Prepare(ask), text); }

 private:
  Subject() = default;

  std::string folder_;
  std::unique_ptr<server::ApiServer> server_;
  net::IoThreads io_{1};
  std::unique_ptr<net::HttpsClient> client_;
  std::shared_ptr<const net::ClientTls> tls_;
};

}  // namespace portcullis::cost_law

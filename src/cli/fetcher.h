// SPDX-License-Identifier: Apache-2.0

// Fetcher: requests to a running API server, most of them GETs of JSON documents.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "json/value.h"
#include "kubeconfig/client.h"
#include "net/client.h"
#include "net/io_threads.h"

namespace portcullis::cli {

// Confined to one thread.
class Fetcher {
 public:
  // Values live in `arena`, which outlives it.
  static base::Result<std::unique_ptr<Fetcher>> Create(const kubeconfig::ClientConfig& server,
                                                       json::Arena& arena);

  // An error has the HTTP code of the answer: `GET /api/v1/pods: the server answered 403`.
  base::Result<json::Value> Get(std::string_view path, std::string_view accept);

  // Any request, whatever its answer is. Errors: there was none.
  base::Result<net::Response> Send(std::string_view method, std::string_view path,
                                   net::Headers headers, std::string body);

 private:
  explicit Fetcher(json::Arena& arena)
      : arena_(arena), https_(net::HttpsClient::Create(threads_)) {}

  json::Arena& arena_;
  net::IoThreads threads_;
  std::unique_ptr<net::HttpsClient> https_;
  std::optional<kubeconfig::Client> client_;  // after Create
};

}  // namespace portcullis::cli

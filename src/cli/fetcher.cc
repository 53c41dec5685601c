// SPDX-License-Identifier: Apache-2.0

#include "cli/fetcher.h"

#include <chrono>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::cli {

base::Result<std::unique_ptr<Fetcher>> Fetcher::Create(const kubeconfig::ClientConfig& server,
                                                       json::Arena& arena) {
  std::unique_ptr<Fetcher> fetcher(new Fetcher(arena));
  kubeconfig::ClientOptions options;
  options.timeout = std::chrono::seconds(60);
  fetcher->client_.emplace(TRY(kubeconfig::Client::Create(server, options, fetcher->https_.get())));
  return fetcher;
}

base::Result<json::Value> Fetcher::Get(std::string_view path, std::string_view accept) {
  const net::CallResult result = TRY(client_->Get(path, accept));
  if (!result.ok()) return base::ConfigError(result.failure->message);
  const int status = result.response.status;
  if (status != 200) {
    const std::string message =
        base::StrCat("GET ", path, ": the server answered ", std::to_string(status));
    if (status == 404) return base::Status(base::Reason::kNotFound, message);
    if (status == 403) return base::Status(base::Reason::kForbidden, message);
    return base::ConfigError(message);
  }
  auto parsed = json::Parse(arena_, result.response.content());
  if (!parsed.ok()) return parsed.status().Annotate(path);
  return *parsed;
}

base::Result<net::Response> Fetcher::Send(std::string_view method, std::string_view path,
                                          net::Headers headers, std::string body) {
  auto sent = body.empty() ? nullptr : std::make_shared<const std::string>(std::move(body));
  net::CallResult result = TRY(client_->Send(method, path, std::move(headers), std::move(sent)));
  if (!result.ok()) return base::ConfigError(result.failure->message);
  return std::move(result.response);
}

}  // namespace portcullis::cli

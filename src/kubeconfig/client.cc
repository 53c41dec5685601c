// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "kubeconfig/rest.h"

namespace portcullis::kubeconfig {
namespace {

constexpr std::string_view kUserAgent = "Go-http-client/1.1";

base::SteadyTime Now() { return base::SystemClock().Steady(); }

bool WorthAnotherTry(const net::CallResult& result) {
  if (!result.ok()) {
    return result.failure->cause.find("connection reset by peer") != std::string::npos ||
           result.failure->cause.find("http2: client connection lost") != std::string::npos;
  }
  const int status = result.response.status;
  return status == 500 || status == 504 || status == 429 ||
         (status >= 500 && !result.response.headers.Get("Retry-After").empty());
}

}  // namespace

base::Result<Client> Client::Create(const ClientConfig& config, const ClientOptions& options,
                                    net::HttpsClient* https) {
  Client client;
  client.https_ = https;
  client.options_ = options;
  client.url_ = config.url;
  client.proxies_ = config.proxies;
  client.disable_compression_ = config.disable_compression;
  client.tls_cache_ = std::make_shared<net::ClientTlsCache>();
  std::optional<ExecProgram> program;
  if (config.user.exec) program.emplace(*config.user.exec, base::SystemClock());
  client.runs_program_ = program.has_value();
  client.identity_ = TRY(Identity::Create(config.user, config.tls, program ? &*program : nullptr,
                                          config.exec_cluster, *client.tls_cache_));
  return client;
}

base::Result<Client> Client::Load(const std::string& path, const ClientOptions& options,
                                  net::HttpsClient* https) {
  const Config config = path.empty() ? Config() : TRY(kubeconfig::Load(path));
  return Create(TRY(Resolve(config)), options, https);
}

net::CallResult Client::Call(net::CallSet& calls, const net::SharedRequest& request,
                             base::SteadyTime deadline) const {
  calls.Start(0, request, std::min(Now() + options_.timeout, deadline));
  net::CallResult result = std::move(calls.Next()->result);
  if (result.ok() && result.response.status == 401) identity_->Refused();
  return result;
}

base::Status Client::Post(std::shared_ptr<const std::string> body,
                          const std::function<base::Status(const net::Response&)>& read,
                          base::SteadyTime deadline) const {
  if (https_ == nullptr) return {base::Reason::kUnknown, "there is no client for calls"};
  net::ClientRequest request;
  const std::string path = url_.find('/', url_.find("://") + 3) == std::string::npos ? "/" : "";
  request.url = base::StrCat(url_, path, "?timeout=", base::FormatDuration(options_.timeout));
  request.proxies = proxies_;
  if (const base::Status identified = identity_->Apply(request); !identified.ok()) {
    return identified.Annotate(base::StrCat("Post ", base::GoQuote(request.url)));
  }
  request.headers.Add("Accept", "application/json, */*");
  request.headers.Add("Content-Type", "application/json");
  request.headers.Add("User-Agent", kUserAgent);
  if (disable_compression_) request.headers.Add("Accept-Encoding", "identity");
  request.body = std::move(body);
  request.max_redirects = 10;
  const auto judge = [&](const net::CallResult& result) -> base::Status {
    if (!result.ok()) return {base::Reason::kUnknown, result.failure->message};
    const int status = result.response.status;
    if (status >= 200 && status <= 206) return read(result.response);
    return ErrorOfAnswer(status, result.response.headers.Get("Content-Type"),
                         result.response.content(), std::nullopt);
  };
  const auto calls = https_->NewSet();
  const auto shared = std::make_shared<const net::ClientRequest>(std::move(request));
  base::Duration wait = options_.first_wait;
  for (int attempt = 1;; ++attempt) {
    const net::CallResult result = Call(*calls, shared, deadline);
    base::Status answer = judge(result);
    const bool again = WorthAnotherTry(result) ||
                       (!answer.ok() && answer.reason() == base::Reason::kInternalError);
    if (attempt >= options_.tries || !again) return answer;
    (void)calls->Next(std::min(Now() + wait, deadline));
    if (Now() >= deadline) return answer;
    wait += wait / 2;
  }
}

base::Result<net::CallResult> Client::Get(std::string_view path, std::string_view accept) const {
  return Send("GET", path, {{"Accept", std::string(accept)}}, nullptr);
}

base::Result<net::CallResult> Client::Download(std::string_view path, OnData on_data) const {
  net::ClientRequest request = TRY(RequestOf("GET", path));
  if (!disable_compression_) request.headers.Add("Accept-Encoding", "identity");
  request.on_data = std::move(on_data);
  return Call(*https_->NewSet(), std::make_shared<const net::ClientRequest>(std::move(request)));
}

base::Result<net::ClientRequest> Client::RequestOf(std::string_view method,
                                                   std::string_view path) const {
  net::ClientRequest request;
  request.method = method;
  request.url = base::StrCat(url_, path);
  request.proxies = proxies_;
  TRY(identity_->Apply(request));
  if (disable_compression_) request.headers.Add("Accept-Encoding", "identity");
  return request;
}

base::Result<net::CallResult> Client::Send(std::string_view method, std::string_view path,
                                           net::Headers headers,
                                           std::shared_ptr<const std::string> body) const {
  net::ClientRequest request = TRY(RequestOf(method, path));
  for (const auto& [name, value] : headers) request.headers.Add(name, value);
  request.body = std::move(body);
  return Call(*https_->NewSet(), std::make_shared<const net::ClientRequest>(std::move(request)));
}

base::Result<std::shared_ptr<net::PendingCall>> Client::Begin(
    std::string_view path, base::SteadyTime deadline,
    std::function<void(const net::ResponseHead& head, std::string_view piece)> on_data,
    net::HttpsClient::Done done) const {
  net::ClientRequest request;
  request.method = "GET";
  request.url = base::StrCat(url_, path);
  request.proxies = proxies_;
  TRY(identity_->Apply(request));
  request.headers.Add("Accept", "application/json");
  request.headers.Add("Accept-Encoding", "identity");
  request.on_data = std::move(on_data);
  return https_->Begin(std::move(request), deadline,
                       [identity = identity_, done = std::move(done)](net::CallResult result) {
                         if (result.ok() && result.response.status == 401) identity->Refused();
                         done(std::move(result));
                       });
}

}  // namespace portcullis::kubeconfig

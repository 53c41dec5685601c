// SPDX-License-Identifier: Apache-2.0

#include "webhooks.h"

#include <utility>

#include "base/strings.h"

namespace portcullis::load {
namespace {

// The uid of the request. A search is enough for what API servers write: in a review it comes
// before any object.
std::string_view UidOf(std::string_view review) {
  constexpr std::string_view kMark = "\"uid\":\"";
  const auto start = review.find(kMark);
  if (start == std::string_view::npos) return {};
  review.remove_prefix(start + kMark.size());
  return review.substr(0, review.find('"'));
}

}  // namespace

base::Result<std::unique_ptr<WebhookServer>> WebhookServer::Start(net::IoThreads& threads,
                                                                  const std::string& listen) {
  return Start(threads, listen, TRY(MakeLoopbackTls("portcullis-load")));
}

base::Result<std::unique_ptr<WebhookServer>> WebhookServer::Start(net::IoThreads& threads,
                                                                  const std::string& listen,
                                                                  const LoopbackTls& identity) {
  auto webhooks = std::make_unique<WebhookServer>();
  webhooks->ca_pem_ = identity.ca_pem;
  net::ServerOptions options;
  options.address = listen;
  options.tls = identity.tls;
  webhooks->server_ = TRY(net::HttpsServer::Listen(
      threads, std::move(options),
      [self = webhooks.get()](const std::shared_ptr<net::Exchange>& exchange) {
        self->Answer(*exchange);
      }));
  return webhooks;
}

std::string WebhookServer::Url(std::string_view path) const {
  return base::StrCat("https://", server_->address(), path);
}

std::shared_ptr<const net::Request> WebhookServer::TakeCopy() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(copy_, nullptr);
}

std::shared_ptr<const std::string> WebhookServer::Bytes(std::size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes_ == nullptr || bytes_->size() != size) {
    bytes_ = std::make_shared<const std::string>(size, 'x');
  }
  return bytes_;
}

void WebhookServer::Answer(net::Exchange& exchange) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  const net::Request& request = exchange.request();
  if (wants_copy_.load(std::memory_order_relaxed) && wants_copy_.exchange(false)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    copy_ = std::make_shared<const net::Request>(request);
  }
  constexpr std::string_view kBytes = "/bytes/";
  if (request.path().starts_with(kBytes)) {
    const auto size = base::ParseInt(request.path().substr(kBytes.size()));
    net::Response response;
    response.shared_body = Bytes(static_cast<std::size_t>(size.value_or(0)));
    return exchange.Respond(std::move(response));
  }
  std::string patch;
  constexpr std::string_view kPatch = "/patch/";
  if (request.path().starts_with(kPatch)) {
    // The objects of the load have labels, so that this path exists.
    const std::string operation =
        base::StrCat(R"([{"op":"add","path":"/metadata/labels/load-)",
                     request.path().substr(kPatch.size()), R"(","value":"x"}])");
    patch =
        base::StrCat(R"(,"patchType":"JSONPatch","patch":")", base::Base64Encode(operation), "\"");
  }
  net::Response response;
  response.headers.Add("Content-Type", "application/json");
  response.body = base::StrCat(
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")",
      UidOf(request.body), R"(","allowed":true)", patch, "}}");
  exchange.Respond(std::move(response));
}

}  // namespace portcullis::load

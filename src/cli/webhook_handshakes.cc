// SPDX-License-Identifier: Apache-2.0

#include "cli/webhook_handshakes.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "net/tls.h"
#include "net/url.h"

namespace portcullis::cli {
namespace {

constexpr std::chrono::seconds kPatience{5};

class Handshakes final : public offline::Handshakes {
 public:
  Handshakes(net::HttpsClient& https, const std::map<std::string, std::string>& services)
      : https_(https), services_(services) {}

  std::string ErrorOf(json::Value client_config) override {
    net::ClientRequest request;
    request.method = "GET";
    net::ClientTlsOptions tls;
    tls.ca_pem = base::Base64Decode(client_config["caBundle"].AsString()).value_or("");
    const json::Value service = client_config["service"];
    if (service.is_object()) {
      const std::string_view ns = service["namespace"].AsString();
      const std::string_view name = service["name"].AsString();
      const std::string port = std::to_string(service["port"].AsInt(443));
      const auto at = services_.find(base::StrCat(ns, "/", name, ":", port));
      if (at == services_.end()) return "";
      tls.server_name = base::StrCat(name, ".", ns, ".svc");
      request.url = base::StrCat("https://", tls.server_name, ":", port, "/");
      request.resolve = [address = at->second](const std::string&) -> base::Result<std::string> {
        return address;
      };
    } else {
      const auto url = net::ParseUrl(client_config["url"].AsString());
      if (!url.ok()) return "";
      request.url = base::StrCat(url->scheme, "://", url->Authority(), "/");
    }
    auto made = net::ClientTls::Create(tls);
    if (!made.ok()) return made.status().message();
    request.tls = *std::move(made);
    const net::CallResult result =
        https_.Call(std::move(request), base::SystemClock().Steady() + kPatience);
    const bool refused = !result.ok() && result.failure->phase == net::CallPhase::kHandshake &&
                         !result.failure->timed_out;
    return refused ? result.failure->cause : "";
  }

 private:
  net::HttpsClient& https_;
  const std::map<std::string, std::string>& services_;
};

}  // namespace

std::unique_ptr<offline::Handshakes> MakeHandshakes(
    net::HttpsClient& https, const std::map<std::string, std::string>& services) {
  return std::make_unique<Handshakes>(https, services);
}

}  // namespace portcullis::cli

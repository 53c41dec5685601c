// SPDX-License-Identifier: Apache-2.0

#include "subject.h"
#include "base/file.h"

#include <chrono>
#include <filesystem>

#include "admission/plugin.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "pki/certificates.h"
#include "plugins/registry.h"

namespace portcullis::cost_law {
namespace {

constexpr std::chrono::minutes kPatience{5};

// These need a backend, a configuration, or refuse everything.
bool IsOutOfReach(std::string_view plugin) {
  return plugin == "ImagePolicyWebhook" || plugin == "EventRateLimit" || plugin == "AlwaysDeny" ||
         plugin == "SecurityContextDeny" || plugin == "DenyServiceExternalIPs";
}

server::Options OptionsFor(const std::string& folder) {
  server::Options options;
  options.bind_address = "127.0.0.1";
  options.secure_port = 0;
  options.store = "memory";
  options.data_dir = folder;
  options.controllers = {"-*"};
  options.request_timeout = kPatience;
  options.runtime_config = {{"api/all", "true"}};
  options.feature_gates = {{"ClusterTrustBundle", true}};
  for (const admission::PluginInfo* plugin : plugins::Registered()) {
    const bool gone = plugin->until_minor != 0 && plugin->until_minor < 36;
    if (gone || IsOutOfReach(plugin->name)) continue;
    options.enable_admission_plugins.emplace_back(plugin->name);
  }
  return options;
}

}  // namespace

base::Result<std::unique_ptr<Subject>> Subject::Start() {
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
  auto subject = std::unique_ptr<Subject>(new Subject);
  subject->folder_ = (std::filesystem::temp_directory_path() / "cost-law-XXXXXX").string();
  if (::mkdtemp(subject->folder_.data()) == nullptr) {
    return base::ConfigError("no temporary folder");
  }
  const server::Options options = OptionsFor(subject->folder_);
  subject->server_ = TRY(server::ApiServer::Create(options, base::SystemClock()));
  TRY(subject->server_->Start());
  net::ClientTlsOptions tls;
  const std::string pki = subject->folder_ + "/pki/";
  tls.ca_pem = TRY(base::ReadFile(pki + "ca.crt"));
  tls.certificate_pem = TRY(base::ReadFile(pki + "admin.crt"));
  tls.key_pem = TRY(base::ReadFile(pki + "admin.key"));
  subject->tls_ = TRY(net::ClientTls::Create(tls));
  subject->client_ = net::HttpsClient::Create(subject->io_);
  return subject;
}

Subject::~Subject() {
  client_.reset();
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

net::ClientRequest Subject::Prepare(const Ask& ask) const {
  net::ClientRequest request;
  request.method = ask.method;
  request.url = base::StrCat(server_->url(), ask.path);
  request.headers = ask.headers;
  if (!ask.body.empty()) {
    request.headers.Set("Content-Type", ask.content_type);
    request.body = std::make_shared<const std::string>(ask.body);
  }
  request.tls = tls_;
  return request;
}

void Subject::Remove(const std::string& path) {
  constexpr std::string_view kNamespaces = "/api/v1/namespaces/";
  if (path.starts_with(kNamespaces) && path.find('/', kNamespaces.size()) == std::string::npos) {
    Send({"DELETE", path, "", "application/json", {}});
    Send({"PUT",
          path + "/finalize",
          base::StrCat(R"({"metadata":{"name":")", path.substr(kNamespaces.size()), R"("}})"),
          "application/json",
          {}});
    return;
  }
  Send({"PATCH", path, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json", {}});
  Send({"DELETE", base::StrCat(path, "?gracePeriodSeconds=0"), "", "application/json", {}});
  Send({"PATCH", path, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json", {}});
}

int Subject::Send(net::ClientRequest request, std::string* text) {
  net::CallResult result =
      client_->Call(std::move(request), base::SystemClock().Steady() + kPatience);
  if (text != nullptr) *text = result.ok() ? result.response.body : result.failure->message;
  return result.ok() ? result.response.status : 0;
}

}  // namespace portcullis::cost_law

#include "webhook/kubeconfig_service.h"

#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "json/writer.h"
#include "net/tls.h"
#include "webhook/kubeconfig.h"
#include "webhook/review.h"

namespace portcullis::webhook {
namespace {

base::Status InvalidConfiguration(std::string_view why) {
  return base::ConfigError(base::StrCat("invalid configuration: ", why));
}

// The element of a list of named things, as kubeconfigs have them; null if there is none.
json::Value Named(json::Value list, std::string_view name, std::string_view member) {
  for (const json::Value& element : list.elements()) {
    if (!name.empty() && element["name"].AsString() == name) return element[member];
  }
  return {};
}

// The cluster of the current context.
base::Result<json::Value> CurrentCluster(json::Value config) {
  const std::string_view name = config["current-context"].AsString();
  const json::Value context = Named(config["contexts"], name, "context");
  if (!name.empty() && context.is_null()) {
    return base::ConfigError(base::StrCat("context was not found for specified context: ", name));
  }
  const json::Value cluster = Named(config["clusters"], context["cluster"].AsString(), "cluster");
  if (cluster["server"].AsString().empty()) {
    return InvalidConfiguration(
        "no configuration has been provided, try setting KUBERNETES_MASTER environment variable");
  }
  return cluster;
}

base::Result<std::string> AuthorityOf(json::Value cluster, std::string_view name,
                                      const std::string& directory) {
  const json::Value data = cluster["certificate-authority-data"];
  std::string path(cluster["certificate-authority"].AsString());
  if (!data.AsString().empty() && !path.empty()) {
    return InvalidConfiguration(
        base::StrCat("certificate-authority-data and certificate-authority are both specified for ",
                     name, ". certificate-authority-data will override."));
  }
  if (!data.AsString().empty()) {
    std::size_t at = 0;
    std::optional<std::string> pem = base::Base64Decode(data.AsString(), &at);
    if (pem) return *std::move(pem);
    return base::ConfigError(
        base::StrCat("illegal base64 data at input byte ", std::to_string(at)));
  }
  if (path.empty()) return std::string();
  if (path.front() != '/') path = base::StrCat(directory, "/", path);
  auto pem = base::ReadFile(path);
  if (pem.ok()) return pem;
  return InvalidConfiguration(base::StrCat("unable to read certificate-authority ", path, " for ",
                                           name, " due to ", pem.status().message()));
}

// What a program that has credentials for the cluster is told of it.
ExecCluster ExecClusterOf(json::Value cluster, const net::ClientTlsOptions& tls) {
  ExecCluster told;
  told.server = cluster["server"].AsString();
  told.tls_server_name = tls.server_name;
  told.insecure_skip_tls_verify = tls.insecure_skip_verify;
  told.certificate_authority_pem = tls.ca_pem;
  told.proxy_url = cluster["proxy-url"].AsString();
  told.disable_compression = cluster["disable-compression"].AsBool();
  told.config =
      json::ToString(Named(cluster["extensions"], "client.authentication.k8s.io/exec", "extension"),
                     {.sort_keys = true});
  return told;
}

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

base::Result<KubeconfigService> KubeconfigService::Create(const KubeconfigServiceOptions& options,
                                                          net::HttpsClient* https) {
  const std::string& path = options.kubeconfig;
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
  json::Arena arena;
  json::Value document;
  if (!path.empty()) document = TRY(LoadKubeconfig(arena, path));
  const json::Value cluster = TRY(CurrentCluster(document));
  KubeconfigService service;
  service.https_ = https;
  service.options_ = options;
  service.credentials_ = Credentials::Read(document, directory);
  service.url_ = cluster["server"].AsString();
  while (service.url_.ends_with('/')) service.url_.pop_back();
  service.url_ += base::StrCat("?timeout=", base::FormatDuration(options.timeout));
  net::ClientTlsOptions tls;
  const json::Value current =
      Named(document["contexts"], document["current-context"].AsString(), "context");
  tls.ca_pem = TRY(AuthorityOf(cluster, current["cluster"].AsString(), directory));
  tls.insecure_skip_verify = cluster["insecure-skip-tls-verify"].AsBool();
  tls.server_name = cluster["tls-server-name"].AsString();
  if (const UserEntry* user = service.credentials_->Find("", 0)) {
    TRY(user->error);
    tls.certificate_pem = user->certificate_pem;
    tls.key_pem = user->key_pem;
    service.user_ = user;
    if (user->exec != nullptr) service.exec_ = user->exec->For(ExecClusterOf(cluster, tls));
  }
  service.tls_cache_ = std::make_shared<net::ClientTlsCache>();
  service.tls_ = TRY(service.tls_cache_->Get(tls));
  service.tls_options_ = std::move(tls);
  return service;
}

base::Status KubeconfigService::Post(
    std::shared_ptr<const std::string> body,
    const std::function<base::Status(const net::Response&)>& read) const {
  if (https_ == nullptr) return {base::Reason::kUnknown, "there is no client for calls"};
  net::ClientRequest request;
  request.url = url_;
  request.tls = tls_;
  if (user_ != nullptr) {
    TRY(Identify(*user_, exec_.get(), tls_options_, *tls_cache_, request));
  }
  request.headers.Add("Accept", "application/json, */*");
  request.headers.Add("Content-Type", "application/json");
  request.headers.Add("User-Agent", "Go-http-client/1.1");
  request.body = std::move(body);
  request.max_redirects = 10;
  const auto judge = [&](const net::CallResult& result) -> base::Status {
    if (!result.ok()) return {base::Reason::kUnknown, result.failure->message};
    const int status = result.response.status;
    if (status >= 200 && status <= 206) return read(result.response);
    return HttpErrorStatus(status, result.response.headers.Get("Content-Type"),
                           result.response.content(), std::nullopt);
  };
  base::Duration wait = options_.first_wait;
  for (int attempt = 1;; ++attempt) {
    const net::CallResult result =
        https_->Call(request, base::SystemClock().Steady() + options_.timeout);
    if (exec_ != nullptr && result.ok() && result.response.status == 401) exec_->Forget();
    base::Status answer = judge(result);
    const bool again = WorthAnotherTry(result) ||
                       (!answer.ok() && answer.reason() == base::Reason::kInternalError);
    if (attempt >= options_.tries || !again) return answer;
    std::this_thread::sleep_for(wait);
    wait += wait / 2;
  }
}

}  // namespace portcullis::webhook

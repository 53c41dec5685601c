#include "plugins/image_policy_webhook/image_backend.h"

#include <chrono>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "net/certificates.h"
#include "net/tls.h"
#include "webhook/review.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr int kTries = 5;

// The cluster of the current context; null if the file does not lead to one.
json::Value CurrentCluster(json::Value config) {
  std::string_view context_name = config["current-context"].AsString();
  std::string_view cluster_name;
  for (const json::Value& context : config["contexts"].elements()) {
    if (!context_name.empty() && context["name"].AsString() == context_name) {
      cluster_name = context["context"]["cluster"].AsString();
    }
  }
  for (const json::Value& cluster : config["clusters"].elements()) {
    if (!cluster_name.empty() && cluster["name"].AsString() == cluster_name) {
      return cluster["cluster"];
    }
  }
  return {};
}

base::Result<std::string> AuthorityOf(json::Value cluster, const std::string& directory) {
  const json::Value data = cluster["certificate-authority-data"];
  if (data.is_string()) {
    std::optional<std::string> pem = base::Base64Decode(data.AsString());
    if (!pem) return base::ConfigError("certificate-authority-data: illegal base64 data");
    return *std::move(pem);
  }
  std::string path(cluster["certificate-authority"].AsString());
  if (path.empty()) return std::string();
  if (path.front() != '/') path = base::StrCat(directory, "/", path);
  return net::ReadFile(path);
}

std::string_view JsonTypeName(json::Value value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return value.is_array() ? "array" : "number";
}

// The client takes an answer for YAML, as every text is one.
base::Result<ImageAnswer> Decode(json::Arena& arena, std::string_view body) {
  const json::Value review = TRY(json::ParseYamlOrJson(arena, body));
  if (!review.is_object() && !review.is_null()) {
    return base::Status(
        base::Reason::kUnknown,
        base::StrCat("couldn't get version/kind; json parse error: json: cannot unmarshal ",
                     JsonTypeName(review),
                     " into Go value of type struct { APIVersion string "
                     "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                     "\"json:\\\"kind,omitempty\\\"\" }"));
  }
  if (review["kind"].AsString().empty()) {
    return base::Status(base::Reason::kUnknown,
                        base::StrCat("Object 'Kind' is missing in '", body, "'"));
  }
  if (review["kind"].AsString() != "ImageReview" ||
      review["apiVersion"].AsString() != "imagepolicy.k8s.io/v1alpha1") {
    return base::Status(base::Reason::kUnknown,
                        base::StrCat("no kind ", base::GoQuote(review["kind"].AsString()),
                                     " is registered for version ",
                                     base::GoQuote(review["apiVersion"].AsString()), " in scheme"));
  }
  const json::Value status = review["status"];
  ImageAnswer answer;
  answer.allowed = status["allowed"].AsBool();
  answer.reason = status["reason"].AsString();
  for (const json::Member& annotation : status["auditAnnotations"].members()) {
    answer.audit_annotations.emplace_back(annotation.name(), annotation.value.AsString());
  }
  return answer;
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

base::Result<ImageAnswer> Judge(json::Arena& arena, const net::CallResult& result) {
  if (!result.ok()) return base::Status(base::Reason::kUnknown, result.failure->message);
  const int status = result.response.status;
  if (status >= 200 && status <= 206) return Decode(arena, result.response.content());
  return webhook::HttpErrorStatus(status, result.response.headers.Get("Content-Type"),
                                  result.response.content(), std::nullopt);
}

}  // namespace

base::Result<ImageBackend> ImageBackend::Create(const ImagePolicyConfig& config,
                                                net::HttpsClient* https) {
  const std::string& path = config.kubeconfig_file;
  const std::string text = TRY(net::ReadFile(path));
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
  ImageBackend backend;
  backend.https_ = https;
  backend.backoff_ = config.retry_backoff;
  backend.credentials_ = TRY(webhook::Credentials::Parse(text, directory));
  json::Arena arena;
  const json::Value cluster = CurrentCluster(TRY(json::ParseYaml(arena, text)));
  backend.url_ = cluster["server"].AsString();
  if (backend.url_.empty()) {
    return base::ConfigError(
        base::StrCat(path, ": invalid configuration: no server found for the current context"));
  }
  while (backend.url_.ends_with('/')) backend.url_.pop_back();
  backend.url_ += "?timeout=30s";
  net::ClientTlsOptions tls;
  tls.ca_pem = TRY(AuthorityOf(cluster, directory));
  tls.insecure_skip_verify = cluster["insecure-skip-tls-verify"].AsBool();
  tls.server_name = cluster["tls-server-name"].AsString();
  if (const webhook::UserEntry* user = backend.credentials_->Find("", 0)) {
    TRY(user->error);
    tls.certificate_pem = user->certificate_pem;
    tls.key_pem = user->key_pem;
  }
  backend.tls_ = TRY(net::ClientTls::Create(tls));
  return backend;
}

base::Result<ImageAnswer> ImageBackend::Ask(json::Arena& arena, json::Value spec) const {
  if (https_ == nullptr) {
    return base::Status(base::Reason::kUnknown, "no client to call the image policy backend");
  }
  net::ClientRequest request;
  request.url = url_;
  request.tls = tls_;
  if (const webhook::UserEntry* user = credentials_->Find("", 0)) {
    request.headers = TRY(webhook::AuthorizationHeaders(*user));
  }
  request.headers.Add("Accept", "application/json, */*");
  request.headers.Add("Content-Type", "application/json");
  request.headers.Add("User-Agent", "Go-http-client/1.1");
  const json::Value review = json::MakeObject(
      arena, {{"kind", json::Value::StringView("ImageReview")},
              {"apiVersion", json::Value::StringView("imagepolicy.k8s.io/v1alpha1")},
              {"metadata", json::MakeObject(arena, {})},
              {"spec", spec},
              {"status", json::MakeObject(arena, {{"allowed", json::Value::Bool(false)}})}});
  request.body = std::make_shared<const std::string>(json::ToString(review));
  base::Duration wait = backoff_;
  for (int attempt = 1;; ++attempt) {
    const net::CallResult result = https_->Call(request, base::SystemClock().Steady() + kTimeout);
    if (attempt == kTries || !WorthAnotherTry(result)) return Judge(arena, result);
    std::this_thread::sleep_for(wait);
    wait += wait / 2;
  }
}

}  // namespace portcullis::plugins::image_policy_webhook

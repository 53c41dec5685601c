#include "plugins/image_policy_webhook/image_backend.h"

#include <chrono>
#include <string_view>
#include <thread>

#include "admission/object_interfaces.h"
#include "api/names.h"
#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"
#include "net/certificates.h"
#include "net/tls.h"
#include "webhook/kubeconfig.h"
#include "webhook/review.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr int kTries = 5;
constexpr std::string_view kVersion = "imagepolicy.k8s.io/v1alpha1";
constexpr std::string_view kReviewTypes = R"(
v1alpha1.ImageReview: spec v1alpha1.ImageReviewSpec, status v1alpha1.ImageReviewStatus
v1alpha1.ImageReviewSpec: containers []v1alpha1.ImageReviewContainerSpec, annotations map[string]string, namespace string
v1alpha1.ImageReviewContainerSpec: image string
v1alpha1.ImageReviewStatus: allowed bool, reason string, auditAnnotations map[string]string)";

constexpr std::string_view kScheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

std::string_view TextOr(json::Value value, std::string_view fallback) {
  return value.AsString().empty() ? fallback : value.AsString();
}

base::Status Plain(std::string text) { return {base::Reason::kUnknown, std::move(text)}; }

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
  auto pem = net::ReadFile(path);
  if (pem.ok()) return pem;
  return InvalidConfiguration(base::StrCat("unable to read certificate-authority ", path, " for ",
                                           name, " due to ", pem.status().message()));
}

// An answer with a good status: an ImageReview, whose kind and version it need not tell.
base::Result<ImageAnswer> Decode(json::Arena& arena, const admission::ObjectInterfaces* objects,
                                 const net::Response& response) {
  const json::Value review = TRY(webhook::ParseReviewBody(
      arena, response.status, response.headers.Get("Content-Type"), response.content()));
  const std::string_view kind = TextOr(review["kind"], "ImageReview");
  const std::string_view version_text = TextOr(review["apiVersion"], kVersion);
  const api::GroupVersion version = TRY(api::ParseGroupVersion(version_text));
  if (kind != "ImageReview" || version_text != kVersion) {
    // What the server knows of decodes well, but is no review.
    const bool known = kind == "Status" ||
                       (objects != nullptr && objects->SchemaOf({version.group, version.version,
                                                                 std::string(kind)}) != nullptr);
    if (known) {
      return Plain(base::StrCat("converting (", version.version, ".", kind,
                                ") to (v1alpha1.ImageReview): unknown conversion"));
    }
    return Plain(base::StrCat("no kind ", base::GoQuote(kind), " is registered for version ",
                              base::GoQuote(version_text), " in scheme ", base::GoQuote(kScheme)));
  }
  const auto schema = api::schema::SchemaOfGoTypes(kReviewTypes);
  const auto decoded = api::schema::Decode(arena, *schema, review, {});
  if (!decoded.ok()) return Plain(decoded.status().message());
  const json::Value status = (*decoded)["status"];
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

base::Result<ImageAnswer> Judge(json::Arena& arena, const admission::ObjectInterfaces* objects,
                                const net::CallResult& result) {
  if (!result.ok()) return base::Status(base::Reason::kUnknown, result.failure->message);
  const int status = result.response.status;
  if (status >= 200 && status <= 206) return Decode(arena, objects, result.response);
  return webhook::HttpErrorStatus(status, result.response.headers.Get("Content-Type"),
                                  result.response.content(), std::nullopt);
}

}  // namespace

base::Result<ImageBackend> ImageBackend::Create(const ImagePolicyConfig& config,
                                                const admission::PluginContext& context) {
  const std::string& path = config.kubeconfig_file;
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
  json::Arena arena;
  json::Value document;
  if (!path.empty()) document = TRY(webhook::LoadKubeconfig(arena, path));
  const json::Value cluster = TRY(CurrentCluster(document));
  ImageBackend backend;
  backend.https_ = context.https;
  backend.objects_ = context.objects;
  backend.backoff_ = config.retry_backoff;
  backend.credentials_ = webhook::Credentials::Read(document, directory);
  backend.url_ = cluster["server"].AsString();
  while (backend.url_.ends_with('/')) backend.url_.pop_back();
  backend.url_ += "?timeout=30s";
  net::ClientTlsOptions tls;
  const json::Value current =
      Named(document["contexts"], document["current-context"].AsString(), "context");
  tls.ca_pem = TRY(AuthorityOf(cluster, current["cluster"].AsString(), directory));
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
    const auto exec = user->exec != nullptr ? user->exec->For({}) : nullptr;
    request.headers = TRY(webhook::AuthorizationHeaders(*user, exec.get()));
  }
  request.headers.Add("Accept", "application/json, */*");
  request.headers.Add("Content-Type", "application/json");
  request.headers.Add("User-Agent", "Go-http-client/1.1");
  const json::Value review = json::MakeObject(
      arena, {{"kind", json::Value::StringView("ImageReview")},
              {"apiVersion", json::Value::StringView(kVersion)},
              {"metadata", json::MakeObject(arena, {})},
              {"spec", spec},
              {"status", json::MakeObject(arena, {{"allowed", json::Value::Bool(false)}})}});
  request.body = std::make_shared<const std::string>(json::ToString(review));
  base::Duration wait = backoff_;
  for (int attempt = 1;; ++attempt) {
    const net::CallResult result = https_->Call(request, base::SystemClock().Steady() + kTimeout);
    base::Result<ImageAnswer> answer = Judge(arena, objects_, result);
    const bool again = WorthAnotherTry(result) ||
                       (!answer.ok() && answer.status().reason() == base::Reason::kInternalError);
    if (attempt == kTries || !again) return answer;
    std::this_thread::sleep_for(wait);
    wait += wait / 2;
  }
}

}  // namespace portcullis::plugins::image_policy_webhook

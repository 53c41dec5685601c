// SPDX-License-Identifier: Apache-2.0

#include "plugins/image_policy_webhook/image_backend.h"

#include <string_view>
#include <utility>

#include "admission/object_interfaces.h"
#include "api/names.h"
#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "api/schema/type_meta.h"
#include "base/strings.h"
#include "json/writer.h"
#include "kubeconfig/rest.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

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

// An answer with a good status: an ImageReview, whose kind and version it need not tell.
base::Result<ImageAnswer> Decode(json::Arena& arena, const admission::ObjectInterfaces* objects,
                                 const net::Response& response) {
  const json::Value review = TRY(kubeconfig::ParseAnswer(
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
    return Plain(api::schema::NotRegistered(kind, version_text, kScheme));
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

}  // namespace

base::Result<ImageBackend> ImageBackend::Create(const ImagePolicyConfig& config,
                                                const admission::PluginContext& context) {
  kubeconfig::ClientOptions options;
  options.first_wait = config.retry_backoff;
  return ImageBackend(TRY(kubeconfig::Client::Load(config.kubeconfig_file, options, context.https)),
                      context.objects);
}

base::Result<ImageAnswer> ImageBackend::Ask(json::Arena& arena, json::Value spec) const {
  const json::Value review = json::MakeObject(
      arena, {{"kind", json::Value::StringView("ImageReview")},
              {"apiVersion", json::Value::StringView(kVersion)},
              {"metadata", json::MakeObject(arena, {})},
              {"spec", spec},
              {"status", json::MakeObject(arena, {{"allowed", json::Value::Bool(false)}})}});
  ImageAnswer answer;
  TRY(client_.Post(std::make_shared<const std::string>(json::ToString(review)),
                   [&](const net::Response& response) -> base::Status {
                     answer = TRY(Decode(arena, objects_, response));
                     return base::OkStatus();
                   }));
  return answer;
}

}  // namespace portcullis::plugins::image_policy_webhook

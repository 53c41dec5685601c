// SPDX-License-Identifier: Apache-2.0

#include "webhook/review_v1alpha1.h"

#include "api/api_status.h"
#include "api/user_info.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "kubeconfig/rest.h"
#include "webhook/go_shape.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kVersion = "admission.k8s.io/v1alpha1";
constexpr std::string_view kAlphaKind = "AdmissionReview";

json::Value Triple(json::Arena& arena, std::string_view group, std::string_view version,
                   std::string_view last_name, std::string_view last) {
  return json::ObjectBuilder(arena)
      .Set("group", group)
      .Set("version", version)
      .Set(last_name, last)
      .Build();
}

}  // namespace

std::string EncodeReviewV1alpha1(const admission::Request& request, bool hides_new_names) {
  json::Arena arena;
  const auto& kind = request.kind();
  const auto& resource = request.resource();
  // Deletions show no object before 1.15.
  const bool is_update = request.operation() == admission::kUpdate;
  json::ObjectBuilder spec(arena);
  spec.Set("kind", Triple(arena, kind.group, kind.version, "kind", kind.kind));
  const auto shown = [&](json::Value object) {
    return request.is_custom() ? json::Sorted(arena, object) : object;
  };
  spec.Set("object", shown(request.object()));
  spec.Set("oldObject", is_update ? shown(request.old_object()) : json::Value());
  spec.Set("operation", admission::OperationText(request.operation()));
  const bool is_new = request.operation() == admission::kCreate && request.subresource().empty();
  if (!request.name().empty() && !(hides_new_names && is_new)) {
    spec.Set("name", std::string_view(request.name()));
  }
  if (!request.namespace_name().empty()) {
    spec.Set("namespace", std::string_view(request.namespace_name()));
  }
  spec.Set("resource",
           Triple(arena, resource.group, resource.version, "resource", resource.resource));
  if (!request.subresource().empty()) {
    spec.Set("subResource", std::string_view(request.subresource()));
  }
  spec.Set("userInfo", api::UserInfoToJson(arena, request.user()));
  const json::Value status = json::MakeObject(arena, {{"allowed", json::Value::Bool(false)}});
  return json::ToString(json::ObjectBuilder(arena)
                            .Set("kind", kAlphaKind)
                            .Set("apiVersion", kVersion)
                            .Set("spec", spec.Build())
                            .Set("status", status)
                            .Build()) +
         "\n";
}

base::Result<ReviewAnswer> DecodeReviewV1alpha1(json::Arena& arena, int http_status,
                                                std::string_view content_type,
                                                std::string_view body) {
  json::Value all;
  const json::Value input =
      TRY(kubeconfig::ParseAnswer(arena, http_status, content_type, body, &all));
  const std::string_view kind = input["kind"].AsString();
  const std::string_view version = input["apiVersion"].AsString();
  if (kind == "Status" && input["status"].AsString() != "Success") {
    return base::BadRequest(std::string(input["message"].AsString()));
  }
  if ((!kind.empty() && kind != kAlphaKind) || (!version.empty() && version != kVersion)) {
    return base::BadRequest(base::StrCat(
        "no kind ", base::GoQuote(kind.empty() ? kAlphaKind : kind), " is registered for version ",
        base::GoQuote(version.empty() ? kVersion : version)));
  }
  const json::Value review = TRY(DecodeStruct(arena, AdmissionReviewV1alpha1Shape(), all));
  ReviewAnswer answer;
  answer.allowed = review["status"]["allowed"].AsBool();
  answer.status = review["status"]["status"];
  return answer;
}

base::Status DenialStatusV1alpha1(std::string_view hook, json::Value status) {
  if (!status.is_object()) {
    return base::Status::Custom(500, "",
                                base::StrCat("admission webhook ", base::GoQuote(hook),
                                             " denied the request without explanation"));
  }
  if (status["code"].AsInt() != 0) return api::StatusFromJson(status);
  json::Arena arena;
  return api::StatusFromJson(json::With(arena, status, "code", json::Value::Int(500)));
}

}  // namespace portcullis::webhook

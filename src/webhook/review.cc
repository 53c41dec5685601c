// SPDX-License-Identifier: Apache-2.0

#include "webhook/review.h"

#include <algorithm>

#include "api/schema/order.h"
#include "api/schema/type_meta.h"
#include "api/user_info.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "kubeconfig/rest.h"
#include "webhook/go_shape.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kGroup = "admission.k8s.io";
constexpr std::string_view kReviewKind = "AdmissionReview";
// Bytes that a review of a small object has: an object that was changed since it was read knows no size.
constexpr std::size_t kMostReviews = 4096;
constexpr std::size_t kMostHeads = 1024;  // bytes that it has before the object
// Where kube-apiserver made the scheme that this text names.
constexpr std::string_view kScheme = "k8s.io/apiserver/pkg/util/webhook/client.go:54";

void AppendField(std::string& out, std::string_view name, std::string_view value) {
  out.push_back('"');
  out.append(name);
  out.append("\":");
  json::WriteString(value, out);
  out.push_back(',');
}

// `"kind":{"group":"apps","version":"v1","kind":"Deployment"},`
void AppendTriple(std::string& out, std::string_view name, std::string_view group,
                  std::string_view version, std::string_view last_name, std::string_view last) {
  out.append("\"").append(name).append("\":{\"group\":");
  json::WriteString(group, out);
  out.append(",\"version\":");
  json::WriteString(version, out);
  out.append(",\"").append(last_name).append("\":");
  json::WriteString(last, out);
  out.append("},");
}

// What AppendTriple has written at `from` for `name`, once more for `again`.
void RepeatTriple(std::string& out, std::size_t from, std::size_t size, std::string_view name,
                  std::string_view again) {
  const std::size_t value = from + name.size() + 2;
  out.reserve(out.size() + size + again.size());
  out.append("\"").append(again).append("\"");
  out.append(out, value, size - (value - from));
}

// Where the triples of the invocation stand in a review: [kind, resource), [resource, end).
struct TriplesAt {
  std::size_t kind = 0;
  std::size_t resource = 0;
  std::size_t end = 0;
};

// What the request was about, which the invocation need not be.
void AppendRequestKind(std::string& out, const admission::Request& request,
                       const Invocation& invocation, const TriplesAt& at) {
  if (invocation.kind == request.kind()) {
    RepeatTriple(out, at.kind, at.resource - at.kind, "kind", "requestKind");
  } else {
    AppendTriple(out, "requestKind", request.kind().group, request.kind().version, "kind",
                 request.kind().kind);
  }
  if (invocation.resource == request.resource()) {
    RepeatTriple(out, at.resource, at.end - at.resource, "resource", "requestResource");
  } else {
    AppendTriple(out, "requestResource", request.resource().group, request.resource().version,
                 "resource", request.resource().resource);
  }
  if (!request.subresource().empty()) AppendField(out, "requestSubResource", request.subresource());
}

std::string GvkText(std::string_view group, std::string_view version, std::string_view kind) {
  return base::StrCat(group, "/", version, ", Kind=", kind);
}

// Other kinds in the scheme of the webhook client: decoded, then found not convertible.
bool IsOtherRegisteredKind(const ReviewKind& expected, std::string_view group,
                           std::string_view version, std::string_view kind) {
  static constexpr std::string_view kUnversioned[] = {"Status", "APIVersions", "APIGroup",
                                                      "APIGroupList", "APIResourceList"};
  static constexpr std::string_view kMeta[] = {"WatchEvent",    "ListOptions",   "DeleteOptions",
                                               "CreateOptions", "UpdateOptions", "PatchOptions"};
  if (group.empty() && version == "v1") {
    return std::find(std::begin(kUnversioned), std::end(kUnversioned), kind) !=
           std::end(kUnversioned);
  }
  return group == expected.group && (version == "v1" || version == "v1beta1") &&
         std::find(std::begin(kMeta), std::end(kMeta), kind) != std::end(kMeta);
}

base::Status NoConversion(const ReviewKind& expected, std::string_view version,
                          std::string_view kind, ReviewVersion sent) {
  return base::BadRequest(base::StrCat("converting (", version, ".", kind, ") to (",
                                       ReviewVersionText(sent), ".", expected.kind,
                                       "): unknown conversion"));
}

std::vector<std::pair<std::string, std::string>> Pairs(json::Value object) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const json::Member& member : object.members()) {
    out.emplace_back(member.name(), member.value.AsString());
  }
  return out;
}

base::Status CheckV1(json::Value review, HookType type, std::string_view uid) {
  const json::Value response = review["response"];
  if (const auto got = response["uid"].AsString(); got != uid) {
    return base::BadRequest(
        base::StrCat("expected response.uid=", base::GoQuote(uid), ", got ", base::GoQuote(got)));
  }
  const std::string_view api_version = review["apiVersion"].AsString();
  const std::string_view kind = review["kind"].AsString();
  if (api_version != "admission.k8s.io/v1" || kind != kReviewKind) {
    const auto cut = base::Cut(api_version, "/");
    const std::string got =
        cut ? GvkText(cut->first, cut->second, kind) : GvkText("", api_version, kind);
    return base::BadRequest(base::StrCat("expected webhook response of ",
                                         GvkText(kGroup, "v1", kReviewKind), ", got ", got));
  }
  const bool has_patch = !response["patch"].AsString().empty();
  const json::Value* patch_type = response.Find("patchType");
  if (type == HookType::kValidating) {
    if (has_patch) return base::BadRequest("validating webhook may not return response.patch");
    if (patch_type != nullptr) {
      return base::BadRequest("validating webhook may not return response.patchType");
    }
    return base::OkStatus();
  }
  if (has_patch && patch_type == nullptr) {
    return base::BadRequest("webhook returned response.patch but not response.patchType");
  }
  if (!has_patch && patch_type != nullptr) {
    return base::BadRequest("webhook returned response.patchType but not response.patch");
  }
  if (patch_type != nullptr && patch_type->AsString().empty()) {
    return base::BadRequest("webhook returned invalid response.patchType of \"\"");
  }
  return base::OkStatus();
}

base::StatusDetails ReadDetails(json::Value details) {
  base::StatusDetails out;
  out.name = details["name"].AsString();
  out.group = details["group"].AsString();
  out.kind = details["kind"].AsString();
  out.uid = details["uid"].AsString();
  out.retry_after_seconds = static_cast<int>(details["retryAfterSeconds"].AsInt());
  for (const json::Value cause : details["causes"].elements()) {
    out.causes.push_back({std::string(cause["reason"].AsString()),
                          std::string(cause["message"].AsString()),
                          std::string(cause["field"].AsString())});
  }
  return out;
}

}  // namespace

std::string_view ReviewVersionText(ReviewVersion version) {
  if (version == ReviewVersion::kV1alpha1) return "v1alpha1";
  return version == ReviewVersion::kV1 ? "v1" : "v1beta1";
}

ReviewFrame::ReviewFrame(const admission::Request& request, const Invocation& invocation,
                         json::Value old_object, const ReviewForm& form,
                         const admission::ObjectInterfaces* objects)
    : request_(&request), objects_(objects), kind_(invocation.kind) {
  std::string& out = head_;
  out.reserve(kMostHeads);
  AppendTriple(out, "kind", invocation.kind.group, invocation.kind.version, "kind",
               invocation.kind.kind);
  const std::size_t resource_at = out.size();
  AppendTriple(out, "resource", invocation.resource.group, invocation.resource.version, "resource",
               invocation.resource.resource);
  const std::size_t end = out.size();
  if (!request.subresource().empty()) AppendField(out, "subResource", request.subresource());
  if (form.has_request_kind) AppendRequestKind(out, request, invocation, {0, resource_at, end});
  const bool hides_name = !form.has_new_names && request.operation() == admission::kCreate &&
                          request.subresource().empty();
  if (!request.name().empty() && !hides_name) AppendField(out, "name", request.name());
  if (!request.namespace_name().empty()) AppendField(out, "namespace", request.namespace_name());
  AppendField(out, "operation", admission::OperationText(request.operation()));
  json::Arena scratch;
  out.append("\"userInfo\":");
  json::Write(api::UserInfoToJson(scratch, request.user()), out);
  out.append(",\"object\":");
  tail_ = ",\"oldObject\":";
  const bool shows_old = form.has_request_kind || request.operation() != admission::kDelete;
  json::Write(shows_old ? Ordered(scratch, old_object) : json::Value(), tail_);
  if (form.has_dry_run) {
    tail_.append(request.dry_run() ? ",\"dryRun\":true" : ",\"dryRun\":false");
  }
  if (form.has_request_kind) {
    tail_.append(",\"options\":");
    json::Write(request.options(), tail_);
  }
  tail_.append("}}\n");
}

json::Value ReviewFrame::Ordered(json::Arena& arena, json::Value object, json::Value known) const {
  if (!object.is_object()) return object;
  if (request_->is_custom()) return json::Sorted(arena, object);
  if (objects_ == nullptr) return object;
  // Defaults and system fields stand where they were added, also those of a deletion.
  const auto schema = objects_->SchemaOf(kind_);
  return schema == nullptr ? object : api::schema::InGoOrder(arena, *schema, object, known);
}

std::string ReviewFrame::With(json::Value ordered) const {
  std::string out;
  out.reserve(kMostReviews + ordered.source().size() + tail_.size());
  out.append(head_);
  json::Write(ordered, out);
  out.append(tail_);
  return out;
}

std::string EncodeSharedPart(const admission::Request& request, const Invocation& invocation,
                             json::Value object, json::Value old_object, const ReviewForm& form,
                             const admission::ObjectInterfaces* objects) {
  const ReviewFrame frame(request, invocation, old_object, form, objects);
  json::Arena scratch;
  return frame.With(frame.Ordered(scratch, object));
}

std::string EncodeReviewFront(ReviewVersion version, std::string_view uid) {
  return base::StrCat("{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/",
                      ReviewVersionText(version), "\",\"request\":{\"uid\":\"", uid, "\",");
}

base::Result<json::Value> DecodeReview(json::Arena& arena, ReviewVersion sent, int http_status,
                                       std::string_view content_type, std::string_view body) {
  return DecodeReviewOf({kGroup, kReviewKind, AdmissionReviewShape()}, arena, sent, http_status,
                        content_type, body);
}

base::Result<json::Value> DecodeReviewOf(const ReviewKind& expected, json::Arena& arena,
                                         ReviewVersion sent, int http_status,
                                         std::string_view content_type, std::string_view body) {
  json::Value all;
  const json::Value input =
      TRY(kubeconfig::ParseAnswer(arena, http_status, content_type, body, &all));
  std::string_view kind = input["kind"].AsString();
  std::string_view api_version = input["apiVersion"].AsString();
  std::string sent_version;
  if (kind.empty()) kind = expected.kind;
  if (api_version.empty()) {
    sent_version = base::StrCat(expected.group, "/", ReviewVersionText(sent));
    api_version = sent_version;
  }

  const auto cut = base::Cut(api_version, "/");
  if (cut && cut->second.find('/') != std::string_view::npos) {
    return base::BadRequest(base::StrCat("unexpected GroupVersion string: ", api_version));
  }
  const std::string_view group = cut ? cut->first : std::string_view();
  const std::string_view version = cut ? cut->second : api_version;
  const bool is_review =
      group == expected.group && (version == "v1" || version == "v1beta1") && kind == expected.kind;
  if (!is_review) {
    if (IsOtherRegisteredKind(expected, group, version, kind)) {
      return NoConversion(expected, version, kind, sent);
    }
    return base::BadRequest(api::schema::NotRegistered(kind, api_version, kScheme));
  }
  const json::Value review = TRY(DecodeStruct(arena, expected.shape, all));
  if (version != ReviewVersionText(sent)) return NoConversion(expected, version, kind, sent);
  return review;
}

base::Result<ReviewAnswer> VerifyReview(json::Value review, ReviewVersion sent, HookType type,
                                        std::string_view uid) {
  const json::Value response = review["response"];
  if (!response.is_object()) return base::BadRequest("webhook response was absent");
  if (sent == ReviewVersion::kV1) TRY(CheckV1(review, type, uid));

  ReviewAnswer answer;
  answer.allowed = response["allowed"].AsBool();
  answer.status = response["status"];
  answer.audit_annotations = Pairs(response["auditAnnotations"]);
  for (const json::Value warning : response["warnings"].elements()) {
    answer.warnings.emplace_back(warning.AsString());
  }
  if (type == HookType::kMutating) {
    answer.patch = response["patch"].AsString();
    // v1beta1 knows no other type, whatever it says.
    answer.patch_type = sent == ReviewVersion::kV1 ? response["patchType"].AsString() : "JSONPatch";
  }
  return answer;
}

base::Status DenialStatus(std::string_view webhook_name, json::Value status,
                          const Dialect& dialect) {
  const std::string quoted = base::GoQuote(webhook_name);
  const std::string_view reason = status["reason"].AsString();
  std::string_view why = status["message"].AsString();
  if (why.empty()) why = reason;
  const std::string message =
      why.empty()
          ? base::StrCat("admission webhook ", quoted, " denied the request without explanation")
          : base::StrCat("admission webhook ", quoted, " denied the request: ", why);
  std::int64_t code = status["code"].AsInt();
  if (dialect.keeps_denial_codes) {
    if (code < 200) code = 500;  // no code that ends an answer
  } else if (code < 400) {
    code = 400;
  }
  base::Status out = base::Status::Custom(static_cast<int>(code), std::string(reason), message);
  if (const json::Value details = status["details"]; details.is_object()) {
    return out.WithDetails(ReadDetails(details));
  }
  return out;
}

}  // namespace portcullis::webhook

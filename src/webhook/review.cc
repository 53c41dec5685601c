#include "webhook/review.h"

#include <algorithm>

#include "api/user_info.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/duplicates.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "webhook/go_shape.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kGroup = "admission.k8s.io";
constexpr std::string_view kReviewKind = "AdmissionReview";
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

std::string GvkText(std::string_view group, std::string_view version, std::string_view kind) {
  return base::StrCat(group, "/", version, ", Kind=", kind);
}

bool LooksLikeJson(std::string_view body) {
  const auto first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{';
}

std::string_view WordFor(json::Value value) {
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_bool()) return "bool";
  return "number";
}

// With every member of keys that are repeated. A number that no float64 holds is left to the field.
base::Result<json::Value> ParseAll(json::Arena& arena, std::string_view body) {
  bool repeats_keys = false;
  std::string range_error;
  json::ParseOptions options;
  options.repeats_keys = &repeats_keys;
  options.range_error = &range_error;
  auto parsed = json::Parse(arena, body, options);
  if (!parsed.ok() || !repeats_keys) return parsed;
  options.keep_duplicates = true;
  return json::Parse(arena, body, options);
}

// The parsed body, an object. Errors as Kubernetes' first look at kind and apiVersion words them.
base::Result<json::Value> ParseBody(json::Arena& arena, std::string_view body, json::Value* all) {
  const bool is_json = LooksLikeJson(body);
  auto parsed = !is_json         ? json::ParseYaml(arena, body)
                : all != nullptr ? ParseAll(arena, body)
                                 : json::Parse(arena, body);
  if (!parsed.ok()) {
    if (!is_json) return parsed.status();
    return parsed.status().Annotate("couldn't get version/kind; json parse error");
  }
  if (all != nullptr) *all = *parsed;
  const json::Value value = all != nullptr ? json::LastOfDuplicates(arena, *parsed) : *parsed;
  if (value.is_null()) return json::MakeObject(arena, {});
  if (!value.is_object()) {
    return base::BadRequest(base::StrCat(
        "couldn't get version/kind; json parse error: json: cannot unmarshal ", WordFor(value),
        " into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; "
        "Kind string \"json:\\\"kind,omitempty\\\"\" }"));
  }
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const json::Value member = value[name];
    if (member.is_null() || member.is_string()) continue;
    return base::BadRequest(
        base::StrCat("couldn't get version/kind; json parse error: json: cannot unmarshal ",
                     member.is_object() ? "object" : WordFor(member), " into Go struct field .",
                     name, " of type string"));
  }
  return value;
}

// `; name=value` again and again; a last semicolon may stand alone.
bool AreParametersSound(std::string_view text) {
  while (!text.empty()) {
    if (text.front() != ';') return false;
    text = base::Trim(text.substr(1));
    if (text.empty()) return true;
    const std::size_t equals = text.find('=');
    const std::size_t next = text.find(';');
    if (equals == std::string_view::npos || equals == 0 || equals > next) return false;
    if (base::Trim(text.substr(equals + 1, next - equals - 1)).empty()) return false;
    text = next == std::string_view::npos ? std::string_view() : text.substr(next);
  }
  return true;
}

// The error of Go's mime.ParseMediaType, as far as servers provoke it; "" for a sound type.
std::string_view MediaTypeError(std::string_view text) {
  constexpr std::string_view kSpecials = "()<>@,;:\\\"/[]?= \t";
  const std::size_t semicolon = text.find(';');
  const std::string_view parameters =
      semicolon == std::string_view::npos ? std::string_view() : text.substr(semicolon);
  text = base::Trim(text.substr(0, semicolon));
  const auto slash = text.find_first_of(kSpecials);
  if (slash == 0 || text.empty()) return "mime: no media type";
  if (slash == std::string_view::npos) return "";
  if (text[slash] != '/') return "mime: expected slash after first token";
  const std::string_view rest = text.substr(slash + 1);
  const auto end = rest.find_first_of(kSpecials);
  if (end == 0 || rest.empty()) return "mime: expected token after slash";
  if (end != std::string_view::npos) return "mime: unexpected content after media subtype";
  return AreParametersSound(parameters) ? "" : "mime: invalid media parameter";
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

// The text client-go shows for a code it got without a Status object.
std::string GenericMessage(int code, const std::string& body_text) {
  switch (code) {
    case 400:
      return "the server rejected our request for an unknown reason";
    case 401:
      return "the server has asked for the client to provide credentials";
    case 403:
    case 415:
      return body_text;
    case 404:
      return "the server could not find the requested resource";
    case 405:
      return "the server does not allow this method on the requested resource";
    case 406:
      if (!body_text.empty() && body_text != "unknown") return body_text;
      return "the server was unable to respond with a content type that the client supports";
    case 409:
      return "the server reported a conflict";
    case 422:
      return "the server rejected our request due to an error in our request";
    case 429:
      return "the server has received too many requests and has asked us to try again later";
    case 503:
      return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be "
             "processing the request";
    default:
      break;
  }
  if (code >= 500) {
    return base::StrCat("an error on the server (", base::GoQuote(body_text),
                        ") has prevented the request from succeeding");
  }
  return base::StrCat("the server responded with the status code ", std::to_string(code),
                      " but did not return more information");
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
  return version == ReviewVersion::kV1 ? "v1" : "v1beta1";
}

std::string EncodeSharedPart(const admission::Request& request, const Invocation& invocation,
                             json::Value object, json::Value old_object) {
  std::string out;
  out.reserve(1024 + object.source().size() + old_object.source().size());
  const std::size_t kind_at = out.size();
  AppendTriple(out, "kind", invocation.kind.group, invocation.kind.version, "kind",
               invocation.kind.kind);
  const std::size_t resource_at = out.size();
  AppendTriple(out, "resource", invocation.resource.group, invocation.resource.version, "resource",
               invocation.resource.resource);
  const std::size_t end = out.size();
  if (!request.subresource().empty()) AppendField(out, "subResource", request.subresource());
  if (invocation.kind == request.kind()) {
    RepeatTriple(out, kind_at, resource_at - kind_at, "kind", "requestKind");
  } else {
    AppendTriple(out, "requestKind", request.kind().group, request.kind().version, "kind",
                 request.kind().kind);
  }
  if (invocation.resource == request.resource()) {
    RepeatTriple(out, resource_at, end - resource_at, "resource", "requestResource");
  } else {
    AppendTriple(out, "requestResource", request.resource().group, request.resource().version,
                 "resource", request.resource().resource);
  }
  if (!request.subresource().empty()) AppendField(out, "requestSubResource", request.subresource());
  if (!request.name().empty()) AppendField(out, "name", request.name());
  if (!request.namespace_name().empty()) AppendField(out, "namespace", request.namespace_name());
  AppendField(out, "operation", admission::OperationText(request.operation()));
  json::Arena scratch;
  out.append("\"userInfo\":");
  json::Write(api::UserInfoToJson(scratch, request.user()), out);
  out.append(",\"object\":");
  json::Write(object, out);
  out.append(",\"oldObject\":");
  json::Write(old_object, out);
  out.append(request.dry_run() ? ",\"dryRun\":true" : ",\"dryRun\":false");
  out.append(",\"options\":");
  json::Write(request.options(), out);
  out.append("}}\n");
  return out;
}

std::string EncodeReview(ReviewVersion version, std::string_view uid, std::string_view shared) {
  return base::StrCat("{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/",
                      ReviewVersionText(version), "\",\"request\":{\"uid\":\"", uid, "\",", shared);
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
  const json::Value input = TRY(ParseReviewBody(arena, http_status, content_type, body, &all));
  std::string_view kind = input["kind"].AsString();
  std::string_view api_version = input["apiVersion"].AsString();
  const std::string sent_version = base::StrCat(expected.group, "/", ReviewVersionText(sent));
  if (kind.empty()) kind = expected.kind;
  if (api_version.empty()) api_version = sent_version;

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
    return base::BadRequest(base::StrCat("no kind ", base::GoQuote(kind),
                                         " is registered for version ", base::GoQuote(api_version),
                                         " in scheme ", base::GoQuote(kScheme)));
  }
  const json::Value review = TRY(DecodeStruct(arena, expected.shape, all));
  if (version != ReviewVersionText(sent)) return NoConversion(expected, version, kind, sent);
  return review;
}

base::Result<json::Value> ParseReviewBody(json::Arena& arena, int http_status,
                                          std::string_view content_type, std::string_view body,
                                          json::Value* all) {
  if (!content_type.empty()) {
    const std::string_view error = MediaTypeError(content_type);
    if (!error.empty()) return base::InternalError(error);
  }
  if (body.empty()) {
    return base::BadRequest(base::StrCat(
        "0-length response with status code: ", std::to_string(http_status), " and content type: ",
        content_type.empty() ? std::string_view("application/json") : content_type));
  }
  return ParseBody(arena, body, all);
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

base::Status DenialStatus(std::string_view webhook_name, json::Value status) {
  const std::string quoted = base::GoQuote(webhook_name);
  const std::string_view reason = status["reason"].AsString();
  std::string_view why = status["message"].AsString();
  if (why.empty()) why = reason;
  const std::string message =
      why.empty()
          ? base::StrCat("admission webhook ", quoted, " denied the request without explanation")
          : base::StrCat("admission webhook ", quoted, " denied the request: ", why);
  const std::int64_t code = status["code"].AsInt();
  base::Status out =
      base::Status::Custom(code < 400 ? 400 : static_cast<int>(code), std::string(reason), message);
  if (const json::Value details = status["details"]; details.is_object()) {
    return out.WithDetails(ReadDetails(details));
  }
  return out;
}

base::Status HttpErrorStatus(int http_status, std::string_view content_type, std::string_view body,
                             std::optional<int> retry_after) {
  if (!content_type.empty()) {
    const std::string_view error = MediaTypeError(content_type);
    if (!error.empty()) return base::InternalError(error);
  }
  json::Arena arena;
  const auto parsed = LooksLikeJson(body) ? json::Parse(arena, body) : json::ParseYaml(arena, body);
  if (parsed.ok() && (*parsed)["kind"].AsString() == "Status" &&
      (*parsed)["apiVersion"].AsString("v1") == "v1") {
    const auto status = DecodeStruct(arena, StatusShape(), *parsed);
    if (status.ok() && (*status)["status"].AsString() == "Failure") {
      base::Status out = base::Status::Custom(static_cast<int>((*status)["code"].AsInt()),
                                              std::string((*status)["reason"].AsString()),
                                              std::string((*status)["message"].AsString()));
      return out;
    }
  }
  std::string text = "unknown";
  if (content_type.empty() || base::ToLower(content_type).starts_with("text/")) {
    text = base::Trim(body.substr(0, 2048));
  }
  base::Status status = base::Status::Custom(http_status, "", GenericMessage(http_status, text));
  if (retry_after) {
    base::StatusDetails details;
    details.retry_after_seconds = *retry_after;
    return status.WithDetails(std::move(details));
  }
  return status;
}

}  // namespace portcullis::webhook

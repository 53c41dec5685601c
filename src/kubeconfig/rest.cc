// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/rest.h"

#include <vector>

#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "api/schema/type_meta.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/url.h"
#include "json/duplicates.h"
#include "json/reader.h"
#include "json/yaml.h"

namespace portcullis::kubeconfig {
namespace {

constexpr std::string_view kStatusTypes = R"(
v1.Status: kind string, apiVersion string, metadata v1.ListMeta, status string, message string, reason v1.StatusReason=string, details v1.StatusDetails, code int32
v1.ListMeta: selfLink string, resourceVersion string, continue string
v1.StatusDetails: name string, group string, kind string, uid types.UID=string, causes []v1.StatusCause, retryAfterSeconds int32
v1.StatusCause: reason v1.CauseType=string, message string, field string)";

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
base::Result<json::Value> ParseAll(json::Arena& arena, std::string_view body, bool& repeats_keys) {
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
  bool repeats_keys = false;
  auto parsed = !is_json         ? json::ParseYaml(arena, body)
                : all != nullptr ? ParseAll(arena, body, repeats_keys)
                                 : json::Parse(arena, body);
  if (!parsed.ok()) {
    if (!is_json) return parsed.status();
    return parsed.status().Annotate("couldn't get version/kind; json parse error");
  }
  if (all != nullptr) *all = *parsed;
  const json::Value value = repeats_keys ? json::LastOfDuplicates(arena, *parsed) : *parsed;
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
  if (text == "application/json") return "";  // what servers say
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

}  // namespace

std::string RequestPath(std::string_view path) {
  const auto decoded = golang::PathUnescape(path);
  const std::string plain = decoded.ok() ? *decoded : std::string(path);
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::Split(plain, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
      continue;
    }
    parts.push_back(part);
  }
  return golang::EscapePath(base::StrCat("/", base::Join(parts, "/")));
}

base::Result<json::Value> ParseAnswer(json::Arena& arena, int http_status,
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

base::Result<json::Value> ParseReview(json::Arena& arena, const net::Response& response,
                                      const ReviewForm& form) {
  const json::Value review = TRY(ParseAnswer(
      arena, response.status, response.headers.Get("Content-Type"), response.content()));
  const std::string_view kind = review["kind"].AsString();
  const std::string_view version = review["apiVersion"].AsString();
  if ((!kind.empty() && kind != form.kind) || (!version.empty() && version != form.api_version)) {
    return base::Status(base::Reason::kUnknown,
                        api::schema::NotRegistered(
                            kind, version, "k8s.io/client-go/kubernetes/scheme/register.go:83"));
  }
  const auto schema = api::schema::SchemaOfGoTypes(form.types);
  const auto decoded = api::schema::Decode(arena, *schema, review);
  if (!decoded.ok()) return base::Status(base::Reason::kUnknown, decoded.status().message());
  return review;
}

base::Status ErrorOfAnswer(int http_status, std::string_view content_type, std::string_view body,
                           std::optional<int> retry_after) {
  if (!content_type.empty()) {
    const std::string_view error = MediaTypeError(content_type);
    if (!error.empty()) return base::InternalError(error);
  }
  json::Arena arena;
  const auto parsed = LooksLikeJson(body) ? json::Parse(arena, body) : json::ParseYaml(arena, body);
  if (parsed.ok() && (*parsed)["kind"].AsString() == "Status" &&
      (*parsed)["apiVersion"].AsString("v1") == "v1") {
    const auto schema = api::schema::SchemaOfGoTypes(kStatusTypes);
    const auto status = api::schema::Decode(arena, *schema, *parsed, {});
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
  base::StatusDetails details;
  details.causes.push_back({"UnexpectedServerResponse", text, ""});
  details.retry_after_seconds = retry_after.value_or(0);
  return base::Status::Custom(http_status, http_status == 403 ? "Forbidden" : "",
                              GenericMessage(http_status, text))
      .WithDetails(std::move(details));
}

}  // namespace portcullis::kubeconfig

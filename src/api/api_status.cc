// SPDX-License-Identifier: Apache-2.0

#include "api/api_status.h"

#include <utility>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

using base::GoQuote;
using base::Reason;
using base::Status;
using base::StatusDetails;
using base::StrCat;

void SetText(json::ObjectBuilder& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object.Set(name, text);
}

json::Value DetailsToJson(json::Arena& arena, const StatusDetails& details) {
  json::ObjectBuilder object(arena);
  SetText(object, "name", details.name);
  SetText(object, "group", details.group);
  SetText(object, "kind", details.kind);
  SetText(object, "uid", details.uid);
  if (!details.causes.empty()) {
    json::ArrayBuilder causes(arena);
    for (const base::Cause& cause : details.causes) {
      json::ObjectBuilder entry(arena);
      SetText(entry, "reason", cause.reason);
      SetText(entry, "message", cause.message);
      SetText(entry, "field", cause.field);
      causes.Add(entry.Build());
    }
    object.Set("causes", causes.Build());
  }
  if (details.retry_after_seconds != 0) {
    object.Set("retryAfterSeconds", details.retry_after_seconds);
  }
  return object.Build();
}

StatusDetails DetailsFromJson(json::Value value) {
  StatusDetails details;
  details.name = value["name"].AsString();
  details.group = value["group"].AsString();
  details.kind = value["kind"].AsString();
  details.uid = value["uid"].AsString();
  details.retry_after_seconds = static_cast<int>(value["retryAfterSeconds"].AsInt());
  for (const json::Value& cause : value["causes"].elements()) {
    details.causes.push_back({std::string(cause["reason"].AsString()),
                              std::string(cause["message"].AsString()),
                              std::string(cause["field"].AsString())});
  }
  return details;
}

StatusDetails Of(const GroupResource& resource, std::string_view name) {
  StatusDetails details;
  details.name = name;
  details.group = resource.group;
  details.kind = resource.resource;
  return details;
}

StatusDetails RetryAfter(int seconds) {
  StatusDetails details;
  details.retry_after_seconds = seconds;
  return details;
}

std::string Named(const GroupResource& resource, std::string_view name) {
  return StrCat(resource.ToString(), " ", GoQuote(name));
}

json::ObjectBuilder StatusHead(json::Arena& arena, std::string_view outcome) {
  json::ObjectBuilder object(arena);
  object.Set("kind", "Status").Set("apiVersion", "v1").Set("metadata", json::MakeObject(arena, {}));
  object.Set("status", outcome);
  return object;
}

}  // namespace

json::Value StatusToJson(json::Arena& arena, const Status& status) {
  json::ObjectBuilder object = StatusHead(arena, "Failure");
  SetText(object, "message", status.message());
  SetText(object, "reason", status.reason_text());
  if (const StatusDetails* details = status.details()) {
    object.Set("details", DetailsToJson(arena, *details));
  }
  object.Set("code", status.http_code());
  return object.Build();
}

json::Value SuccessStatus(json::Arena& arena, const GroupResource& resource, std::string_view name,
                          std::string_view uid) {
  StatusDetails details = Of(resource, name);
  details.uid = uid;
  json::ObjectBuilder object = StatusHead(arena, "Success");
  object.Set("details", DetailsToJson(arena, details));
  return object.Build();
}

Status StatusFromJson(json::Value value) {
  const std::string reason(value["reason"].AsString());
  const std::string message(value["message"].AsString());
  const int code = static_cast<int>(value["code"].AsInt());
  Status status = Status::Custom(code, reason, message);
  const json::Value details = value["details"];
  return details.is_object() ? status.WithDetails(DetailsFromJson(details)) : status;
}

Status NotFoundStatus(const GroupResource& resource, std::string_view name) {
  return Status(Reason::kNotFound, Named(resource, name) + " not found", Of(resource, name));
}

Status AlreadyExistsStatus(const GroupResource& resource, std::string_view name) {
  return Status(Reason::kAlreadyExists, Named(resource, name) + " already exists",
                Of(resource, name));
}

Status GenerateNameConflictStatus(const GroupResource& resource, std::string_view name,
                                  int retry_after_seconds) {
  StatusDetails details = Of(resource, name);
  details.retry_after_seconds = retry_after_seconds;
  return Status(Reason::kAlreadyExists,
                Named(resource, name) +
                    " already exists, the server was not able to generate a"
                    " unique name for the object",
                std::move(details));
}

Status ConflictStatus(const GroupResource& resource, std::string_view name,
                      std::string_view error) {
  return Status(Reason::kConflict,
                StrCat("Operation cannot be fulfilled on ", Named(resource, name), ": ", error),
                Of(resource, name));
}

Status ForbiddenStatus(const GroupResource& resource, std::string_view name,
                       std::string_view error) {
  std::string message;
  if (resource.empty()) {
    message = StrCat("forbidden: ", error);
  } else if (name.empty()) {
    message = StrCat(resource.ToString(), " is forbidden: ", error);
  } else {
    message = StrCat(Named(resource, name), " is forbidden: ", error);
  }
  return Status(Reason::kForbidden, std::move(message), Of(resource, name));
}

Status InvalidStatus(const GroupKind& kind, std::string_view name,
                     std::span<const FieldError> errors) {
  StatusDetails details;
  details.name = name;
  details.group = kind.group;
  details.kind = kind.kind;
  for (const FieldError& error : errors) details.causes.push_back(error.ToCause());
  std::string message = StrCat(kind.ToString(), " ", GoQuote(name), " is invalid");
  if (!errors.empty()) message += ": " + AggregateText(errors);
  return Status(Reason::kInvalid, std::move(message), std::move(details));
}

Status MethodNotSupportedStatus(const GroupResource& resource, std::string_view action) {
  return Status(
      Reason::kMethodNotAllowed,
      StrCat(action, " is not supported on resources of kind ", GoQuote(resource.ToString())),
      Of(resource, ""));
}

Status ServerTimeoutStatus(const GroupResource& resource, std::string_view operation,
                           int retry_after_seconds) {
  StatusDetails details = Of(resource, operation);
  details.retry_after_seconds = retry_after_seconds;
  return Status(Reason::kServerTimeout,
                StrCat("The ", operation, " operation against ", resource.ToString(),
                       " could not be completed at this time, please try again."),
                std::move(details));
}

Status TimeoutStatus(std::string_view message, int retry_after_seconds) {
  return Status(Reason::kTimeout, StrCat("Timeout: ", message), RetryAfter(retry_after_seconds));
}

Status TooManyRequestsStatus(std::string_view message, int retry_after_seconds) {
  return Status(Reason::kTooManyRequests, std::string(message), RetryAfter(retry_after_seconds));
}

Status RequestEntityTooLargeStatus(std::string_view message) {
  return Status(Reason::kRequestEntityTooLarge, StrCat("Request entity too large: ", message));
}

Status UnknownResourceStatus() {
  return Status(Reason::kNotFound, "the server could not find the requested resource",
                base::StatusDetails{});
}

Status MethodNotAllowedStatus() {
  return Status(Reason::kMethodNotAllowed,
                "the server does not allow this method on the requested resource",
                base::StatusDetails{});
}

Status UnauthorizedStatus() { return Status(Reason::kUnauthorized, "Unauthorized"); }

Status ResourceExpiredStatus(std::string_view message) {
  return Status(Reason::kExpired, std::string(message));
}

Status ApplyConflictStatus(std::string_view message, std::vector<base::Cause> causes) {
  StatusDetails details;
  details.causes = std::move(causes);
  return Status(Reason::kConflict, std::string(message), std::move(details));
}

}  // namespace portcullis::api

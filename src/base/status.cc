// SPDX-License-Identifier: Apache-2.0

#include "base/status.h"

#include <array>

namespace portcullis::base {
namespace {

struct ReasonRow {
  Reason reason;
  std::string_view text;
  int http_code;
};

constexpr std::array kReasons = {
    ReasonRow{Reason::kOk, "", 200},
    ReasonRow{Reason::kUnknown, "", 500},
    ReasonRow{Reason::kUnauthorized, "Unauthorized", 401},
    ReasonRow{Reason::kForbidden, "Forbidden", 403},
    ReasonRow{Reason::kNotFound, "NotFound", 404},
    ReasonRow{Reason::kAlreadyExists, "AlreadyExists", 409},
    ReasonRow{Reason::kConflict, "Conflict", 409},
    ReasonRow{Reason::kGone, "Gone", 410},
    ReasonRow{Reason::kInvalid, "Invalid", 422},
    ReasonRow{Reason::kServerTimeout, "ServerTimeout", 500},
    ReasonRow{Reason::kStoreReadError, "StorageReadError", 500},
    ReasonRow{Reason::kTimeout, "Timeout", 504},
    ReasonRow{Reason::kTooManyRequests, "TooManyRequests", 429},
    ReasonRow{Reason::kBadRequest, "BadRequest", 400},
    ReasonRow{Reason::kMethodNotAllowed, "MethodNotAllowed", 405},
    ReasonRow{Reason::kNotAcceptable, "NotAcceptable", 406},
    ReasonRow{Reason::kRequestEntityTooLarge, "RequestEntityTooLarge", 413},
    ReasonRow{Reason::kUnsupportedMediaType, "UnsupportedMediaType", 415},
    ReasonRow{Reason::kInternalError, "InternalError", 500},
    ReasonRow{Reason::kExpired, "Expired", 410},
    ReasonRow{Reason::kServiceUnavailable, "ServiceUnavailable", 503},
    ReasonRow{Reason::kOther, "", 500},
};

const ReasonRow& Row(Reason reason) { return kReasons[static_cast<std::size_t>(reason)]; }

}  // namespace

std::string_view ReasonText(Reason reason) { return Row(reason).text; }

Reason ReasonFromText(std::string_view text) {
  if (text.empty()) return Reason::kUnknown;
  for (const ReasonRow& row : kReasons) {
    if (row.text == text) return row.reason;
  }
  return Reason::kOther;
}

int HttpCode(Reason reason) { return Row(reason).http_code; }

Status::Status(Reason reason, std::string message)
    : rep_(std::make_shared<Rep>(Rep{.reason = reason,
                                     .http_code = HttpCode(reason),
                                     .reason_text = std::string(ReasonText(reason)),
                                     .message = std::move(message)})) {}

Status::Status(Reason reason, std::string message, StatusDetails details)
    : rep_(std::make_shared<Rep>(Rep{.reason = reason,
                                     .http_code = HttpCode(reason),
                                     .reason_text = std::string(ReasonText(reason)),
                                     .message = std::move(message),
                                     .details = std::move(details)})) {}

Status Status::Custom(int http_code, std::string reason_text, std::string message) {
  Status status;
  status.rep_ = std::make_shared<Rep>(Rep{.reason = ReasonFromText(reason_text),
                                          .http_code = http_code,
                                          .reason_text = std::move(reason_text),
                                          .message = std::move(message)});
  return status;
}

std::string_view Status::reason_text() const {
  return rep_ ? std::string_view(rep_->reason_text) : std::string_view();
}

int Status::http_code() const { return rep_ ? rep_->http_code : 200; }

const std::string& Status::message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

const StatusDetails* Status::details() const {
  return rep_ && rep_->details ? &*rep_->details : nullptr;
}

Status Status::WithDetails(StatusDetails details) const {
  if (ok()) return *this;
  auto rep = std::make_shared<Rep>(*rep_);
  rep->details = std::move(details);
  Status status;
  status.rep_ = std::move(rep);
  return status;
}

Status Status::WithMessage(std::string message) const {
  if (ok()) return *this;
  auto rep = std::make_shared<Rep>(*rep_);
  rep->message = std::move(message);
  Status status;
  status.rep_ = std::move(rep);
  return status;
}

Status Status::WithHttpCode(int http_code) const {
  if (ok()) return *this;
  auto rep = std::make_shared<Rep>(*rep_);
  rep->http_code = http_code;
  Status status;
  status.rep_ = std::move(rep);
  return status;
}

Status Status::Annotate(std::string_view context) const {
  return WithMessage(std::string(context) + ": " + message());
}

bool Status::operator==(const Status& other) const {
  if (rep_ == other.rep_) return true;
  return rep_ && other.rep_ && *rep_ == *other.rep_;
}

Status BadRequest(std::string message) { return {Reason::kBadRequest, std::move(message)}; }
Status Forbidden(std::string message) { return {Reason::kForbidden, std::move(message)}; }
Status NotFound(std::string message) { return {Reason::kNotFound, std::move(message)}; }
Status Conflict(std::string message) { return {Reason::kConflict, std::move(message)}; }
Status Invalid(std::string message) { return {Reason::kInvalid, std::move(message)}; }

Status InternalError(std::string_view error) {
  StatusDetails details;
  details.causes.push_back({.reason = "", .message = std::string(error), .field = ""});
  return {Reason::kInternalError, "Internal error occurred: " + std::string(error),
          std::move(details)};
}

Status ConfigError(std::string message) { return {Reason::kBadRequest, std::move(message)}; }

}  // namespace portcullis::base

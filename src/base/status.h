// SPDX-License-Identifier: Apache-2.0

// Status and Result<T>: how every fallible function of the project reports its outcome.
//
// A Status is OK or carries what a Kubernetes Status object carries: a reason, an HTTP code, a
// message and optional details
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/). The server
// turns it into JSON once, at its edge (api/api_status.h). An OK status is one null pointer. Value
// type.
//
//   base::Result<int> Parse(std::string_view text);
//   base::Status Load(...) {
//     int port = TRY(Parse(text));       // returns the error to the caller, else is the value
//     TRY(Check(port));                  // works for Status as well
//     return base::OkStatus();
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace portcullis::base {

// The reasons of Kubernetes; ReasonText() gives their wire form, HttpCode() the code that goes with
// each. kUnknown is the empty reason (code 500); kOther is any text a webhook has made up.
enum class Reason : std::uint8_t {
  kOk,
  kUnknown,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kAlreadyExists,
  kConflict,
  kGone,
  kInvalid,
  kServerTimeout,
  kStoreReadError,
  kTimeout,
  kTooManyRequests,
  kBadRequest,
  kMethodNotAllowed,
  kNotAcceptable,
  kRequestEntityTooLarge,
  kUnsupportedMediaType,
  kInternalError,
  kExpired,
  kServiceUnavailable,
  kOther,
};

std::string_view ReasonText(Reason reason);
Reason ReasonFromText(std::string_view text);  // kOther for texts Kubernetes does not define
int HttpCode(Reason reason);

// One machine-readable cause: reason as in "FieldValueInvalid", field as in
// "spec.containers[0].name".
struct Cause {
  std::string reason;
  std::string message;
  std::string field;
  bool operator==(const Cause&) const = default;
};

// The `details` of a Status. `present` tells an empty object apart from none.
struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;
  bool operator==(const StatusDetails&) const = default;
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(Reason reason, std::string message);
  Status(Reason reason, std::string message, StatusDetails details);

  // A status whose HTTP code and reason are not paired as usual (a webhook's answer).
  static Status Custom(int http_code, std::string reason_text, std::string message);

  bool ok() const { return rep_ == nullptr; }
  Reason reason() const { return rep_ ? rep_->reason : Reason::kOk; }
  std::string_view reason_text() const;  // "" for OK and kUnknown
  int http_code() const;                 // 200 for OK
  const std::string& message() const;    // "" for OK
  const StatusDetails* details() const;  // null if there are none

  // Copies of this status with something replaced. No effect on OK.
  Status WithDetails(StatusDetails details) const;
  Status WithMessage(std::string message) const;
  Status WithHttpCode(int http_code) const;
  // Puts "<context>: " in front of the message.
  Status Annotate(std::string_view context) const;

  // So that TRY treats a Status as it does a Result.
  const Status& status() const& { return *this; }
  Status&& status() && { return std::move(*this); }
  void value() const {}

  bool operator==(const Status& other) const;

 private:
  struct Rep {
    Reason reason = Reason::kUnknown;
    int http_code = 0;
    std::string reason_text;
    std::string message;
    std::optional<StatusDetails> details;
    bool operator==(const Rep&) const = default;
  };
  std::shared_ptr<const Rep> rep_;
};

inline Status OkStatus() { return {}; }

// Short makers for the reasons used most. Texts: lower case, no full stop, no "failed to".
Status BadRequest(std::string message);
Status Forbidden(std::string message);
Status NotFound(std::string message);
Status Conflict(std::string message);
Status Invalid(std::string message);
// Kubernetes' wrapping: message "Internal error occurred: <error>", causes [{message: <error>}].
Status InternalError(std::string_view error);
// An error of our own configuration, files or flags; never sent to a client as such.
Status ConfigError(std::string message);

// A value of type T or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<1>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Status status) : state_(std::in_place_index<0>, std::move(status)) {}  // NOLINT

  bool ok() const { return state_.index() == 1; }
  Status status() const& { return ok() ? Status() : std::get<0>(state_); }
  Status status() && { return ok() ? Status() : std::move(std::get<0>(state_)); }

  // REQUIRES: ok().
  const T& value() const& { return std::get<1>(state_); }
  T& value() & { return std::get<1>(state_); }
  T&& value() && { return std::move(std::get<1>(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<Status, T> state_;
};

namespace internal {
// Passes a value on by moving it, and void as void.
template <typename T>
T TakeValue(Result<T>&& result) {
  return std::move(result).value();
}
inline void TakeValue(const Status&) {}
}  // namespace internal
}  // namespace portcullis::base

#define PC_CONCAT_(a, b) a##b
#define PC_CONCAT(a, b) PC_CONCAT_(a, b)
#define PC_TRY_(name, expr)                                   \
  __extension__({                                             \
    auto name = (expr);                                       \
    if (!name.ok()) [[unlikely]] {                            \
      return std::move(name).status();                        \
    }                                                         \
    ::portcullis::base::internal::TakeValue(std::move(name)); \
  })
// The value of a Result, or returns its error from the function. Also for a bare Status.
#define TRY(expr) PC_TRY_(PC_CONCAT(pc_try_, __COUNTER__), expr)

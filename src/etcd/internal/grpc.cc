// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/grpc.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/strings.h"
#include "net/http.h"

namespace portcullis::etcd {
namespace {

constexpr std::array<std::string_view, 17> kCodes = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

constexpr std::string_view kOutcomeUnknown = "OutcomeUnknown";
// https://github.com/etcd-io/etcd/blob/main/api/v3rpc/rpctypes/error.go
constexpr std::string_view kCompacted = "etcdserver: mvcc: required revision has been compacted";
constexpr std::string_view kLeaseNotFound = "etcdserver: requested lease not found";

}  // namespace

std::string_view CodeText(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

Code CodeOf(const base::Status& status) {
  if (status.ok()) return Code::kOk;
  const auto* const found = std::find(kCodes.begin(), kCodes.end(), status.reason_text());
  return found == kCodes.end() ? Code::kUnknown : static_cast<Code>(found - kCodes.begin());
}

bool IsUnavailable(const base::Status& status) { return CodeOf(status) == Code::kUnavailable; }

bool IsUnknownOutcome(const base::Status& status) {
  const base::StatusDetails* const details = status.details();
  return details != nullptr && details->causes.size() == 1 &&
         details->causes[0].reason == kOutcomeUnknown;
}

bool IsCompacted(const base::Status& status) { return status.message() == kCompacted; }
bool IsLeaseNotFound(const base::Status& status) { return status.message() == kLeaseNotFound; }

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return std::string(1, '\0');
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

namespace internal {
namespace {

int HttpCodeOf(Code code) {
  switch (code) {
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

base::Status Error(Code code, std::string message) {
  return base::Status::Custom(HttpCodeOf(code), std::string(CodeText(code)), std::move(message));
}

base::Status UnknownOutcome(const base::Status& error) {
  base::StatusDetails details;
  details.causes.push_back({.reason = std::string(kOutcomeUnknown), .message = {}, .field = {}});
  return error.WithDetails(std::move(details));
}

base::Status NotUnderstood(const base::Status& why) {
  return Error(Code::kInternal,
               base::StrCat("grpc: failed to unmarshal the received message: ", why.message()));
}

Code CodeFromNumber(std::string_view text) {
  const auto number = base::ParseInt(text);
  if (!number || *number < 0 || *number >= static_cast<std::int64_t>(kCodes.size())) {
    return Code::kUnknown;
  }
  return static_cast<Code>(*number);
}

std::string DecodeMessage(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = high >= 0 ? digit(text[i + 2]) : -1;
    if (low < 0) {
      out.push_back(text[i]);
    } else {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

void AnswerHead::OnField(std::string_view name, std::string_view value) {
  if (name == "grpc-status") {
    code = CodeFromNumber(value);
  } else if (name == "grpc-message") {
    message = DecodeMessage(value);
  } else if (name == ":status") {
    http_status = value;
  } else if (name == "content-type") {
    is_grpc = value.starts_with("application/grpc");
  }
}

base::Status ErrorOfHttpStatus(std::string_view status) {
  const std::int64_t number = base::ParseInt(status).value_or(0);
  Code code = Code::kUnknown;
  if (number == 400) code = Code::kInternal;
  if (number == 401) code = Code::kUnauthenticated;
  if (number == 403) code = Code::kPermissionDenied;
  if (number == 404) code = Code::kUnimplemented;
  if (number == 429 || (number >= 502 && number <= 504)) code = Code::kUnavailable;
  return Error(code, base::StrCat("unexpected HTTP status code received from server: ", status,
                                  " (", net::StatusText(static_cast<int>(number)), ")"));
}

std::string TimeoutText(base::Duration left) {
  constexpr std::int64_t kLargest = 99'999'999;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  if (milliseconds <= 0) return "1n";
  if (milliseconds <= kLargest) return std::to_string(milliseconds) + "m";
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
  return std::to_string(std::min<std::int64_t>(seconds, kLargest)) + "S";
}

base::Result<std::size_t> MessageReader::SizeOf(std::string_view head) const {
  if (head[0] != 0) {
    return Error(Code::kInternal, "grpc: compressed flag set with identity or empty encoding");
  }
  std::size_t size = 0;
  for (std::size_t i = 1; i < kFrameHead; ++i)
    size = size << 8U | static_cast<unsigned char>(head[i]);
  if (size <= limit_) return size;
  return Error(Code::kResourceExhausted,
               base::StrCat("grpc: received message larger than max (", std::to_string(size),
                            " vs. ", std::to_string(limit_), ")"));
}

base::Result<bool> MessageReader::Take(std::string_view& piece, std::string_view& message) {
  constexpr std::size_t kReserve = 16 << 20;
  if (buffer_.empty() && piece.size() >= kFrameHead) {
    // Most messages come in one piece, and are not copied.
    const std::size_t size = TRY(SizeOf(piece));
    if (piece.size() - kFrameHead >= size) {
      message = piece.substr(kFrameHead, size);
      piece.remove_prefix(kFrameHead + size);
      return true;
    }
  }
  if (buffer_.size() < kFrameHead) {
    const std::size_t count = std::min(piece.size(), kFrameHead - buffer_.size());
    buffer_.append(piece.substr(0, count));
    piece.remove_prefix(count);
    if (buffer_.size() < kFrameHead) return false;
    const std::size_t size = TRY(SizeOf(buffer_));
    buffer_.reserve(kFrameHead + std::min(size, kReserve));
  }
  const std::size_t total = kFrameHead + TRY(SizeOf(buffer_));
  const std::size_t count = std::min(piece.size(), total - buffer_.size());
  buffer_.append(piece.substr(0, count));
  piece.remove_prefix(count);
  if (buffer_.size() < total) return false;
  message = std::string_view(buffer_).substr(kFrameHead);
  return true;
}

}  // namespace internal
}  // namespace portcullis::etcd

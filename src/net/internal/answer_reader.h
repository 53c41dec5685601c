// SPDX-License-Identifier: Apache-2.0

// AnswerReader puts the answer of a call together, whichever version of HTTP brings it: within the limit of
// its size, and inflated if it is compressed.
//
// Confined to one thread. One AnswerReader per answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/client.h"
#include "net/internal/gzip.h"

namespace portcullis::net::internal {

class ClientCall;

class AnswerReader {
 public:
  explicit AnswerReader(const ClientCall& call) : call_(call) {}  // outlives this

  void OnStatus(int status) { response_.status = status; }
  void OnField(std::string_view name, std::string_view value);
  // `content_length`: as announced; negative if it was not.
  void OnHead(std::int64_t content_length);
  // False: the call has failed, see below.
  bool OnBody(std::string_view piece);
  // The body has ended where it should. False as OnBody.
  bool Finish();
  // What has come was an interim answer (RFC 9110 §15.2).
  void Restart() { response_ = {}; }

  // After a failure.
  CallPhase failed_phase() const { return failed_phase_; }
  const std::string& cause() const { return cause_; }
  bool is_too_large() const { return is_too_large_; }

  Response& response() { return response_; }
  const Response& response() const { return response_; }
  std::size_t body_bytes() const { return body_bytes_; }  // as they arrived

 private:
  bool Failed(CallPhase phase, std::string cause);

  const ClientCall& call_;
  Response response_;
  std::size_t body_bytes_ = 0;
  std::optional<Inflater> inflater_;  // of a body that is compressed
  CallPhase failed_phase_ = CallPhase::kNone;
  std::string cause_;
  bool is_too_large_ = false;
};

}  // namespace portcullis::net::internal

// SPDX-License-Identifier: Apache-2.0

// RoundTrip is one request and its answer on an open connection. It waits for nothing: the thread
// that drives the connection calls Advance whenever the socket may have changed.
//
// Confined to the thread that drives the connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/client.h"
#include "net/internal/answer_reader.h"
#include "net/internal/client_call.h"
#include "net/internal/http1_parser.h"
#include "net/internal/stream.h"
#include "net/internal/write_queue.h"

namespace portcullis::net::internal {

class RoundTrip final : public MessageSink {
 public:
  enum class State {
    kUnderWay,
    kAnswered,
    kFailed,   // failed_phase(), cause()
    kUnheard,  // the kept connection was dead already: another one may carry the call
  };

  // Both must outlive this. `reused`: the connection has carried a call before.
  RoundTrip(Stream& stream, ClientCall& call, std::size_t max_header_bytes, bool reused);
  RoundTrip(const RoundTrip&) = delete;
  RoundTrip& operator=(const RoundTrip&) = delete;

  // Sends more behind the request, which has been answered with 101.
  void Send(std::string bytes, std::function<void()> taken);
  // Sends what can be sent and reads what there is, through `scratch`.
  State Advance(std::span<char> scratch);

  bool is_sending() const { return !out_.empty() && write_error_.empty(); }
  // What it is at.
  CallPhase phase() const;

  CallPhase failed_phase() const { return failed_phase_; }
  std::string& cause() { return cause_; }
  bool is_too_large() const { return answer_.is_too_large(); }
  // The head of an answer has come that refuses an upgrade.
  bool refuses() const { return refuses_; }
  // The answer; its head and what there is of its body after a failure in kRead.
  Response& response() { return answer_.response(); }
  // After kAnswered: whether the connection can carry another call.
  bool keeps_connection() const;

 private:
  void OnStatusLine(int status, std::string_view reason, int version) override;
  void OnField(std::string_view name, std::string_view value) override;
  bool OnHead() override;
  bool OnBody(std::string_view piece) override;

  void BeginParser();
  void Flush();
  State Read(std::span<char> scratch);
  State OnWholeMessage();
  void HandOn(std::string_view bytes);
  State OnBytes(std::string_view bytes);
  State OnEndOfStream(const std::string& error);
  State Failed(CallPhase phase, std::string cause);
  CallPhase ReadPhase() const;
  bool HeadGoesOn(std::size_t added) const;
  State JudgeInterimAnswers();
  std::string_view FieldsOf(std::string_view head) const;

  Stream& stream_;
  ClientCall& call_;
  const std::size_t max_header_bytes_;
  const bool reused_;
  const std::size_t sent_before_;
  WriteQueue out_;
  std::string write_error_;
  std::unique_ptr<Http1Parser> parser_;
  std::string pending_;     // bytes the parser wants to see again with more behind them
  std::string first_line_;  // what came first, for the text about malformed answers
  AnswerReader answer_;
  std::size_t wire_bytes_ = 0;  // received in all
  bool any_byte_ = false;
  CallPhase failed_phase_ = CallPhase::kNone;
  std::string cause_;
  std::string raw_;       // of an upgrade: of the answer, not handed on
  bool is_open_ = false;  // it has been answered with 101
  bool refuses_ = false;
  std::function<void()> taken_;
};

}  // namespace portcullis::net::internal

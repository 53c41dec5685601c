// SPDX-License-Identifier: Apache-2.0

#include "net/internal/round_trip.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "net/internal/malformed.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kBroken = "net/http: HTTP/1.x transport connection broken: ";

constexpr std::size_t kBareLine = 12;  // "HTTP/1.1 200"

bool LacksSpace(std::string_view bytes) {
  return bytes.size() > kBareLine && bytes.starts_with("HTTP/1.") &&
         (bytes[kBareLine] == '\r' || bytes[kBareLine] == '\n');
}

// Methods whose repetition does no harm, by Go's judgement.
bool IsReplayable(const ClientRequest& request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS" ||
         request.method == "TRACE" || request.headers.Has("Idempotency-Key");
}

// What is smaller leaves in one record with all that comes before it. What is larger is not copied.
constexpr std::size_t kSmallBody = 14 << 10;

// The head and the front of the body, with the rest behind them if that is small.
std::string Beginning(const ClientCall& call) {
  const ClientRequest& request = *call.request;
  const RequestBody& body = call.body;
  const std::size_t rest = body.rest ? body.rest->size() : 0;
  std::string out;
  out.reserve(call.prepared->head.size() + 64 + body.front.size() +
              (rest <= kSmallBody ? rest : 0));
  out.append(call.prepared->head);
  if (TellsLength(request.method, body)) {
    out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  }
  if (call.prepared->wants_gzip) out.append("Accept-Encoding: gzip\r\n");
  out.append("\r\n");
  out.append(body.front);
  if (rest > 0 && rest <= kSmallBody) out.append(*body.rest);
  return out;
}

}  // namespace

RoundTrip::RoundTrip(Stream& stream, ClientCall& call, std::size_t max_header_bytes, bool reused)
    : stream_(stream),
      call_(call),
      max_header_bytes_(max_header_bytes),
      reused_(reused),
      sent_before_(stream.bytes_sent()),
      answer_(call) {
  BeginParser();
  out_.Append(Beginning(call_));
  const auto& rest = call_.body.rest;
  if (rest && rest->size() > kSmallBody) out_.Append(rest);
}

void RoundTrip::BeginParser() {
  parser_ = Http1Parser::Create(Http1Parser::Kind::kResponse, *this, max_header_bytes_);
  if (call_.request->method == "HEAD") parser_->ExpectNoBody();
}

RoundTrip::State RoundTrip::Advance(std::span<char> scratch) {
  Flush();
  return Read(scratch);
}

void RoundTrip::Flush() {
  while (is_sending()) {
    const auto front = out_.Front();
    const IoResult result = stream_.Write(front.data(), front.size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status != IoStatus::kOk) {
      // The server may have answered before it hung up: what it said is read first.
      write_error_ = stream_.error();
      return;
    }
    out_.Consume(result.bytes);
  }
  if (out_.empty() && taken_) std::exchange(taken_, nullptr)();
}

void RoundTrip::Send(std::string bytes, std::function<void()> taken) {
  out_.Append(std::move(bytes));
  taken_ = std::move(taken);
}

// As the answer came. That of an upgrade is handed on from its head's end.
void RoundTrip::HandOn(std::string_view bytes) {
  if (!call_.prepared->upgrades) return;
  raw_.append(bytes);
  if (!parser_->head_done() || raw_.empty()) return;
  refuses_ = !is_open_;
  const std::string raw = std::exchange(raw_, {});
  call_.request->on_data({answer_.response().status, answer_.response().headers}, raw);
}

// A peer that sends without a pause keeps this loop going: it looks at the time by itself.
RoundTrip::State RoundTrip::Read(std::span<char> scratch) {
  constexpr unsigned kReadsPerLook = 64;
  for (unsigned reads = 1;; ++reads) {
    if (call_.paused()) return State::kUnderWay;
    if (reads % kReadsPerLook == 0 && base::SystemClock().Steady() >= call_.deadline) {
      return Failed(ReadPhase(), "context deadline exceeded");
    }
    const IoResult result = stream_.Read(scratch.data(), scratch.size());
    if (result.status == IoStatus::kWouldBlock) {
      if (!write_error_.empty() && (!any_byte_ || is_open_))
        return Failed(CallPhase::kWrite, write_error_);
      return State::kUnderWay;
    }
    if (result.status == IoStatus::kEof) return OnEndOfStream("EOF");
    if (result.status == IoStatus::kError) return OnEndOfStream(stream_.error());
    any_byte_ = true;
    State state = OnBytes({scratch.data(), result.bytes});
    if (state == State::kUnderWay && !is_open_) state = JudgeInterimAnswers();
    if (state != State::kUnderWay) return state;
  }
}

// Interim answers cost time and no memory. A server that sends them without end must not keep an I/O
// thread until the deadline.
RoundTrip::State RoundTrip::JudgeInterimAnswers() {
  if (parser_->head_done() || wire_bytes_ <= 2 * max_header_bytes_) return State::kUnderWay;
  return Failed(CallPhase::kFirstByte, "net/http: too many 1xx informational responses");
}

RoundTrip::State RoundTrip::OnBytes(std::string_view bytes) {
  if (is_open_) {
    HandOn(bytes);
    return State::kUnderWay;
  }
  wire_bytes_ += bytes.size();
  std::string joined;
  if (!pending_.empty()) {
    pending_.append(bytes);
    if (HeadGoesOn(bytes.size())) return State::kUnderWay;
    joined.swap(pending_);
    bytes = joined;
  }
  // Go takes a status line that has no reason and no space behind its number; the parser wants the space.
  if (!parser_->head_done() && LacksSpace(bytes)) {
    joined = base::StrCat(bytes.substr(0, kBareLine), " ", bytes.substr(kBareLine));
    bytes = joined;
  }
  while (true) {
    if (!parser_->head_done() && first_line_.empty()) {
      first_line_ = bytes.substr(0, std::min<std::size_t>(bytes.find_first_of("\r\n"), 128));
    }
    const std::string_view fed = bytes;
    std::size_t consumed = 0;
    const auto result = parser_->Feed(bytes, consumed);
    bytes.remove_prefix(std::min(consumed, bytes.size()));
    const bool is_good =
        result == Http1Parser::State::kNeedMore || result == Http1Parser::State::kDone;
    if (is_good && call_.prepared->upgrades) {
      is_open_ = result == Http1Parser::State::kDone && answer_.response().status == 101;
      if (is_open_) call_.deadline = base::SteadyTime::max();
      HandOn(is_open_ ? fed : fed.substr(0, fed.size() - bytes.size()));
      if (is_open_) return State::kUnderWay;
    }
    switch (result) {
      case Http1Parser::State::kNeedMore:
        pending_.assign(bytes);
        return State::kUnderWay;
      case Http1Parser::State::kDone:
        if (const int status = answer_.response().status;
            status < 100 || status == 101 || status >= 200 || call_.prepared->upgrades) {
          pending_.assign(bytes);
          return OnWholeMessage();
        }
        // An interim answer: the real one follows (RFC 9110 §15.2).
        answer_.Restart();
        first_line_.clear();
        BeginParser();
        if (bytes.empty()) return State::kUnderWay;
        continue;
      case Http1Parser::State::kStopped:
        return Failed(answer_.failed_phase(), answer_.cause());
      case Http1Parser::State::kHeaderTooLarge:
        return Failed(CallPhase::kFirstByte,
                      base::StrCat(kBroken, "net/http: server response headers exceeded ",
                                   std::to_string(max_header_bytes_), " bytes; aborted"));
      case Http1Parser::State::kMalformed:
        if (parser_->head_done()) return Failed(CallPhase::kRead, parser_->error());
        return Failed(CallPhase::kFirstByte,
                      base::StrCat(kBroken, MalformedHeadText(first_line_, FieldsOf(fed))));
    }
  }
}

// Whether a head that is already long still lacks its end after `added` more bytes. The parser
// starts from the front each time, so it is not asked about every piece of megabytes.
bool RoundTrip::HeadGoesOn(std::size_t added) const {
  constexpr std::size_t kShort = 64 << 10;
  if (parser_->head_done() || pending_.size() <= kShort) return false;
  if (pending_.size() > max_header_bytes_) return false;
  const std::size_t from = pending_.size() - std::min(pending_.size(), added + 3);
  return pending_.find("\n\r\n", from) == std::string::npos &&
         pending_.find("\n\n", from) == std::string::npos;
}

// The status line may have come, and have been taken, before.
std::string_view RoundTrip::FieldsOf(std::string_view head) const {
  if (!head.starts_with(first_line_)) return head;
  const auto end = head.find('\n');
  return end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
}

void RoundTrip::OnStatusLine(int status, std::string_view reason, int version) {
  (void)reason, (void)version;
  answer_.OnStatus(status);
}

void RoundTrip::OnField(std::string_view name, std::string_view value) {
  answer_.OnField(name, value);
}

bool RoundTrip::OnHead() {
  answer_.OnHead(parser_->content_length());
  return true;
}

bool RoundTrip::OnBody(std::string_view piece) { return answer_.OnBody(piece); }

// The body has ended where it says that it does.
RoundTrip::State RoundTrip::OnWholeMessage() {
  if (answer_.Finish()) return State::kAnswered;
  return Failed(answer_.failed_phase(), answer_.cause());
}

CallPhase RoundTrip::phase() const { return out_.empty() ? ReadPhase() : CallPhase::kWrite; }

CallPhase RoundTrip::ReadPhase() const {
  return parser_->head_done() ? CallPhase::kRead : CallPhase::kFirstByte;
}

RoundTrip::State RoundTrip::OnEndOfStream(const std::string& error) {
  if (is_open_) return OnWholeMessage();
  const bool eof = error == "EOF";
  if (any_byte_ && eof) {
    const bool in_body = parser_->head_done();
    if (in_body && parser_->FeedEof() == Http1Parser::State::kDone) return OnWholeMessage();
    return Failed(ReadPhase(),
                  in_body ? "unexpected EOF" : base::StrCat(kBroken, "unexpected EOF"));
  }
  if (any_byte_) return Failed(ReadPhase(), error);
  // The server may have closed the kept connection just as it was taken up again.
  const bool nothing_sent = stream_.bytes_sent() == sent_before_;
  if (reused_ && (nothing_sent || IsReplayable(*call_.request))) return State::kUnheard;
  if (error.starts_with("remote error: tls:")) return Failed(CallPhase::kHandshake, error);
  if (!write_error_.empty()) return Failed(CallPhase::kWrite, write_error_);
  return Failed(CallPhase::kFirstByte, error);
}

RoundTrip::State RoundTrip::Failed(CallPhase phase, std::string cause) {
  failed_phase_ = phase;
  cause_ = std::move(cause);
  return State::kFailed;
}

bool RoundTrip::keeps_connection() const {
  return !call_.prepared->upgrades && parser_->keep_alive() && out_.empty() &&
         write_error_.empty() && pending_.empty() && !stream_.has_unread() &&
         !call_.request->headers.HasToken("Connection", "close");
}

}  // namespace portcullis::net::internal

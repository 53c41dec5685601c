// SPDX-License-Identifier: Apache-2.0

#include "net/internal/http1_parser.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#pragma GCC diagnostic pop

#include <limits>

namespace portcullis::net::internal {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;
using View = boost::beast::string_view;

std::string_view Std(View view) { return {view.data(), view.size()}; }

template <bool kIsRequest>
class Adapter final : public Http1Parser, private http::basic_parser<kIsRequest> {
 public:
  using Base = http::basic_parser<kIsRequest>;

  Adapter(MessageSink& sink, std::size_t max_header_bytes) : sink_(sink) {
    this->eager(true);
    this->body_limit(boost::none);  // the sink counts
    this->header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(max_header_bytes, std::numeric_limits<std::uint32_t>::max())));
  }

  void ExpectNoBody() override { Base::skip(true); }

  State Feed(std::string_view data, std::size_t& consumed) override {
    consumed = 0;
    while (!Base::is_done()) {
      ErrorCode error;
      const std::size_t before = consumed;
      const std::string_view rest = data.substr(consumed);
      const bool in_body = Base::is_header_done();
      consumed += Base::put(boost::asio::const_buffer(rest.data(), rest.size()), error);
      if (in_body) body_wire_bytes_ += consumed - before;
      if (error == http::error::need_more) return JudgeOverhead(data.size() - consumed);
      if (error == http::error::end_of_stream) return State::kStopped;
      if (error == http::error::header_limit) return State::kHeaderTooLarge;
      if (error) return Malformed("invalid byte in chunk length");
      const bool stands_still = consumed == before || consumed == data.size();
      if (stands_still && !Base::is_done()) return JudgeOverhead(data.size() - consumed);
    }
    return State::kDone;
  }

  State FeedEof() override {
    ErrorCode error;
    Base::put_eof(error);
    if (!error && Base::is_done()) return State::kDone;
    return Malformed("unexpected EOF");
  }

  bool head_done() const override { return Base::is_header_done(); }
  bool keep_alive() const override { return Base::keep_alive(); }
  bool chunked() const override { return Base::chunked(); }
  std::int64_t content_length() const override {
    const auto length = Base::content_length();
    return length ? static_cast<std::int64_t>(*length) : -1;
  }

 private:
  State Malformed(const char* error) {
    error_ = error;
    return State::kMalformed;
  }

  // Go's limits of what is no data in a chunked body, and its texts: the line of a chunk and the
  // trailers, which wait as `unread` until they are complete, and all of it together.
  State JudgeOverhead(std::size_t unread) {
    constexpr std::size_t kMaxLine = 4 << 10;
    constexpr std::size_t kMaxOverhead = 16 << 10;
    constexpr std::size_t kOfChunk = 16;  // without counting
    if (!Base::is_header_done() || !Base::chunked()) return State::kNeedMore;
    if (unread > kMaxLine) return Malformed("header line too long");
    if (body_wire_bytes_ > kMaxOverhead + kOfChunk * chunks_ + 3 * body_bytes_) {
      return Malformed("chunked encoding contains too much non-data");
    }
    return State::kNeedMore;
  }

  static void Stop(ErrorCode& error) { error = http::error::end_of_stream; }

  void on_request_impl(http::verb, View method, View target, int version,
                       ErrorCode& error) override {
    error = {};
    sink_.OnRequestLine(Std(method), Std(target), version);
  }
  void on_response_impl(int code, View reason, int version, ErrorCode& error) override {
    error = {};
    sink_.OnStatusLine(code, Std(reason), version);
  }
  void on_field_impl(http::field, View name, View value, ErrorCode& error) override {
    error = {};
    // Trailers are read and dropped.
    if (!head_seen_) sink_.OnField(Std(name), Std(value));
  }
  void on_header_impl(ErrorCode& error) override {
    error = {};
    head_seen_ = true;
    if (!sink_.OnHead()) Stop(error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode& error) override {
    error = {};
  }
  std::size_t on_body_impl(View body, ErrorCode& error) override {
    error = {};
    if (!sink_.OnBody(Std(body))) Stop(error);
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, View, ErrorCode& error) override {
    error = {};
    ++chunks_;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, View body, ErrorCode& error) override {
    error = {};
    body_bytes_ += body.size();
    if (!sink_.OnBody(Std(body))) Stop(error);
    return body.size();
  }
  void on_finish_impl(ErrorCode& error) override { error = {}; }

  MessageSink& sink_;
  bool head_seen_ = false;
  // Of a chunked body.
  std::size_t body_wire_bytes_ = 0;  // consumed
  std::size_t body_bytes_ = 0;       // of them, data
  std::size_t chunks_ = 0;
};

}  // namespace

std::unique_ptr<Http1Parser> Http1Parser::Create(Kind kind, MessageSink& sink,
                                                 std::size_t max_header_bytes) {
  if (kind == Kind::kRequest) return std::make_unique<Adapter<true>>(sink, max_header_bytes);
  return std::make_unique<Adapter<false>>(sink, max_header_bytes);
}

}  // namespace portcullis::net::internal

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
      consumed += Base::put(boost::asio::const_buffer(rest.data(), rest.size()), error);
      if (error == http::error::need_more) return State::kNeedMore;
      if (error == http::error::end_of_stream) return State::kStopped;
      if (error == http::error::header_limit) return State::kHeaderTooLarge;
      if (error) {
        error_ = error.message();
        return State::kMalformed;
      }
      const bool stands_still = consumed == before || consumed == data.size();
      if (stands_still && !Base::is_done()) return State::kNeedMore;
    }
    return State::kDone;
  }

  State FeedEof() override {
    ErrorCode error;
    Base::put_eof(error);
    if (!error && Base::is_done()) return State::kDone;
    error_ = "unexpected EOF";
    return State::kMalformed;
  }

  bool head_done() const override { return Base::is_header_done(); }
  bool keep_alive() const override { return Base::keep_alive(); }
  bool chunked() const override { return Base::chunked(); }
  std::int64_t content_length() const override {
    const auto length = Base::content_length();
    return length ? static_cast<std::int64_t>(*length) : -1;
  }

 private:
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
  void on_chunk_header_impl(std::uint64_t, View, ErrorCode& error) override { error = {}; }
  std::size_t on_chunk_body_impl(std::uint64_t, View body, ErrorCode& error) override {
    error = {};
    if (!sink_.OnBody(Std(body))) Stop(error);
    return body.size();
  }
  void on_finish_impl(ErrorCode& error) override { error = {}; }

  MessageSink& sink_;
  bool head_seen_ = false;
};

}  // namespace

std::unique_ptr<Http1Parser> Http1Parser::Create(Kind kind, MessageSink& sink,
                                                 std::size_t max_header_bytes) {
  if (kind == Kind::kRequest) return std::make_unique<Adapter<true>>(sink, max_header_bytes);
  return std::make_unique<Adapter<false>>(sink, max_header_bytes);
}

}  // namespace portcullis::net::internal

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

// Both kinds of Beast's parser as one.
class AnyParser {
 public:
  virtual ~AnyParser() = default;
  virtual std::size_t Put(std::string_view data, ErrorCode& error) = 0;
  virtual void PutEof(ErrorCode& error) = 0;
  virtual void Skip() = 0;
  virtual bool IsDone() const = 0;
  virtual bool IsHeadDone() const = 0;
  virtual bool KeepAlive() const = 0;
  virtual bool Chunked() const = 0;
  virtual std::int64_t ContentLength() const = 0;
};

template <bool kIsRequest>
class Adapter final : public AnyParser, private http::basic_parser<kIsRequest> {
 public:
  using Base = http::basic_parser<kIsRequest>;

  Adapter(MessageSink& sink, std::size_t max_header_bytes) : sink_(sink) {
    this->eager(true);
    this->body_limit(boost::none);  // the sink counts
    this->header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(max_header_bytes, std::numeric_limits<std::uint32_t>::max())));
  }

  std::size_t Put(std::string_view data, ErrorCode& error) override {
    return Base::put(boost::asio::const_buffer(data.data(), data.size()), error);
  }
  void PutEof(ErrorCode& error) override { Base::put_eof(error); }
  void Skip() override { Base::skip(true); }
  bool IsDone() const override { return Base::is_done(); }
  bool IsHeadDone() const override { return Base::is_header_done(); }
  bool KeepAlive() const override { return Base::keep_alive(); }
  bool Chunked() const override { return Base::chunked(); }
  std::int64_t ContentLength() const override {
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

struct Http1Parser::Parser {
  std::unique_ptr<AnyParser> any;
};

Http1Parser::Http1Parser(Kind kind, MessageSink& sink, std::size_t max_header_bytes)
    : parser_(std::make_unique<Parser>()) {
  if (kind == Kind::kRequest) {
    parser_->any = std::make_unique<Adapter<true>>(sink, max_header_bytes);
  } else {
    parser_->any = std::make_unique<Adapter<false>>(sink, max_header_bytes);
  }
}

Http1Parser::~Http1Parser() = default;

void Http1Parser::ExpectNoBody() { parser_->any->Skip(); }

Http1Parser::State Http1Parser::Feed(std::string_view data, std::size_t& consumed) {
  AnyParser& parser = *parser_->any;
  consumed = 0;
  while (!parser.IsDone()) {
    ErrorCode error;
    const std::size_t before = consumed;
    consumed += parser.Put(data.substr(consumed), error);
    if (error == http::error::need_more) return State::kNeedMore;
    if (error == http::error::end_of_stream) return State::kStopped;
    if (error == http::error::header_limit) return State::kHeaderTooLarge;
    if (error) {
      error_ = error.message();
      return State::kMalformed;
    }
    if (consumed == before && !parser.IsDone()) return State::kNeedMore;
    if (consumed == data.size() && !parser.IsDone()) return State::kNeedMore;
  }
  return State::kDone;
}

Http1Parser::State Http1Parser::FeedEof() {
  ErrorCode error;
  parser_->any->PutEof(error);
  if (!error && parser_->any->IsDone()) return State::kDone;
  error_ = "unexpected EOF";
  return State::kMalformed;
}

bool Http1Parser::head_done() const { return parser_->any->IsHeadDone(); }
bool Http1Parser::keep_alive() const { return parser_->any->KeepAlive(); }
bool Http1Parser::chunked() const { return parser_->any->Chunked(); }
std::int64_t Http1Parser::content_length() const { return parser_->any->ContentLength(); }

}  // namespace portcullis::net::internal

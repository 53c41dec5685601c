// SPDX-License-Identifier: Apache-2.0

// Http1Parser reads one HTTP/1.1 message from bytes that arrive in pieces. It is Boost.Beast's
// parser behind a small interface; no other file names Beast.
//
// Confined to its connection's thread. One parser per message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace portcullis::net::internal {

// Receives what the parser finds, in this order: the head, then pieces of the body.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void OnRequestLine(std::string_view method, std::string_view target, int version) {
    (void)method, (void)target, (void)version;
  }
  virtual void OnStatusLine(int status, std::string_view reason, int version) {
    (void)status, (void)reason, (void)version;
  }
  virtual void OnField(std::string_view name, std::string_view value) = 0;
  // The head is complete. False stops the parser: the sink knows why.
  virtual bool OnHead() = 0;
  virtual bool OnBody(std::string_view piece) = 0;
};

class Http1Parser {
 public:
  enum class Kind { kRequest, kResponse };
  enum class State {
    kNeedMore,  // give the unconsumed bytes again, with more behind them
    kDone,
    kStopped,         // the sink said so
    kHeaderTooLarge,  // more than max_header_bytes without the end of the head
    kMalformed,       // or a chunked body with too much that is no data
  };

  static std::unique_ptr<Http1Parser> Create(Kind kind, MessageSink& sink,
                                             std::size_t max_header_bytes);
  virtual ~Http1Parser() = default;
  Http1Parser(const Http1Parser&) = delete;
  Http1Parser& operator=(const Http1Parser&) = delete;

  // The answer to a HEAD request has no body whatever its head says. Call before the first Feed.
  virtual void ExpectNoBody() = 0;
  // Consumes a prefix of `data`; `consumed` tells how much.
  virtual State Feed(std::string_view data, std::size_t& consumed) = 0;
  // The peer has closed: kDone if the message ends with the connection, else kMalformed.
  virtual State FeedEof() = 0;

  virtual bool head_done() const = 0;
  // Whether the connection can serve another message afterwards. REQUIRES: head_done().
  virtual bool keep_alive() const = 0;
  virtual bool chunked() const = 0;
  // From Content-Length; -1 if there is none.
  virtual std::int64_t content_length() const = 0;
  // Why a body is malformed, as Go words it.
  const std::string& error() const { return error_; }

 protected:
  Http1Parser() = default;
  std::string error_;
};

}  // namespace portcullis::net::internal

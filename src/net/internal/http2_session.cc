// SPDX-License-Identifier: Apache-2.0

#include "net/internal/http2_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/allocation_failure.h"
#include "base/strings.h"

namespace portcullis::net::internal {
namespace {

// Frames are made only while less than this waits for the socket, so that what is buffered stays in
// the exchanges, where their owners can see it.
constexpr std::size_t kMaxQueued = 64 << 10;
constexpr std::int32_t kStreamWindow = 1 << 20;
// With bodies_on_demand: of a body that no handler has asked for. Larger than most bodies, so that
// these come without delay.
constexpr std::int32_t kUnaskedWindow = 64 << 10;
// So much of such bodies a connection may have us hold; a stream beyond it is refused.
constexpr std::size_t kMaxUnasked = 1 << 20;
constexpr std::int32_t kConnectionWindow = 4 << 20;
constexpr int kResetBudgetPerTick = 25;

std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What a callback does; nghttp2, which is no C++, must not be unwound. The connection ends.
template <typename Work>
int Contained(Work&& work) {
  int result = 0;
  if (!base::UnlessMemoryRunsOut([&] { result = work(); })) return NGHTTP2_ERR_CALLBACK_FAILURE;
  return result;
}

bool MemoryRanOut(std::int64_t result) {
  return result == NGHTTP2_ERR_CALLBACK_FAILURE || result == NGHTTP2_ERR_NOMEM;
}

}  // namespace

Http2Session::Http2Session(ServerConnection& connection)
    : connection_(connection), idle_since_(connection.loop().now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) {
    nghttp2_session_callbacks_del(callbacks);
    return;
  }
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return Contained([&] { return Self(user).OnBeginHeaders(*frame); });
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
        return Contained([&] {
          return Self(user).OnHeader(*frame, Text(name, name_size), Text(value, value_size));
        });
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return Contained([&] { return Self(user).OnFrame(*frame); });
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
        return Contained([&] {
          Self(user).OnData(id, Text(data, size));
          return 0;
        });
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
        return Contained([&] {
          Self(user).OnStreamClosed(id);
          return 0;
        });
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return Contained([&] {
          Self(user).OnFrameSent(*frame);
          return 0;
        });
      });
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_no_auto_window_update(option, 1);
  // Go takes values that RFC 9113 forbids: "Bearer " with an empty token.
  nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
  nghttp2_mem memory = buffers_.Functions();
  nghttp2_session_server_new3(&session_, callbacks, this, option, &memory);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  if (session_ == nullptr) return;

  const auto& options = connection.core().options;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_streams_per_connection},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(std::min<std::size_t>(options.max_header_bytes, 1U << 30U))},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
       static_cast<std::uint32_t>(options.bodies_on_demand ? kUnaskedWindow : kStreamWindow)},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

void Http2Session::OnBytes(std::string_view bytes) {
  receiving_ = true;
  const auto result = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  receiving_ = false;
  if (connection_.closed()) return;
  if (MemoryRanOut(result)) return connection_.Close();
  if (result < 0) {
    // A client that is not speaking HTTP/2, or a broken one; nghttp2 has no GOAWAY for it.
    nghttp2_session_terminate_session(session_, NGHTTP2_PROTOCOL_ERROR);
    closing_ = refused_ = true;
  }
  if (reset_budget_ < 0 && !closing_) {
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
    closing_ = refused_ = true;
  }
  Pull();
}

int Http2Session::OnBeginHeaders(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS || frame.headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  if (draining_) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  auto stream = std::make_unique<H2Stream>();
  stream->id = frame.hd.stream_id;
  streams_[stream->id] = std::move(stream);
  return 0;
}

int Http2Session::OnHeader(const nghttp2_frame& frame, std::string_view name,
                           std::string_view value) {
  H2Stream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr || stream->head_done) return 0;  // trailers are dropped
  stream->header_bytes += name.size() + value.size() + 32;
  if (stream->header_bytes > connection_.core().options.max_header_bytes) {
    stream->headers_too_large = true;
    return 0;
  }
  Request& request = stream->request;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.target = value;
  } else if (name == ":authority") {
    request.authority = value;
  } else if (name == "host") {
    if (request.authority.empty()) request.authority = value;
  } else if (!name.starts_with(':')) {
    request.headers.Add(name, value);
  }
  return 0;
}

int Http2Session::OnFrame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_RST_STREAM) --reset_budget_;
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return 0;
  H2Stream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame.hd.type == NGHTTP2_HEADERS && !stream->head_done) {
    HeadDone(*stream, (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  }
  stream = Find(frame.hd.stream_id);
  if (stream != nullptr && !stream->complete && !stream->too_large && !stream->drops_body &&
      !stream->headers_too_large && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
    BodyDone(*stream);
  }
  return 0;
}

void Http2Session::HeadDone(H2Stream& stream, bool ends) {
  stream.head_done = true;
  stream.head_at = connection_.loop().now();
  stream.is_head = stream.request.method == "HEAD";
  if (stream.headers_too_large) {
    stream.delivered = true;
    SubmitHead(stream, 431, {}, false, 0);
    return;
  }
  const auto& limit = connection_.core().options.max_body_bytes;
  if (limit) stream.body_limit = limit(stream.request);
  const auto length = base::ParseInt(stream.request.headers.Get("content-length"));
  if (length && *length >= 0) stream.declared = static_cast<std::size_t>(*length);
  if (stream.declared.value_or(0) > stream.body_limit) {
    stream.too_large = true;
    Deliver(stream);
    return;
  }
  if (!connection_.core().options.bodies_on_demand || ends) return;
  if (stream.declared.value_or(0) > static_cast<std::size_t>(kUnaskedWindow)) {
    Deliver(stream);
  } else if (!std::exchange(awaits_body_, true)) {
    connection_.shard().AwaitBody(connection_.shared_from_this());
  }
}

void Http2Session::OnData(std::int32_t id, std::string_view data) {
  nghttp2_session_consume_connection(session_, data.size());
  H2Stream* stream = Find(id);
  if (stream == nullptr || stream->complete || stream->too_large || stream->drops_body) return;
  if (stream->request.body.size() + data.size() > stream->body_limit) {
    stream->too_large = true;
    BodyDone(*stream);
    return;
  }
  stream->request.body.append(data);
  if (stream->reads_body || !connection_.core().options.bodies_on_demand) {
    nghttp2_session_consume_stream(session_, id, data.size());
    return;
  }
  stream->unasked += data.size();
  unasked_ += data.size();
  if (unasked_ > kMaxUnasked) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  }
}

// The received part of the body has been asked for: it does not count as unasked any more.
void Http2Session::Asked(H2Stream& stream) { unasked_ -= std::exchange(stream.unasked, 0); }

// Discards the received part of the body and the rest.
void Http2Session::DropBody(H2Stream& stream) {
  Asked(stream);
  std::string().swap(stream.request.body);
  stream.drops_body = true;
}

// The body is complete, or too large.
void Http2Session::BodyDone(H2Stream& stream) {
  stream.complete = !stream.too_large;
  Asked(stream);
  if (!stream.delivered) return Deliver(stream);
  const auto exchange = stream.exchange.lock();
  if (!exchange) return;
  if (stream.too_large) {
    std::string().swap(stream.request.body);
    return exchange->EndBody(BodyRead::kTooLarge);
  }
  exchange->SetBody(std::move(stream.request.body));
}

void Http2Session::ReadBody(ServerExchange& exchange) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->reads_body || exchange.body_complete() ||
      !exchange.wants_body()) {
    return;
  }
  if (!exchange.ReserveBody(stream->declared.value_or(stream->body_limit))) return;
  stream->reads_body = true;
  stream->request.body.reserve(stream->declared.value_or(0));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, stream->id, kStreamWindow);
  nghttp2_session_consume_stream(session_, stream->id, stream->unasked);
  Asked(*stream);
  Pull();
}

void Http2Session::HandOverHeads() {
  awaits_body_ = false;
  std::vector<std::int32_t> waiting;
  for (const auto& [id, stream] : streams_) {
    if (stream->head_done && !stream->delivered) waiting.push_back(id);
  }
  for (const std::int32_t id : waiting) {
    if (H2Stream* stream = Find(id); stream != nullptr) Deliver(*stream);
    if (connection_.closed()) return;
  }
}

void Http2Session::Deliver(H2Stream& stream) {
  stream.delivered = true;
  ServerExchange::Origin origin;
  origin.connection = connection_.shared_from_this();
  origin.stream = stream.id;
  origin.protocol = Protocol::kHttp2;
  origin.body_too_large = stream.too_large;
  origin.body_complete = stream.complete || stream.too_large;
  origin.received_at = stream.head_at;
  std::string body;
  if (!origin.body_complete) body.swap(stream.request.body);
  auto exchange = std::make_shared<ServerExchange>(std::move(origin), std::move(stream.request));
  stream.request = {};
  stream.request.body.swap(body);
  stream.exchange = exchange;
  auto& core = connection_.core();
  core.exchanges.fetch_add(1, std::memory_order_relaxed);
  core.Handle(std::move(exchange));
}

void Http2Session::OnStreamClosed(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const auto stream = std::move(found->second);
  streams_.erase(found);
  idle_since_ = connection_.loop().now();
  Asked(*stream);
  if (!stream->delivered || stream->headers_too_large) return;
  connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
  const auto exchange = stream->exchange.lock();
  if (!exchange) return;
  if (stream->finished && stream->out.empty()) {
    exchange->Completed();
  } else {
    exchange->PeerGone();
  }
}

void Http2Session::OnFrameSent(const nghttp2_frame& frame) {
  // A client can also make us reset its streams (CVE-2025-8671).
  if (frame.hd.type == NGHTTP2_RST_STREAM && frame.rst_stream.error_code != NGHTTP2_NO_ERROR) {
    --reset_budget_;
  }
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  const H2Stream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return;
  // RFC 9113 §8.1: an answer before the end of the request ends the upload without an error.
  if (!stream->complete) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
}

void Http2Session::Pull() {
  if (receiving_ || pulling_ || connection_.closed()) return;
  pulling_ = true;
  bool any = true;
  while (any && !connection_.closed()) {
    any = false;
    while (connection_.out().bytes() < kMaxQueued) {
      const std::uint8_t* data = nullptr;
      const auto size = nghttp2_session_mem_send(session_, &data);
      if (MemoryRanOut(size)) return connection_.Close();
      if (size <= 0) break;
      connection_.out().Append(Text(data, static_cast<std::size_t>(size)));
      any = wrote_ = true;
    }
    if (any) connection_.Flush();
    any = any && connection_.out().empty();
  }
  pulling_ = false;
  CloseIfDone();
}

void Http2Session::CloseIfDone() {
  if (connection_.closed()) return;
  if (draining_ && streams_.empty()) closing_ = true;
  if (closing_ ||
      (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0)) {
    closing_ = true;
    if (nghttp2_session_want_write(session_) == 0 || streams_.empty()) {
      connection_.CloseWhenFlushed(refused_);
    }
  }
}

void Http2Session::OnWritten() {
  if (connection_.out().bytes() < kMaxQueued) Pull();
  if (!connection_.closed() && read_paused_ && WantsBytes()) connection_.ResumeReading();
}

void Http2Session::CheckStream(H2Stream& stream, base::SteadyTime now) {
  const auto& options = connection_.core().options;
  if (stream.head_done && !stream.delivered && now - stream.head_at > options.body_timeout) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_CANCEL);
    return;
  }
  if (stream.delivered && !stream.complete && !stream.answered) {
    const auto exchange = stream.exchange.lock();
    if (exchange && exchange->BodyIsOverdue(now)) {
      DropBody(stream);
      exchange->EndOverdueBody();
    }
    return;
  }
  // nghttp2 has its windows to itself: a stream whose bytes are not taken may be one without a
  // window, or one of a connection that is stuck, and that has the same limit.
  const bool late = stream.answered && now > stream.answered->deadline();
  const bool stuck = !stream.out.empty() && now - stream.taken_at > options.write_timeout;
  if (late || stuck) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_INTERNAL_ERROR);
  }
}

void Http2Session::OnTick(base::SteadyTime now) {
  reset_budget_ = std::min(kResetBudget, reset_budget_ + kResetBudgetPerTick);
  const auto& options = connection_.core().options;
  for (const auto& [id, stream] : streams_) CheckStream(*stream, now);
  if (streams_.empty() && now - idle_since_ > options.idle_timeout) {
    nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
    closing_ = true;
  }
  const bool quiet = !std::exchange(wrote_, false);
  Pull();
  if (!connection_.closed() && !quiet && !wrote_ && nghttp2_session_want_write(session_) == 0) {
    buffers_.GiveBack();
  }
}

void Http2Session::Drain() {
  if (draining_) return;
  SayGoaway();
  Pull();
}

// The streams that there are go on; the connection ends with the last one.
void Http2Session::SayGoaway() {
  draining_ = true;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void Http2Session::OnGone() {
  closing_ = true;
  auto streams = std::move(streams_);
  streams_.clear();
  for (auto& [id, stream] : streams) {
    if (!stream->delivered || stream->headers_too_large) continue;
    connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
    if (const auto exchange = stream->exchange.lock()) exchange->PeerGone();
  }
}

std::unique_ptr<Session> MakeHttp2Session(ServerConnection& connection) {
  auto session = std::make_unique<Http2Session>(connection);
  if (!session->is_made()) return nullptr;
  session->SendSettings();
  return session;
}

}  // namespace portcullis::net::internal

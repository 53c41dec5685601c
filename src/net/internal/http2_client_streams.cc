// SPDX-License-Identifier: Apache-2.0

// The streams of an Http2ClientConnection: what users ask of them, and what nghttp2 reports.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/allocation_failure.h"
#include "base/strings.h"
#include "net/internal/http2_client_connection.h"

namespace portcullis::net::internal {
namespace {

std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT: nghttp2's type
}

// What a callback does; nghttp2, which is no C++, must not be unwound. The connection ends.
template <typename Work>
int Contained(Work&& work) {
  int result = 0;
  if (!base::UnlessMemoryRunsOut([&] { result = work(); })) return NGHTTP2_ERR_CALLBACK_FAILURE;
  return result;
}

// The bytes of the body from `from` on.
void CopyBody(const RequestBody& body, std::size_t from, std::span<char> to) {
  const std::size_t of_front =
      from < body.front.size() ? std::min(to.size(), body.front.size() - from) : 0;
  if (of_front > 0) std::memcpy(to.data(), body.front.data() + from, of_front);
  const std::size_t left = to.size() - of_front;
  if (left > 0) {
    std::memcpy(to.data() + of_front, body.rest->data() + (from + of_front - body.front.size()),
                left);
  }
}

}  // namespace

bool Http2ClientConnection::MakeSession() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) {
    nghttp2_session_callbacks_del(callbacks);
    return false;
  }
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
        return Contained([&] {
          return Self(user).OnField(*frame, Text(name, name_size), Text(value, value_size));
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
          return Self(user).alive() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
        });
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
        return Contained([&] {
          Self(user).OnStreamClosed(id, code);
          return Self(user).alive() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
        });
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS) return 0;
        ClientStream* const stream = Self(user).Find(frame->hd.stream_id);
        if (stream != nullptr) stream->sent = true;
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_not_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS) return 0;
        return Contained([&] {
          Self(user).OnHeadNotSent(frame->hd.stream_id);
          return Self(user).alive() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
        });
      });
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  if (session_ == nullptr) return false;

  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(options_.stream_window)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(options_.max_header_bytes)},
  };
  return nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0 &&
         nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                               options_.connection_window) == 0;
}

bool Http2ClientConnection::has_room() const {
  if (!takes_streams()) return false;
  return streams_.size() <
         nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

std::int32_t Http2ClientConnection::Start(std::span<const Http2Field> head, RequestBody body,
                                          bool ends, Http2Receiver& receiver) {
  if (!takes_streams()) return 0;
  constexpr std::size_t kUsual = 16;
  std::array<nghttp2_nv, kUsual> few{};
  std::vector<nghttp2_nv> many;
  std::span<nghttp2_nv> fields(few.data(), std::min(head.size(), kUsual));
  if (head.size() > kUsual) {
    many.resize(head.size());
    fields = many;
  }
  std::transform(head.begin(), head.end(), fields.begin(), [](const Http2Field& field) {
    const auto flags = field.changes ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    return nghttp2_nv{Bytes(field.name), Bytes(field.value), field.name.size(), field.value.size(),
                      static_cast<std::uint8_t>(flags)};
  });
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* buffer,
                              std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                              void* user) { return Self(user).ReadBody(id, buffer, size, flags); };
  const bool no_body = ends && body.size() == 0;
  if (streams_.empty()) {
    heard_at_ = loop_->now();
    pinged_at_ = {};
  }
  // What needs memory comes first: an allocation that fails leaves no stream.
  ArmPing();
  SchedulePull();
  const auto next = static_cast<std::int32_t>(nghttp2_session_get_next_stream_id(session_));
  ClientStream& stream = streams_[next];
  stream.receiver = &receiver;
  stream.out = std::move(body);
  stream.ends = ends;
  stream.upload_done = no_body;
  const std::int32_t id = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                                 no_body ? nullptr : &provider, nullptr);
  if (id > 0) return id;
  streams_.erase(next);
  return 0;
}

void Http2ClientConnection::Send(std::int32_t id, std::string piece, bool ends) {
  ClientStream* const stream = Find(id);
  if (stream == nullptr || stream->ends) return;
  if (stream->taken == stream->out.size()) {
    stream->out = {std::move(piece), nullptr};
    stream->taken = 0;
  } else {
    if (const auto rest = std::move(stream->out.rest)) stream->out.front += *rest;
    stream->out.front += piece;
  }
  stream->ends = ends;
  if (std::exchange(stream->deferred, false)) nghttp2_session_resume_data(session_, id);
  SchedulePull();
}

void Http2ClientConnection::Reset(std::int32_t id) {
  if (streams_.erase(id) == 0) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  SchedulePull();
}

ssize_t Http2ClientConnection::ReadBody(std::int32_t id, std::uint8_t* buffer, std::size_t size,
                                        std::uint32_t* flags) {
  ClientStream* const stream = Find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // reset meanwhile
  const std::size_t taken = std::min(size, stream->out.size() - stream->taken);
  if (taken == 0 && !stream->ends) {
    stream->deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  CopyBody(stream->out, stream->taken, {reinterpret_cast<char*>(buffer), taken});
  stream->taken += taken;
  if (stream->taken == stream->out.size()) {
    stream->out = {};
    stream->taken = 0;
    if (stream->ends) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      stream->upload_done = true;
    }
  }
  return static_cast<ssize_t>(taken);
}

int Http2ClientConnection::OnField(const nghttp2_frame& frame, std::string_view name,
                                   std::string_view value) {
  ClientStream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  stream->field_bytes += name.size() + value.size() + 32;  // RFC 9113 §6.5.2
  if (stream->field_bytes > options_.max_header_bytes) {
    stream->fields_too_large = true;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (name == ":status" && value.starts_with('1')) stream->informational = true;
  if (!stream->informational) stream->receiver->OnField(name, value);
  return alive() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

int Http2ClientConnection::OnFrame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_SETTINGS && state_ == State::kGreeting) {
    OnGreeting();
  } else if (frame.hd.type == NGHTTP2_GOAWAY) {
    OnGoaway(frame);
  } else if (frame.hd.type == NGHTTP2_PING && (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) {
    if (pings_.empty()) return 0;
    const auto acknowledged = std::move(pings_.front());
    pings_.pop_front();
    if (acknowledged) acknowledged();
  }
  ClientStream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return alive() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  if (frame.hd.type == NGHTTP2_RST_STREAM) stream->reset_by_server = true;
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return 0;
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (ends) stream->complete = true;
  // An answer before the end of the request: the rest of that is of no use.
  if (ends && !stream->upload_done) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
  if (frame.hd.type == NGHTTP2_HEADERS && !std::exchange(stream->informational, false) &&
      !std::exchange(stream->head_done, true)) {
    stream->receiver->OnHead();
  }
  return alive() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Http2ClientConnection::OnGoaway(const nghttp2_frame& frame) {
  if (state_ != State::kOpen) return;
  state_ = State::kDraining;
  if (listener_ == nullptr) return;
  listener_->OnDraining(
      {.code = frame.goaway.error_code,
       .last_stream = frame.goaway.last_stream_id,
       .debug_data = Text(frame.goaway.opaque_data, frame.goaway.opaque_data_len)});
}

void Http2ClientConnection::OnData(std::int32_t id, std::string_view data) {
  nghttp2_session_consume_connection(session_, data.size());
  if (ClientStream* const stream = Find(id)) stream->receiver->OnData(data);
  // It may have been reset meanwhile.
  ClientStream* const stream = Find(id);
  if (stream == nullptr) return;
  stream->unconsumed += data.size();
  if (!stream->receiver->is_paused()) Consume(id, *stream);
}

void Http2ClientConnection::Consume(std::int32_t id, ClientStream& stream) {
  nghttp2_session_consume_stream(session_, id, std::exchange(stream.unconsumed, 0));
}

void Http2ClientConnection::Resume(std::int32_t id) {
  ClientStream* const stream = Find(id);
  if (stream == nullptr || session_ == nullptr) return;
  Consume(id, *stream);
  SchedulePull();
}

void Http2ClientConnection::OnStreamClosed(std::int32_t id, std::uint32_t code) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const ClientStream stream = std::move(found->second);
  streams_.erase(found);
  Http2End end;
  end.complete = stream.complete;
  if (!end.complete) {
    end.not_processed = code == NGHTTP2_REFUSED_STREAM || !stream.sent;
    end.code = code;
    end.reset_by_server = stream.reset_by_server;
    end.head_too_large = stream.fields_too_large;
    const char* const name = nghttp2_http2_strerror(code);
    if (stream.fields_too_large) {
      end.cause = "the server has sent too large a head";
    } else if (stream.reset_by_server) {
      end.cause = base::StrCat("stream terminated by RST_STREAM with error code: ", name);
    } else {
      end.cause = base::StrCat("the server has broken the rules of HTTP/2: ", name);
    }
  }
  stream.receiver->OnEnd(end);
}

// nghttp2 gives up a request whose head cannot be sent: after GOAWAY, for example.
void Http2ClientConnection::OnHeadNotSent(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.sent) return;
  Http2Receiver* const receiver = found->second.receiver;
  streams_.erase(found);
  receiver->OnEnd({.not_processed = true, .cause = "the connection takes no more requests"});
}

}  // namespace portcullis::net::internal

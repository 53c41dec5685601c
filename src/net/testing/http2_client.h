// SPDX-License-Identifier: Apache-2.0

// A blocking HTTP/2 client for tests, of nghttp2's client side. The test says when it sends and
// reads.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/testing/raw_peer.h"

namespace portcullis::net::testing {

struct H2Answer {
  std::string status;
  std::map<std::string, std::string> headers;
  std::string body;
  bool closed = false;
  std::uint32_t error = 0;
};

// Confined to one thread.
class H2Client {
 public:
  // `window` is what each stream, and the connection, may be sent before it is read.
  explicit H2Client(int port, std::int32_t window = 65535, const pki::KeyPair& certificate = {}) {
    peer_ = RawPeer::ConnectTls(port, {.alpn = "h2", .client = certificate});
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user) {
          auto& answer = static_cast<H2Client*>(user)->answers[frame->hd.stream_id];
          const std::string key(reinterpret_cast<const char*>(name), name_size);
          const std::string text(reinterpret_cast<const char*>(value), value_size);
          if (key == ":status") answer.status = text;
          answer.headers[key] = text;
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                      std::size_t size, void* user) {
          static_cast<H2Client*>(user)->answers[id].body.append(reinterpret_cast<const char*>(data),
                                                                size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
          auto& answer = static_cast<H2Client*>(user)->answers[id];
          answer.closed = true;
          answer.error = error;
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
          auto* self = static_cast<H2Client*>(user);
          if (frame->hd.type == NGHTTP2_GOAWAY) self->goaway = true;
          if (frame->hd.type == NGHTTP2_GOAWAY) self->goaway_error = frame->goaway.error_code;
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window)}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
    if (window > 65535) {
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window);
    }
  }
  ~H2Client() { nghttp2_session_del(session_); }
  bool connected() const { return peer_ != nullptr; }

  // With `more_to_come` the body goes on with Continue().
  std::int32_t Submit(std::string method, std::string path, std::string body = "",
                      std::vector<std::pair<std::string, std::string>> more = {},
                      bool more_to_come = false) {
    std::vector<std::pair<std::string, std::string>> fields = {{":method", std::move(method)},
                                                               {":scheme", "https"},
                                                               {":authority", "test"},
                                                               {":path", std::move(path)}};
    fields.insert(fields.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : fields) {
      list.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                      reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    }
    auto& sending = bodies_.emplace_back(std::make_unique<Body>());
    sending->text = std::move(body);
    sending->more = more_to_come;
    nghttp2_data_provider provider{};
    provider.source.ptr = bodies_.back().get();
    provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* buffer,
                                std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                                void*) -> ssize_t {
      auto& sent = *static_cast<Body*>(source->ptr);
      const auto take = std::min(size, sent.text.size() - sent.at);
      std::copy_n(sent.text.data() + sent.at, take, buffer);
      sent.at += take;
      if (sent.at == sent.text.size() && sent.more) return sent.Pause(take);
      if (sent.at == sent.text.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(take);
    };
    return nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                  bodies_.back()->text.empty() ? nullptr : &provider, nullptr);
  }
  void Continue(std::int32_t id, std::string_view rest) {
    Body& body = *bodies_.at(static_cast<std::size_t>(id) / 2);
    body.text.append(rest);
    body.more = false;
    nghttp2_session_resume_data(session_, id);
  }
  // Ends a body that was to go on with one trailer field.
  void EndWithTrailer(std::int32_t id, std::string name, std::string value) {
    const nghttp2_nv field{reinterpret_cast<std::uint8_t*>(name.data()),
                           reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                           NGHTTP2_NV_FLAG_NONE};
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_END_STREAM, id, nullptr, &field, 1, nullptr);
  }
  void Reset(std::int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  void SendAll() {
    const std::uint8_t* data = nullptr;
    for (auto size = nghttp2_session_mem_send(session_, &data); size > 0;
         size = nghttp2_session_mem_send(session_, &data)) {
      peer_->Send({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)});
    }
  }
  bool ReadOnce() {
    const auto bytes = peer_->Read();
    if (bytes.empty()) return false;
    nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
    return true;
  }
  template <typename Condition>
  void RunUntil(Condition condition) {
    do {
      SendAll();
      if (condition()) return;
    } while (ReadOnce());
  }
  H2Answer Run(std::int32_t id) {
    RunUntil([&] { return answers[id].closed; });
    return answers[id];
  }

  std::map<std::int32_t, H2Answer> answers;
  bool goaway = false;
  std::uint32_t goaway_error = 0;

 private:
  struct Body {
    std::string text;
    std::size_t at = 0;
    bool more = false;
    static ssize_t Pause(std::size_t taken) {
      if (taken > 0) return static_cast<ssize_t>(taken);
      return NGHTTP2_ERR_DEFERRED;
    }
  };
  std::unique_ptr<RawPeer> peer_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
};

}  // namespace portcullis::net::testing

// SPDX-License-Identifier: Apache-2.0

// What an HTTP/2 connection sends of answers: heads, and bodies as far as the windows let them.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/allocation_failure.h"
#include "base/strings.h"
#include "net/internal/http2_session.h"

namespace portcullis::net::internal {
namespace {

std::string Lower(std::string_view name) { return base::ToLower(name); }

nghttp2_nv Field(const std::string& name, const std::string& value) {
  nghttp2_nv field{};
  field.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data()));
  field.namelen = name.size();
  field.value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data()));
  field.valuelen = value.size();
  return field;
}

}  // namespace

ssize_t Http2Session::ReadBody(std::int32_t id, std::uint8_t* buffer, std::size_t size,
                               std::uint32_t* flags) {
  H2Stream* stream = Find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  std::size_t copied = 0;
  while (copied < size && !stream->out.empty()) {
    const auto front = stream->out.Front();
    const auto take = std::min(size - copied, front.size());
    std::memcpy(buffer + copied, front.data(), take);
    stream->out.Consume(take);
    copied += take;
  }
  if (copied > 0) stream->taken_at = connection_.loop().now();
  if (stream->out.empty() && stream->finished) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
  } else if (copied == 0) {
    stream->deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  if (copied > 0) {
    // Not from within nghttp2: the callback may write again.
    connection_.loop().Defer([weak = stream->exchange, copied] {
      if (const auto exchange = weak.lock()) exchange->Released(copied);
    });
  }
  return static_cast<ssize_t>(copied);
}

void Http2Session::SubmitHead(H2Stream& stream, int status, const Headers& headers, bool has_body,
                              std::size_t content_length) {
  stream.started = true;
  stream.taken_at = connection_.loop().now();
  std::vector<std::pair<std::string, std::string>> fields;
  fields.reserve(headers.size() + 3);
  fields.emplace_back(":status", std::to_string(status));
  bool dated = false;
  bool closes = false;
  for (const auto& field : headers) {
    auto name = Lower(field.name);
    closes = closes || (name == "connection" && field.value == "close");
    if (name == "connection" || name == "transfer-encoding" || name == "keep-alive" ||
        name == "upgrade" || (name == "content-length" && !stream.is_head)) {
      continue;
    }
    dated = dated || name == "date";
    std::string value = field.value;
    std::replace_if(
        value.begin(), value.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    fields.emplace_back(std::move(name), std::move(value));
  }
  if (!dated) fields.emplace_back("date", connection_.loop().HttpDate());
  // As Go's server: that a HEAD would have no body is not told.
  const bool is_told = content_length != std::numeric_limits<std::size_t>::max() &&
                       (content_length > 0 || !stream.is_head);
  if (is_told && status >= 200 && status != 204 && status != 304) {
    fields.emplace_back("content-length", std::to_string(content_length));
  }
  std::vector<nghttp2_nv> list;
  list.reserve(fields.size());
  for (const auto& [name, value] : fields) list.push_back(Field(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* buffer,
                              std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                              void* user) -> ssize_t {
    ssize_t result = NGHTTP2_ERR_CALLBACK_FAILURE;
    base::UnlessMemoryRunsOut([&] { result = Self(user).ReadBody(id, buffer, size, flags); });
    return result;
  };
  nghttp2_submit_response(session_, stream.id, list.data(), list.size(),
                          has_body ? &provider : nullptr);
  if (!has_body) stream.finished = true;
  if (closes && !draining_) {
    SayGoaway();
    refused_ = true;  // requests that were sent before the client knew
  }
}

void Http2Session::Respond(ServerExchange& exchange, Response response) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->finished) return;
  if (stream->started) return Finish(exchange);
  const std::size_t size = response.content().size();
  const bool has_body =
      size > 0 && !stream->is_head && response.status != 204 && response.status != 304;
  stream->finished = true;
  if (!stream->complete) DropBody(*stream);
  stream->answered = exchange.shared_from_this();
  if (has_body && response.shared_body) {
    stream->out.Append(response.shared_body);
  } else if (has_body) {
    stream->out.Append(std::move(response.body));
  }
  SubmitHead(*stream, response.status, response.headers, has_body, size);
  Pull();
}

void Http2Session::Start(ServerExchange& exchange, ResponseHead head) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->started) return;
  SubmitHead(*stream, head.status, head.headers, !stream->is_head,
             std::numeric_limits<std::size_t>::max());
  Pull();
}

void Http2Session::Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
                         std::string chunk) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->finished) return;
  if (!stream->started) Start(exchange, {});
  if (stream->is_head) return;
  if (stream->out.empty()) stream->taken_at = connection_.loop().now();
  if (shared) {
    stream->out.Append(shared);
  } else {
    stream->out.Append(std::move(chunk));
  }
  if (stream->deferred) {
    stream->deferred = false;
    nghttp2_session_resume_data(session_, stream->id);
  }
  Pull();
}

void Http2Session::StartWebSocket(ServerExchange& exchange, const WebSocketAnswer&) {
  Abandon(exchange.stream());
}

void Http2Session::Finish(ServerExchange& exchange) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->finished) return;
  if (!stream->started) Start(exchange, {});
  stream = Find(exchange.stream());
  if (stream == nullptr) return;
  stream->finished = true;
  if (!stream->complete) DropBody(*stream);
  stream->answered = exchange.shared_from_this();
  if (stream->deferred) {
    stream->deferred = false;
    nghttp2_session_resume_data(session_, stream->id);
  }
  Pull();
}

void Http2Session::Abandon(int stream) {
  if (Find(stream) == nullptr) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_INTERNAL_ERROR);
  Pull();
}

}  // namespace portcullis::net::internal

// HTTP/2 on a server connection (RFC 9113). Frames, HPACK and flow control are nghttp2's; here is
// what requests and answers are made of, and the limits.
#include <nghttp2/nghttp2.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "net/internal/server_connection.h"
#include "net/internal/server_exchange.h"
#include "net/internal/write_queue.h"

namespace portcullis::net::internal {
namespace {

constexpr std::size_t kDefaultBodyLimit = 3 << 20;
// Frames are made only while less than this waits for the socket, so that what is buffered stays in
// the exchanges, where their owners can see it.
constexpr std::size_t kMaxQueued = 64 << 10;
constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 4 << 20;
// A client that opens streams only to reset them (CVE-2023-44487) uses this up; it grows back.
constexpr int kResetBudget = 500;
constexpr int kResetBudgetPerTick = 25;

struct H2Stream {
  std::int32_t id = 0;
  Request request;
  std::size_t header_bytes = 0;
  std::size_t body_limit = kDefaultBodyLimit;
  base::SteadyTime head_at;
  bool head_done = false;
  bool delivered = false;
  bool too_large = false;
  bool headers_too_large = false;
  std::weak_ptr<ServerExchange> exchange;

  bool started = false;
  bool finished = false;
  bool deferred = false;
  bool is_head = false;
  WriteQueue out;
};

std::string Lower(std::string_view name) { return base::ToLower(name); }

nghttp2_nv Field(const std::string& name, const std::string& value) {
  nghttp2_nv field{};
  field.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data()));
  field.namelen = name.size();
  field.value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data()));
  field.valuelen = value.size();
  return field;
}

std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// nghttp2 keeps a buffer of about 16 KiB per session to make frames in. It gets pages of its own,
// which an idle session gives back: thousands of them watch and wait.
class FrameBuffers {
 public:
  FrameBuffers() = default;
  ~FrameBuffers() {
    for (const auto& [address, size] : pages_) munmap(address, size);
  }
  FrameBuffers(const FrameBuffers&) = delete;
  FrameBuffers& operator=(const FrameBuffers&) = delete;

  nghttp2_mem Functions() {
    return {this,
            [](std::size_t size, void* self) {
              return static_cast<FrameBuffers*>(self)->Allocate(size);
            },
            [](void* address, void* self) { static_cast<FrameBuffers*>(self)->Free(address); },
            [](std::size_t count, std::size_t size, void*) { return std::calloc(count, size); },
            [](void* address, std::size_t size, void* self) {
              return static_cast<FrameBuffers*>(self)->Reallocate(address, size);
            }};
  }
  // REQUIRES: no frame is being made.
  void GiveBack() {
    for (const auto& [address, size] : pages_) madvise(address, size, MADV_DONTNEED);
  }

 private:
  static constexpr std::size_t kLarge = 12 << 10;

  void* Allocate(std::size_t size) {
    if (size < kLarge) return std::malloc(size);
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return std::malloc(size);
    pages_.emplace_back(address, size);
    return address;
  }
  bool IsOurs(void* address) const {
    return std::any_of(pages_.begin(), pages_.end(),
                       [&](const auto& entry) { return entry.first == address; });
  }
  void Free(void* address) {
    if (!IsOurs(address)) return std::free(address);
    for (const auto& entry : pages_) {
      if (entry.first == address) munmap(address, entry.second);
    }
    std::erase_if(pages_, [&](const auto& entry) { return entry.first == address; });
  }
  void* Reallocate(void* address, std::size_t size) {
    if (address == nullptr) return Allocate(size);
    if (!IsOurs(address)) return std::realloc(address, size);
    std::size_t old_size = 0;
    for (const auto& entry : pages_) old_size = entry.first == address ? entry.second : old_size;
    void* next = Allocate(size);
    if (next == nullptr) return nullptr;
    std::memcpy(next, address, std::min(old_size, size));
    Free(address);
    return next;
  }

  std::vector<std::pair<void*, std::size_t>> pages_;
};

class Http2Session final : public Session {
 public:
  explicit Http2Session(ServerConnection& connection);
  ~Http2Session() override { nghttp2_session_del(session_); }

  void OnBytes(std::string_view bytes) override;
  bool WantsBytes() const override {
    read_paused_ = connection_.out().bytes() >= connection_.core().options.max_http2_buffer;
    return !closing_ && !read_paused_;
  }
  void OnPeerClosing() override {}
  void OnEof() override { connection_.Close(); }
  void OnGone() override;
  void OnWritten() override;
  void OnTick(base::SteadyTime now) override;
  void Drain() override;

  void Respond(ServerExchange& exchange, Response response) override;
  void Start(ServerExchange& exchange, ResponseHead head) override;
  void Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
             std::string chunk) override;
  void Finish(ServerExchange& exchange) override;
  void Abandon(int stream) override;

 private:
  static Http2Session& Self(void* user) { return *static_cast<Http2Session*>(user); }
  H2Stream* Find(std::int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second.get();
  }

  int OnBeginHeaders(const nghttp2_frame& frame);
  int OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int OnFrame(const nghttp2_frame& frame);
  void OnData(std::int32_t id, std::string_view data);
  void OnStreamClosed(std::int32_t id);
  void OnFrameSent(const nghttp2_frame& frame);
  ssize_t ReadBody(std::int32_t id, std::uint8_t* buffer, std::size_t size, std::uint32_t* flags);

  void HeadDone(H2Stream& stream);
  void Deliver(H2Stream& stream);
  void SubmitHead(H2Stream& stream, int status, const Headers& headers, bool has_body,
                  std::size_t content_length);
  void Pull();  // frames from nghttp2 to the connection
  void CloseIfDone();

  ServerConnection& connection_;
  FrameBuffers buffers_;  // outlives the session
  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, std::unique_ptr<H2Stream>> streams_;
  base::SteadyTime idle_since_;
  int reset_budget_ = kResetBudget;
  bool receiving_ = false;
  bool pulling_ = false;
  bool wrote_ = false;  // since the last tick
  bool draining_ = false;
  bool closing_ = false;
  bool refused_ = false;  // more may be coming that nobody will read
  mutable bool read_paused_ = false;
};

Http2Session::Http2Session(ServerConnection& connection)
    : connection_(connection), idle_since_(connection.loop().now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return Self(user).OnBeginHeaders(*frame);
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
        return Self(user).OnHeader(*frame, Text(name, name_size), Text(value, value_size));
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return Self(user).OnFrame(*frame);
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
        Self(user).OnData(id, Text(data, size));
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
        Self(user).OnStreamClosed(id);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Self(user).OnFrameSent(*frame);
        return 0;
      });
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_mem memory = buffers_.Functions();
  nghttp2_session_server_new3(&session_, callbacks, this, option, &memory);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);

  const auto& options = connection.core().options;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_streams_per_connection},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(std::min<std::size_t>(options.max_header_bytes, 1U << 30U))},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  Pull();
}

void Http2Session::OnBytes(std::string_view bytes) {
  receiving_ = true;
  const auto result = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  receiving_ = false;
  if (connection_.closed()) return;
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
  if (frame.hd.type == NGHTTP2_HEADERS && !stream->head_done) HeadDone(*stream);
  stream = Find(frame.hd.stream_id);
  if (stream != nullptr && !stream->delivered && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
    Deliver(*stream);
  }
  return 0;
}

void Http2Session::HeadDone(H2Stream& stream) {
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
  const auto length = base::ParseInt(stream.request.headers.Get("content-length")).value_or(0);
  if (length > 0 && static_cast<std::size_t>(length) > stream.body_limit) {
    stream.too_large = true;
    Deliver(stream);
  }
}

void Http2Session::OnData(std::int32_t id, std::string_view data) {
  H2Stream* stream = Find(id);
  if (stream == nullptr || stream->delivered) return;
  if (stream->request.body.size() + data.size() > stream->body_limit) {
    stream->too_large = true;
    Deliver(*stream);
    return;
  }
  stream->request.body.append(data);
}

void Http2Session::Deliver(H2Stream& stream) {
  stream.delivered = true;
  ServerExchange::Origin origin;
  origin.connection = connection_.shared_from_this();
  origin.stream = stream.id;
  origin.protocol = Protocol::kHttp2;
  origin.body_too_large = stream.too_large;
  origin.received_at = stream.head_at;
  auto exchange = std::make_shared<ServerExchange>(std::move(origin), std::move(stream.request));
  stream.request = {};
  stream.exchange = exchange;
  auto& core = connection_.core();
  core.exchanges.fetch_add(1, std::memory_order_relaxed);
  core.handler(std::move(exchange));
}

void Http2Session::OnStreamClosed(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const auto stream = std::move(found->second);
  streams_.erase(found);
  idle_since_ = connection_.loop().now();
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
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  const H2Stream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return;
  // RFC 9113 §8.1: an answer before the end of the request ends the upload without an error.
  if (stream->too_large || stream->headers_too_large) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
}

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
  std::vector<std::pair<std::string, std::string>> fields;
  fields.reserve(headers.size() + 3);
  fields.emplace_back(":status", std::to_string(status));
  bool dated = false;
  for (const auto& field : headers) {
    auto name = Lower(field.name);
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
  if (content_length != std::numeric_limits<std::size_t>::max() && status >= 200 && status != 204 &&
      status != 304) {
    fields.emplace_back("content-length", std::to_string(content_length));
  }
  std::vector<nghttp2_nv> list;
  list.reserve(fields.size());
  for (const auto& [name, value] : fields) list.push_back(Field(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* buffer,
                              std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                              void* user) { return Self(user).ReadBody(id, buffer, size, flags); };
  nghttp2_submit_response(session_, stream.id, list.data(), list.size(),
                          has_body ? &provider : nullptr);
  if (!has_body) stream.finished = true;
}

void Http2Session::Respond(ServerExchange& exchange, Response response) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->finished) return;
  if (stream->started) return Finish(exchange);
  const std::size_t size = response.content().size();
  const bool has_body =
      size > 0 && !stream->is_head && response.status != 204 && response.status != 304;
  stream->finished = true;
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

void Http2Session::Finish(ServerExchange& exchange) {
  H2Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->finished) return;
  if (!stream->started) Start(exchange, {});
  stream = Find(exchange.stream());
  if (stream == nullptr) return;
  stream->finished = true;
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

void Http2Session::Pull() {
  if (receiving_ || pulling_ || connection_.closed()) return;
  pulling_ = true;
  bool any = true;
  while (any && !connection_.closed()) {
    any = false;
    while (connection_.out().bytes() < kMaxQueued) {
      const std::uint8_t* data = nullptr;
      const auto size = nghttp2_session_mem_send(session_, &data);
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

void Http2Session::OnTick(base::SteadyTime now) {
  reset_budget_ = std::min(kResetBudget, reset_budget_ + kResetBudgetPerTick);
  const auto& options = connection_.core().options;
  for (const auto& [id, stream] : streams_) {
    if (stream->head_done && !stream->delivered && now - stream->head_at > options.body_timeout) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    }
  }
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
  draining_ = true;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  Pull();
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

}  // namespace

std::unique_ptr<Session> MakeHttp2Session(ServerConnection& connection) {
  return std::make_unique<Http2Session>(connection);
}

}  // namespace portcullis::net::internal

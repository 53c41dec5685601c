// HTTP/1.1 on a server connection (RFC 9112): one exchange at a time. While one is being answered
// nothing is read, so that a client which sends more is slowed down by its own socket.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/strings.h"
#include "net/internal/http1_parser.h"
#include "net/internal/server_connection.h"
#include "net/internal/server_exchange.h"

namespace portcullis::net::internal {
namespace {

constexpr std::size_t kDefaultBodyLimit = 3 << 20;
// Not more is set aside before bytes have come, whatever Content-Length says.
constexpr std::size_t kMaxReserve = 256 << 10;

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

void AppendNumber(std::size_t number, int base, std::string& out) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number, base).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// A value must not be able to start a line of its own.
void AppendValue(std::string_view value, std::string& out) {
  const auto from = out.size();
  out.append(value);
  if (value.find_first_of("\r\n") == std::string_view::npos) return;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(from), out.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
}

class Http1Session final : public Session, public MessageSink {
 public:
  explicit Http1Session(ServerConnection& connection)
      : connection_(connection), since_(connection.loop().now()) {}

  void OnBytes(std::string_view bytes) override;
  bool WantsBytes() const override { return state_ == State::kReading; }
  void OnPeerClosing() override {
    if (const auto exchange = current_.lock()) exchange->PeerGone();
  }
  void OnEof() override;
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
  enum class State {
    kReading,    // waiting for, or in the middle of, a request
    kHandling,   // handed over, no answer yet
    kStreaming,  // answer started
    kClosing,
  };

  // MessageSink
  void OnRequestLine(std::string_view method, std::string_view target, int version) override;
  void OnField(std::string_view name, std::string_view value) override;
  bool OnHead() override;
  bool OnBody(std::string_view piece) override;

  std::string_view Process(std::string_view bytes);
  void BeginMessage();
  void Deliver();
  void Refuse(int status, std::string_view detail);
  bool IsCurrent(const ServerExchange& exchange) const {
    return exchange.stream() == exchange_number_ &&
           (state_ == State::kHandling || state_ == State::kStreaming);
  }
  std::string& BuildHead(int status, const Headers& headers, std::size_t content_length);
  void EndHead(std::string& head);
  void FinishMessage();
  bool idle() const { return state_ == State::kReading && !parser_ && pending_.empty(); }

  ServerConnection& connection_;
  State state_ = State::kReading;
  std::unique_ptr<Http1Parser> parser_;  // only while a message is being read
  std::string pending_;                  // read, but not consumed by the parser
  base::SteadyTime since_;               // start of: connection, idling, head, body
  bool first_message_ = true;

  // Of the current message.
  Request request_;
  int version_ = 11;
  int hosts_ = 0;
  int refuse_status_ = 0;
  std::string refuse_detail_;
  std::size_t body_limit_ = 0;
  bool body_too_large_ = false;
  bool is_head_ = false;
  bool keep_alive_ = true;
  bool chunked_answer_ = false;
  std::weak_ptr<ServerExchange> current_;
  int exchange_number_ = 0;
  std::size_t unsent_ = 0;  // payload of the current answer that was put into the queue
  bool draining_ = false;
};

void Http1Session::OnBytes(std::string_view bytes) {
  if (pending_.empty()) {
    pending_.assign(Process(bytes));
    return;
  }
  std::string all;
  all.swap(pending_);
  all.append(bytes);
  const auto rest = Process(all);
  // A head that trickles in is not copied for every piece.
  if (rest.size() == all.size()) {
    pending_.swap(all);
  } else {
    pending_.assign(rest);
  }
}

// Returns what is left over.
std::string_view Http1Session::Process(std::string_view bytes) {
  while (!bytes.empty() && state_ == State::kReading) {
    if (!parser_) {
      // RFC 9112 §2.2: empty lines before a request are skipped.
      const auto start = bytes.find_first_not_of("\r\n");
      if (start == std::string_view::npos) return {};
      bytes.remove_prefix(start);
      BeginMessage();
    }
    std::size_t consumed = 0;
    const auto result = parser_->Feed(bytes, consumed);
    bytes.remove_prefix(std::min(consumed, bytes.size()));
    switch (result) {
      case Http1Parser::State::kDone:
        keep_alive_ = parser_->keep_alive();
        parser_.reset();
        Deliver();
        break;
      case Http1Parser::State::kNeedMore:
        return bytes;
      case Http1Parser::State::kStopped:
        if (refuse_status_ != 0) {
          Refuse(refuse_status_, refuse_detail_);
          return {};
        }
        // The body is too large: the handler says so, and then the connection ends.
        keep_alive_ = false;
        Deliver();
        break;
      case Http1Parser::State::kHeaderTooLarge:
        Refuse(431, "");
        return {};
      case Http1Parser::State::kMalformed:
        Refuse(400, "");
        return {};
    }
    if (connection_.closed()) return {};
  }
  return state_ == State::kClosing ? std::string_view() : bytes;
}

void Http1Session::BeginMessage() {
  parser_ = std::make_unique<Http1Parser>(Http1Parser::Kind::kRequest, *this,
                                          connection_.core().options.max_header_bytes);
  if (!first_message_) since_ = connection_.loop().now();
  request_ = {};
  hosts_ = 0;
  refuse_status_ = 0;
  body_too_large_ = false;
}

void Http1Session::OnRequestLine(std::string_view method, std::string_view target, int version) {
  request_.method = method;
  request_.target = target;
  version_ = version;
  is_head_ = method == "HEAD";
  request_.headers.Reserve(12);
}

void Http1Session::OnField(std::string_view name, std::string_view value) {
  if (base::EqualsIgnoreCase(name, "Host")) {
    ++hosts_;
    request_.authority = value;
    return;
  }
  request_.headers.Add(name, value);
}

bool Http1Session::OnHead() {
  const auto refuse = [this](int status, std::string_view detail) {
    refuse_status_ = status;
    refuse_detail_ = detail;
    return false;
  };
  if (hosts_ == 0 && version_ >= 11) return refuse(400, "missing required Host header");
  if (hosts_ > 1) return refuse(400, "too many Host headers");
  const auto encoding = request_.headers.Get("Transfer-Encoding");
  if (!encoding.empty() && !base::EqualsIgnoreCase(encoding, "chunked")) {
    return refuse(501, "Unsupported transfer encoding");
  }
  // RFC 9112 §3.2.2: an absolute target carries the host.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!std::string_view(request_.target).starts_with(scheme)) continue;
    const auto slash = request_.target.find('/', scheme.size());
    request_.authority = request_.target.substr(scheme.size(), slash - scheme.size());
    request_.target = slash == std::string::npos ? "/" : request_.target.substr(slash);
  }
  const auto& limit = connection_.core().options.max_body_bytes;
  body_limit_ = limit ? limit(request_) : kDefaultBodyLimit;
  since_ = connection_.loop().now();
  const std::int64_t length = parser_->content_length();
  if (length > 0 && static_cast<std::size_t>(length) > body_limit_) {
    body_too_large_ = true;
    return false;
  }
  if (length > 0) request_.body.reserve(std::min(static_cast<std::size_t>(length), kMaxReserve));
  if ((length > 0 || parser_->chunked()) && version_ >= 11 &&
      request_.headers.HasToken("Expect", "100-continue")) {
    connection_.Send("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return true;
}

bool Http1Session::OnBody(std::string_view piece) {
  if (request_.body.size() + piece.size() > body_limit_) {
    body_too_large_ = true;
    return false;
  }
  request_.body.append(piece);
  return true;
}

void Http1Session::Deliver() {
  state_ = State::kHandling;
  first_message_ = false;
  ++exchange_number_;
  unsent_ = 0;
  ServerExchange::Origin origin;
  origin.connection = connection_.shared_from_this();
  origin.stream = exchange_number_;
  origin.protocol = version_ >= 11 ? Protocol::kHttp11 : Protocol::kHttp10;
  origin.body_too_large = body_too_large_;
  origin.received_at = since_;
  auto exchange = std::make_shared<ServerExchange>(std::move(origin), std::move(request_));
  request_ = {};
  current_ = exchange;
  auto& core = connection_.core();
  core.exchanges.fetch_add(1, std::memory_order_relaxed);
  core.handler(std::move(exchange));
}

// What Go answers below its handlers: a plain text of the status, and the connection ends.
void Http1Session::Refuse(int status, std::string_view detail) {
  state_ = State::kClosing;
  parser_.reset();
  pending_.clear();
  std::string text = base::StrCat(std::to_string(status), " ", StatusText(status));
  if (!detail.empty()) text += base::StrCat(": ", detail);
  connection_.Send(base::StrCat("HTTP/1.1 ", std::to_string(status), " ", StatusText(status),
                                "\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                "Connection: close\r\n\r\n",
                                text));
  connection_.CloseWhenFlushed(true);
}

std::string& Http1Session::BuildHead(int status, const Headers& headers,
                                     std::size_t content_length) {
  std::string& head = connection_.shard().head_buffer();
  head.clear();
  head.append("HTTP/1.1 ");
  AppendNumber(static_cast<std::size_t>(status), 10, head);
  head.push_back(' ');
  head.append(StatusText(status));
  head.append("\r\n");
  bool dated = false;
  bool has_length = false;
  for (const auto& field : headers) {
    const auto is = [&field](std::string_view name) {
      return field.name.size() == name.size() && base::EqualsIgnoreCase(field.name, name);
    };
    if (is("Transfer-Encoding")) continue;
    if (is("Connection")) {
      keep_alive_ = keep_alive_ && !base::EqualsIgnoreCase(field.value, "close");
      continue;
    }
    if (is("Content-Length")) {
      if (!is_head_) continue;
      has_length = true;
    }
    dated = dated || is("Date");
    head.append(field.name);
    head.append(": ");
    AppendValue(field.value, head);
    head.append("\r\n");
  }
  if (!dated) {
    head.append("Date: ");
    head.append(connection_.loop().HttpDate());
    head.append("\r\n");
  }
  if (content_length != std::numeric_limits<std::size_t>::max() && HasBody(status) && !has_length) {
    head.append("Content-Length: ");
    AppendNumber(content_length, 10, head);
    head.append("\r\n");
  }
  return head;
}

void Http1Session::EndHead(std::string& head) {
  // The server may be draining before this connection has been told.
  if (draining_ || connection_.core().draining) keep_alive_ = false;
  if (!keep_alive_) {
    head.append("Connection: close\r\n");
  } else if (version_ < 11) {
    head.append("Connection: keep-alive\r\n");
  }
  head.append("\r\n");
}

void Http1Session::Respond(ServerExchange& exchange, Response response) {
  if (!IsCurrent(exchange)) return;
  if (state_ == State::kStreaming) return Finish(exchange);
  const auto content = response.content();
  std::string& head = BuildHead(response.status, response.headers, content.size());
  EndHead(head);
  if (is_head_ || !HasBody(response.status) || content.empty()) {
    connection_.Send(head);
  } else if (head.size() + content.size() <= WriteQueue::kRecord) {
    connection_.Send(head, content);
  } else {
    connection_.out().Append(std::string_view(head));
    if (response.shared_body) {
      connection_.out().Append(response.shared_body);
    } else {
      connection_.out().Append(std::move(response.body));
    }
    connection_.Flush();
  }
  if (!connection_.closed()) FinishMessage();
}

void Http1Session::Start(ServerExchange& exchange, ResponseHead head) {
  if (!IsCurrent(exchange) || state_ == State::kStreaming) return;
  state_ = State::kStreaming;
  chunked_answer_ = version_ >= 11 && HasBody(head.status) && !is_head_;
  if (version_ < 11) keep_alive_ = false;  // the end of the connection is the end of the body
  std::string& text = BuildHead(head.status, head.headers, std::numeric_limits<std::size_t>::max());
  if (chunked_answer_) text.append("Transfer-Encoding: chunked\r\n");
  EndHead(text);
  connection_.Send(text);
}

void Http1Session::Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
                         std::string chunk) {
  const std::size_t size = shared ? shared->size() : chunk.size();
  if (!IsCurrent(exchange)) return;
  if (state_ == State::kHandling) Start(exchange, {});
  if (connection_.closed() || is_head_) return exchange.Released(size);
  unsent_ += size;
  auto& out = connection_.out();
  if (chunked_answer_) {
    std::string line;
    AppendNumber(size, 16, line);
    line.append("\r\n");
    out.Append(std::string_view(line));
  }
  if (shared) {
    out.Append(shared);
  } else {
    out.Append(std::move(chunk));
  }
  if (chunked_answer_) out.Append(std::string_view("\r\n"));
  connection_.Flush();
}

void Http1Session::Finish(ServerExchange& exchange) {
  if (!IsCurrent(exchange)) return;
  if (state_ == State::kHandling) Start(exchange, {});
  if (connection_.closed()) return;
  if (chunked_answer_) connection_.Send("0\r\n\r\n");
  if (!connection_.closed()) FinishMessage();
}

void Http1Session::Abandon(int stream) {
  if (stream != exchange_number_) return;
  if (state_ == State::kHandling || state_ == State::kStreaming) connection_.Close();
}

void Http1Session::FinishMessage() {
  connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
  if (const auto exchange = current_.lock()) exchange->Completed();
  current_.reset();
  chunked_answer_ = false;
  since_ = connection_.loop().now();
  if (!keep_alive_ || draining_) {
    state_ = State::kClosing;
    const bool unread = parser_ != nullptr;
    parser_.reset();
    return connection_.CloseWhenFlushed(unread);
  }
  state_ = State::kReading;
  if (pending_.empty()) {
    connection_.ResumeReading();
  } else {
    // Not from here: the caller may be in the middle of Process.
    connection_.loop().Defer([weak = connection_.weak_from_this(), this] {
      const auto connection = weak.lock();
      if (!connection || connection->closed() || state_ != State::kReading) return;
      if (!parser_) OnBytes({});
      if (!connection->closed()) connection->ResumeReading();
    });
  }
}

void Http1Session::OnEof() {
  // A client may stop sending and wait for its answer; there is none to wait for here.
  connection_.Close();
}

void Http1Session::OnGone() {
  if (state_ != State::kHandling && state_ != State::kStreaming) return;
  state_ = State::kClosing;
  connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
  if (const auto exchange = current_.lock()) exchange->PeerGone();
}

void Http1Session::OnWritten() {
  if (unsent_ == 0) return;
  const std::size_t waiting = std::min(connection_.out().bytes(), unsent_);
  const std::size_t released = unsent_ - waiting;
  unsent_ = waiting;
  if (released == 0) return;
  if (const auto exchange = current_.lock()) exchange->Released(released);
}

void Http1Session::OnTick(base::SteadyTime now) {
  if (state_ != State::kReading) return;
  const auto& options = connection_.core().options;
  if (parser_ && parser_->head_done()) {
    if (now - since_ > options.body_timeout) Refuse(408, "");
    return;
  }
  const bool waiting_for_head = first_message_ || parser_ != nullptr;
  if (now - since_ > (waiting_for_head ? options.header_timeout : options.idle_timeout)) {
    connection_.Close();
  }
}

void Http1Session::Drain() {
  draining_ = true;
  if (idle()) {
    state_ = State::kClosing;
    connection_.CloseWhenFlushed(false);
  }
}

}  // namespace

std::unique_ptr<Session> MakeHttp1Session(ServerConnection& connection) {
  return std::make_unique<Http1Session>(connection);
}

}  // namespace portcullis::net::internal

// HTTP/2 of the server, driven by nghttp2's client side over a blocking connection.
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <map>

#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::Echo;
using testing::ExchangeQueue;
using testing::RawPeer;
using testing::Signal;
using testing::TestServer;

struct Answer {
  std::string status;
  std::map<std::string, std::string> headers;
  std::string body;
  bool closed = false;
  std::uint32_t error = 0;
};

// A blocking HTTP/2 client.
class H2Client {
 public:
  explicit H2Client(int port, std::int32_t window = 65535) {
    peer_ = RawPeer::ConnectTls(port, {.alpn = "h2"});
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
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, manual_window_ ? 1 : 0);
    nghttp2_session_client_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window)}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
    if (window > 65535) {
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window);
    }
  }
  ~H2Client() { nghttp2_session_del(session_); }

  std::int32_t Submit(std::string method, std::string path, std::string body = "",
                      std::vector<std::pair<std::string, std::string>> more = {}) {
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
    bodies_.push_back(std::make_unique<Body>(Body{std::move(body), 0}));
    nghttp2_data_provider provider{};
    provider.source.ptr = bodies_.back().get();
    provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* buffer,
                                std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                                void*) -> ssize_t {
      auto& sent = *static_cast<Body*>(source->ptr);
      const auto take = std::min(size, sent.text.size() - sent.at);
      std::copy_n(sent.text.data() + sent.at, take, buffer);
      sent.at += take;
      if (sent.at == sent.text.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(take);
    };
    return nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                  bodies_.back()->text.empty() ? nullptr : &provider, nullptr);
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
  Answer Run(std::int32_t id) {
    RunUntil([&] { return answers[id].closed; });
    return answers[id];
  }

  std::map<std::int32_t, Answer> answers;
  bool goaway = false;
  std::uint32_t goaway_error = 0;

 private:
  struct Body {
    std::string text;
    std::size_t at = 0;
  };
  bool manual_window_ = false;
  std::unique_ptr<RawPeer> peer_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
};

TEST(Http2Test, AnswersRequests) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) {
    Echo(exchange);
    queue.Push(std::move(exchange));
  });
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("POST", "/a?b", "hello", {{"x-test", "1"}}));

  EXPECT_EQ(answer.status, "200");
  EXPECT_EQ(answer.body, "POST /a?b\nhello");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain");
  EXPECT_EQ(answer.headers.at("content-length"), "15");
  EXPECT_TRUE(answer.headers.contains("date"));
  const auto exchange = queue.Take();
  EXPECT_EQ(exchange->protocol(), Protocol::kHttp2);
  EXPECT_EQ(exchange->request().authority, "test");
  EXPECT_EQ(exchange->request().headers.Get("X-Test"), "1");
}

TEST(Http2Test, AnswersOutOfOrder) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto slow = client.Submit("GET", "/slow");
  const auto quick = client.Submit("GET", "/quick");
  client.SendAll();
  auto first = queue.Take();
  auto second = queue.Take();
  ASSERT_EQ(first->request().target, "/slow");

  Echo(second);
  EXPECT_EQ(client.Run(quick).body, "GET /quick\n");
  EXPECT_FALSE(client.answers[slow].closed);
  Echo(first);
  EXPECT_EQ(client.Run(slow).body, "GET /slow\n");
}

TEST(Http2Test, CarriesLargeBodiesBothWays) {
  ServerOptions options;
  options.max_body_bytes = [](const Request&) { return std::size_t{64} << 20; };
  TestServer test(Echo, std::move(options));
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("POST", "/", std::string(10 << 20, 'x')));

  EXPECT_EQ(answer.body.size(), (std::size_t{10} << 20) + 7);
}

TEST(Http2Test, TellsTheHandlerThatABodyIsTooLarge) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond({.status = exchange->body_too_large() ? 413 : 200});
  });
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("POST", "/", std::string(4 << 20, 'x'))).status, "413");
  EXPECT_EQ(client.Run(client.Submit("POST", "/", "small")).status, "200");
}

TEST(Http2Test, RefusesHeadsThatAreTooLarge) {
  ServerOptions options;
  options.max_header_bytes = 4096;
  TestServer test(Echo, std::move(options));
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("GET", "/", "", {{"x", std::string(5000, 'x')}})).status,
            "431");
  EXPECT_EQ(client.Run(client.Submit("GET", "/")).status, "200");
}

TEST(Http2Test, StreamsUntilFinished) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto id = client.Submit("GET", "/watch");
  client.SendAll();
  auto exchange = queue.Take();

  exchange->Start({.status = 200, .headers = {{"Content-Type", "application/json"}}});
  exchange->Write("one\n");
  client.RunUntil([&] { return client.answers[id].body == "one\n"; });
  exchange->Write(std::make_shared<const std::string>("two\n"));
  client.RunUntil([&] { return client.answers[id].body == "one\ntwo\n"; });
  EXPECT_FALSE(client.answers[id].closed);
  exchange->Finish();

  EXPECT_EQ(client.Run(id).error, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
}

TEST(Http2Test, AClientThatDoesNotReadHoldsUpOnlyItsStream) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port(), 1000);
  const auto stuck = client.Submit("GET", "/watch");
  client.SendAll();
  auto exchange = queue.Take();
  exchange->Write(std::string(128 << 10, 'x'));
  client.RunUntil([&] { return client.answers[stuck].body.size() >= 1000; });
  EXPECT_GT(exchange->buffered_bytes(), std::size_t{50} << 10);

  const auto other = client.Submit("GET", "/other");
  client.SendAll();
  Echo(queue.Take());
  EXPECT_EQ(client.Run(other).body, "GET /other\n");

  Signal drained;
  exchange->OnDrained([&] { drained.Set(); });
  client.RunUntil([&] { return client.answers[stuck].body.size() == std::size_t{128} << 10; });
  EXPECT_TRUE(drained.Wait());
  EXPECT_EQ(exchange->buffered_bytes(), 0U);
  exchange->Finish();
  EXPECT_EQ(client.Run(stuck).status, "200");
}

TEST(Http2Test, TheHandlerLearnsOfResetsAndHangups) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto client = std::make_unique<H2Client>(test.server->port());
  const auto id = client->Submit("GET", "/1");
  client->Submit("GET", "/2");
  client->SendAll();
  auto first = queue.Take();
  auto second = queue.Take();
  Signal first_gone;
  Signal second_gone;
  first->OnClosed([&] { first_gone.Set(); });
  second->OnClosed([&] { second_gone.Set(); });

  client->Reset(id);
  client->SendAll();
  EXPECT_TRUE(first_gone.Wait());
  EXPECT_FALSE(second->closed());
  client.reset();
  EXPECT_TRUE(second_gone.Wait());
}

TEST(Http2Test, ADroppedExchangeResetsItsStream) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().target == "/good") Echo(exchange);
  });
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("GET", "/drop")).error,
            static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  EXPECT_EQ(client.Run(client.Submit("GET", "/good")).status, "200");
}

TEST(Http2Test, RapidResetsEndTheConnection) {
  TestServer test([](const std::shared_ptr<Exchange>&) {});
  H2Client client(test.server->port());
  for (int i = 0; i < 3000; ++i) {
    const auto id = client.Submit("GET", "/");
    client.SendAll();
    client.Reset(id);
    client.SendAll();
  }

  client.RunUntil([&] { return client.goaway; });

  EXPECT_TRUE(client.goaway);
}

TEST(Http2Test, SurvivesGarbage) {
  TestServer test(Echo);
  auto peer = RawPeer::ConnectTls(test.server->port(), {.alpn = "h2"});
  peer->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  peer->ReadToEnd();
  auto bad_frame = RawPeer::ConnectTls(test.server->port(), {.alpn = "h2"});
  bad_frame->Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  bad_frame->Send(std::string("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 9));
  bad_frame->Send(std::string("\xff\xff\xff\x00\x00\x00\x00\x00\x01", 9));
  bad_frame->ReadToEnd();

  H2Client client(test.server->port());
  EXPECT_EQ(client.Run(client.Submit("GET", "/")).status, "200");
}

TEST(Http2Test, ShutdownSaysGoawayAndLetsStreamsFinish) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto id = client.Submit("GET", "/last");
  client.SendAll();
  auto exchange = queue.Take();

  std::thread stopper([&] { EXPECT_TRUE(test.server->Shutdown(std::chrono::seconds(10))); });
  client.RunUntil([&] { return client.goaway; });
  Echo(exchange);

  EXPECT_EQ(client.Run(id).body, "GET /last\n");
  stopper.join();
}

TEST(Http2Test, HeadHasNoBody) {
  TestServer test(Echo);
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("HEAD", "/x"));

  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.headers.at("content-length"), "8");
}

}  // namespace
}  // namespace portcullis::net

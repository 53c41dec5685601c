// SPDX-License-Identifier: Apache-2.0

// The HTTP/2 client: with the server of this module, and with peers that say exactly the frames they
// are told to.
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "net/http2_client.h"
#include "net/testing/http2_peer.h"
#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

namespace h2 = testing::h2;
using testing::Echo;
using testing::Http2Peer;
using testing::RawPeer;
using testing::RawServer;
using testing::TestServer;

// Waits until something that the loop's thread changes is as it should be.
class Monitor {
 public:
  template <typename Change>
  void Do(Change&& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change();
    condition_.notify_all();
  }
  template <typename Condition>
  bool WaitFor(Condition&& holds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return condition_.wait_for(lock, std::chrono::seconds(10), holds);
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
};

struct Answer final : Http2Receiver {
  explicit Answer(Monitor& m) : monitor(m) {}
  void OnField(std::string_view name, std::string_view value) override {
    monitor.Do([&] { (head_done ? trailers : head)[std::string(name)] = value; });
  }
  void OnHead() override {
    monitor.Do([&] { head_done = true; });
  }
  void OnData(std::string_view piece) override {
    monitor.Do([&] { body += piece; });
  }
  void OnEnd(const Http2End& how) override {
    monitor.Do([&] { end = how; });
  }
  bool Wait() {
    return monitor.WaitFor([&] { return end.has_value(); });
  }

  Monitor& monitor;
  std::map<std::string, std::string> head;
  std::map<std::string, std::string> trailers;
  bool head_done = false;
  std::string body;
  std::optional<Http2End> end;
};

class Http2ClientTest : public ::testing::Test, public Http2Listener {
 public:
  // Not in the destructor: the loop calls the members below, of a test that is whole.
  void TearDown() override {
    loop.RunAndWait([this] {
      if (connection) connection->Close("the test is over");
    });
  }
  void OnConnected() override {
    monitor.Do([&] { connected = true; });
  }
  void OnDraining(const Http2Goaway& said) override {
    monitor.Do([&] { goaway = std::to_string(said.code) + " " + std::string(said.debug_data); });
  }
  void OnClosed(const std::string& cause) override {
    monitor.Do([&] { closed = cause; });
  }

  // True when connected.
  bool Connect(int port, const Http2Options& options = {},
               std::shared_ptr<const ClientTls> tls = nullptr) {
    loop.RunAndWait([&] {
      connection = client->Connect({.host_port = "127.0.0.1:" + std::to_string(port),
                                    .tls = std::move(tls),
                                    .server_name = "127.0.0.1"},
                                   options, *this);
    });
    monitor.WaitFor([&] { return connected || closed; });
    return connected;
  }
  std::int32_t Start(Answer& answer, std::string body = "", bool ends = true,
                     std::string_view path = "/x") {
    std::int32_t id = 0;
    loop.RunAndWait([&] {
      const Http2Field head[] = {
          {":method", "POST"}, {":scheme", "http"}, {":authority", "test"}, {":path", path}};
      id = connection->Start(head, {std::move(body), nullptr}, ends, answer);
    });
    return id;
  }

  Monitor monitor;
  bool connected = false;
  std::optional<std::string> goaway;
  std::optional<std::string> closed;
  IoThreads io{1};
  IoLoop loop{io};
  std::unique_ptr<Http2Client> client = Http2Client::Create(loop);
  std::shared_ptr<Http2Connection> connection;
};

TEST_F(Http2ClientTest, CallsAServerWithTls) {
  TestServer test(Echo);
  const auto tls = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem,
                                      .protocols = ClientProtocols::kHttp2});
  ASSERT_TRUE(Connect(test.server->port(), {}, *tls)) << closed.value_or("");
  Answer first(monitor);
  Answer second(monitor);

  Start(first, "hello");
  Start(second, "", true, "/y");

  ASSERT_TRUE(first.Wait() && second.Wait());
  EXPECT_TRUE(first.end->complete);
  EXPECT_EQ(first.head[":status"], "200");
  EXPECT_EQ(first.body, "POST /x\nhello");
  EXPECT_EQ(second.body, "POST /y\n");
}

TEST_F(Http2ClientTest, CarriesLargeBodiesBothWays) {
  ServerOptions options;
  options.max_body_bytes = [](const Request&) { return std::size_t{64} << 20; };
  TestServer test(Echo, std::move(options));
  const auto tls = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem,
                                      .protocols = ClientProtocols::kHttp2});
  ASSERT_TRUE(
      Connect(test.server->port(), {.stream_window = 1 << 16, .connection_window = 1 << 17}, *tls));
  Answer answer(monitor);

  Start(answer, std::string(20 << 20, 'x'));

  ASSERT_TRUE(answer.Wait());
  EXPECT_EQ(answer.body.size(), (std::size_t{20} << 20) + 8);
}

TEST_F(Http2ClientTest, RefusesAServerThatSpeaksNoHttp2) {
  const auto certificates = testing::TestCertificates::Make();
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); }, certificates.serving);
  const auto tls = ClientTls::Create(
      {.ca_pem = certificates.authority.certificate_pem, .protocols = ClientProtocols::kHttp2});

  EXPECT_FALSE(Connect(server.port(), {}, *tls));

  EXPECT_EQ(closed, "the server does not speak HTTP/2: it has chosen no protocol by ALPN");
}

TEST_F(Http2ClientTest, SaysWhyItCannotConnect) {
  EXPECT_FALSE(Connect(1));

  EXPECT_EQ(closed, "dial tcp 127.0.0.1:1: connect: connection refused");
}

TEST_F(Http2ClientTest, GivesUpAServerThatSaysNothing) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });

  EXPECT_FALSE(Connect(server.port(), {.connect_timeout = std::chrono::milliseconds(50)}));

  EXPECT_EQ(closed, "the server has not begun to speak HTTP/2 in time");
}

TEST_F(Http2ClientTest, DeliversTrailers) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    const auto id = peer.NextRequest();
    peer.Send(h2::Head(id, {{":status", "103"}, {"link", "x"}}));
    peer.Send(h2::Head(id, {{":status", "200"}, {"a", "1"}}) + h2::Data(id, "one"));
    peer.Send(h2::Data(id, "two") + h2::Head(id, {{"b", "2"}}, true));
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port()));
  Answer answer(monitor);

  Start(answer, "body");

  ASSERT_TRUE(answer.Wait());
  EXPECT_TRUE(answer.end->complete);
  EXPECT_EQ(answer.head, (std::map<std::string, std::string>{{":status", "200"}, {"a", "1"}}));
  EXPECT_EQ(answer.body, "onetwo");
  EXPECT_EQ(answer.trailers, (std::map<std::string, std::string>{{"b", "2"}}));
}

TEST_F(Http2ClientTest, SendsABodyPieceByPiece) {
  std::string got;
  RawServer server([&](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    for (bool ends = false; !ends;) {
      const auto frame = peer.NextOf(h2::kData);
      got += frame.payload + "|";
      ends = frame.type == -1 || (frame.flags & h2::kEndStream) != 0;
      peer.Send(ends ? h2::Head(1, {{":status", "200"}}, true) : "");
    }
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port()));
  Answer answer(monitor);

  const auto id = Start(answer, "one", false);
  loop.RunAndWait([&] { connection->Send(id, "two", false); });
  loop.RunAndWait([&] { connection->Send(id, "three", true); });

  ASSERT_TRUE(answer.Wait());
  EXPECT_EQ(got, "one|two|three|");
}

TEST_F(Http2ClientTest, AnAnswerBeforeTheEndOfTheRequestEndsIt) {
  testing::Signal reset;
  RawServer server([&](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    const auto id = peer.NextOf(h2::kHeaders).stream;
    peer.Send(h2::Head(id, {{":status", "400"}}, true));
    EXPECT_EQ(peer.NextOf(h2::kRstStream).stream, id);
    reset.Set();
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port()));
  Answer answer(monitor);

  Start(answer, "one", false);

  ASSERT_TRUE(answer.Wait());
  EXPECT_TRUE(reset.Wait()) << "before the connection ends";
  EXPECT_TRUE(answer.end->complete);
  EXPECT_EQ(answer.head[":status"], "400");
}

TEST_F(Http2ClientTest, TellsWhatTheServerHasNotProcessed) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    peer.NextRequest();
    peer.NextRequest();
    peer.NextRequest();
    peer.Send(h2::Reset(1, 7) + h2::Reset(3, 2) + h2::Goaway(3, 0, "enough"));
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port()));
  Answer refused(monitor);
  Answer failed(monitor);
  Answer later(monitor);

  Start(refused);
  Start(failed);
  Start(later);

  ASSERT_TRUE(refused.Wait() && failed.Wait() && later.Wait());
  EXPECT_TRUE(refused.end->not_processed);
  EXPECT_FALSE(failed.end->not_processed);
  EXPECT_EQ(failed.end->cause, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR");
  EXPECT_TRUE(later.end->not_processed);
  EXPECT_EQ(goaway, "0 enough");
  EXPECT_TRUE(monitor.WaitFor([&] { return closed.has_value(); }));
}

TEST_F(Http2ClientTest, StreamsEndWithTheirConnection) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    peer.Send(h2::Head(peer.NextRequest(), {{":status", "200"}}));
    raw.Reset();
  });
  ASSERT_TRUE(Connect(server.port()));
  Answer answer(monitor);

  Start(answer);

  ASSERT_TRUE(answer.Wait());
  EXPECT_FALSE(answer.end->complete);
  EXPECT_TRUE(answer.end->connection_lost);
  EXPECT_FALSE(answer.end->not_processed);
  EXPECT_TRUE(monitor.WaitFor([&] { return closed.has_value(); }));
  EXPECT_EQ(closed, answer.end->cause);
}

TEST_F(Http2ClientTest, NothingIsCalledAfterReset) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    const auto first = peer.NextRequest();
    EXPECT_EQ(peer.NextOf(h2::kRstStream).stream, first);
    const auto second = peer.NextRequest();
    peer.Send(h2::Head(first, {{":status", "200"}}, true));
    peer.Send(h2::Head(second, {{":status", "200"}}, true));
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port()));
  Answer dropped(monitor);
  Answer kept(monitor);

  const auto id = Start(dropped);
  loop.RunAndWait([&] { connection->Reset(id); });
  Start(kept);

  ASSERT_TRUE(kept.Wait());
  EXPECT_TRUE(dropped.head.empty());
  EXPECT_FALSE(dropped.end);
}

TEST_F(Http2ClientTest, EndsAnswersWithTooManyFields) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    const auto id = peer.NextRequest();
    peer.Send(h2::Head(id, {{":status", "200"}, {"a", std::string(100, 'x')}}, true));
    peer.Send(h2::Head(peer.NextRequest(), {{":status", "204"}}, true));
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port(), {.max_header_bytes = 120}));
  Answer large(monitor);
  Answer small(monitor);

  Start(large);
  ASSERT_TRUE(large.Wait());
  Start(small);

  ASSERT_TRUE(small.Wait());
  EXPECT_FALSE(large.end->complete);
  EXPECT_EQ(large.end->cause, "the server has sent too large a head");
  EXPECT_TRUE(small.end->complete);
}

TEST_F(Http2ClientTest, AnswersAndSendsPings) {
  testing::Signal acknowledged;
  RawServer server([&](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    peer.Send(h2::Frame(h2::kPing, 0, 0, "12345678"));
    Http2Peer::Frame frame = peer.NextOf(h2::kPing);
    for (int i = 0; i < 2 && frame.type != -1; ++i) {
      if ((frame.flags & h2::kAck) != 0) {
        EXPECT_EQ(frame.payload, "12345678");
        acknowledged.Set();
      } else {
        peer.Send(h2::Frame(h2::kPing, h2::kAck, 0, frame.payload));
      }
      if (i == 0) frame = peer.NextOf(h2::kPing);
    }
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port()));
  bool answered = false;

  loop.RunAndWait([&] { connection->Ping([&] { monitor.Do([&] { answered = true; }); }); });

  EXPECT_TRUE(monitor.WaitFor([&] { return answered; }));
  EXPECT_TRUE(acknowledged.Wait()) << "before the connection ends";
}

TEST_F(Http2ClientTest, AConnectionThatAnswersNoPingIsLost) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Connect(server.port(), {.ping_after = std::chrono::milliseconds(20),
                                      .ping_timeout = std::chrono::milliseconds(20)}));
  Answer answer(monitor);

  Start(answer);

  ASSERT_TRUE(answer.Wait());
  EXPECT_EQ(answer.end->cause, "keepalive ping failed to receive ACK within timeout");
}

TEST_F(Http2ClientTest, SurvivesWhatIsNoHttp2) {
  const std::string scripts[] = {
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      h2::Settings() + std::string("\xff\xff\xff\x00\x00\x00\x00\x00\x01", 9),
      h2::Settings() + h2::Data(0, "x"),
      h2::Settings() + h2::Data(1, "x"),
      h2::Settings() + h2::Head(1, {}),
      h2::Settings() + h2::Head(2, {{":status", "200"}}),
      h2::Settings() + h2::Frame(h2::kHeaders, h2::kEndHeaders, 1, "\xff\xff\xff\xff"),
      h2::Settings() + h2::Frame(h2::kSettings, 0, 0, "x"),
      h2::Settings() + h2::Frame(h2::kWindowUpdate, 0, 0, h2::Number(0)),
      h2::Settings() + h2::Frame(h2::kGoaway, 0, 0, "x"),
      h2::Settings() + h2::Frame(h2::kPing, 0, 0, "x"),
      "",
  };
  for (const std::string& script : scripts) {
    SCOPED_TRACE(::testing::PrintToString(script));
    RawServer server([&](RawPeer& raw, int) {
      raw.Send(script);
      Http2Peer peer(raw);
      peer.SkipPreface();
      if (script.starts_with(h2::Settings())) peer.NextRequest();
      raw.ShutdownWrite();
      peer.ReadToEnd();
    });
    connected = false;
    closed.reset();
    Answer answer(monitor);
    if (Connect(server.port()) && Start(answer) != 0) {
      ASSERT_TRUE(answer.Wait());
      EXPECT_FALSE(answer.end->complete);
    }
    ASSERT_TRUE(monitor.WaitFor([&] { return closed.has_value(); }));
    EXPECT_FALSE(closed->empty());
  }
}

TEST_F(Http2ClientTest, ReceiversMayCloseTheConnection) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    peer.NextRequest();
    const auto id = peer.NextRequest();
    peer.Send(h2::Head(id, {{":status", "200"}}) + h2::Data(id, "x") + h2::Data(id, "y", true));
    peer.ReadToEnd();
  });
  struct Closer final : Http2Receiver {
    explicit Closer(Http2ClientTest& t) : test(t) {}
    void OnField(std::string_view, std::string_view) override {}
    void OnData(std::string_view) override { test.connection->Close("closed by its user"); }
    void OnEnd(const Http2End& end) override {
      test.monitor.Do([&] { cause = end.cause; });
    }
    Http2ClientTest& test;
    std::optional<std::string> cause;
  };
  ASSERT_TRUE(Connect(server.port()));
  Answer other(monitor);
  Closer closer(*this);
  Start(other);
  loop.RunAndWait([&] {
    const Http2Field head[] = {
        {":method", "GET"}, {":scheme", "http"}, {":authority", "test"}, {":path", "/"}};
    connection->Start(head, {}, true, closer);
  });

  ASSERT_TRUE(other.Wait());
  ASSERT_TRUE(monitor.WaitFor([&] { return closer.cause.has_value(); }));
  EXPECT_EQ(other.end->cause, "closed by its user");
  EXPECT_EQ(closer.cause, "closed by its user");
  EXPECT_FALSE(closed);
}

}  // namespace
}  // namespace portcullis::net

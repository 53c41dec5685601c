// SPDX-License-Identifier: Apache-2.0

// Servers that are no etcd, or a broken one.
#include <gtest/gtest.h>

#include "etcd/client.h"
#include "etcd/testing/calls.h"
#include "net/testing/http2_peer.h"

namespace portcullis::etcd {
namespace {

namespace h2 = net::testing::h2;
using net::testing::Http2Peer;
using net::testing::RawPeer;
using net::testing::RawServer;
using testing::Put;
using testing::Range;
using testing::Recorder;
using testing::Soon;

// gRPC's head and a message.
std::string Message(std::string_view bytes) {
  return std::string(1, '\0') + h2::Number(static_cast<std::uint32_t>(bytes.size())) +
         std::string(bytes);
}
std::string Head(std::uint32_t id) {
  return h2::Head(id, {{":status", "200"}, {"content-type", "application/grpc"}});
}
std::string Trailers(std::uint32_t id, std::string_view status, std::string_view message = "") {
  return h2::Head(id, {{"grpc-status", status}, {"grpc-message", message}}, true);
}

// A server that answers each request by what `answer` makes of its stream.
RawServer::Script Always(std::function<std::string(std::uint32_t id)> answer) {
  return [answer = std::move(answer)](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    for (auto id = peer.NextRequest(); id != 0; id = peer.NextRequest()) peer.Send(answer(id));
  };
}

std::unique_ptr<Client> ClientOf(const RawServer& server) {
  return Client::Make({.endpoints = {"http://127.0.0.1:" + std::to_string(server.port())},
                       .backoff = std::chrono::milliseconds(1),
                       .max_response_bytes = 1000})
      .value();
}

base::Status ReadFrom(std::function<std::string(std::uint32_t id)> answer) {
  RawServer server(Always(std::move(answer)));
  const auto client = ClientOf(server);
  return Range(*client, {.key = "a", .range_end = {}}, Soon(std::chrono::milliseconds(300)))
      .status();
}
base::Status WriteTo(std::function<std::string(std::uint32_t id)> answer) {
  RawServer server(Always(std::move(answer)));
  const auto client = ClientOf(server);
  return Put(*client, "a", "b").status();
}

TEST(HostileTest, TakesAnswersInAnyPieces) {
  const std::string message = Message("\x0a\x02\x18\x05\x20\x07");  // revision 5, count 7
  RawServer server(Always([&](std::uint32_t id) {
    std::string answer = Head(id);
    for (const char c : message) answer += h2::Data(id, {&c, 1});
    return answer + Trailers(id, "0");
  }));
  const auto client = ClientOf(server);

  const auto answer = Range(*client, {.key = "a", .range_end = {}});

  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->revision, 5);
  EXPECT_EQ(answer->count, 7);
}

TEST(HostileTest, TakesErrorsWithoutAHead) {
  const auto status = WriteTo([](std::uint32_t id) {
    return h2::Head(id,
                    {{":status", "200"},
                     {"content-type", "application/grpc"},
                     {"grpc-status", "3"},
                     {"grpc-message", "etcdserver: 50%25 of %zz caf%C3%a9%"}},
                    true);
  });

  EXPECT_EQ(CodeOf(status), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "etcdserver: 50% of %zz caf\u00e9%");
  EXPECT_FALSE(IsUnknownOutcome(status));
}

struct BrokenAnswer {
  std::string name;
  std::function<std::string(std::uint32_t id)> answer;
  Code code;
  std::string message;
};

std::vector<BrokenAnswer> BrokenAnswers() {
  return {
      {"no gRPC",
       [](auto id) {
         return h2::Head(id, {{":status", "404"}}, true);
       },
       Code::kUnimplemented, "unexpected HTTP status code received from server: 404 (Not Found)"},
      {"no trailers", [](auto id) { return Head(id) + h2::Data(id, Message("\x20\x07"), true); },
       Code::kInternal, "server closed the stream without sending trailers"},
      {"no message", [](auto id) { return Head(id) + Trailers(id, "0"); }, Code::kInternal,
       "there is no message in the answer"},
      {"half a message",
       [](auto id) {
         return Head(id) + h2::Data(id, Message("\x20\x07").substr(0, 6)) + Trailers(id, "0");
       },
       Code::kInternal, "unexpected EOF"},
      {"half a head", [](auto id) { return Head(id) + h2::Data(id, "\1") + Trailers(id, "0"); },
       Code::kInternal, "unexpected EOF"},
      {"two messages",
       [](auto id) {
         return Head(id) + h2::Data(id, Message("\x20\x07") + Message("\x20\x07")) +
                Trailers(id, "0");
       },
       Code::kInternal, "there is more than one message in the answer"},
      {"a compressed message",
       [](auto id) { return Head(id) + h2::Data(id, "\1" + Message("").substr(1)); },
       Code::kInternal, "grpc: compressed flag set with identity or empty encoding"},
      {"a message that is none",
       [](auto id) { return Head(id) + h2::Data(id, Message("\x12\x7fx")) + Trailers(id, "0"); },
       Code::kInternal, "grpc: failed to unmarshal the received message: unexpected EOF"},
      {"a wrong type",
       [](auto id) { return Head(id) + h2::Data(id, Message("\x10\x01")) + Trailers(id, "0"); },
       Code::kInternal,
       "grpc: failed to unmarshal the received message: proto: wrong wireType = 0 for field Kvs"},
      {"an unknown code", [](auto id) { return Head(id) + Trailers(id, "99", "x"); },
       Code::kUnknown, "x"},
  };
}

TEST(HostileTest, RefusesBrokenAnswers) {
  for (const BrokenAnswer& broken : BrokenAnswers()) {
    const auto status = ReadFrom(broken.answer);

    EXPECT_EQ(CodeOf(status), broken.code) << broken.name;
    EXPECT_EQ(status.message(), broken.message) << broken.name;
    EXPECT_FALSE(IsUnknownOutcome(status)) << broken.name;
  }
}

TEST(HostileTest, AWriteWithABrokenAnswerMayHaveBeenApplied) {
  for (const BrokenAnswer& broken : BrokenAnswers()) {
    if (broken.name == "no gRPC" || broken.name == "a wrong type") continue;
    const auto status = WriteTo(broken.answer);

    EXPECT_FALSE(status.ok()) << broken.name;
    EXPECT_TRUE(IsUnknownOutcome(status)) << broken.name << ": " << status.message();
  }
}

TEST(HostileTest, RefusesAnswersAboveTheLimitAtTheirHead) {
  const auto status = ReadFrom([](std::uint32_t id) {
    return Head(id) + h2::Data(id, std::string(1, '\0') + h2::Number(0xfffffff0U));
  });

  EXPECT_EQ(CodeOf(status), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "grpc: received message larger than max (4294967280 vs. 1000)");
}

TEST(HostileTest, RepeatsReadsAndRefusedWrites) {
  std::atomic<int> requests{0};
  const auto second_time = [&](std::function<std::string(std::uint32_t id)> first) {
    requests = 0;
    return [&requests, first = std::move(first)](std::uint32_t id) {
      if (++requests == 1) return first(id);
      return Head(id) + h2::Data(id, Message("\x0a\x02\x18\x05")) + Trailers(id, "0");
    };
  };
  const auto unavailable = [](std::uint32_t id) { return Head(id) + Trailers(id, "14", "busy"); };
  const auto refused = [](std::uint32_t id) { return h2::Reset(id, 7); };
  const auto no_leader = [](std::uint32_t id) {
    return Head(id) + Trailers(id, "14", "etcdserver: no leader");
  };

  EXPECT_TRUE(ReadFrom(second_time(unavailable)).ok());
  EXPECT_TRUE(ReadFrom(second_time(refused)).ok());
  EXPECT_TRUE(WriteTo(second_time(refused)).ok());
  EXPECT_TRUE(WriteTo(second_time(no_leader)).ok());
  const auto status = WriteTo(second_time(unavailable));
  EXPECT_EQ(status.message(), "busy");
  EXPECT_TRUE(IsUnknownOutcome(status));
  EXPECT_EQ(requests, 1);
}

TEST(HostileTest, AWriteThatIsCutOffHasAnUnknownOutcome) {
  RawServer server([](RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    peer.NextRequest();
    raw.Reset();
  });
  const auto client = ClientOf(server);

  const auto status = Put(*client, "a", "b").status();

  EXPECT_TRUE(IsUnavailable(status));
  EXPECT_TRUE(IsUnknownOutcome(status));
}

TEST(HostileTest, AWriteWithoutAnAnswerEndsAtItsDeadline) {
  RawServer server(Always([](std::uint32_t) { return ""; }));
  const auto client = ClientOf(server);

  const auto status = testing::Txn(*client, {}, Soon(std::chrono::seconds(1))).status();

  EXPECT_EQ(CodeOf(status), Code::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "context deadline exceeded");
  EXPECT_TRUE(IsUnknownOutcome(status));
}

// A server on which watches begin with `answer`, and then wait.
RawServer::Script Watches(std::vector<std::string> answers) {
  return [answers = std::move(answers), next = std::make_shared<std::atomic<std::size_t>>(0)](
             RawPeer& raw, int) {
    Http2Peer peer(raw);
    peer.Greet();
    for (auto frame = peer.NextOf(h2::kHeaders); frame.type != -1;
         frame = peer.NextOf(h2::kHeaders)) {
      const std::size_t number = (*next)++;
      if (number < answers.size()) {
        peer.Send(Head(frame.stream) + h2::Data(frame.stream, answers[number]));
      }
    }
  };
}

TEST(HostileTest, AWatchEndsWithABrokenMessage) {
  RawServer server(Watches({Message("\x5a\x7fx")}));
  const auto client = ClientOf(server);
  Recorder recorder;
  const auto watch = client->StartWatch({.key = "a", .range_end = {}}, recorder);

  ASSERT_TRUE(recorder.WaitFor([&] { return recorder.end.has_value(); }));
  EXPECT_EQ(recorder.end->message(),
            "grpc: failed to unmarshal the received message: unexpected EOF");
  EXPECT_EQ(recorder.compact_revision, 0);
}

TEST(HostileTest, AWatchEndsIfItIsCancelled) {
  RawServer server(Watches({Message("\x20\x01\x32\x02no")}));
  const auto client = ClientOf(server);
  Recorder recorder;
  const auto watch = client->StartWatch({.key = "a", .range_end = {}}, recorder);

  ASSERT_TRUE(recorder.WaitFor([&] { return recorder.end.has_value(); }));
  EXPECT_EQ(recorder.end->message(), "no");
}

}  // namespace
}  // namespace portcullis::etcd

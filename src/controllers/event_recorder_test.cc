// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/event_recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::controllers::workloads {
namespace {

using json::Value;

// Keeps what is written, and answers a patch of what it does not have as kube-apiserver does.
class EventStore final : public Client {
 public:
  base::Result<store::ObjectPtr> Do(const Request& request) override {
    EXPECT_EQ(request.resource.resource, "events");
    if (refuses) return base::Status(base::Reason::kForbidden, "refused");
    const bool creates = request.verb == engine::Verb::kCreate;
    const std::string name(creates ? request.body["metadata"]["name"].AsString() : request.name);
    if (creates) {
      EXPECT_TRUE(request.include_uninitialized);
      ++created;
    } else {
      ++patched;
      if (!events.contains(name)) return base::NotFound("it has expired");
    }
    Value& event = events[name];
    json::ObjectBuilder merged(arena, event);
    const Value given = json::DeepCopy(arena, request.body);
    for (const json::Member& member : given.members()) merged.Set(member.name(), member.value);
    event = merged.Build();
    return store::ObjectPtr();
  }

  json::Arena arena;
  std::map<std::string, Value> events;
  int created = 0;
  int patched = 0;
  bool refuses = false;
};

class EventRecorderTest : public ::testing::Test {
 protected:
  static Value Set(json::Arena& arena, const std::string& name) {
    const std::string text = R"({"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":")" +
                             name + R"(","namespace":"team","uid":"uid-of-)" + name.substr(0, 8) +
                             R"(","resourceVersion":"7"}})";
    return json::Parse(arena, text).value();
  }
  void Warn(const std::string& message) {
    recorder_.Record(set_, "Warning", "FailedCreate", message);
  }
  Value Only() const {
    EXPECT_EQ(client_.events.size(), 1U);
    return client_.events.begin()->second;
  }

  json::Arena arena_;
  const Value set_ = Set(arena_, "web");
  EventStore client_;
  base::FakeClock clock_;
  EventRecorder recorder_{client_, clock_, "replicaset-controller"};
};

TEST_F(EventRecorderTest, WritesAnEventAsKubeControllerManagerDoes) {
  Warn("Error creating: no");
  EXPECT_TRUE(client_.events.contains("web.18867251edfa0000")) << client_.events.begin()->first;
  const std::string wanted =
      R"({"apiVersion":"v1","count":1,"firstTimestamp":"2026-01-01T00:00:00Z","involvedObject":)"
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","namespace":"team",)"
      R"("resourceVersion":"7","uid":"uid-of-web"},"kind":"Event",)"
      R"("lastTimestamp":"2026-01-01T00:00:00Z","message":"Error creating: no","metadata":)"
      R"({"name":")" +
      client_.events.begin()->first +
      R"(","namespace":"team"},"reason":"FailedCreate",)"
      R"("reportingComponent":"replicaset-controller","reportingInstance":"",)"
      R"("source":{"component":"replicaset-controller"},"type":"Warning"})";
  EXPECT_EQ(json::ToString(json::Sorted(arena_, Only())), wanted);
}

TEST_F(EventRecorderTest, CountsWhatIsSaidAgain) {
  Warn("Error creating: no");
  clock_.Advance(std::chrono::seconds(5));
  Warn("Error creating: no");
  EXPECT_EQ(Only()["count"].AsInt(), 2);
  EXPECT_EQ(Only()["firstTimestamp"].AsString(), "2026-01-01T00:00:00Z");
  EXPECT_EQ(Only()["lastTimestamp"].AsString(), "2026-01-01T00:00:05Z");
  EXPECT_EQ(client_.patched, 1);
}

TEST_F(EventRecorderTest, WritesAnEventThatHasExpiredAgainWithItsCount) {
  Warn("no");
  client_.events.clear();
  Warn("no");
  EXPECT_EQ(Only()["count"].AsInt(), 2);
  EXPECT_EQ(Only()["reason"].AsString(), "FailedCreate");
  EXPECT_EQ(client_.created, 2);
}

TEST_F(EventRecorderTest, TheTenthTextOfAReasonAndLaterOnesShareOneEvent) {
  for (int i = 1; i <= 12; ++i) Warn("text " + std::to_string(i));
  EXPECT_EQ(client_.events.size(), 10U);
  int combined = 0;
  for (const auto& [name, event] : client_.events) {
    if (!event["message"].AsString().starts_with("(combined")) continue;
    ++combined;
    EXPECT_EQ(event["message"].AsString(), "(combined from similar events): text 12");
    EXPECT_EQ(event["count"].AsInt(), 3);
    EXPECT_EQ(event["reportingComponent"].AsString(), "");
  }
  EXPECT_EQ(combined, 1);
}

TEST_F(EventRecorderTest, TextsOfAnHourAgoAreNotCombined) {
  for (int i = 1; i <= 9; ++i) Warn("text " + std::to_string(i));
  clock_.Advance(std::chrono::hours(1));
  Warn("text 10");
  EXPECT_EQ(client_.events.size(), 10U);
  for (const auto& [name, event] : client_.events) {
    EXPECT_FALSE(event["message"].AsString().starts_with("(combined")) << name;
  }
}

TEST_F(EventRecorderTest, DropsMoreThan25OfATypeUntilFiveMinutesHaveGone) {
  for (int i = 0; i < 30; ++i) Warn("no");
  EXPECT_EQ(client_.created + client_.patched, 25);
  recorder_.Record(set_, "Normal", "SuccessfulCreate", "another type");
  EXPECT_EQ(client_.created, 2);
  clock_.Advance(std::chrono::minutes(5));
  Warn("no");
  Warn("no");
  EXPECT_EQ(client_.created + client_.patched, 27);
  // What was dropped is counted.
  EXPECT_EQ(client_.events.begin()->second["count"].AsInt(), 31);
}

TEST_F(EventRecorderTest, ObjectsAreCountedApart) {
  Warn("no");
  recorder_.Record(Set(arena_, "api"), "Warning", "FailedCreate", "no");
  EXPECT_EQ(client_.events.size(), 2U);
}

TEST_F(EventRecorderTest, AnEventThatIsRefusedIsDroppedAndTriedAnewTheNextTime) {
  client_.refuses = true;
  Warn("no");
  client_.refuses = false;
  Warn("no");
  EXPECT_EQ(Only()["count"].AsInt(), 2);
}

TEST_F(EventRecorderTest, NamesAnEventByAUidWhereTheNameWouldBeTooLong) {
  recorder_.Record(Set(arena_, std::string(250, 'a')), "Normal", "SuccessfulCreate", "yes");
  EXPECT_EQ(client_.events.begin()->first.size(), 36U);
}

TEST_F(EventRecorderTest, ForgetsWhatWasUsedLeastRecently) {
  Warn("no");
  // Each object has three memories: its text, its reason and its type.
  for (std::size_t i = 0; i < EventRecorder::kMostRemembered / 3 + 1; ++i) {
    recorder_.Record(Set(arena_, std::to_string(i)), "Warning", "FailedCreate", "no");
  }
  client_.created = 0;
  Warn("no");
  EXPECT_EQ(client_.created, 1);
}

}  // namespace
}  // namespace portcullis::controllers::workloads

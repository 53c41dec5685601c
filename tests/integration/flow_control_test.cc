// SPDX-License-Identifier: Apache-2.0

// API Priority and Fairness over HTTPS: what clients see of it
// (k8s.io/apiserver/pkg/server/filters, priority-and-fairness.go).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using testing::TestServer;

constexpr std::string_view kLevels =
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
constexpr std::string_view kSchemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
constexpr std::string_view kDumps = "/debug/api_priority_and_fairness/";

// `response`: what happens to requests beyond the seats.
std::string Level(std::string_view name, std::string_view response) {
  return base::StrCat(R"({"metadata":{"name":")", name,
                      R"("},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":5,
                          "lendablePercent":0,"borrowingLimitPercent":0,"limitResponse":)",
                      response, "}}}");
}
constexpr std::string_view kReject = R"({"type":"Reject"})";
constexpr std::string_view kQueue =
    R"({"type":"Queue","queuing":{"queues":64,"handSize":1,"queueLengthLimit":20}})";

std::string Schema(std::string_view name, std::string_view level, std::string_view user) {
  return base::StrCat(
      R"({"metadata":{"name":")", name, R"("},"spec":{"priorityLevelConfiguration":{"name":")",
      level,
      R"("},"matchingPrecedence":3,"distinguisherMethod":{"type":"ByUser"},"rules":[{"subjects":[{"kind":"User",
                          "user":{"name":")",
      user,
      R"("}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],
                          "resources":["*"],"namespaces":["*"],"clusterScope":true}],
                          "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}})");
}

Answer As(TestServer& server, std::string_view user, std::string_view path) {
  return server.Call("GET", path, {}, {{"Impersonate-User", std::string(user)}});
}

std::string Uid(TestServer& server, std::string_view collection, std::string_view name) {
  const Answer found = server.Get(base::StrCat(collection, "/", name));
  return std::string(found["metadata"]["uid"].AsString());
}

TEST(FlowControl, EveryAnswerNamesItsSchemaAndLevel) {
  TestServer server;
  const Answer mine = server.Get("/api/v1/namespaces/default");
  EXPECT_EQ(mine.headers.Get("X-Kubernetes-Pf-Flowschema-Uid"), Uid(server, kSchemas, "exempt"));
  EXPECT_EQ(mine.headers.Get("X-Kubernetes-Pf-Prioritylevel-Uid"), Uid(server, kLevels, "exempt"));
  const Answer theirs = As(server, "joe", "/api/v1/namespaces/default");
  EXPECT_EQ(theirs.status, 403);
  EXPECT_EQ(theirs.headers.Get("X-Kubernetes-Pf-Flowschema-Uid"),
            Uid(server, kSchemas, "global-default"));
  EXPECT_EQ(theirs.headers.Get("X-Kubernetes-Pf-Prioritylevel-Uid"),
            Uid(server, kLevels, "global-default"));
}

// An authorization webhook that answers when it is told to. Authorization comes after flow control:
// whom it keeps waiting keeps a seat.
class SlowAuthorizer {
 public:
  SlowAuthorizer()
      : server_([this](std::shared_ptr<net::Exchange> exchange) { Hold(std::move(exchange)); }) {}

  void Adjust(server::Options& options) const {
    const std::string file = options.data_dir + "/authorizer.kubeconfig";
    std::ofstream(file) << R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":
        "c"}}],"clusters":[{"name":"c","cluster":{"insecure-skip-tls-verify":true,"server":")"
                        << server_.Url("/") << R"("}}]})";
    options.authorization_modes = {"Webhook"};
    options.authorization_flags_given = true;
    options.authorization_webhook_version = "v1";
    options.authorization_webhook_config_file = file;
    // Every level has ceil(2 * shares / sum) seats: one.
    options.max_requests_inflight = 1;
    options.max_mutating_requests_inflight = 1;
  }

  // Waits until that many questions are open, and says who they are about, in order.
  std::vector<std::string> Open(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return held_.size() >= count; });
    std::vector<std::string> users;
    for (const Question& question : held_) users.push_back(question.user);
    return users;
  }
  // Allows the oldest open question.
  void Allow() {
    std::unique_lock lock(mutex_);
    if (held_.empty()) return;
    const Question question = std::move(held_.front());
    held_.pop_front();
    lock.unlock();
    net::Response response;
    response.headers.Set("Content-Type", "application/json");
    response.body = R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",
                        "status":{"allowed":true}})";
    question.exchange->Respond(std::move(response));
  }

 private:
  struct Question {
    std::string user;
    std::shared_ptr<net::Exchange> exchange;
  };

  void Hold(std::shared_ptr<net::Exchange> exchange) {
    json::Arena arena;
    const auto review = json::Parse(arena, exchange->request().body);
    const std::lock_guard lock(mutex_);
    std::string user(review.ok() ? (*review)["spec"]["user"].AsString() : "?");
    held_.push_back({std::move(user), std::move(exchange)});
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> held_;
  net::testing::TestServer server_;
};

// Requests of users that run beside each other; each asks for something else, so that no answer of
// the authorizer is remembered.
class Clients {
 public:
  explicit Clients(TestServer& server) : server_(server) {}
  ~Clients() {
    for (std::thread& thread : threads_) thread.join();
  }
  void Send(std::string_view user, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, user = std::string(user), path = Path()] {
        Answer answer = As(server_, user, path);
        const std::lock_guard lock(mutex_);
        answers_.push_back(std::move(answer));
      });
    }
  }
  std::string Path() {
    return base::StrCat("/api/v1/namespaces/n", std::to_string(next_++), "/configmaps");
  }
  // Waits until so many have been answered.
  std::vector<Answer> Answers(std::size_t count) {
    for (int i = 0; i < 2000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (answers_.size() >= count) return answers_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  }

 private:
  TestServer& server_;
  std::atomic<int> next_{0};
  std::mutex mutex_;
  std::vector<Answer> answers_;
  std::vector<std::thread> threads_;
};

TEST(FlowControl, WhatFindsNoSeatIsToldToTryAgainLater) {
  SlowAuthorizer authorizer;
  TestServer server([&](server::Options& options) { authorizer.Adjust(options); });
  ASSERT_EQ(server.Post(kLevels, Level("one", kReject)).status, 201);
  ASSERT_EQ(server.Post(kSchemas, Schema("joe", "one", "joe")).status, 201);
  Clients clients(server);
  clients.Send("joe", 1);
  ASSERT_EQ(authorizer.Open(1).size(), 1U);

  const Answer refused = As(server, "joe", clients.Path());
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.body, "Too many requests, please try again later.\n");
  EXPECT_EQ(refused.headers.Get("Retry-After"), "1");
  EXPECT_EQ(refused.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(refused.headers.Get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(refused.headers.Get("X-Kubernetes-Pf-Flowschema-Uid"), Uid(server, kSchemas, "joe"));
  EXPECT_EQ(refused.headers.Get("X-Kubernetes-Pf-Prioritylevel-Uid"), Uid(server, kLevels, "one"));
  // The administrator is exempt, and a change is in force when it returns.
  ASSERT_EQ(server
                .Patch(base::StrCat(kLevels, "/one"), "application/merge-patch+json",
                       base::StrCat(R"({"spec":{"limited":{"limitResponse":)", kQueue, "}}}"))
                .status,
            200);
  clients.Send("joe", 1);
  authorizer.Allow();
  ASSERT_EQ(authorizer.Open(1).size(), 1U);
  authorizer.Allow();
  for (const Answer& answer : clients.Answers(2)) EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(server.Get("/metrics").body,
              HasSubstr("apiserver_flowcontrol_rejected_requests_total{flow_schema=\"joe\","
                        "priority_level=\"one\",reason=\"concurrency-limit\"} 1\n"));
}

TEST(FlowControl, AFloodingUserDoesNotStarveAnother) {
  SlowAuthorizer authorizer;
  TestServer server([&](server::Options& options) { authorizer.Adjust(options); });
  ASSERT_EQ(server.Post(kLevels, Level("one", kQueue)).status, 201);
  ASSERT_EQ(server.Post(kSchemas, Schema("all", "one", "*")).status, 201);
  Clients clients(server);
  clients.Send("flood", 30);  // one runs, 20 wait, the others are refused
  std::vector<Answer> refused = clients.Answers(9);
  ASSERT_EQ(refused.size(), 9U);
  for (const Answer& answer : refused) EXPECT_EQ(answer.status, 429);

  clients.Send("quiet", 1);
  std::size_t place = 0;
  for (std::size_t turn = 1; turn <= 22; ++turn) {
    const std::vector<std::string> open = authorizer.Open(1);
    ASSERT_EQ(open.size(), 1U) << turn;
    if (open.front() == "quiet") place = turn;
    authorizer.Allow();
    // Until quiet has come nothing more is let through.
    while (turn == 1 && server.Get(base::StrCat(kDumps, "dump_requests")).body.find("quiet") ==
                            std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_EQ(clients.Answers(31).size(), 31U);
  EXPECT_GE(place, 2U);
  EXPECT_LE(place, 4U);
}

TEST(FlowControl, ASchemaSaysWhetherItsLevelExists) {
  TestServer server;
  const auto dangling = [&](std::string_view status) {
    for (int i = 0; i < 500; ++i) {
      const Answer schema = server.Get(base::StrCat(kSchemas, "/joe"));
      const json::Value conditions = schema["status"]["conditions"];
      if (conditions.size() == 1 && conditions.elements()[0]["status"].AsString() == status) {
        return std::string(conditions.elements()[0]["message"].AsString());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::string("never");
  };
  ASSERT_EQ(server.Post(kSchemas, Schema("joe", "later", "joe")).status, 201);
  EXPECT_EQ(dangling("True"),
            "This FlowSchema references the PriorityLevelConfiguration object named \"later\" but "
            "there is no such object");
  ASSERT_EQ(server.Post(kLevels, Level("later", kReject)).status, 201);
  EXPECT_EQ(dangling("False"),
            "This FlowSchema references the PriorityLevelConfiguration object named \"later\" and "
            "it exists");
}

TEST(FlowControl, DumpsAreForThoseWhoMayReadThem) {
  TestServer server;
  const std::string levels = base::StrCat(kDumps, "dump_priority_levels");
  EXPECT_EQ(As(server, "joe", levels).status, 403);
  const Answer dump = server.Get(levels);
  EXPECT_EQ(dump.status, 200);
  EXPECT_EQ(dump.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_THAT(dump.body, HasSubstr("PriorityLevelName, ActiveQueues, IsIdle, "));
  EXPECT_THAT(dump.body, HasSubstr("\nworkload-low,      0, "));
  EXPECT_THAT(server.Get(base::StrCat(kDumps, "dump_queues")).body,
              HasSubstr("\nglobal-default,    127,    0, "));
  // The request that asks is one of those that execute.
  const Answer requests = server.Get(base::StrCat(kDumps, "dump_requests?includeRequestDetails=1"));
  EXPECT_THAT(requests.body, HasSubstr("exempt,            exempt,         -1, "));
  EXPECT_THAT(requests.body, HasSubstr("/debug/api_priority_and_fairness/dump_requests"));
  EXPECT_EQ(server.Get(base::StrCat(kDumps, "other")).status, 404);
}

TEST(FlowControl, WithoutItTheLimitsAreThoseOfTheFlags) {
  TestServer server([](server::Options& options) {
    options.enable_priority_and_fairness = false;
    options.max_requests_inflight = 1;
  });
  const Answer answer = server.Get("/api/v1/namespaces/default");
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.headers.Has("X-Kubernetes-Pf-Flowschema-Uid"));
  EXPECT_EQ(server.Get(base::StrCat(kDumps, "dump_queues")).status, 404);
  EXPECT_THAT(server.Get("/metrics").body,
              HasSubstr("apiserver_current_inflight_requests{request_kind=\"readOnly\"}"));
}

TEST(FlowControl, TablesOfSchemasAreSortedByPrecedence) {
  TestServer server;
  ASSERT_EQ(server.Post(kLevels, Level("l", kReject)).status, 201);
  ASSERT_EQ(server.Post(kSchemas, Schema("zz-equal", "l", "joe")).status, 201);
  ASSERT_EQ(server.Post(kSchemas, Schema("aa-equal", "l", "ann")).status, 201);
  const Answer table = server.Call("GET", kSchemas, {},
                                   {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  std::vector<std::pair<std::int64_t, std::string_view>> rows;
  for (const json::Value& row : table["rows"].elements()) {
    rows.emplace_back(row["cells"][2].AsInt(), row["cells"][0].AsString());
  }
  ASSERT_GT(rows.size(), 4U);
  EXPECT_EQ(rows.front().second, "exempt");
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end())) << "equals are listed by their names";
}

}  // namespace
}  // namespace portcullis

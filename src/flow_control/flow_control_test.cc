// SPDX-License-Identifier: Apache-2.0

// Flow control as a whole, over a store in memory and a clock that stands still.

#include "flow_control/flow_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/allocation_failure.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "flow_control/bootstrap.h"
#include "json/writer.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace {

// Of the thread at hand: so many allocations succeed before one fails; below zero all do.
thread_local long allocations_left = -1;

}  // namespace

// GCC takes the replaced pair for a mismatch once it has inlined one half (seen with sanitizers).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace portcullis::flow_control {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr auto kPatience = 15s;

// A request of a test; remembers how its wait ended.
class TestTicket final : public Ticket {
 public:
  void Resume(bool execute) override { (execute ? resumed : late) = true; }
  RequestDetails Describe() const override {
    return {user.name, "get", "/api/v1/pods", "", "", "v1", "pods", ""};
  }

  api::UserInfo user;
  bool resumed = false;
  bool late = false;
};

// Runs of spaces as one.
std::string Squeeze(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

class FlowControlTest : public ::testing::Test {
 protected:
  explicit FlowControlTest(int seats = 600)
      : flow_control_(seats, *store_, clock_, registry_, {}) {}

  static RequestFacts Facts(const TestTicket& ticket, std::string_view verb = "get",
                            std::string_view ns = "default") {
    RequestFacts facts;
    facts.user = &ticket.user;
    facts.is_resource = true;
    facts.verb = verb;
    facts.resource = "pods";
    facts.ns = ns;
    facts.path = "/api/v1/namespaces/default/pods/a";
    return facts;
  }

  std::unique_ptr<TestTicket> TicketOf(std::string_view user,
                                       std::string_view group = "system:authenticated") {
    auto ticket = std::make_unique<TestTicket>();
    ticket->user = {std::string(user), "", {std::string(group)}, {}};
    return ticket;
  }
  Verdict Begin(TestTicket& ticket, std::string_view verb = "get") {
    return flow_control_.Begin(ticket, Facts(ticket, verb), nullptr, clock_.Steady() + kPatience);
  }
  void Pass(base::Duration time) {
    clock_.Advance(time);
    flow_control_.Advance();
  }

  void Put(std::string_view resource, std::string_view name, std::string_view spec) {
    const std::string json = base::StrCat(R"({"metadata":{"name":")", name, R"(","uid":"uid-of-)",
                                          name, R"(","resourceVersion":""},"spec":)", spec, "}");
    const store::Key key{kApiGroup, resource, "", name};
    auto encoded = store::testing::EncodeText(json);
    const auto made = store_->Get(key) == nullptr ? store_->Create(key, encoded)
                                                  : store_->Update(key, encoded, {});
    ASSERT_TRUE(made.ok()) << made.status().message();
  }
  void PutLevel(std::string_view name, std::string_view limited) {
    Put("prioritylevelconfigurations", name,
        base::StrCat(R"({"type":"Limited","limited":)", limited, "}"));
  }
  // All pods of one user, or of everybody ("*").
  void PutSchema(std::string_view name, std::string_view level, int precedence,
                 std::string_view user, std::string_view method = "ByUser") {
    Put("flowschemas", name,
        base::StrCat(R"({"priorityLevelConfiguration":{"name":")", level,
                     R"("},"matchingPrecedence":)", std::to_string(precedence),
                     R"(,"distinguisherMethod":{"type":")", method,
                     R"("},"rules":[{"subjects":[{"kind":"User","user":{"name":")", user,
                     R"("}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],)"
                     R"("resources":["pods"],"namespaces":["*"],"clusterScope":true}]}]})"));
  }
  // The objects of a new cluster.
  void PutBootstrap() {
    json::Arena arena;
    for (const BootstrapObject& one : BootstrapObjects(arena)) {
      const bool schema = one.object["kind"].AsString() == "FlowSchema";
      Put(schema ? "flowschemas" : "prioritylevelconfigurations",
          one.object["metadata"]["name"].AsString(), json::ToString(one.object["spec"]));
    }
  }

  base::FakeClock clock_;
  metrics::Registry registry_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  FlowControl flow_control_;
};

constexpr std::string_view kQueues =
    R"({"nominalConcurrencyShares":100,"lendablePercent":0,"borrowingLimitPercent":0,
        "limitResponse":{"type":"Queue","queuing":{"queues":64,"handSize":6,"queueLengthLimit":10}}})";
constexpr std::string_view kRejects =
    R"({"nominalConcurrencyShares":100,"lendablePercent":0,"borrowingLimitPercent":0,
        "limitResponse":{"type":"Reject"}})";

// The seats of a level named "level" beside catch-all (5 shares), of a server with 42 seats: 40.
class SmallServer : public FlowControlTest {
 protected:
  static constexpr int kSeats = 40;
  SmallServer() : FlowControlTest(42) {}

  std::vector<std::unique_ptr<TestTicket>> Fill(std::string_view user, int count) {
    std::vector<std::unique_ptr<TestTicket>> tickets;
    for (int i = 0; i < count; ++i) {
      tickets.push_back(TicketOf(user));
      verdicts_.push_back(Begin(*tickets.back()));
    }
    return tickets;
  }
  int Count(Verdict verdict) const {
    return static_cast<int>(std::count(verdicts_.begin(), verdicts_.end(), verdict));
  }

  std::vector<Verdict> verdicts_;
};

TEST_F(FlowControlTest, MastersAreExemptEvenWithoutObjects) {
  std::vector<std::unique_ptr<TestTicket>> tickets;
  for (int i = 0; i < 2000; ++i) {
    tickets.push_back(TicketOf("admin", "system:masters"));
    ASSERT_EQ(Begin(*tickets.back()), Verdict::kExecute);
    EXPECT_EQ(tickets.back()->schema()->name, "exempt");
  }
}

TEST_F(FlowControlTest, WithoutObjectsEverybodyElseIsCaughtAndRefusedBeyondTheSeats) {
  std::vector<std::unique_ptr<TestTicket>> tickets;
  for (int i = 0; i < 600; ++i) {
    tickets.push_back(TicketOf("joe"));
    ASSERT_EQ(Begin(*tickets.back()), Verdict::kExecute) << i;
  }
  auto late = TicketOf("joe");
  EXPECT_EQ(Begin(*late), Verdict::kRejected);
  EXPECT_EQ(late->schema()->name, "catch-all");
  flow_control_.Finish(*tickets[0]);
  EXPECT_EQ(Begin(*late), Verdict::kExecute);
}

TEST_F(FlowControlTest, TheObjectsOfANewClusterClassifyAsKubernetesDoes) {
  PutBootstrap();
  const auto schema_of = [&](std::string_view user, std::vector<std::string> groups,
                             std::string_view verb, std::string_view api_group,
                             std::string_view resource, std::string_view path = {}) {
    TestTicket ticket;
    ticket.user = {std::string(user), "", std::move(groups), {}};
    RequestFacts facts;
    facts.user = &ticket.user;
    facts.is_resource = !resource.empty();
    facts.verb = verb;
    facts.api_group = api_group;
    facts.resource = resource;
    facts.ns = resource == "nodes" ? "" : "kube-system";
    facts.path = path;
    EXPECT_EQ(flow_control_.Begin(ticket, facts, nullptr, clock_.Steady()), Verdict::kExecute);
    const std::string name = ticket.schema()->name;
    flow_control_.Finish(ticket);
    return name;
  };
  const std::string all = "system:authenticated";
  const std::string leases = "coordination.k8s.io";
  EXPECT_EQ(schema_of("admin", {"system:masters", all}, "get", "", "pods"), "exempt");
  EXPECT_EQ(schema_of("joe", {all}, "get", "", "", "/healthz"), "probes");
  EXPECT_EQ(schema_of("joe", {all}, "get", "", "", "/readyz/ping"), "probes");
  EXPECT_EQ(schema_of("joe", {all}, "get", "", "", "/version"), "global-default");
  EXPECT_EQ(schema_of("joe", {all}, "create", "", "pods"), "global-default");
  EXPECT_EQ(schema_of("joe", {}, "create", "", "pods"), "catch-all");
  EXPECT_EQ(schema_of("system:kube-scheduler", {all}, "update", leases, "leases"),
            "system-leader-election");
  EXPECT_EQ(schema_of("system:kube-scheduler", {all}, "list", leases, "leases"), "kube-scheduler");
  EXPECT_EQ(schema_of("system:node:n", {"system:nodes", all}, "get", "", "nodes"),
            "system-node-high");
  EXPECT_EQ(schema_of("system:node:n", {"system:nodes", all}, "get", "", "pods"), "system-nodes");
  EXPECT_EQ(schema_of("system:serviceaccount:kube-system:a", {"system:serviceaccounts", all}, "get",
                      "", "pods"),
            "kube-system-service-accounts");
  EXPECT_EQ(schema_of("system:serviceaccount:kube-system:a", {"system:serviceaccounts", all}, "get",
                      leases, "leases"),
            "system-leader-election");
  EXPECT_EQ(schema_of("system:serviceaccount:other:a", {"system:serviceaccounts", all}, "get", "",
                      "pods"),
            "service-accounts");
}

TEST_F(SmallServer, AFloodLeavesAnotherUserItsShare) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto flood = Fill("flood", 100);
  EXPECT_EQ(Count(Verdict::kExecute), kSeats);
  EXPECT_EQ(Count(Verdict::kQueued), 60);  // six queues of ten

  auto quiet = Fill("quiet", 20);
  int of_flood = 0;
  int of_quiet = 0;
  // Each seat that becomes free goes to the flow that has had less.
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(3ms);
    flow_control_.Finish(*flood[static_cast<std::size_t>(i)]);
  }
  for (const auto& ticket : flood) of_flood += ticket->resumed;
  for (const auto& ticket : quiet) of_quiet += ticket->resumed;
  EXPECT_EQ(of_flood + of_quiet, 20);
  EXPECT_GE(of_quiet, 8);
}

TEST_F(SmallServer, AFloodIsRefusedWhenItsQueuesAreFullAndOthersAreNot) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto flood = Fill("flood", 200);
  EXPECT_EQ(Count(Verdict::kRejected), 200 - kSeats - 60);

  auto quiet = TicketOf("quiet");
  EXPECT_EQ(Begin(*quiet), Verdict::kQueued);
  flow_control_.Publish();
  const std::string page = registry_.Expose();
  EXPECT_THAT(page, HasSubstr("apiserver_flowcontrol_rejected_requests_total{flow_schema=\"all\","
                              "priority_level=\"level\",reason=\"queue-full\"} 100"));
  EXPECT_THAT(page, HasSubstr("apiserver_flowcontrol_current_inqueue_requests{flow_schema=\"all\","
                              "priority_level=\"level\"} 61"));
}

TEST_F(SmallServer, ALevelWithoutQueuesRefusesBeyondItsSeats) {
  PutLevel("level", kRejects);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 1);
  EXPECT_EQ(verdicts_.back(), Verdict::kRejected);
  EXPECT_EQ(Count(Verdict::kRejected), 1);
  flow_control_.Publish();
  EXPECT_THAT(registry_.Expose(),
              HasSubstr("priority_level=\"level\",reason=\"concurrency-limit\"} 1"));
}

TEST_F(SmallServer, AWaitEndsWhenItsTimeIsUp) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 1);
  TestTicket& last = *tickets.back();
  Pass(kPatience - 1ms);
  EXPECT_FALSE(last.late);
  Pass(1ms);
  EXPECT_TRUE(last.late);
  EXPECT_FALSE(last.resumed);
  flow_control_.Publish();
  const std::string page = registry_.Expose();
  EXPECT_THAT(page, HasSubstr("reason=\"time-out\"} 1"));
  EXPECT_THAT(
      page, HasSubstr("current_inqueue_requests{flow_schema=\"all\",priority_level=\"level\"} 0"));
}

TEST_F(SmallServer, JumpsOfTheWallClockEndNoWait) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 2);
  for (const base::Duration jump : {base::Duration(1000h), base::Duration(-2000h)}) {
    clock_.JumpBy(jump);
    flow_control_.Advance();
    EXPECT_FALSE(tickets.back()->late);
  }
  flow_control_.Finish(*tickets[0]);
  EXPECT_TRUE(tickets[kSeats]->resumed);
  Pass(kPatience);
  EXPECT_TRUE(tickets.back()->late);
}

TEST_F(SmallServer, ARequestThatHasLeftWaitsNoMore) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 2);
  flow_control_.Cancel(*tickets[kSeats]);
  EXPECT_TRUE(tickets[kSeats]->late);
  flow_control_.Cancel(*tickets[0]);  // executes: nothing happens
  EXPECT_FALSE(tickets[0]->late);
  flow_control_.Finish(*tickets[0]);
  EXPECT_TRUE(tickets.back()->resumed);
}

TEST_F(SmallServer, WhileARequestIsAwayItsSeatIsFree) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 2);
  flow_control_.Leave(*tickets[0]);
  EXPECT_TRUE(tickets[kSeats]->resumed);
  flow_control_.Return(*tickets[0]);  // at once, beyond the limit
  flow_control_.Finish(*tickets[1]);
  EXPECT_FALSE(tickets[kSeats + 1]->resumed);
  flow_control_.Finish(*tickets[2]);
  EXPECT_TRUE(tickets[kSeats + 1]->resumed);
}

TEST_F(SmallServer, AChangedSchemaRehomesLaterRequests) {
  PutLevel("level", kQueues);
  PutLevel("other", kRejects);
  PutSchema("all", "level", 1, "*");
  auto before = TicketOf("joe");
  ASSERT_EQ(Begin(*before), Verdict::kExecute);
  PutSchema("all", "other", 1, "*");
  auto after = TicketOf("joe");
  ASSERT_EQ(Begin(*after), Verdict::kExecute);
  EXPECT_EQ(before->schema()->level_name, "level");
  EXPECT_EQ(after->schema()->level_name, "other");
  EXPECT_EQ(after->schema()->level_uid, "uid-of-other");
  flow_control_.Finish(*before);
  flow_control_.Finish(*after);
}

TEST_F(SmallServer, TheLowestPrecedenceWinsThenTheName) {
  PutLevel("level", kRejects);
  PutSchema("b", "level", 5, "*");
  PutSchema("c", "level", 4, "joe");
  PutSchema("a", "level", 5, "*");
  auto joe = TicketOf("joe");
  auto ann = TicketOf("ann");
  ASSERT_EQ(Begin(*joe), Verdict::kExecute);
  ASSERT_EQ(Begin(*ann), Verdict::kExecute);
  EXPECT_EQ(joe->schema()->name, "c");
  EXPECT_EQ(ann->schema()->name, "a");
  flow_control_.Finish(*joe);
  flow_control_.Finish(*ann);
}

TEST_F(SmallServer, ASchemaWhoseLevelIsMissingIsIgnored) {
  PutSchema("all", "nowhere", 1, "*");
  auto ticket = TicketOf("joe");
  ASSERT_EQ(Begin(*ticket), Verdict::kExecute);
  EXPECT_EQ(ticket->schema()->name, "catch-all");
}

TEST_F(SmallServer, ADeletedLevelServesWhatItHasThenEnds) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 1);
  ASSERT_TRUE(store_->Delete({kApiGroup, "prioritylevelconfigurations", "", "level"}, {}).ok());
  Pass(1s);
  EXPECT_THAT(flow_control_.DumpPriorityLevels(), HasSubstr("level,"));
  EXPECT_THAT(flow_control_.DumpPriorityLevels(), HasSubstr("true,"));
  for (int i = 0; i <= kSeats; ++i) flow_control_.Finish(*tickets[static_cast<std::size_t>(i)]);
  EXPECT_TRUE(tickets.back()->resumed);
  Pass(1s);
  EXPECT_THAT(flow_control_.DumpPriorityLevels(), Not(HasSubstr("\nlevel,")));
  auto after = TicketOf("joe");
  ASSERT_EQ(Begin(*after), Verdict::kExecute);
  EXPECT_EQ(after->schema()->level_name, "catch-all");
  PutLevel("level", kQueues);
  auto again = TicketOf("joe");
  ASSERT_EQ(Begin(*again), Verdict::kExecute);
  EXPECT_EQ(again->schema()->level_name, "level");
}

TEST_F(SmallServer, RaisingALimitLetsThoseInThatWait) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  PutLevel("greedy",
           R"({"nominalConcurrencyShares":105,"lendablePercent":0,"borrowingLimitPercent":0,
               "limitResponse":{"type":"Reject"}})");
  auto tickets = Fill("joe", 30);  // half of the seats are gone to "greedy"
  EXPECT_EQ(Count(Verdict::kExecute), 20);
  ASSERT_TRUE(store_->Delete({kApiGroup, "prioritylevelconfigurations", "", "greedy"}, {}).ok());
  flow_control_.Advance();
  EXPECT_TRUE(tickets.back()->resumed);
}

TEST_F(SmallServer, AFailedAllocationTakesNoSeat) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  // What is made once, histograms above all, is made here.
  auto warm = TicketOf("joe");
  ASSERT_EQ(Begin(*warm, "create"), Verdict::kExecute);
  flow_control_.Finish(*warm);
  auto first = TicketOf("joe");
  ASSERT_EQ(Begin(*first), Verdict::kExecute);
  const auto begin_failing = [&](TestTicket& ticket, Verdict expected) {
    int failures = 0;
    for (long n = 0;; ++n) {
      Verdict verdict = Verdict::kRejected;
      allocations_left = n;
      const bool done = base::UnlessMemoryRunsOut([&] { verdict = Begin(ticket, "create"); });
      allocations_left = -1;
      if (done) {
        EXPECT_EQ(verdict, expected);
        return failures;
      }
      ++failures;
    }
  };
  auto second = TicketOf("ann");
  EXPECT_GT(begin_failing(*second, Verdict::kExecute), 0);
  auto others = Fill("joe", kSeats - 2);
  EXPECT_EQ(Count(Verdict::kExecute), kSeats - 2) << "no seat has been lost";
  auto waiting = TicketOf("eve");
  EXPECT_GT(begin_failing(*waiting, Verdict::kQueued), 0);

  // Giving seats back, and to others, needs no memory.
  allocations_left = 0;
  flow_control_.Finish(*first);
  flow_control_.Finish(*second);
  for (auto& ticket : others) flow_control_.Finish(*ticket);
  EXPECT_TRUE(waiting->resumed);
  flow_control_.Finish(*waiting);
  EXPECT_EQ(allocations_left, 0);
  allocations_left = -1;
  verdicts_.clear();
  auto again = Fill("joe", kSeats);
  EXPECT_EQ(Count(Verdict::kExecute), kSeats);
  for (auto& ticket : again) flow_control_.Finish(*ticket);
}

TEST_F(FlowControlTest, ABusyLevelBorrowsWhatAnotherLends) {
  PutLevel("lender",
           R"({"nominalConcurrencyShares":95,"lendablePercent":80,
               "limitResponse":{"type":"Reject"}})");
  PutLevel("busy",
           R"({"nominalConcurrencyShares":100,"lendablePercent":0,
               "limitResponse":{"type":"Queue",
                                "queuing":{"queues":64,"handSize":6,"queueLengthLimit":50}}})");
  PutSchema("all", "busy", 1, "*");
  std::vector<std::unique_ptr<TestTicket>> tickets;
  for (int i = 0; i < 600; ++i) {
    tickets.push_back(TicketOf("joe"));
    Begin(*tickets.back());
  }
  const auto executing = [&] {
    flow_control_.Publish();
    const std::string page = registry_.Expose();
    constexpr std::string_view kSeries =
        "apiserver_flowcontrol_current_executing_seats{flow_schema=\"all\",priority_level=\"busy\"}"
        " ";
    const std::size_t at = page.find(kSeries);
    return at == std::string::npos ? -1 : std::stoi(page.substr(at + kSeries.size()));
  };
  const int before = executing();
  Pass(10s);
  const int after = executing();
  EXPECT_GE(before, 300);
  EXPECT_GT(after, before);
  EXPECT_LE(after, 600);
}

TEST_F(FlowControlTest, WideWritesHoldSeatsBeyondTheirAnswer) {
  PutBootstrap();
  std::vector<std::function<void()>> ends;
  TestTicket watcher;
  watcher.user.name = "w";
  for (int i = 0; i < 29; ++i) {
    ends.push_back(flow_control_.watches().Register(Facts(watcher, "watch", ""), ""));
  }
  auto ticket = TicketOf("joe");
  ASSERT_EQ(Begin(*ticket, "create"), Verdict::kExecute);
  EXPECT_THAT(Squeeze(flow_control_.DumpRequests(false)), HasSubstr("1, 3, 5ms,"));
  flow_control_.Finish(*ticket);
  EXPECT_EQ(flow_control_.NextEvent(), clock_.Steady() + 5ms);
  const auto seats = [&] {
    flow_control_.Publish();
    return registry_.Expose().find(
               "apiserver_flowcontrol_current_executing_seats{flow_schema=\"global-default\","
               "priority_level=\"global-default\"} 3") != std::string::npos;
  };
  EXPECT_TRUE(seats());
  Pass(5ms);
  EXPECT_FALSE(seats());
  for (const auto& end : ends) end();
  EXPECT_EQ(flow_control_.watches().InterestedIn(Facts(*ticket, "create")), 0);
}

TEST_F(SmallServer, DumpsShowWhatWaitsAndWhatExecutes) {
  PutLevel("level", kQueues);
  PutSchema("all", "level", 1, "*");
  auto tickets = Fill("joe", kSeats + 1);
  EXPECT_THAT(flow_control_.DumpPriorityLevels(),
              HasSubstr("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, "
                        "ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests,"
                        " CancelledRequests\ncatch-all,         0,            true,   false, "));
  EXPECT_THAT(Squeeze(flow_control_.DumpPriorityLevels()),
              HasSubstr("level, 1, false, false, 1, 40, 40, 0, 0, 0\n"));
  const std::string requests = Squeeze(flow_control_.DumpRequests(true));
  EXPECT_THAT(requests, HasSubstr("-1, joe, 2026-01-01T00:00:00Z, 1, 0, 0s, 2026-01-01T00:00:00Z, "
                                  "joe, get, /api/v1/pods, , , v1, pods, \n"));
  EXPECT_THAT(requests,
              HasSubstr("0, joe, 2026-01-01T00:00:00Z, 1, 0, 0s, 0001-01-01T00:00:00Z, "));
  EXPECT_THAT(Squeeze(flow_control_.DumpQueues()),
              HasSubstr("level, 63, 0, 0, 0, 0.00000000ss, 0, 0, 0.00000000ss\n"));
}

TEST_F(FlowControlTest, ManyThreadsLeaveNothingBehind) {
  PutBootstrap();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 500; ++i) {
        auto ticket = TicketOf(base::StrCat("user-", std::to_string((t + i) % 7)));
        if (Begin(*ticket, i % 2 == 0 ? "get" : "create") == Verdict::kExecute) {
          if (i % 3 == 0) {
            flow_control_.Leave(*ticket);
            flow_control_.Return(*ticket);
          }
          flow_control_.Finish(*ticket);
        }
        if (i % 50 == 0) flow_control_.Advance();
        if (i % 100 == 0) (void)flow_control_.DumpRequests(true);
        if (i % 100 == 1) flow_control_.Publish();
      }
    });
  }
  for (int i = 0; i < 20; ++i) PutSchema("mine", i % 2 == 0 ? "system" : "exempt", 3, "user-1");
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Squeeze(flow_control_.DumpPriorityLevels()), Not(HasSubstr(", false, false")));
}

}  // namespace
}  // namespace portcullis::flow_control

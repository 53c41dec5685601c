// SPDX-License-Identifier: Apache-2.0

// What becomes of an API server that gets no memory: while requests of every kind are under way, one
// allocation of the server's threads after the other fails, SQLite's among them. The request may fail, and
// its client hears of it; the process, its threads and its locks go on, and what a client has been told is
// there.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "harness/admission_review.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "net/io_threads.h"
#include "net/server.h"
#include "net/testing/raw_peer.h"

namespace {

// So many allocations succeed before one fails; below zero all do. Those of the test do not count.
std::atomic<long> allocations_left{-1};
thread_local bool is_test = false;

bool IsTheOneThatFails() {
  return allocations_left.load(std::memory_order_relaxed) >= 0 && !is_test &&
         allocations_left.fetch_sub(1) == 0;
}

void* Allocate(std::size_t size) {
  if (IsTheOneThatFails()) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();  // throws, or has freed memory
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// GCC takes the replaced pair for a mismatch once it has inlined one half (seen with sanitizers).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) { return Allocate(size); }
// std::stable_sort asks this one. Sanitizers would bring their own, which goes with another delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace portcullis {
namespace {

using base::StrCat;
using net::testing::RawPeer;
using testing::TestServer;

// SQLite's own allocations fail as the others do: its functions then return SQLITE_NOMEM.
sqlite3_mem_methods usual_methods;
std::atomic<long> sqlite_allocations{0};

void LetSqliteFailToo() {
  sqlite3_shutdown();
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual_methods);
  sqlite3_mem_methods methods = usual_methods;
  methods.xMalloc = [](int size) {
    ++sqlite_allocations;
    return IsTheOneThatFails() ? nullptr : usual_methods.xMalloc(size);
  };
  methods.xRealloc = [](void* memory, int size) {
    return IsTheOneThatFails() ? nullptr : usual_methods.xRealloc(memory, size);
  };
  ASSERT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
}

struct Ask {
  std::string_view method;
  std::string path;
  std::string body = {};
  std::string_view type = "application/json";
  std::string_view user = {};  // impersonated; "": the administrator
};

struct Answer {
  int status = 0;          // 0: the connection has ended without one
  bool is_silent = false;  // nor has it ended
  std::string body;
};

// A kind of request that fails in one place after the other: what stands before it, what shows that
// it is done once a client has been told so, and what undoes it, whether it has come to pass or not.
struct Story {
  std::string_view name;
  std::vector<Ask> before;
  Ask request;
  Ask proof = {};             // without a path there is nothing to show
  std::string_view has = {};  // what stands in the answer to it; "": it is a 404
  std::vector<Ask> after = {};
};

// With PC_EVERY_ALLOCATION each one; else they are ever further apart, some dozens of a story.
long Next(long n) {
  static const bool each = std::getenv("PC_EVERY_ALLOCATION") != nullptr;
  return each ? n + 1 : n + 1 + n / 10;
}

bool IsDone(const Answer& answer) { return answer.status >= 200 && answer.status < 300; }

// A webhook that allows everything, on one I/O thread, whose allocations are those of the test.
class Webhook {
 public:
  Webhook() {
    net::ServerTlsOptions tls;
    tls.certificate = {certificates_.serving.certificate_pem, certificates_.serving.key_pem, {}};
    net::ServerOptions options;
    options.tls = net::ServerTls::Create(tls).value();
    server_ = net::HttpsServer::Listen(io_, std::move(options),
                                       [](const std::shared_ptr<net::Exchange>& exchange) {
                                         is_test = true;
                                         const auto review =
                                             json::ParseDocument(exchange->request().body);
                                         exchange->Respond(testing::Allow(review.value().root()));
                                       })
                  .value();
  }

  Ask Register(std::string_view kind) const {
    return {
        "POST", StrCat("/apis/admissionregistration.k8s.io/v1/", kind),
        StrCat(
            R"({"metadata":{"name":"w"},"webhooks":[{"name":"w.example.com","clientConfig":{"url":
                "https://127.0.0.1:)",
            std::to_string(server_->port()), R"(/","caBundle":")",
            base::Base64Encode(certificates_.authority.certificate_pem),
            R"("},"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],
                "resources":["configmaps"]}],"sideEffects":"None","admissionReviewVersions":["v1"]}]})")};
  }

 private:
  net::testing::TestCertificates certificates_ = net::testing::TestCertificates::Make();
  net::IoThreads io_{1};
  std::unique_ptr<net::HttpsServer> server_;
};

class AllocationFailures : public ::testing::TestWithParam<std::string_view> {
 protected:
  static void SetUpTestSuite() { LetSqliteFailToo(); }

  AllocationFailures()
      : server_([](server::Options& options) {
          options.store = GetParam();
          options.controllers = {"*"};
        }) {
    is_test = true;
    tls_.client.certificate_pem = base::ReadFile(server_.folder() + "/pki/admin.crt").value();
    tls_.client.key_pem = base::ReadFile(server_.folder() + "/pki/admin.key").value();
    port_ = static_cast<int>(*base::ParseInt(server_.url().substr(server_.url().rfind(':') + 1)));
  }

  Answer Send(const Ask& ask) {
    std::string error;
    const auto peer = RawPeer::ConnectTls(port_, tls_, &error);
    if (peer == nullptr) return {.is_silent = error == "timed out"};
    const std::string user = ask.user.empty() ? "" : StrCat("Impersonate-User: ", ask.user, "\r\n");
    peer->Send(StrCat(ask.method, " ", ask.path, " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n",
                      user, "Content-Type: ", ask.type, "\r\nContent-Length: ",
                      std::to_string(ask.body.size()), "\r\n\r\n", ask.body));
    const std::string bytes = peer->ReadToEnd();
    const auto head = bytes.find("\r\n\r\n");
    if (head == std::string::npos || bytes.size() < 12) return {.is_silent = peer->timed_out()};
    return {static_cast<int>(base::ParseInt(bytes.substr(9, 3)).value_or(0)), peer->timed_out(),
            bytes.substr(head + 4)};
  }

  // Without any failure.
  void Do(const std::vector<Ask>& asks, std::string_view where) {
    for (const Ask& ask : asks) {
      const Answer answer = Send(ask);
      EXPECT_TRUE(IsDone(answer) || answer.status == 404 || answer.status == 409)
          << where << ": " << ask.method << " " << ask.path << ": " << answer.status << answer.body;
    }
  }

  void ShowThatItIsDone(const Story& story, std::string_view where) {
    if (story.proof.path.empty()) return;
    const Answer shown = Send(story.proof);
    EXPECT_EQ(shown.status, story.has.empty() ? 404 : 200) << where << ": " << shown.body;
    EXPECT_NE(shown.body.find(story.has), std::string::npos) << where << ": " << shown.body;
  }

  void FailEach(const Story& story) {
    int failed = 0;
    int refused = 0;
    for (long n = 0; n < 1'000'000; n = Next(n)) {
      const std::string where = StrCat(story.name, " at ", std::to_string(n));
      Do(story.before, where);
      allocations_left = n;
      const Answer answer = Send(story.request);
      const bool has_failed = allocations_left.exchange(-1) < 0;
      if (answer.status == 500) ++refused;
      EXPECT_FALSE(answer.is_silent) << where;
      EXPECT_TRUE(answer.status == 0 || IsDone(answer) || answer.status == 500)
          << where << ": " << answer.status << answer.body;
      if (IsDone(answer)) ShowThatItIsDone(story, where);
      const Answer again = Send(story.request);
      EXPECT_TRUE(IsDone(again) || again.status == 409 || again.status == 404)
          << where << ", again: " << again.status << again.body;
      ShowThatItIsDone(story, where);
      Do(story.after, where);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
      if (!has_failed) break;
      ++failed;
    }
    EXPECT_GT(failed, 20) << story.name;
    EXPECT_GT(refused, 2) << story.name;
  }

  TestServer server_;
  RawPeer::Tls tls_;
  int port_ = 0;
};

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kRights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
constexpr const char* kMap = R"({"metadata":{"name":"a","labels":{"a":"b"}},"data":{"k":"v"}})";
constexpr const char* kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a"}]}})";

const Ask kMakeMap{"POST", kMaps, kMap};
const Ask kDeleteMap{"DELETE", kMaps + "/a"};
const Ask kGetMap{"GET", kMaps + "/a"};

TEST_P(AllocationFailures, OfACreate) {
  const long before = sqlite_allocations;
  FailEach({"create", {}, kMakeMap, kGetMap, R"("k":"v")", {kDeleteMap}});
  EXPECT_EQ(sqlite_allocations > before, GetParam() == "sqlite");
}

TEST_P(AllocationFailures, OfAList) {
  for (int i = 0; i < 20; ++i) {
    Do({{"POST", kMaps, StrCat(R"({"metadata":{"name":"m)", std::to_string(i), R"("}})")}}, "fill");
  }
  FailEach({"list", {}, {"GET", kMaps}});
}

TEST_P(AllocationFailures, OfAnUpdate) {
  FailEach({"update",
            {kDeleteMap, kMakeMap},
            {"PUT", kMaps + "/a", R"({"metadata":{"name":"a"},"data":{"k":"new"}})"},
            kGetMap,
            R"("k":"new")"});
}

TEST_P(AllocationFailures, OfPatches) {
  for (const auto& [type, body] :
       {std::pair{"application/json-patch+json", R"([{"op":"add","path":"/data/n","value":"w"}])"},
        std::pair{"application/merge-patch+json", R"({"data":{"n":"w"}})"},
        std::pair{"application/strategic-merge-patch+json", R"({"data":{"n":"w"}})"}}) {
    FailEach(
        {type, {kDeleteMap, kMakeMap}, {"PATCH", kMaps + "/a", body, type}, kGetMap, R"("n":"w")"});
  }
}

TEST_P(AllocationFailures, OfAServerSideApply) {
  constexpr const char* kApply = "application/apply-patch+yaml";
  const std::string map =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":)";
  FailEach({"apply that creates",
            {},
            {"PATCH", kMaps + "/a?fieldManager=m", map + R"({"n":"w"}})", kApply},
            kGetMap,
            R"("n":"w")",
            {kDeleteMap}});
  FailEach({"apply that takes a field over",
            {kDeleteMap, {"PATCH", kMaps + "/a?fieldManager=m", map + R"({"n":"v"}})", kApply}},
            {"PATCH", kMaps + "/a?fieldManager=o&force=true", map + R"({"n":"w"}})", kApply},
            kGetMap,
            R"("n":"w")"});
}

TEST_P(AllocationFailures, OfADeletion) {
  FailEach({"delete", {kMakeMap}, kDeleteMap, kGetMap});
  FailEach({"deletecollection", {kMakeMap}, {"DELETE", kMaps + "?labelSelector=a%3Db"}, kGetMap});
}

TEST_P(AllocationFailures, OfAPod) {
  Do({{"POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})"}},
     "account");
  const Ask remove{"DELETE", kPods + "/p?gracePeriodSeconds=0"};
  const Ask get{"GET", kPods + "/p"};
  FailEach({"create of a pod", {}, {"POST", kPods, kPod}, get, R"("image":"a")", {remove}});
  FailEach({"strategic merge patch of a pod",
            {remove, {"POST", kPods, kPod}},
            {"PATCH", kPods + "/p", R"({"spec":{"containers":[{"name":"c","image":"b"}]}})",
             "application/strategic-merge-patch+json"},
            get,
            R"("image":"b")"});
}

TEST_P(AllocationFailures, OfALargeBody) {
  const std::string data(300'000, 'x');
  FailEach({"large body",
            {},
            {"POST", kMaps, StrCat(R"({"metadata":{"name":"a"},"data":{"k":")", data, R"("}})")},
            kGetMap,
            data,
            {kDeleteMap}});
}

TEST_P(AllocationFailures, OfAReview) {
  FailEach(
      {"review",
       {},
       {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        R"({"spec":{"user":"alice","resourceAttributes":{"verb":"get","resource":"pods"}}})"}});
  FailEach({"review of oneself",
            {},
            {"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"}});
  FailEach({"token",
            {{"POST", "/api/v1/namespaces/default/serviceaccounts",
              R"({"metadata":{"name":"default"}})"}},
            {"POST", "/api/v1/namespaces/default/serviceaccounts/default/token", "{}"}});
}

// Judged by a role, and by one that has just been made.
TEST_P(AllocationFailures, OfRights) {
  const Ask role{"POST", kRights + "roles", R"({"metadata":{"name":"r"},"rules":[
      {"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]},
      {"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create"]}]})"};
  const auto bind = [](std::string_view name) {
    return Ask{"POST", kRights + "rolebindings",
               StrCat(R"({"metadata":{"name":")", name, R"("},"roleRef":{"apiGroup":
        "rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"User","name":")",
                      name, R"("}]})")};
  };
  const auto list_as = [](std::string_view user) {
    return Ask{"GET", kMaps, {}, "application/json", user};
  };
  Do({role, bind("alice")}, "rights");
  FailEach({"list by a role", {}, list_as("alice")});
  FailEach({"binding",
            {},
            bind("bob"),
            list_as("bob"),
            "ConfigMapList",
            {{"DELETE", kRights + "rolebindings/bob"}}});
  FailEach({"role by a user who holds its rights",
            {},
            {"POST", kRights + "roles",
             R"({"metadata":{"name":"s"},"rules":[
             {"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]})",
             "application/json", "alice"},
            {"GET", kRights + "roles/s"},
            R"("configmaps")",
            {{"DELETE", kRights + "roles/s"}}});
}

TEST_P(AllocationFailures, OfWebhookCalls) {
  const Webhook webhook;
  for (const std::string_view kind :
       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
    Do({webhook.Register(kind)}, kind);
    FailEach({kind, {}, kMakeMap, kGetMap, R"("k":"v")", {kDeleteMap}});
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, AllocationFailures, ::testing::Values("memory", "sqlite"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace portcullis

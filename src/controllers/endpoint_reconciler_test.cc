// SPDX-License-Identifier: Apache-2.0

#include "controllers/endpoint_reconciler.h"

#include <gtest/gtest.h>

#include <charconv>
#include <functional>
#include <set>
#include <utility>

#include "json/writer.h"
#include "store/etcd/value.h"
#include "store/memory/memory_store.h"

namespace portcullis::controllers {
namespace {

constexpr store::Key kEndpoints{"", "endpoints", "default", "kubernetes"};
constexpr store::Key kSlice{"discovery.k8s.io", "endpointslices", "default", "kubernetes"};

// Of several servers; a test ends a lease by Remove().
class FakeLeases final : public store::MasterLeases {
 public:
  base::Status Renew(std::string_view ip, std::chrono::seconds ttl) override {
    EXPECT_EQ(ttl, std::chrono::seconds(15));
    if (fails) return base::InternalError("no etcd");
    ips_.emplace(ip);
    return base::OkStatus();
  }
  base::Status Remove(std::string_view ip) override {
    if (fails) return base::InternalError("no etcd");
    return ips_.erase(std::string(ip)) > 0 ? base::OkStatus() : base::NotFound("no lease");
  }
  base::Result<std::vector<std::string>> List() override {
    if (is_empty) return std::vector<std::string>();
    return std::vector<std::string>(ips_.begin(), ips_.end());
  }

  bool fails = false;
  bool is_empty = false;

 private:
  std::set<std::string> ips_;
};

// Writes into a store as the API does: an update that names a revision is about that one.
class StoreClient final : public Client {
 public:
  explicit StoreClient(store::Store& store) : store_(store) {}

  base::Result<store::ObjectPtr> Do(const Request& request) override {
    ++writes;
    if (before) std::exchange(before, nullptr)();
    const store::Key key{request.resource.group, request.resource.resource, request.ns,
                         "kubernetes"};
    if (request.verb == engine::Verb::kDelete) return store_.Delete(key, {});
    json::Arena arena;
    const std::string_view version = request.body["metadata"]["resourceVersion"].AsString();
    std::int64_t revision = 0;
    std::from_chars(version.data(), version.data() + version.size(), revision);
    const json::Value body = json::RemovePath(arena, request.body, {"metadata", "resourceVersion"});
    store::Encoded encoded = TRY(store::FromEtcdValue(json::ToString(body)));
    if (request.verb == engine::Verb::kCreate) return store_.Create(key, std::move(encoded));
    store::Preconditions wanted;
    wanted.revision = revision;
    return store_.Update(key, std::move(encoded), wanted);
  }

  int writes = 0;
  std::function<void()> before;  // the next write

 private:
  store::Store& store_;
};

class EndpointReconcilerTest : public ::testing::Test {
 protected:
  struct Server {
    Server(EndpointReconcilerTest& test, std::string address, int port = 6443)
        : reconciler({.address = std::move(address), .port = port}, &test.leases_, test.client_,
                     *test.store_, base::SystemClock()) {}
    EndpointReconciler reconciler;
  };
  // As JSON.
  std::string Field(const store::Key& key, std::string_view name) {
    const store::ObjectPtr object = store_->Get(key);
    return object == nullptr ? "none" : json::ToString(object->document().root()[name]);
  }
  // The lists of addresses of both objects, which must be the same.
  std::string Listed() {
    const store::ObjectPtr endpoints = store_->Get(kEndpoints);
    const store::ObjectPtr slice = store_->Get(kSlice);
    if (endpoints == nullptr || slice == nullptr) return "none";
    std::string listed;
    std::string sliced;
    for (const json::Value& subset : endpoints->document()["subsets"].elements()) {
      for (const json::Value& address : subset["addresses"].elements()) {
        listed.append(address["ip"].AsString()).append(" ");
      }
    }
    for (const json::Value& endpoint : slice->document()["endpoints"].elements()) {
      sliced.append(endpoint["addresses"].elements()[0].AsString()).append(" ");
    }
    EXPECT_EQ(listed, sliced);
    return listed;
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  FakeLeases leases_;
  StoreClient client_{*store_};
  Server one_{*this, "10.1.0.1"};
  Server two_{*this, "10.1.0.2"};
};

TEST_F(EndpointReconcilerTest, MakesTheObjectsThatKubeApiserverMakes) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Field(kEndpoints, "subsets"),
            R"([{"addresses":[{"ip":"10.1.0.1"}],)"
            R"("ports":[{"name":"https","port":6443,"protocol":"TCP"}]}])");
  EXPECT_NE(Field(kEndpoints, "metadata")
                .find(R"("labels":{"endpointslice.kubernetes.io/skip-mirror":"true"})"),
            std::string::npos);
  EXPECT_EQ(Field(kSlice, "addressType"), R"("IPv4")");
  EXPECT_EQ(Field(kSlice, "endpoints"),
            R"([{"addresses":["10.1.0.1"],"conditions":{"ready":true}}])");
  EXPECT_EQ(Field(kSlice, "ports"), R"([{"name":"https","port":6443,"protocol":"TCP"}])");
  EXPECT_NE(Field(kSlice, "metadata").find(R"({"kubernetes.io/service-name":"kubernetes"})"),
            std::string::npos);
}

TEST_F(EndpointReconcilerTest, WithoutLeasesServersAreCounted) {
  const auto server = [&](std::string address) {
    return EndpointReconciler({.address = std::move(address), .port = 6443, .count = 2}, nullptr,
                              client_, *store_, base::SystemClock());
  };
  EndpointReconciler one = server("10.1.0.1");
  EndpointReconciler two = server("10.1.0.2");
  EndpointReconciler three = server("10.1.0.3");
  EXPECT_TRUE(two.Leave().ok()) << "where nothing is";
  ASSERT_TRUE(two.Renew().ok());
  EXPECT_EQ(one.Leave().reason(), base::Reason::kNotFound);
  EXPECT_EQ(Listed(), "10.1.0.2 ");
  ASSERT_TRUE(one.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 10.1.0.2 ");
  const int writes = client_.writes;
  ASSERT_TRUE(two.Renew().ok());
  EXPECT_EQ(client_.writes, writes);
  // Too many: from the front, as there is none behind the last one.
  ASSERT_TRUE(three.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.2 10.1.0.3 ");
  ASSERT_TRUE(one.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 10.1.0.3 ");
  ASSERT_TRUE(one.Leave().ok());
  EXPECT_EQ(Listed(), "10.1.0.3 ");
  ASSERT_TRUE(three.Leave().ok());
  EXPECT_EQ(Listed(), "");
  EXPECT_EQ(Field(kEndpoints, "subsets"), "null");
}

TEST_F(EndpointReconcilerTest, WritesNothingThatIsThere) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  ASSERT_TRUE(two_.reconciler.Renew().ok());
  const int writes = client_.writes;
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  ASSERT_TRUE(two_.reconciler.Renew().ok());
  EXPECT_EQ(client_.writes, writes);
  EXPECT_EQ(Listed(), "10.1.0.1 10.1.0.2 ");
}

TEST_F(EndpointReconcilerTest, AServerThatStopsLeavesAtOnce) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  ASSERT_TRUE(two_.reconciler.Renew().ok());
  ASSERT_TRUE(one_.reconciler.Leave().ok());
  EXPECT_EQ(Listed(), "10.1.0.2 ");
  ASSERT_TRUE(two_.reconciler.Leave().ok());
  EXPECT_EQ(Listed(), "");
  EXPECT_EQ(Field(kEndpoints, "subsets"), "null");
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 ");
}

TEST_F(EndpointReconcilerTest, AServerWhoseLeaseHasExpiredIsRemovedByAnother) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  ASSERT_TRUE(two_.reconciler.Renew().ok());
  ASSERT_TRUE(leases_.Remove("10.1.0.1").ok());
  ASSERT_TRUE(two_.reconciler.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.2 ");
}

TEST_F(EndpointReconcilerTest, NoListErasesAllServers) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  leases_.is_empty = true;
  EXPECT_EQ(one_.reconciler.Renew().message(),
            "Internal error occurred: no API server IP addresses were listed in storage, refusing "
            "to erase all endpoints for the kubernetes Service");
  EXPECT_EQ(Listed(), "10.1.0.1 ");
}

TEST_F(EndpointReconcilerTest, ChangesNothingWithoutItsLease) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  leases_.fails = true;
  EXPECT_FALSE(one_.reconciler.Renew().ok());
  EXPECT_FALSE(one_.reconciler.Leave().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 ");
}

TEST_F(EndpointReconcilerTest, TriesAgainWhenAnotherServerWasFaster) {
  client_.before = [&] { ASSERT_TRUE(two_.reconciler.Renew().ok()); };
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 10.1.0.2 ");
  Server three(*this, "10.1.0.3");
  Server four(*this, "10.1.0.4");
  client_.before = [&] { ASSERT_TRUE(four.reconciler.Renew().ok()); };
  ASSERT_TRUE(three.reconciler.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 10.1.0.2 10.1.0.3 10.1.0.4 ");
}

TEST_F(EndpointReconcilerTest, PutsRightWhatSomebodyElseHasWritten) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  const auto write = [&](std::string_view subsets) {
    const std::string text =
        R"({"metadata":{"name":"kubernetes","namespace":"default"},"subsets":)";
    auto encoded = store::FromEtcdValue(text + std::string(subsets) + "}");
    ASSERT_TRUE(store_->Update(kEndpoints, std::move(*encoded), {}).ok());
  };
  const std::string good = Field(kEndpoints, "subsets");
  write("[]");
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Field(kEndpoints, "subsets"), good);
  write(
      R"([{"addresses":[{"ip":"9.9.9.9"}],"ports":[{"port":1}]},{"addresses":[{"ip":"9.9.9.8"}]}])");
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Field(kEndpoints, "subsets"), good);
  ASSERT_TRUE(leases_.Renew("10.1.0.2", std::chrono::seconds(15)).ok());
  write(R"([{"addresses":[{"ip":"10.1.0.2"},{"ip":"10.1.0.2"}],"ports":[{"port":1}]}])");
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Listed(), "10.1.0.1 10.1.0.2 ");
  ASSERT_TRUE(leases_.Remove("10.1.0.2").ok());
  // Ports are put right only by a server that leaves.
  const std::string ports =
      R"([{"addresses":[{"ip":"10.1.0.1"}],"ports":[{"name":"https","port":1,"protocol":"TCP"}]}])";
  write(ports);
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  EXPECT_EQ(Field(kEndpoints, "subsets"), ports);
  ASSERT_TRUE(leases_.Renew("10.1.0.2", std::chrono::seconds(15)).ok());
  ASSERT_TRUE(two_.reconciler.Leave().ok());
  EXPECT_EQ(Field(kEndpoints, "subsets"), good);
}

TEST_F(EndpointReconcilerTest, ASliceHasOneFamilyOfAddresses) {
  ASSERT_TRUE(one_.reconciler.Renew().ok());
  Server v6(*this, "fd00::1");
  ASSERT_TRUE(v6.reconciler.Renew().ok());
  EXPECT_EQ(Field(kSlice, "addressType"), R"("IPv4")");
  EXPECT_EQ(Field(kSlice, "endpoints"),
            R"([{"addresses":["10.1.0.1"],"conditions":{"ready":true}}])");
  ASSERT_TRUE(one_.reconciler.Leave().ok());
  EXPECT_EQ(Field(kSlice, "addressType"), R"("IPv6")");
  EXPECT_EQ(Listed(), "fd00::1 ");
}

TEST_F(EndpointReconcilerTest, RunsUntilItIsStopped) {
  one_.reconciler.Start();
  while (Listed() != "10.1.0.1 ") std::this_thread::yield();
  one_.reconciler.Stop();
  EXPECT_EQ(Listed(), "");
}

}  // namespace
}  // namespace portcullis::controllers

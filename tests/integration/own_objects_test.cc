// SPDX-License-Identifier: Apache-2.0

// What the server keeps about itself: the Lease of its identity, an IPAddress for each cluster IP,
// an APIService for each group and version of custom resources.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/strings.h"
#include "controllers/identity_lease.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::TestServer;

constexpr std::string_view kServices = "/api/v1/namespaces/default/services";
constexpr std::string_view kAddresses = "/apis/networking.k8s.io/v1/ipaddresses";
constexpr std::string_view kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

std::string Path(std::string_view collection, std::string_view name) {
  return base::StrCat(collection, "/", name);
}

std::string Service(std::string_view name, std::string_view more = {}) {
  return base::StrCat(R"({"metadata":{"name":")", name, R"("},"spec":{"ports":[{"port":80}])", more,
                      "}}");
}

// What loops of the server do comes a moment after the write.
Answer Eventually(TestServer& server, const std::string& path,
                  const std::function<bool(const Answer&)>& is_so) {
  Answer answer;
  for (int i = 0; i < 2000; ++i) {
    answer = server.Get(path);
    if (is_so(answer)) break;
    std::this_thread::sleep_for(2ms);
  }
  return answer;
}

TEST(OwnObjects, LeaseOfTheIdentity) {
  EXPECT_EQ(controllers::ServerIdentity("host").size(), std::string_view("apiserver-").size() + 26);
  TestServer server;
  const std::string collection =
      base::StrCat(kLeases, "?labelSelector=apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver");
  const Answer leases = Eventually(
      server, collection, [](const Answer& answer) { return answer["items"].size() == 1; });
  const json::Value lease = leases["items"][std::size_t{0}];
  const std::string_view name = lease["metadata"]["name"].AsString();
  EXPECT_TRUE(name.starts_with("apiserver-"));
  EXPECT_EQ(name, controllers::ServerIdentity(
                      lease["metadata"]["labels"]["kubernetes.io/hostname"].AsString()));
  EXPECT_TRUE(lease["spec"]["holderIdentity"].AsString().starts_with(base::StrCat(name, "_")));
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"].AsInt(), 3600);
  EXPECT_EQ(lease["spec"]["renewTime"].AsString().size(), 27U);
  EXPECT_EQ(lease["metadata"]["managedFields"][std::size_t{0}]["manager"].AsString(),
            "kube-apiserver");
}

TEST(OwnObjects, LeasesOfEndedServersGo) {
  TestServer server([](server::Options& options) { options.store = "sqlite"; });
  constexpr std::string_view kOld =
      R"({"metadata":{"name":"apiserver-old","labels":
          {"apiserver.kubernetes.io/identity":"kube-apiserver"}},
          "spec":{"holderIdentity":"x","leaseDurationSeconds":3600,
          "renewTime":"2020-01-01T00:00:00.000000Z"}})";
  ASSERT_EQ(server.Post(kLeases, kOld).status, 201);
  server.Restart();
  const Answer gone = Eventually(server, Path(kLeases, "apiserver-old"),
                                 [](const Answer& answer) { return answer.status == 404; });
  EXPECT_EQ(gone.status, 404);
}

TEST(OwnObjects, AddressesComeAndGoWithTheirServices) {
  TestServer server;
  EXPECT_EQ(server.Get(Path(kAddresses, "10.0.0.1"))["spec"]["parentRef"]["name"].AsString(),
            "kubernetes");
  const Answer made = server.Post(kServices, Service("a"));
  ASSERT_EQ(made.status, 201);
  const std::string address(made["spec"]["clusterIP"].AsString());
  const Answer entry = server.Get(Path(kAddresses, address));
  ASSERT_EQ(entry.status, 200);
  EXPECT_EQ(entry["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"].AsString(), "IPv4");
  EXPECT_EQ(entry["metadata"]["labels"]["ipaddress.kubernetes.io/managed-by"].AsString(),
            "ipallocator.k8s.io");
  EXPECT_EQ(entry["spec"]["parentRef"]["resource"].AsString(), "services");
  EXPECT_EQ(entry["spec"]["parentRef"]["namespace"].AsString(), "default");
  EXPECT_EQ(entry["spec"]["parentRef"]["name"].AsString(), "a");

  server.Delete(Path(kServices, "a"));
  EXPECT_EQ(server.Get(Path(kAddresses, address)).status, 404);
}

TEST(OwnObjects, AddressesAreOfTheFamiliesOfTheCluster) {
  TestServer server([](server::Options& options) {
    options.service_cluster_ip_range = "fd00:1::/112,10.0.0.0/24";
  });
  EXPECT_EQ(server.Get(Path(kServices, "kubernetes"))["spec"]["clusterIP"].AsString(), "fd00:1::1");
  const Answer made =
      server.Post(kServices, Service("a", R"(,"ipFamilyPolicy":"PreferDualStack")"));
  ASSERT_EQ(made.status, 201) << made.body;
  ASSERT_EQ(made["spec"]["clusterIPs"].size(), 2U) << made.body;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string address(made["spec"]["clusterIPs"][i].AsString());
    const Answer entry = server.Get(Path(kAddresses, address));
    EXPECT_EQ(entry["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"].AsString(),
              i == 0 ? "IPv6" : "IPv4");
    EXPECT_EQ(entry["spec"]["parentRef"]["name"].AsString(), "a");
  }
  server.Delete(Path(kServices, "a"));
  EXPECT_EQ(server.Get(kAddresses)["items"].size(), 1U);
}

TEST(OwnObjects, AddressesOfWhatWasNotMadeGo) {
  TestServer server;
  // The name is taken, which shows only when the object is stored.
  ASSERT_EQ(server.Post(kServices, Service("a")).status, 201);
  const auto count = [&] { return server.Get(kAddresses)["items"].size(); };
  const std::size_t before = count();
  EXPECT_EQ(server.Post(kServices, Service("a")).status, 409);
  EXPECT_EQ(count(), before);
  server.Post(base::StrCat(kServices, "?dryRun=All"), Service("b"));
  EXPECT_EQ(count(), before);
  // The last finalizer takes the Service along.
  const Answer held = server.Post(
      kServices,
      R"({"metadata":{"name":"c","finalizers":["a.b/c"]},"spec":{"ports":[{"port":1}]}})");
  ASSERT_EQ(held.status, 201);
  EXPECT_EQ(count(), before + 1);
  server.Delete(Path(kServices, "c"));
  EXPECT_EQ(count(), before + 1);
  server.Patch(Path(kServices, "c"), "application/merge-patch+json",
               R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(count(), before);
}

TEST(OwnObjects, AddressesEnteredByHandAreTaken) {
  TestServer server;
  constexpr std::string_view kByHand =
      R"({"metadata":{"name":"10.0.0.7"},"spec":{"parentRef":
          {"resource":"services","namespace":"default","name":"x"}}})";
  ASSERT_EQ(server.Post(kAddresses, kByHand).status, 201);
  const auto with = [](std::string_view address) {
    return Service("a", base::StrCat(R"(,"clusterIP":")", address, R"(")"));
  };
  const auto said = [](std::string_view address, std::string_view why) {
    return base::StrCat(R"(Service "a" is invalid: spec.clusterIPs: Invalid value: [")", address,
                        R"("]: failed to allocate IP )", address, ": ", why);
  };
  EXPECT_EQ(server.Post(kServices, with("10.0.0.7")).message(),
            said("10.0.0.7", "provided IP is already allocated"));
  EXPECT_EQ(server.Post(kServices, with("192.168.1.1")).message(),
            said("192.168.1.1", "the provided network does not match the current range"));
  const std::string dry = base::StrCat(kServices, "?dryRun=All");
  EXPECT_EQ(server.Post(dry, with("10.0.0.7")).status, 201);
  EXPECT_EQ(server.Post(dry, Service("a"))["spec"]["clusterIP"].AsString(), "10.0.0.0");
  const Answer ports =
      server.Post(dry, R"({"metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[
               {"name":"a","port":53},{"name":"b","port":53,"protocol":"UDP"},
               {"name":"c","port":54}]}})");
  EXPECT_EQ(ports["spec"]["ports"][std::size_t{0}]["nodePort"].AsInt(), 32769);
  EXPECT_EQ(ports["spec"]["ports"][std::size_t{1}]["nodePort"].AsInt(), 32769);
  EXPECT_EQ(ports["spec"]["ports"][std::size_t{2}]["nodePort"].AsInt(), 32770);
}

// A fact of kube-apiserver: the IPAddress is made before the Service is looked at.
TEST(OwnObjects, TheAddressOfAServiceWithoutANameIsRefusedFirst) {
  TestServer server;
  const Answer answer =
      server.Post(kServices, R"({"metadata":{},"spec":{"clusterIP":"10.0.0.77"}})");
  EXPECT_EQ(answer.message(),
            R"(Service "" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.77"]: failed to )"
            R"(allocate IP 10.0.0.77: IPAddress.networking.k8s.io "10.0.0.77" is invalid: )"
            R"(spec.parentRef.name: Required value)");
}

TEST(OwnObjects, AddressesInUseComeBack) {
  TestServer server;
  const std::string path = Path(kAddresses, "10.0.0.1");
  const std::string uid(server.Get(path)["metadata"]["uid"].AsString());
  ASSERT_EQ(server.Delete(path).status, 200);
  const auto is_back = [](const Answer& answer) { return answer.status == 200; };
  const Answer again = Eventually(server, path, is_back);
  EXPECT_EQ(again["spec"]["parentRef"]["name"].AsString(), "kubernetes");
  EXPECT_NE(again["metadata"]["uid"].AsString(), uid);
}

TEST(OwnObjects, AddressesAreRepairedAtTheStart) {
  TestServer server([](server::Options& options) { options.store = "sqlite"; });
  const Answer made = server.Post(kServices, Service("a"));
  const std::string address(made["spec"]["clusterIP"].AsString());
  server.Delete(Path(kAddresses, address));
  constexpr std::string_view kOrphan =
      R"({"metadata":{"name":"10.0.0.9","labels":
          {"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},"spec":{"parentRef":
          {"resource":"services","namespace":"default","name":"gone"}}})";
  ASSERT_EQ(server.Post(kAddresses, kOrphan).status, 201);
  server.Restart();
  EXPECT_EQ(server.Get(Path(kAddresses, address)).status, 200);
  EXPECT_EQ(server.Get(Path(kAddresses, "10.0.0.9")).status, 404);
}

TEST(OwnObjects, ApiServicesHaveTheirVersionsInOrder) {
  TestServer server;

  const Answer service = server.Get(Path(kApiServices, "v1.resource.k8s.io"));

  EXPECT_EQ(service["spec"]["groupPriorityMinimum"].AsInt(), 16200);
  EXPECT_EQ(service["spec"]["versionPriority"].AsInt(), 21);
}

TEST(OwnObjects, ApiServicesOfCustomResources) {
  TestServer server;
  constexpr std::string_view kDefinition =
      R"({"metadata":{"name":"foos.example.com"},"spec":{"group":"example.com",
          "scope":"Namespaced","names":{"plural":"foos","kind":"Foo"},"versions":[
          {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
          {"name":"v2","served":false,"storage":false,
           "schema":{"openAPIV3Schema":{"type":"object"}}}]}})";
  ASSERT_EQ(server.Post(kDefinitions, kDefinition).status, 201);
  const std::string path = Path(kApiServices, "v1.example.com");
  const auto available = [](const Answer& answer) {
    return answer["status"]["conditions"].size() == 1;
  };
  const Answer service = Eventually(server, path, available);
  ASSERT_EQ(service.status, 200) << service.body;
  EXPECT_EQ(service["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"].AsString(),
            "true");
  EXPECT_EQ(service["spec"]["groupPriorityMinimum"].AsInt(), 1000);
  EXPECT_EQ(service["spec"]["versionPriority"].AsInt(), 100);
  EXPECT_EQ(service["status"]["conditions"][std::size_t{0}]["reason"].AsString(), "Local");
  EXPECT_EQ(server.Get(Path(kApiServices, "v2.example.com")).status, 404);

  // What others change or remove is put right.
  server.Patch(path, "application/merge-patch+json", R"({"spec":{"versionPriority":7}})");
  EXPECT_EQ(Eventually(server, path,
                       [](const Answer& answer) {
                         return answer["spec"]["versionPriority"].AsInt() == 100;
                       })["spec"]["versionPriority"]
                .AsInt(),
            100);
  server.Delete(path);
  EXPECT_EQ(Eventually(server, path, available).status, 200);

  server.Delete(Path(kDefinitions, "foos.example.com"));
  const auto gone = [](const Answer& answer) { return answer.status == 404; };
  EXPECT_EQ(Eventually(server, path, gone).status, 404);
}

}  // namespace
}  // namespace portcullis

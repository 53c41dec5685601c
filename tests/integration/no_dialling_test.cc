// SPDX-License-Identifier: Apache-2.0

// exec, attach, port-forward, log and proxy are authorized and admitted, but this server connects to
// no node, pod or service, whatever addresses their objects name.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

// A socket that listens on the loopback and takes no connection by itself.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~Listener() { close(fd_); }
  const std::string& port() const { return port_; }
  bool was_dialled() const { return accept(fd_, nullptr, nullptr) >= 0; }

 private:
  int fd_;
  std::string port_;
};

TEST(NoDialling, ObjectsThatNameTheLoopbackAreNotConnectedTo) {
  const Listener listener;
  const std::string& port = listener.port();
  TestServer server;
  const std::string address = R"({"ip":"127.0.0.1"})";
  server.Post("/api/v1/nodes", R"({"metadata":{"name":"n"}})");
  server.Patch("/api/v1/nodes/n/status", "application/merge-patch+json",
               base::StrCat(R"({"status":{"addresses":[{"type":"InternalIP",)",
                            R"("address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":)",
                            R"({"Port":)", port, "}}}}"));
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  const Answer pod = server.Post(
      "/api/v1/namespaces/default/pods",
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(pod.status, 201) << pod.body;
  server.Patch("/api/v1/namespaces/default/pods/p/status", "application/merge-patch+json",
               R"({"status":{"podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}]}})");
  server.Post("/api/v1/namespaces/default/services",
              base::StrCat(R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":)", port, "}]}}"));
  server.Post("/api/v1/namespaces/default/endpoints",
              base::StrCat(R"({"metadata":{"name":"s"},"subsets":[{"addresses":[)", address,
                           R"(],"ports":[{"port":)", port, "}]}]}"));
  server.Post("/api/v1/namespaces/default/services",
              base::StrCat(R"({"metadata":{"name":"e"},"spec":{"type":"ExternalName",)",
                           R"("externalName":"localhost","ports":[{"port":)", port, "}]}}"));
  const std::string pods = "/api/v1/namespaces/default/pods/";
  const std::string services = "/api/v1/namespaces/default/services/";
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
           {"GET", base::StrCat("/api/v1/nodes/n:", port, "/proxy/")},
           {"GET", base::StrCat("/api/v1/nodes/https:n:", port, "/proxy/metrics")},
           {"POST", "/api/v1/nodes/n/proxy/run"},
           {"GET", base::StrCat(pods, "p:", port, "/proxy/")},
           {"GET", base::StrCat(pods, "http:p:", port, "/proxy/x?y=z")},
           {"GET", base::StrCat(services, "s:", port, "/proxy/")},
           {"GET", base::StrCat(services, "e:", port, "/proxy/")},
           {"POST", base::StrCat(pods, "p/exec?command=id&container=c&stdout=1")},
           {"POST", base::StrCat(pods, "p/attach?container=c&stdout=1")},
           {"POST", base::StrCat(pods, "p/portforward?ports=", port)},
           {"GET", base::StrCat(pods, "p/log?container=c")}}) {
    const Answer answer = server.Call(method, path);
    EXPECT_GE(answer.status, 400) << path << answer.body;
    EXPECT_FALSE(listener.was_dialled()) << path;
  }
}

// Texts of a kube-apiserver.
TEST(Connections, AGetNeedsTheRightToCreate) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  ASSERT_EQ(
      server
          .Post("/api/v1/namespaces/default/pods",
                R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
          .status,
      201);
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  for (const std::string role : {"get", "create"}) {
    server.Post(rbac + "roles",
                base::StrCat(R"({"metadata":{"name":")", role, R"("},"rules":[{"apiGroups":[""],)",
                             R"("resources":["pods/exec","pods/attach","pods/portforward",)",
                             R"("pods/proxy"],"verbs":["get",")", role, R"("]}]})"));
    server.Post(rbac + "rolebindings",
                base::StrCat(R"({"metadata":{"name":")", role, R"("},"subjects":[{"kind":"User",)",
                             R"("name":"may-)", role, R"("}],"roleRef":{"kind":"Role","name":")",
                             role, R"("}})"));
  }
  const auto message = [&](const std::string& path, const std::string& user) {
    return std::string(server
                           .Call("GET", "/api/v1/namespaces/default/pods/p/" + path, {},
                                 {{"Impersonate-User", user}})
                           .message());
  };
  for (const std::string path : {"exec?command=id", "attach", "portforward"}) {
    EXPECT_EQ(message(path, "may-get"), "pods \"p\" is forbidden: ") << path;
    EXPECT_EQ(message(path, "may-create"), "pod p does not have a host assigned") << path;
  }
  EXPECT_EQ(message("proxy", "may-get"), "address not allowed");
}

}  // namespace
}  // namespace portcullis

// SPDX-License-Identifier: Apache-2.0

// What a component says of itself: /statusz, /flagz and /metrics/slis.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestServer;

Answer Asked(TestServer& server, std::string_view path, std::string_view accept) {
  return server.Call("GET", path, {}, {{"Accept", std::string(accept)}});
}

TEST(ComponentPages, AreTextUnlessAnObjectIsAskedFor) {
  TestServer server([](server::Options& options) { options.flag_values = {{"v", "0"}}; });
  for (const std::string_view accept : {"", "*/*", "text/plain", "text/*;q=0.5"}) {
    const Answer page = Asked(server, "/statusz", accept);
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.headers.Get("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_TRUE(page.body.starts_with("\napiserver statusz\nWarning: This endpoint is not meant"));
    EXPECT_THAT(page.body, HasSubstr("\nEmulation version: 1.36\n"));
    EXPECT_THAT(page.body,
                HasSubstr("\nPaths: /flagz /healthz /livez /metrics /readyz /statusz /version\n"));
  }
  EXPECT_TRUE(Asked(server, "/flagz", "").body.ends_with("debugging purposes only.\nv=0\n"));
}

TEST(ComponentPages, AreObjectsOfTheVersionThatIsNamed) {
  TestServer server([](server::Options& options) { options.flag_values = {{"v", "0"}}; });
  const Answer status =
      Asked(server, "/statusz", "application/json;as=Statusz;v=v1beta1;g=config.k8s.io");
  EXPECT_EQ(status.status, 200);
  EXPECT_EQ(status.headers.Get("Content-Type"),
            "application/json;g=config.k8s.io;v=v1beta1;as=Statusz");
  EXPECT_FALSE(status.headers.Has("Warning"));
  EXPECT_TRUE(status.body.starts_with(R"({"kind":"Statusz","apiVersion":"config.k8s.io/v1beta1",)"
                                      R"("metadata":{"name":"apiserver"},"startTime":")"))
      << status.body;
  EXPECT_EQ(status["binaryVersion"].AsString(), "1.36.0");
  const Answer flags =
      Asked(server, "/flagz", "application/json;as=Flagz;v=v1alpha1;g=config.k8s.io");
  EXPECT_EQ(flags.body, R"({"kind":"Flagz","apiVersion":"config.k8s.io/v1alpha1","metadata":)"
                        "{\"name\":\"apiserver\"},\"flags\":{\"v\":\"0\"}}\n");
  EXPECT_EQ(
      flags.headers.Get("Warning"),
      "299 - \"This version of the flagz endpoint is deprecated. Please use a newer version.\"");
  const Answer yaml =
      Asked(server, "/flagz", "application/yaml;as=Flagz;v=v1beta1;g=config.k8s.io");
  EXPECT_THAT(yaml.body, HasSubstr("\nflags:\n  v: \"0\"\n"));
}

TEST(ComponentPages, RefuseEveryOtherForm) {
  TestServer server;
  constexpr std::string_view kMessage =
      "only the following media types are accepted: application/json, application/yaml, text/plain";
  for (const std::string_view accept :
       {"application/json", "application/yaml;as=Statusz", "application/vnd.kubernetes.protobuf",
        "application/json;as=Flagz;v=v1beta1;g=config.k8s.io",
        "application/json;as=Statusz;v=v1;g=config.k8s.io"}) {
    const Answer refused = Asked(server, "/statusz", accept);
    EXPECT_EQ(refused.status, 406) << accept;
    EXPECT_THAT(refused.body, HasSubstr(std::string(kMessage))) << accept;
  }
}

TEST(ComponentPages, AreGoneWithoutTheirGates) {
  TestServer server([](server::Options& options) {
    options.feature_gates = {{"ComponentStatusz", false}, {"ComponentFlagz", false}};
  });
  EXPECT_EQ(Asked(server, "/statusz", "").status, 404);
  EXPECT_EQ(Asked(server, "/flagz", "").status, 404);
  EXPECT_THAT(server.Get("/").body, Not(HasSubstr("flagz")));
}

TEST(ComponentPages, AreNotForEveryone) {
  TestServer server;
  for (const std::string_view path : {"/statusz", "/flagz", "/metrics/slis"}) {
    EXPECT_EQ(server.Anonymous(path).status, 403) << path;
  }
}

TEST(HealthChecks, AreCountedByTheirOutcome) {
  TestServer server;
  server.Get("/livez?exclude=log");
  server.Get("/livez");
  const std::string page = server.Get("/metrics/slis").body;
  EXPECT_THAT(page, HasSubstr("# HELP kubernetes_healthcheck [STABLE] This metric records the "
                              "result of a single healthcheck.\n"
                              "# TYPE kubernetes_healthcheck gauge\n"));
  EXPECT_THAT(page, HasSubstr("\nkubernetes_healthcheck{name=\"ping\",type=\"livez\"} 1\n"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "\nkubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"livez\"} 2\n"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "\nkubernetes_healthchecks_total{name=\"log\",status=\"success\",type=\"livez\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("\nprocess_start_time_seconds "));
  EXPECT_EQ(server.Call("POST", "/metrics/slis", "").body, page);
}

TEST(HealthChecks, AreForgottenByDelete) {
  TestServer server;
  server.Get("/livez");
  EXPECT_EQ(server.Delete("/metrics/slis").body, "metrics reset\n");
  const Answer empty = server.Get("/metrics/slis");
  EXPECT_EQ(empty.body, "");
  EXPECT_FALSE(empty.headers.Has("Content-Type"));
  EXPECT_FALSE(empty.headers.Has("Process-Start-Time-Unix"));
  server.Get("/livez");
  const std::string page = server.Get("/metrics/slis").body;
  EXPECT_THAT(page, HasSubstr("name=\"ping\""));
  EXPECT_THAT(page, Not(HasSubstr("process_start_time_seconds")));
}

TEST(Metrics, CountFromZeroAfterDelete) {
  TestServer server;
  server.Get("/api/v1/nodes");
  const auto has_nodes = [&server] {
    return server.Get("/metrics")
               .body.find(
                   "apiserver_request_total{code=\"200\",component=\"apiserver\","
                   "dry_run=\"\",group=\"\",resource=\"nodes\"") != std::string::npos;
  };
  EXPECT_TRUE(has_nodes());
  const Answer reset = server.Delete("/metrics");
  EXPECT_EQ(reset.body, "metrics reset\n");
  EXPECT_EQ(reset.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_FALSE(reset.headers.Has("Process-Start-Time-Unix"));
  EXPECT_FALSE(has_nodes());
  server.Get("/api/v1/nodes");
  EXPECT_TRUE(has_nodes());
}

TEST(ComponentPages, TellWhenTheProcessStarted) {
  TestServer server;
  const std::string started(server.Get("/metrics").headers.Get("Process-Start-Time-Unix"));
  EXPECT_GT(std::stoll(started), 1'700'000'000);
  EXPECT_EQ(server.Get("/metrics/slis").headers.Get("Process-Start-Time-Unix"), started);
}

TEST(ComponentPages, ChangeTheVerbosityOfTheLog) {
  TestServer server;
  struct Case {
    std::string_view method, body;
    int status;
    std::string_view said;
  };
  constexpr Case kCases[] = {
      {"PUT", "03", 200, "successfully set klog.logging.verbosity to 03\n"},
      {"PUT", "x", 400, "strconv.ParseUint: parsing \"x\": invalid syntax\n"},
      {"PUT", "", 400, "strconv.ParseUint: parsing \"\": invalid syntax\n"},
      {"PUT", "99999999999", 400,
       "strconv.ParseUint: parsing \"99999999999\": value out of range\n"},
      {"PUT", "2147483648", 400,
       "failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing \"2147483648\": "
       "value out of range\n"},
      {"GET", "", 406, "unsupported http method\n"},
      {"POST", "1", 406, "unsupported http method\n"},
      {"PUT", "0", 200, "successfully set klog.logging.verbosity to 0\n"},
  };
  for (const Case& one : kCases) {
    const Answer answer = server.Call(one.method, "/debug/flags/v", one.body);
    EXPECT_EQ(answer.status, one.status) << one.body;
    EXPECT_EQ(answer.body, one.said);
    EXPECT_EQ(answer.headers.Get("Content-Type"), "text/plain");
  }
  for (const std::string_view path : {"/debug/flags", "/debug/flags/", "/debug/flags/x"}) {
    EXPECT_THAT(server.Get(path).body, HasSubstr("\n<tr>v<br>\n")) << path;
  }
  TestServer closed([](server::Options& options) { options.profiling = false; });
  EXPECT_EQ(closed.Call("PUT", "/debug/flags/v", "0").status, 404);
}

}  // namespace
}  // namespace portcullis

// SPDX-License-Identifier: Apache-2.0

// InitialResources on a database whose answers a test sets, and what it is asked.

#include "plugins/initial_resources/initial_resources.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/recorder.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "golang/url.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/client.h"
#include "plugins/initial_resources/usage_history.h"

namespace portcullis::plugins::initial_resources {
namespace {

constexpr std::string_view kNoSample = R"({"results":[{"statement_id":0}]})";

std::string Answer(std::string_view measurement, std::string_view percentile, int samples) {
  return base::StrCat(
      R"({"results":[{"statement_id":0,"series":[{"name":")", measurement,
      R"(","columns":["time","percentile","count"],"values":[["2026-01-01T00:00:00Z",)", percentile,
      ",", std::to_string(samples), "]]}]}]}");
}

// An InfluxDB: gives each statement the first answer whose key is part of it.
class Database final : public net::HttpsClient {
 public:
  struct Row {
    std::vector<std::string> parts;
    std::string answer;
  };
  std::vector<Row> rows;
  bool is_gone = false;
  mutable std::vector<net::ClientRequest> requests;

  net::CallResult Call(net::SharedRequest request, base::SteadyTime) override {
    requests.push_back(*request);
    net::CallResult result;
    if (is_gone) {
      result.failure.emplace().cause = "connection refused";
      return result;
    }
    result.response.status = 200;
    result.response.body = kNoSample;
    const std::string statement = StatementOf(requests.size() - 1);
    for (const Row& row : rows) {
      bool fits = true;
      for (const std::string& part : row.parts) {
        fits = fits && statement.find(part) != std::string::npos;
      }
      if (!fits) continue;
      result.response.body = row.answer;
      break;
    }
    return result;
  }
  std::string StatementOf(std::size_t index) const {
    const std::string& url = requests[index].url;
    return golang::QueryUnescape(url.substr(url.find("&q=") + 3)).value();
  }

  std::unique_ptr<net::CallSet> NewSet() override { return nullptr; }
  std::shared_ptr<net::PendingCall> Begin(net::ClientRequest, base::SteadyTime, Done) override {
    return nullptr;
  }
  void CloseIdle() override {}
  void Stop() override {}
  net::ClientCounters counters() const override { return {}; }
};

class InitialResourcesTest : public ::testing::Test {
 protected:
  InitialResourcesTest() {
    context_.name = kPlugin.name;
    context_.clock = &clock_;
    context_.https = &database_;
    context_.usage_history.host = "influx:8086";
  }

  // The pod as the plugin leaves it.
  json::Value Admit(std::string_view containers) {
    auto plugin = kPlugin.create(context_);
    EXPECT_TRUE(plugin.ok()) << plugin.status().message();
    admission::Attributes attributes;
    attributes.resource = {"", "v1", "pods"};
    attributes.kind = {"", "v1", "Pod"};
    attributes.namespace_name = "team";
    attributes.object =
        json::Parse(arena_, base::StrCat(R"({"metadata":{"name":"p"},"spec":{"containers":)",
                                         containers, "}}"))
            .value();
    admission::Request request(std::move(attributes), arena_, recorder_);
    const base::Status status = (*plugin)->Mutate(request);
    EXPECT_TRUE(status.ok()) << status.message();
    return request.object();
  }
  static std::string NoteOf(json::Value pod) {
    return std::string(
        pod["metadata"]["annotations"]["kubernetes.io/initial-resources"].AsString());
  }
  std::string ResourcesOf(json::Value pod, std::size_t container) {
    return json::ToString(pod["spec"]["containers"][container]["resources"]);
  }

  base::FakeClock clock_;
  Database database_;
  admission::PluginContext context_;
  json::Arena arena_;
  admission::Recorder recorder_;
};

TEST_F(InitialResourcesTest, RequestsWhatTheImageHasUsed) {
  database_.rows = {{{"cpu/usage_rate"}, Answer("cpu/usage_rate", "250", 40)},
                    {{"memory/usage"}, Answer("memory/usage", "104857600", 40)}};
  const json::Value pod = Admit(R"([{"name":"a","image":"web:1"},
                {"name":"b","image":"web:1","resources":{"limits":{"cpu":"1"}}},
                {"name":"c","image":"web:1","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}])");
  EXPECT_EQ(ResourcesOf(pod, 0), R"({"requests":{"cpu":"250m","memory":"104857600"}})");
  EXPECT_EQ(ResourcesOf(pod, 1), R"({"limits":{"cpu":"1"},"requests":{"memory":"104857600"}})");
  EXPECT_EQ(ResourcesOf(pod, 2), R"({"requests":{"cpu":"1","memory":"1Gi"}})");
  EXPECT_EQ(NoteOf(pod),
            "Initial Resources plugin set: cpu, memory request for container a; memory request for "
            "container b");
  ASSERT_EQ(database_.requests.size(), 3U);
  EXPECT_TRUE(database_.requests[0].url.starts_with("http://influx:8086/query?db=k8s&q="));
  EXPECT_EQ(database_.requests[0].headers.Get("Authorization"), "Basic cm9vdDpyb290");
}

TEST_F(InitialResourcesTest, LooksFurtherUntilThereAreThirtySamples) {
  database_.rows = {{{"cpu", "=~"}, Answer("cpu/usage_rate", "100", 3)},
                    {{"memory", "'team'"}, Answer("memory/usage", "1", 29)},
                    {{"memory", "'web:1'"}, Answer("memory/usage", "2000", 30)}};
  const json::Value pod = Admit(R"([{"name":"a","image":"web:1"}])");
  EXPECT_EQ(ResourcesOf(pod, 0), R"({"requests":{"cpu":"100m","memory":"2k"}})");
  // Seven and thirty days here, seven and thirty everywhere, thirty of any tag.
  EXPECT_EQ(database_.requests.size(), 5U + 3U);
}

TEST_F(InitialResourcesTest, MayLookAtTheNamespaceAlone) {
  context_.usage_history.namespace_only = true;
  database_.rows = {{{"cpu", "'team'", "=~"}, Answer("cpu/usage_rate", "100", 1)}};
  const json::Value pod = Admit(R"([{"name":"a","image":"web:1"}])");
  EXPECT_EQ(ResourcesOf(pod, 0), R"({"requests":{"cpu":"100m"}})");
  for (std::size_t i = 0; i < database_.requests.size(); ++i) {
    EXPECT_NE(database_.StatementOf(i).find("\"namespace_name\" = 'team'"), std::string::npos);
  }
}

TEST_F(InitialResourcesTest, WithoutSamplesAPodStaysAsItIs) {
  const json::Value pod = Admit(R"([{"name":"a","image":"web:1"}])");
  EXPECT_EQ(ResourcesOf(pod, 0), "null");
  EXPECT_EQ(NoteOf(pod), "");
}

TEST_F(InitialResourcesTest, ADatabaseThatFailsIsAskedOnceAndRefusesNothing) {
  database_.is_gone = true;
  const json::Value pod = Admit(R"([{"name":"a","image":"web:1"},{"name":"b","image":"web:2"}])");
  EXPECT_EQ(ResourcesOf(pod, 0), "null");
  EXPECT_EQ(database_.requests.size(), 1U);
}

TEST_F(InitialResourcesTest, OtherHistoriesAreRefusedByName) {
  const auto error = [&](std::string source) {
    context_.usage_history.source = std::move(source);
    return kPlugin.create(context_).status().message();
  };
  EXPECT_EQ(error("gcm"), "--ir-data-source=gcm is not here (allowed: influxdb)");
  EXPECT_EQ(error("hawkular"), "--ir-data-source=hawkular is not here (allowed: influxdb)");
  EXPECT_EQ(error("odd"), "unknown data source odd");
}

TEST(UsageHistoryTest, ATagIsNoPort) {
  EXPECT_EQ(WithoutTag("web"), "web");
  EXPECT_EQ(WithoutTag("web:1.2"), "web");
  EXPECT_EQ(WithoutTag("host:5000/web"), "host:5000/web");
  EXPECT_EQ(WithoutTag("host:5000/web:1@sha256:ab"), "host:5000/web");
}

TEST(UsageHistoryTest, TextsOfPodsDoNotBecomeStatements) {
  UsageQuestion question;
  question.resource = Resource::kMemory;
  question.image = "a' OR '1'='1\\";
  question.namespace_name = "team";
  question.until = question.from + std::chrono::hours(24);
  EXPECT_EQ(
      QueryText(question, 90),
      "SELECT percentile(\"value\", 90), count(\"value\") FROM \"memory/usage\" WHERE \"type\" = "
      "'pod_container' AND \"container_base_image\" = 'a\\' OR \\'1\\'=\\'1\\\\' AND "
      "\"namespace_name\" = 'team' AND time > '1970-01-01T00:00:00Z' AND time <= "
      "'1970-01-02T00:00:00Z'");
  question.image = "reg.io/a/.*";
  question.any_tag = true;
  const std::string text = QueryText(question, 90);
  EXPECT_NE(text.find(R"( =~ /^reg\.io\/a\/\.\*([:@].*)?$/ )"), std::string::npos) << text;
}

TEST(UsageHistoryTest, AnswersAreReadAsInfluxDbGivesThem) {
  const auto read = [](std::string_view text) {
    json::Arena arena;
    return ReadUsage(json::Parse(arena, text).value());
  };
  EXPECT_EQ(read(Answer("m", "12.7", 3))->value, 12);
  EXPECT_EQ(read(Answer("m", "null", 0))->samples, 0);
  EXPECT_EQ(read(kNoSample)->samples, 0);
  EXPECT_EQ(read(R"({"error":"authorization failed"})").status().message(), "authorization failed");
  EXPECT_EQ(read(R"({"results":[{"error":"database not found: k8s"}]})").status().message(),
            "database not found: k8s");
  EXPECT_FALSE(read("[]").ok());
  EXPECT_FALSE(read(R"({"results":[]})").ok());
}

}  // namespace
}  // namespace portcullis::plugins::initial_resources

// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "audit/event.h"
#include "audit/policy.h"
#include "audit/sink.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/reader.h"

namespace portcullis::audit {
namespace {

std::string ErrorOf(std::string_view policy) {
  auto parsed = ParsePolicy(policy);
  return parsed.ok() ? "no error" : parsed.status().message();
}

constexpr std::string_view kHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

std::string WithRule(std::string_view rule) {
  return std::string(kHead) + "rules:\n- " + std::string(rule) + "\n";
}

std::string Untyped(std::string_view found, std::string_view field, std::string_view type) {
  return base::StrCat("failed decoding: json: cannot unmarshal ", found, " into Go struct field ",
                      field, " of type ", type);
}

TEST(ParsePolicy, SaysWhatIsWrongAsKubernetesDoes) {
  struct Case {
    std::string policy, error;
  };
  const Case cases[] = {
      {WithRule("level: Metadata"), "no error"},
      {WithRule("{level: Metadata, unknown: 1}"), "no error"},
      {std::string(kHead), "loaded illegal policy with 0 rules"},
      {WithRule("level: All"),
       R"(rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", )"
       R"("Request", "RequestResponse")"},
      {WithRule("users: [a]"), "rules[0].level: Required value"},
      {WithRule("{level: None, nonResourceURLs: [\"/a*b\", x]}"),
       R"([rules[0].nonResourceURLs[0]: Invalid value: "/a*b": non-resource URL wildcards '*' must )"
       R"(be the final character of the rule, rules[0].nonResourceURLs[1]: Invalid value: "x": )"
       R"(non-resource URL rules must begin with a '/' character])"},
      {WithRule("{level: None, nonResourceURLs: [/a], namespaces: [x]}"),
       R"(rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular )"
       R"(resources and non-resource URLs)"},
      {WithRule("{level: None, resources: [{group: apps, resourceNames: [x]}]}"),
       R"(rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires )"
       R"(at least one resource)"},
      {WithRule("{level: None, omitStages: [Late]}"),
       R"(rules[0].omitStages[0]: Invalid value: "Late": allowed stages are )"
       R"(RequestReceived,ResponseStarted,ResponseComplete,Panic)"},
      {WithRule("{level: None, users: [1]}"),
       Untyped("number", "PolicyRule.rules.users", "string")},
      {WithRule("{level: None, resources: {group: '', resources: [events]}}"),
       Untyped("object", "PolicyRule.rules.resources", "[]v1.GroupResources")},
      {WithRule("{level: None, resources: [events]}"),
       Untyped("string", "PolicyRule.rules.resources", "v1.GroupResources")},
      {WithRule("{level: None, resources: [{group: 1}]}"),
       Untyped("number", "GroupResources.rules.resources.group", "string")},
      {WithRule("level: 1"), Untyped("number", "PolicyRule.rules.level", "v1.Level")},
      {WithRule("{level: None, omitManagedFields: 'true'}"),
       Untyped("string", "PolicyRule.rules.omitManagedFields", "bool")},
      {WithRule("{level: None, resources: [{group: '*'}]}"), "no error"},
      {WithRule("level: None\nmetadata: {creationTimestamp: null}"), "no error"},
      {WithRule("level: None\nmetadata: {creationTimestamp: '2026-01-01T00:00:00.5+01:00'}"),
       "no error"},
      {WithRule("level: None\nmetadata: {creationTimestamp: x}"),
       R"(failed decoding: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as )"
       R"("2006")"},
      {WithRule("level: None\nmetadata: {creationTimestamp: 3}"),
       Untyped("number", "ObjectMeta.metadata.creationTimestamp", "string")},
      {WithRule("level: None\nmetadata: {generation: a}"),
       Untyped("string", "ObjectMeta.metadata.generation", "int64")},
      {"apiVersion: v1\nkind: Pod\n",
       R"(failed decoding: no kind "Pod" is registered for version "v1" in scheme )"
       R"("pkg/audit/scheme.go:30")"},
      {"apiVersion: audit.k8s.io/v1\nrules: [{level: None}]\n", "no error"},
      {"kind: Policy\nrules: [{level: None}]\n",
       "unknown group version field audit.k8s.io/__internal, Kind=Policy in policy"},
      {"- a\n",
       "failed decoding: couldn't get version/kind; json parse error: json: cannot unmarshal array "
       R"(into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; )"
       R"(Kind string "json:\"kind,omitempty\"" })"},
  };
  for (const Case& c : cases) EXPECT_EQ(ErrorOf(c.policy), c.error) << c.policy;
  EXPECT_EQ(LoadPolicy("/none").status().message(),
            R"(failed to read file path "/none": open /none: no such file or directory)");
}

TEST(Policy, TheFirstRuleThatMatchesDecides) {
  auto policy = ParsePolicy(std::string(kHead) + R"(
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, users: ["system:kube-proxy"], verbs: [watch]}
- {level: Request, resources: [{group: "", resources: [pods, "pods/log", "*/exec"]}], namespaces: [a]}
- {level: RequestResponse, resources: [{group: apps, resources: ["deployments/*"], resourceNames: [d]}],
   omitStages: [ResponseStarted], omitManagedFields: false}
- {level: None, nonResourceURLs: ["/healthz*"]}
- {level: Metadata, userGroups: [devs]}
)");
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  const api::UserInfo proxy{"system:kube-proxy", "", {}, {}};
  const api::UserInfo dev{"d", "", {"devs"}, {}};
  auto level = [&](RequestAttributes r) { return LevelText(policy->For(r).level); };
  RequestAttributes pods{&dev, "get", true, "", "v1", "pods", "", "a", "p", ""};
  EXPECT_EQ(level(pods), "Request");
  pods.subresource = "exec";
  EXPECT_EQ(level(pods), "Request");
  pods.subresource = "status";
  EXPECT_EQ(level(pods), "Metadata");
  pods.subresource = "log";
  pods.ns = "b";
  EXPECT_EQ(level(pods), "Metadata");
  RequestAttributes scale{&dev, "update", true, "apps", "v1", "deployments", "scale", "a", "d", ""};
  EXPECT_EQ(level(scale), "RequestResponse");
  const Depth depth = policy->For(scale);
  EXPECT_TRUE(depth.Omits(Stage::kRequestReceived));
  EXPECT_TRUE(depth.Omits(Stage::kResponseStarted));
  EXPECT_FALSE(depth.Omits(Stage::kResponseComplete));
  EXPECT_FALSE(depth.omit_managed_fields);
  EXPECT_TRUE(policy->For(pods).omit_managed_fields);
  scale.name = "other";
  EXPECT_EQ(level(scale), "Metadata");
  EXPECT_EQ(level({&dev, "get", false, "", "", "", "", "", "", "/healthz/x"}), "None");
  EXPECT_EQ(level({&proxy, "get", true, "", "v1", "nodes", "", "", "", ""}), "None");
}

Event MakeEvent(Level level, base::WallTime now) {
  Event event({level, 0, true}, "id-1", now);
  event.request_uri = "/api/v1/namespaces/n/pods?x=<1>";
  event.verb = "create";
  event.user = {"joe", "7", {"devs"}, {{"k", {"v"}}}};
  event.source_ips = {"127.0.0.1"};
  event.user_agent = "test";
  event.object_ref = ObjectReference{"pods", "n", "p", "", "", "v1", "", ""};
  return event;
}

TEST(Event, IsWrittenAsKubernetesWritesIt) {
  base::FakeClock clock;
  Event event = MakeEvent(Level::kMetadata, clock.Now());
  event.impersonated_user = api::UserInfo{"ann", "", {}, {}};
  event.impersonation_constraint = "impersonate:user-info";
  event.Annotate("b", "2");
  event.Annotate("a", "1");
  event.Annotate("a", "ignored");
  event.AnnotateAt(Level::kRequest, "deep", "x");
  clock.Advance(std::chrono::microseconds(1500));
  event.SetResponseCode(201);

  EXPECT_EQ(
      *event.Encode(Stage::kResponseComplete, clock.Now()),
      R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1",)"
      R"("stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods?x=\u003c1\u003e",)"
      R"("verb":"create","user":{"username":"joe","uid":"7","groups":["devs"],)"
      R"("extra":{"k":["v"]}},"impersonatedUser":{"username":"ann"},)"
      R"("authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},)"
      R"("sourceIPs":["127.0.0.1"],"userAgent":"test","objectRef":{"resource":"pods",)"
      R"("namespace":"n","name":"p","apiVersion":"v1"},)"
      R"("responseStatus":{"metadata":{},"code":201},)"
      R"("requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z",)"
      R"("stageTimestamp":"2026-01-01T00:00:00.001500Z","annotations":{"a":"1","b":"2"}})");
}

TEST(Event, KeepsObjectsAsTheLevelSays) {
  base::FakeClock clock;
  auto object = json::ParseDocument(
      R"({"kind":"Pod","metadata":{"name":"p","managedFields":[1]},"spec":{}})");
  auto status = json::ParseDocument(
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no",)"
      R"("reason":"Forbidden","details":{"name":"p"},"code":403})");
  ASSERT_TRUE(object.ok() && status.ok());
  auto line = [&](Level level) {
    Event event = MakeEvent(level, clock.Now());
    event.SetRequestObject(object->root());
    event.SetResponseObject(status->root());
    return event.Encode(Stage::kResponseComplete, clock.Now()).value_or("");
  };
  EXPECT_EQ(line(Level::kNone), "");
  const std::string_view outcome =
      R"("responseStatus":{"metadata":{},"status":"Failure","message":"no","reason":"Forbidden",)"
      R"("details":{"name":"p"},"code":403},)";
  for (Level level : {Level::kMetadata, Level::kRequest, Level::kRequestResponse}) {
    EXPECT_NE(line(level).find(outcome), std::string::npos);
  }
  EXPECT_EQ(line(Level::kMetadata).find("requestObject"), std::string::npos);
  EXPECT_NE(line(Level::kRequest)
                .find(R"("requestObject":{"kind":"Pod","metadata":{"name":"p"},"spec":{}})"),
            std::string::npos);
  EXPECT_EQ(line(Level::kRequest).find("responseObject"), std::string::npos);
  EXPECT_NE(line(Level::kRequestResponse).find(R"("responseObject":{"kind":"Status")"),
            std::string::npos);
}

TEST(Event, KeepsPatchesAsTheyAre) {
  base::FakeClock clock;
  auto patch = json::ParseDocument(R"({"metadata":{"name":"p","uid":"u","managedFields":[]}})");
  ASSERT_TRUE(patch.ok());
  auto line = [&](Level level) {
    Event event = MakeEvent(level, clock.Now());
    event.SetRequestPatch(patch->root());
    return event.Encode(Stage::kResponseComplete, clock.Now()).value_or("");
  };
  EXPECT_EQ(line(Level::kMetadata).find("requestObject"), std::string::npos);
  const std::string line_of_request = line(Level::kRequest);
  EXPECT_NE(line_of_request.find(
                R"("requestObject":{"metadata":{"name":"p","uid":"u","managedFields":[]}})"),
            std::string::npos);
  EXPECT_NE(line_of_request.find(R"("name":"p","apiVersion":"v1"})"), std::string::npos);
}

TEST(SourceIps, ComeFromHeadersAndPeer) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(SourceIps("", "", "127.0.0.1:5"), (Strings{"127.0.0.1"}));
  EXPECT_EQ(SourceIps("1.1.1.1, 2.2.2.2, junk!", "3.3.3.3", "[::1]:5"),
            (Strings{"1.1.1.1", "2.2.2.2", "3.3.3.3", "::1"}));
  EXPECT_EQ(SourceIps("1.1.1.1, 2.2.2.2", "1.1.1.1", "1.1.1.1:5"),
            (Strings{"1.1.1.1", "2.2.2.2", "1.1.1.1"}));
  EXPECT_EQ(SourceIps("", "3.3.3.3", "3.3.3.3:5"), (Strings{"3.3.3.3"}));
  EXPECT_EQ(SourceIps("cafe, 1.2, ::::, fe80::1%eth0, ,1.1.1.1:80", "x", "1.2.3.4:5"),
            (Strings{"1.2.3.4"}));
  EXPECT_EQ(SourceIps("0:0:0::1, 010.0.0.1, ::FFFF:1.2.3.4", "::ffff:10.0.0.1", "1.2.3.4:5"),
            (Strings{"::1", "10.0.0.1", "1.2.3.4"}));
}

class LogFileTest : public ::testing::Test {
 protected:
  LogFileTest() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~LogFileTest() override { std::filesystem::remove_all(folder_); }
  static std::string Read(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "pc-audit-XXXXXX").string();
  base::FakeClock clock_;
};

TEST_F(LogFileTest, HasALinePerEvent) {
  const std::string path = folder_ + "/sub/audit.log";
  auto sink = OpenLogFile({.path = path}, clock_);
  ASSERT_TRUE(sink.ok()) << sink.status().message();
  ASSERT_TRUE((*sink)->Write("{1}").ok());
  ASSERT_TRUE((*sink)->Write("{2}").ok());
  EXPECT_EQ(Read(path), "{1}\n{2}\n");
  EXPECT_EQ(OpenLogFile({.path = folder_}, clock_).status().message(),
            "open " + folder_ + ": Is a directory");
}

TEST_F(LogFileTest, BeginsANewLineBehindAnEventThatWasCutOff) {
  const std::string path = folder_ + "/audit.log";
  auto sink = OpenLogFile({.path = path}, clock_);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->Write("{1}").ok());
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit full{6, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const base::Status refused = (*sink)->Write("{2222}");
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(refused.message(), base::StrCat("write ", path, ": File too large"));
  ASSERT_TRUE((*sink)->Write("{3}").ok());
  ASSERT_TRUE((*sink)->Write("{4}").ok());
  EXPECT_EQ(Read(path), "{1}\n{2\n{3}\n{4}\n");
}

TEST_F(LogFileTest, BeginsANewLineBehindWhatAnEarlierProcessHasNotEnded) {
  const std::string path = folder_ + "/audit.log";
  std::ofstream(path) << "{1}\n{2";
  auto sink = OpenLogFile({.path = path}, clock_);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->Write("{3}").ok());
  ASSERT_TRUE((*sink)->Write("{4}").ok());
  EXPECT_EQ(Read(path), "{1}\n{2\n{3}\n{4}\n");
}

TEST_F(LogFileTest, IsRenamedWhenFullAndOldOnesGo) {
  auto sink =
      OpenLogFile({.path = folder_ + "/audit.log", .max_backups = 2, .max_size_mb = 1}, clock_);
  ASSERT_TRUE(sink.ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE((*sink)->Write(std::string(800000, 'x')).ok());
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(Files(), (std::vector<std::string>{"audit-2026-01-01T00-00-03.000.log",
                                               "audit-2026-01-01T00-00-04.000.log", "audit.log"}));
}

TEST_F(LogFileTest, CompressesWhatIsFull) {
  {
    auto sink = OpenLogFile(
        {.path = folder_ + "/audit.log", .max_backups = 2, .max_size_mb = 1, .compress = true},
        clock_);
    ASSERT_TRUE(sink.ok());
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE((*sink)->Write(std::string(800000, static_cast<char>('a' + i))).ok());
      clock_.Advance(std::chrono::seconds(1));
    }
  }
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[1], "audit-2026-01-01T00-00-04.000.log.gz");
  EXPECT_EQ(files[2], "audit.log");
  const std::string packed = folder_ + "/" + files[1];
  EXPECT_EQ(std::filesystem::status(packed).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  gzFile reader = gzopen(packed.c_str(), "rb");
  std::string plain(900000, '\0');
  const int size = gzread(reader, plain.data(), static_cast<unsigned>(plain.size()));
  gzclose(reader);
  EXPECT_EQ(plain.substr(0, static_cast<std::size_t>(size)), std::string(800000, 'd') + "\n");
}

TEST_F(LogFileTest, GrowsWithoutEndIfItMay) {
  auto sink = OpenLogFile({.path = folder_ + "/audit.log", .max_size_mb = 0}, clock_);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->Write(std::string(101 << 20, 'x')).ok());
  ASSERT_TRUE((*sink)->Write("y").ok());
  EXPECT_EQ(Files(), (std::vector<std::string>{"audit.log"}));
}

TEST_F(LogFileTest, RemovesFilesByAge) {
  auto sink =
      OpenLogFile({.path = folder_ + "/audit.log", .max_age_days = 2, .max_size_mb = 1}, clock_);
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE((*sink)->Write(std::string(800000, 'x')).ok());
    clock_.Advance(std::chrono::hours(24));
  }
  EXPECT_EQ(Files().size(), 4U);
}

// Collects what it is given, and can be held up.
class Recorder final : public Sink {
 public:
  explicit Recorder(std::vector<std::string>& lines) : lines_(lines) {}
  base::Status Write(std::string event) override {
    lines_.push_back(std::move(event));
    return base::OkStatus();
  }
  void Flush() override {}

 private:
  std::vector<std::string>& lines_;
};

TEST(LegacyFormat, IsALineOfText) {
  std::vector<std::string> lines;
  const auto sink = MakeLegacyFormat(std::make_unique<Recorder>(lines));
  ASSERT_TRUE(
      sink->Write(R"({"auditID":"1-2","stage":"ResponseComplete","requestURI":"/api?x=\"y\"",)"
                  R"("verb":"list","user":{"username":"alice","groups":["dev","ops"]},)"
                  R"("impersonatedUser":{"username":"bob"},"sourceIPs":["10.0.0.1","10.0.0.2"],)"
                  R"("userAgent":"curl/8","objectRef":{"resource":"pods","namespace":"n"},)"
                  R"("responseStatus":{"metadata":{},"code":200},)"
                  R"("requestReceivedTimestamp":"2026-01-02T03:04:05.120000Z"})")
          .ok());
  ASSERT_TRUE(
      sink->Write(R"({"auditID":"3","stage":"RequestReceived","requestURI":"/","verb":"get",)"
                  R"("user":{},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"})")
          .ok());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            R"(2026-01-02T03:04:05.12Z AUDIT: id="1-2" stage="ResponseComplete" ip="10.0.0.1" )"
            R"(method="list" user="alice" groups="\"dev\",\"ops\"" as="bob" )"
            R"(asgroups="<lookup>" user-agent="curl/8" namespace="n" uri="/api?x=\"y\"" )"
            R"(response="200")");
  EXPECT_EQ(lines[1],
            R"(2026-01-02T03:04:05Z AUDIT: id="3" stage="RequestReceived" ip="<unknown>" )"
            R"(method="get" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" )"
            R"(user-agent="" namespace="<none>" uri="/" response="<deferred>")");
}

// Names come from clients (certificates, tokens, headers): none may forge a line of the log.
TEST(LegacyFormat, NamesWithLineBreaksStayOnOneLine) {
  base::FakeClock clock;
  Event event = MakeEvent(Level::kMetadata, clock.Now());
  const std::string forged = "eve\n{\"kind\":\"Event\"}\r\n";
  event.user = {forged, forged, {forged}, {{forged, {forged}}}};
  event.impersonated_user = event.user;
  event.user_agent = forged;
  event.request_uri = "/api?" + forged;
  event.Annotate("a", forged);
  const std::string text = *event.Encode(Stage::kResponseComplete, clock.Now());
  EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos) << text;

  std::vector<std::string> lines;
  ASSERT_TRUE(MakeLegacyFormat(std::make_unique<Recorder>(lines))->Write(text).ok());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find_first_of("\r\n"), std::string::npos) << lines[0];
}

TEST(Batching, WritesInTheBackgroundInOrder) {
  std::vector<std::string> lines;
  {
    auto sink = MakeBatching(std::make_unique<Recorder>(lines), {.max_batch = 10});
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(sink->Write(std::to_string(i)).ok());
    sink->Flush();
    EXPECT_EQ(lines.size(), 25U);
    ASSERT_TRUE(sink->Write("last").ok());
  }
  ASSERT_EQ(lines.size(), 26U);
  EXPECT_EQ(lines[24], "24");
  EXPECT_EQ(lines[25], "last");
}

TEST(Batching, KeepsToItsRate) {
  std::vector<std::string> lines;
  const auto begun = base::SystemClock().Steady();
  {
    auto sink = MakeBatching(std::make_unique<Recorder>(lines),
                             {.max_batch = 1, .batches_per_second = 1000, .burst = 5});
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(sink->Write(std::to_string(i)).ok());
    sink->Flush();
  }
  EXPECT_EQ(lines.size(), 25U);
  // Five batches go at once, each of the others waits for a millisecond.
  EXPECT_GE(base::SystemClock().Steady() - begun, std::chrono::milliseconds(20));
}

TEST(Truncating, DropsFirstWhatWasAskedAndAnsweredThenTheEvent) {
  const std::string head = R"({"kind":"Event","level":")";
  const std::string objects =
      R"(","requestObject":{"a":"xxxxxxxxxxxxxxxxxxxx"},"responseObject":{})";
  const std::string tail = R"(,"annotations":{"a":"b","b":"c"}})";
  const std::string kept =
      head + R"(Request","annotations":{"a":"b",)" + R"("audit.k8s.io/truncated":"true","b":"c"}})";
  struct Case {
    std::string event;
    std::size_t largest;
    std::vector<std::string> written;
  };
  const std::string whole = head + "Request" + objects + tail;
  const std::string metadata = head + "Metadata" + objects + tail;
  const std::string bare = head + "Request" + objects + "}";
  const std::string kept_bare =
      head + R"(Request","annotations":{"audit.k8s.io/truncated":"true"}})";
  const Case cases[] = {
      {whole, whole.size() + 1, {whole}},  // the end of the line counts
      {whole, whole.size(), {kept}},      {whole, kept.size() + 1, {kept}},
      {whole, kept.size(), {}},           {metadata, metadata.size(), {}},
      {bare, bare.size(), {kept_bare}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> lines;
    std::size_t lost = 0;
    const auto sink = MakeTruncating(std::make_unique<Recorder>(lines), c.largest,
                                     [&](std::size_t count) { lost += count; });
    EXPECT_TRUE(sink->Write(c.event).ok());
    EXPECT_EQ(lines, c.written) << c.event << " in " << c.largest;
    EXPECT_EQ(lost, c.written.empty() ? 1U : 0U) << c.event << " in " << c.largest;
  }
}

TEST(Batching, DropsWhenItsBufferIsFull) {
  std::vector<std::string> lines;
  auto sink = MakeBatching(std::make_unique<Recorder>(lines), {.buffer_size = 0});
  EXPECT_FALSE(sink->Write("x").ok());
}

TEST(Forgiving, ErrorsStayBehind) {
  std::vector<std::string> lines;
  auto sink = MakeForgiving(MakeBatching(std::make_unique<Recorder>(lines), {.buffer_size = 0}));
  EXPECT_TRUE(sink->Write("x").ok());
}

}  // namespace
}  // namespace portcullis::audit

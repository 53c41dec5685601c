// SPDX-License-Identifier: Apache-2.0

// Facts about traces: what they keep of a request's steps, and what their documents show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/request.h"
#include "admission/trace/document.h"
#include "admission/trace/fields.h"
#include "admission/trace/table.h"
#include "admission/trace/trace.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::admission {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TraceTest : public ::testing::Test {
 protected:
  json::Value Parse(std::string_view text) {
    return json::Parse(arena_, arena_.Copy(text)).value();
  }

  Request MakeRequest(std::string_view object) {
    Attributes attributes;
    attributes.resource = {"", "v1", "pods"};
    attributes.kind = {"", "v1", "Pod"};
    attributes.namespace_name = "team";
    attributes.name = "web";
    attributes.object = Parse(object);
    recorder_.set_trace(&trace_);
    return Request(std::move(attributes), arena_, recorder_);
  }

  // "path=origin" of each field.
  std::string Fields() const {
    std::string out;
    for (const FieldOrigin& field : FieldOrigins(trace_)) {
      out += base::StrCat(out.empty() ? "" : " ", field.path, "=", field.set_by);
    }
    return out;
  }

  json::Value Document(std::string_view resource, bool full = true, bool hides_config_maps = true) {
    trace_.Finish({201, "", "so it is"});
    const TraceSubject subject{"id",    "create", {"", "v1", std::string(resource)},
                               "",      "team",   "web",
                               "alice", false,    {"a warning"}};
    return TraceDocument(arena_, trace_, subject, {full, hides_config_maps});
  }

  json::Arena arena_;
  base::FakeClock clock_;
  Trace trace_{clock_};
  Recorder recorder_;
};

TEST_F(TraceTest, NamesWhoHasSetEachField) {
  trace_.Decoded(Parse(R"({"spec":{"containers":[{"name":"a"}]}})"));
  trace_.Stage("decode", "defaulting",
               Parse(R"({"spec":{"containers":[{"name":"a","pull":"Always"}],"dns":"x"}})"));
  Request request =
      MakeRequest(R"({"spec":{"containers":[{"name":"a","pull":"Always"}],"dns":"x"}})");
  trace_.BeginPlugin(request, "LimitRanger", kMutate);
  request.set_object(
      Parse(R"({"spec":{"containers":[{"name":"a","pull":"Always","cpu":1}],"dns":"x"}})"));
  trace_.EndPlugin(request, base::OkStatus());
  trace_.BeginPlugin(request, "MutatingAdmissionWebhook", kMutate);
  trace_.Begin({TraceActor::Kind::kWebhook, "sidecar", "s.example.com", {}});
  const json::Value before = request.object();
  request.set_object(Parse(
      R"({"spec":{"containers":[{"name":"a","pull":"Always","cpu":1},{"name":"b"}],"dns":"x"}})"));
  trace_.SetObjects(before, request.object(), true);
  trace_.End(TraceOutcome::kChanged);
  trace_.EndPlugin(request, base::OkStatus());
  trace_.Stage("strategy", "strategy",
               Parse(R"({"spec":{"containers":[{"name":"a","pull":"Always","cpu":1},{"name":"b"}],)"
                     R"("dns":"x"},"status":{}})"));
  EXPECT_EQ(Fields(),
            "/spec/containers/0/name=client /spec/containers/0/pull=defaulting "
            "/spec/containers/0/cpu=plugin/LimitRanger "
            "/spec/containers/1=webhook/sidecar/s.example.com "
            "/spec/dns=defaulting /status=strategy");
}

TEST_F(TraceTest, UpdatesKeepWhatWasStored) {
  trace_.Decoded(Parse(R"({"data":{"a":"1","b":"2"}})"));
  trace_.Stage("decode", "defaulting", Parse(R"({"data":{"a":"1","b":"2"},"d":true})"));
  trace_.BeginUpdate(Parse(R"({"data":{"a":"1","b":"0"}})"));
  trace_.Replaced(Parse(R"({"data":{"a":"1","b":"2"},"d":true})"));
  EXPECT_EQ(Fields(), "/data/a=stored /data/b=client /d=defaulting");
  // After a conflict it begins anew.
  trace_.BeginUpdate(Parse(R"({"data":{"a":"0","b":"2"}})"));
  trace_.Replaced(Parse(R"({"data":{"a":"1","b":"2"},"d":true})"));
  EXPECT_EQ(Fields(), "/data/a=client /data/b=stored /d=defaulting");
}

TEST_F(TraceTest, PatchesChangeWhatWasStored) {
  trace_.BeginUpdate(Parse(R"({"data":{"a":"1"}})"));
  trace_.Stage("decode", "client", Parse(R"({"data":{"a":"1","b":"2"}})"));
  EXPECT_EQ(Fields(), "/data/a=stored /data/b=client");
}

TEST_F(TraceTest, ChangesInAnotherVersionBelongToAllThatMadeThem) {
  trace_.Decoded(Parse(R"({"apiVersion":"x/v1","spec":{}})"));
  Request request = MakeRequest(R"({"apiVersion":"x/v1","spec":{}})");
  trace_.BeginPlugin(request, "MutatingAdmissionWebhook", kMutate);
  json::Value object = Parse(R"({"apiVersion":"x/v2","s":{}})");
  for (const char* name : {"a", "b"}) {
    trace_.Begin({TraceActor::Kind::kWebhook, "c", name, {}});
    const json::Value changed = json::SetPath(arena_, object, {"s", name}, json::Value::Bool(true));
    trace_.SetObjects(object, changed, false);
    trace_.End(TraceOutcome::kChanged);
    object = changed;
  }
  request.set_object(Parse(R"({"apiVersion":"x/v1","spec":{"a":true,"b":true}})"));
  trace_.EndPlugin(request, base::OkStatus());
  EXPECT_EQ(Fields(), "/apiVersion=client /spec=webhook/c/a, webhook/c/b");
}

TEST_F(TraceTest, DefaultsOfWhatAWebhookAddsAreDefaults) {
  constexpr std::string_view kObject = R"({"spec":{"dns":"x"}})";
  trace_.Decoded(Parse(kObject));
  Request request = MakeRequest(kObject);
  trace_.BeginPlugin(request, "MutatingAdmissionWebhook", kMutate);
  trace_.Begin({TraceActor::Kind::kWebhook, "c", "w", {}});
  const json::Value before = request.object();
  const json::Value patched = Parse(R"({"spec":{"dns":"x","add":{"name":"b"}}})");
  const json::Value defaulted = Parse(R"({"spec":{"dns":"x","add":{"name":"b","pull":"Always"}}})");
  trace_.AddPatched(patched, defaulted);
  trace_.SetObjects(before, defaulted, true);
  trace_.End(TraceOutcome::kChanged);
  request.set_object(defaulted);
  trace_.EndPlugin(request, base::OkStatus());
  EXPECT_EQ(Fields(), "/spec/dns=client /spec/add/name=webhook/c/w /spec/add/pull=defaulting");
}

TEST_F(TraceTest, StepsThatAreOpenEndWithTheirPlugin) {
  const Request request = MakeRequest("{}");
  trace_.BeginPlugin(request, "ValidatingAdmissionWebhook", kValidate);
  trace_.Begin({TraceActor::Kind::kWebhook, "c", "waits", {}});
  trace_.Suspend();
  trace_.Begin({TraceActor::Kind::kWebhook, "c", "fails", {}});
  trace_.EndPlugin(request, base::InternalError("no such namespace"));
  ASSERT_EQ(trace_.steps().size(), 3U);
  EXPECT_EQ(trace_.steps()[0].outcome, TraceOutcome::kFailed);
  EXPECT_EQ(trace_.steps()[1].outcome, TraceOutcome::kSkipped);
  EXPECT_EQ(trace_.steps()[1].message, "the request was refused before this step");
  EXPECT_EQ(trace_.steps()[2].outcome, TraceOutcome::kFailed);
  EXPECT_THAT(trace_.steps()[2].message, HasSubstr("no such namespace"));
}

TEST_F(TraceTest, WarningsAndAnnotationsBelongToTheStep) {
  const Request request = MakeRequest("{}");
  trace_.BeginPlugin(request, "PodSecurity", kValidate);
  request.Warn("would violate");
  ASSERT_TRUE(request.Annotate("pod-security.kubernetes.io/audit", "yes").ok());
  trace_.EndPlugin(request, base::OkStatus());
  EXPECT_THAT(trace_.steps()[0].warnings, ::testing::ElementsAre("would violate"));
  ASSERT_EQ(trace_.steps()[0].annotations.size(), 1U);
  EXPECT_EQ(trace_.steps()[0].annotations[0].second, "yes");
}

TEST_F(TraceTest, CountsTheStepsThatAreTooMany) {
  const Request request = MakeRequest("{}");
  for (std::size_t i = 0; i < Trace::kMaxSteps; ++i) {
    trace_.BeginPlugin(request, "P", kValidate);
    trace_.EndPlugin(request, base::OkStatus());
  }
  trace_.BeginPlugin(request, "MutatingAdmissionWebhook", kMutate);
  trace_.Begin({TraceActor::Kind::kWebhook, "c", "w", {}});
  trace_.AddCost(1);
  trace_.Skip(TraceReason::kRules, "");
  trace_.EndPlugin(request, base::BadRequest("no"));
  EXPECT_EQ(trace_.steps().size(), Trace::kMaxSteps);
  EXPECT_EQ(trace_.omitted_steps(), 2U);
  EXPECT_EQ(Document("pods")["omittedSteps"].AsInt(), 2);
}

// A webhook has set a value and said a word about it.
class HidingTest : public TraceTest {
 protected:
  std::string Text(std::string_view resource, bool full, bool hides_config_maps) {
    trace_.Decoded(Parse(kObject));
    Request request = MakeRequest(kObject);
    trace_.BeginPlugin(request, "MutatingAdmissionWebhook", kMutate);
    trace_.Begin({TraceActor::Kind::kWebhook, "c", "w", {}});
    trace_.SetPatch(Parse(R"([{"op":"add","path":"/data/b","value":"aHVudGVyMg=="},)"
                          R"({"op":"add","path":"x/data","value":{"c":"aHVudGVyMg=="}},)"
                          R"({"op":"replace","path":"/metadata/labels","value":{"l":"1"}}])"));
    const json::Value after = json::SetPath(arena_, request.object(), {"data", "b"},
                                            json::Value::StringView("aHVudGVyMg=="));
    trace_.SetObjects(request.object(), after, true);
    request.set_object(after);
    request.Warn("aHVudGVyMg== is short");
    (void)request.Annotate("c/w", "aHVudGVyMg==");
    trace_.End(TraceOutcome::kChanged, "aHVudGVyMg==");
    trace_.EndPlugin(request, base::OkStatus());
    trace_.Complete(after);
    return json::ToString(Document(resource, full, hides_config_maps));
  }

  static constexpr std::string_view kSecret = "aHVudGVyMg==";
  static constexpr std::string_view kObject =
      R"({"metadata":{"labels":{"l":"0"},"annotations":{"other":"shown",)"
      R"("kubectl.kubernetes.io/last-applied-configuration":"aHVudGVyMg=="}},)"
      R"("data":{"a":"aHVudGVyMg=="},"stringData":{"c":"aHVudGVyMg=="}})";
};

TEST_F(HidingTest, ContentsOfSecretsAreInNoDocument) {
  const std::string text = Text("secrets", true, false);
  EXPECT_THAT(text, Not(HasSubstr(kSecret)));
  EXPECT_THAT(text, HasSubstr(R"~({"op":"add","path":"/data/b","value":"(hidden)"})~"));
  EXPECT_THAT(text, HasSubstr(R"({"op":"replace","path":"/metadata/labels","value":{"l":"1"}})"));
  EXPECT_THAT(text, HasSubstr(R"("other":"shown")"));
  EXPECT_THAT(text, HasSubstr(R"~("data":{"a":"(hidden)","b":"(hidden)"})~"));
  EXPECT_THAT(text, HasSubstr(R"~("stringData":{"c":"(hidden)"})~"));
  EXPECT_THAT(text, HasSubstr(R"({"path":"/data/b","setBy":"webhook/c/w"})"));
}

TEST_F(HidingTest, SummariesHoldNoValues) {
  const std::string text = Text("secrets", false, false);
  EXPECT_THAT(text, Not(HasSubstr(kSecret)));
  EXPECT_THAT(text, HasSubstr(R"("changes":[{"op":"add","path":"/data/b"}])"));
  EXPECT_THAT(text, Not(HasSubstr(R"("object")")));
}

TEST_F(HidingTest, ValuesOfConfigMapsAreHiddenIfAskedFor) {
  const std::string text = Text("configmaps", true, true);
  EXPECT_THAT(text, HasSubstr(R"~("data":{"a":"(hidden)","b":"(hidden)"})~"));
}

TEST_F(HidingTest, ValuesOfConfigMapsAreShownOtherwise) {
  EXPECT_THAT(Text("configmaps", true, false), HasSubstr(R"("data":{"a":"aHVudGVyMg==")"));
}

TEST_F(TraceTest, HidesTokens) {
  constexpr std::string_view kToken = "eyJhbGciOi";
  trace_.Complete(Parse(R"({"spec":{"token":"eyJhbGciOi","audiences":["a"]}})"));
  trace_.Finish({201, "", ""});
  const TraceSubject subject{"id",    "create", {"authentication.k8s.io", "v1", "tokenreviews"},
                             "",      "",       "",
                             "alice", false,    {}};
  const std::string text = json::ToString(TraceDocument(arena_, trace_, subject, {}));
  EXPECT_THAT(text, Not(HasSubstr(kToken)));
  EXPECT_THAT(text, HasSubstr(R"("audiences":["a"])"));
}

TEST_F(TraceTest, IsATableOfOneRowAStep) {
  trace_.Decoded(Parse(R"({"metadata":{"name":"web"}})"));
  Request request = MakeRequest(R"({"metadata":{"name":"web"}})");
  trace_.BeginPlugin(request, "MutatingAdmissionWebhook", kMutate);
  trace_.Begin({TraceActor::Kind::kWebhook, "c", "far.example.com", {}});
  trace_.Skip(TraceReason::kRules, "rules[0]: resources [jobs] do not include pods");
  trace_.Begin({TraceActor::Kind::kWebhook, "c", "label.example.com", {}});
  clock_.Advance(std::chrono::microseconds(1234567));
  const json::Value after = Parse(R"({"metadata":{"name":"web","labels":{"a.b/c":"1"}}})");
  trace_.SetObjects(request.object(), after, true);
  request.set_object(after);
  trace_.End(TraceOutcome::kChanged);
  trace_.EndPlugin(request, base::OkStatus());
  trace_.BeginPlugin(request, "ValidatingAdmissionPolicy", kValidate);
  trace_.Begin({TraceActor::Kind::kPolicy, "p", "b", "team/x"});
  trace_.AddCost(12);
  request.Warn("mind the gap");
  trace_.SetReason(TraceReason::kValidationActions);
  trace_.End(TraceOutcome::kNotEnforced, "validationActions [\"Warn\"]: no");
  trace_.EndPlugin(request, base::OkStatus());
  trace_.Complete(after);
  EXPECT_EQ(TraceTable(Document("pods")),
            R"(create pods team/web by alice: allowed, 201, 1.23s
so it is

PHASE       STEP                       OUTCOME      TIME   COST  WHY
mutating    MutatingAdmissionWebhook   Changed      1.23s
mutating      c/far.example.com        Skipped      0s           Rules: rules[0]: resources [jobs] do not include pods
mutating      c/label.example.com      Changed      1.23s        add metadata.labels
validating  ValidatingAdmissionPolicy  Allowed      0s
validating    p/b (param team/x)       NotEnforced  0s     12    ValidationActions: validationActions ["Warn"]: no
                                                                 warning: mind the gap

FIELD            SET BY
metadata.name    client
metadata.labels  webhook/c/label.example.com
)");
}

}  // namespace
}  // namespace portcullis::admission

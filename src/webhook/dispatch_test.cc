// SPDX-License-Identifier: Apache-2.0

// Both dispatchers against a real HTTPS server that answers as each test tells it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/gotext.h"
#include "base/strings.h"
#include "webhook/testing/dispatch_fixture.h"

namespace portcullis::webhook {
namespace {

using testing::Answer;
using testing::DispatchTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Patch;

TEST_P(DispatchTest, AsksEveryMatchingValidatingWebhook) {
  Validating({Hook("a.x.y", "/a"), Hook("b.x.y", "/b"),
              Hook("c.x.y", "/c", R"("objectSelector":{"matchLabels":{"no":"such"}})")});
  EXPECT_TRUE(Validate(ConfigMap()).ok());
  EXPECT_THAT(calls_, ::testing::UnorderedElementsAre("/a?timeout=5s", "/b?timeout=5s"));
}

TEST_P(DispatchTest, RefusesWithTheWebhooksWords) {
  answers_["/a"] = {{.response =
                         R"("allowed":false,"warnings":["careful"],"auditAnnotations":)"
                         R"({"k":"v","bad key":"x"},"status":{"code":422,"reason":"Invalid",)"
                         R"("message":"no","metadata":{"remainingItemCount":7,)"
                         R"("resourceVersion":"5","selfLink":"s"}})"}};
  Validating({Hook("a.x.y", "/a")});
  const base::Status status = Validate(ConfigMap());
  EXPECT_EQ(status.message(), "admission webhook \"a.x.y\" denied the request: no");
  EXPECT_EQ(status.http_code(), 422);
  EXPECT_THAT(recorder_.warnings(), ElementsAre("careful"));
  EXPECT_THAT(Annotations(), ElementsAre(::testing::Pair("a.x.y/k", "v")));
  ASSERT_TRUE(recorder_.foreign_status().has_value());
  EXPECT_EQ(recorder_.foreign_status()->metadata_json,
            R"({"selfLink":"s","resourceVersion":"5","remainingItemCount":7})");
}

TEST_P(DispatchTest, TellsCallErrorsApart) {
  struct ErrorCase {
    Answer answer;
    std::string text;
  };
  const ErrorCase cases[] = {
      {{.status = 500, .raw_body = "out of order", .content_type = "text/plain"},
       "failed to call webhook: an error on the server (\"out of order\") has prevented the "
       "request from succeeding"},
      {{.raw_body = "{}"}, "received invalid webhook response: webhook response was absent"},
      {{.drop = true},
       base::StrCat("failed to call webhook: Post ", base::GoQuote(server_.Url("/a?timeout=5s")),
                    ": stream error: stream ID 5; INTERNAL_ERROR; received from peer")},
  };
  Validating({Hook("a.x.y", "/a")});
  for (const ErrorCase& c : cases) {
    answers_["/a"] = {c.answer};
    EXPECT_EQ(Validate(ConfigMap()).message(),
              base::StrCat("Internal error occurred: failed calling webhook \"a.x.y\": ", c.text));
  }
  EXPECT_THAT(metrics_.Expose(), HasSubstr("error_type=\"calling_webhook_error\""));
}

TEST_P(DispatchTest, FailsOpenWhenToldTo) {
  answers_["/a"] = {{.status = 500}};
  Validating({Hook("b.x.y", "/b"), Hook("a.x.y", "/a", R"("failurePolicy":"Ignore")")});
  EXPECT_TRUE(Validate(ConfigMap()).ok());
  EXPECT_EQ(Annotations()["failed-open.validating.webhook.admission.k8s.io/round_0_index_1"],
            "a.x.y");
  EXPECT_THAT(metrics_.Expose(),
              HasSubstr("apiserver_admission_webhook_fail_open_count{name=\"a.x.y\""));
}

TEST_P(DispatchTest, GivesUpAtTheWebhooksTimeout) {
  answers_["/a"] = {{.hang = true}};
  Validating({Hook("a.x.y", "/a", R"("timeoutSeconds":1)")});
  EXPECT_EQ(
      Validate(ConfigMap()).message(),
      base::StrCat("Internal error occurred: failed calling webhook \"a.x.y\": failed to "
                   "call webhook: Post ",
                   base::GoQuote(server_.Url("/a?timeout=1s")), ": context deadline exceeded"));
}

TEST_P(DispatchTest, SendsAgainWhenAskedTo) {
  answers_["/a"] = {{.status = 503, .raw_body = "busy", .retry_after = "0"}, {}};
  answers_["/m"] = {{.status = 429, .raw_body = "busy", .retry_after = "0"}, {}};
  Validating({Hook("a.x.y", "/a")});
  Mutating({Hook("m.x.y", "/m")});
  EXPECT_TRUE(Validate(ConfigMap()).ok());
  EXPECT_EQ(Mutate(ConfigMap()), R"({"a":"1"})");
  EXPECT_EQ(calls_.size(), 4U);
}

// docs/legacy.md, B-6: those of v1beta1 may be unknown.
TEST_P(DispatchTest, RefusesDryRunsOfWebhooksWithSideEffects) {
  for (const char* effects : {"Some", "Unknown"}) {
    Validating({Hook("a.x.y", "/a", base::StrCat(R"("sideEffects":")", effects, "\""))});
    admission::Attributes attributes = ConfigMap();
    attributes.dry_run = true;
    const base::Status refused = Validate(std::move(attributes));
    EXPECT_EQ(refused.message(), "admission webhook \"a.x.y\" does not support dry run");
    EXPECT_EQ(refused.http_code(), 400);
    EXPECT_THAT(calls_, IsEmpty());
    ASSERT_TRUE(
        store_
            ->Delete({"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "v"},
                     {})
            .ok());
  }
}

TEST_P(DispatchTest, ReachesServicesThroughTheTable) {
  Validating(
      {Hook("a.x.y", "/a",
            base::StrCat(R"("clientConfig":{"service":{"namespace":"ns","name":"gone"}})"))});
  EXPECT_EQ(Validate(ConfigMap()).message(),
            "Internal error occurred: failed calling webhook \"a.x.y\": failed to call webhook: "
            "Post \"https://gone.ns.svc:443/?timeout=5s\": service \"gone\" not found");
}

TEST_P(DispatchTest, NeedsATarget) {
  Validating({Hook("a.x.y", "/a", R"("clientConfig":{})")});
  EXPECT_EQ(Validate(ConfigMap()).message(),
            "Internal error occurred: failed calling webhook \"a.x.y\": could not get REST client: "
            "failed calling webhook \"a.x.y\": webhook configuration must have either service or "
            "URL");
}

TEST_P(DispatchTest, JudgesNamespacesByTheirLabels) {
  store::Encoded ns;
  ns.bytes = R"({"metadata":{"name":"default","resourceVersion":"","labels":{"tier":"one"}}})";
  ns.revision_at = ns.bytes.find(R"("resourceVersion":")") + 19;
  Validating({Hook("a.x.y", "/a", R"("namespaceSelector":{"matchLabels":{"tier":"one"}})")});
  EXPECT_EQ(Validate(ConfigMap()).message(), "namespaces \"default\" not found");
  ASSERT_TRUE(store_->Create({"", "namespaces", "", "default"}, ns).ok());
  EXPECT_TRUE(Validate(ConfigMap()).ok());
  EXPECT_EQ(calls_.size(), 1U);
}

TEST_P(DispatchTest, HandsTheObjectFromWebhookToWebhook) {
  answers_["/m1"] = {{.response = Patch(R"([{"op":"add","path":"/data/b","value":"<2>"}])")}};
  answers_["/m2"] = {{.response = Patch(R"([{"path":"/data/a","op":"remove"}])")}};
  Mutating({Hook("m1.x.y", "/m1"), Hook("m2.x.y", "/m2"), Hook("m3.x.y", "/m3")});
  EXPECT_EQ(Mutate(ConfigMap()), "{\"b\":\"\\u003c2\\u003e\"}");
  const auto annotations = Annotations();
  EXPECT_EQ(annotations.at("mutation.webhook.admission.k8s.io/round_0_index_0"),
            R"({"configuration":"m","webhook":"m1.x.y","mutated":true})");
  EXPECT_EQ(annotations.at("mutation.webhook.admission.k8s.io/round_0_index_2"),
            R"({"configuration":"m","webhook":"m3.x.y","mutated":false})");
  EXPECT_EQ(annotations.at("patch.webhook.admission.k8s.io/round_0_index_1"),
            R"({"configuration":"m","webhook":"m2.x.y","patch":[{"op":"remove","path":"/data/a"}],)"
            R"("patchType":"JSONPatch"})");
}

// kube-apiserver's limit counts for webhooks as for PATCH requests: it is one variable of the
// JSON Patch library, which the server sets when it starts.
TEST_P(DispatchTest, LimitsWhatCopiesOfAPatchAdd) {
  std::string operations = R"([{"op":"add","path":"/data","value":{"a":"0123456789"}})";
  for (int i = 0; i < 40; ++i) {
    operations += R"(,{"op":"copy","from":"/data","path":"/data/)" + std::to_string(i) + "\"}";
  }
  answers_["/m"] = {{.response = Patch(operations + "]")}};
  Mutating({Hook("m.x.y", "/m")});
  EXPECT_THAT(Mutate(ConfigMap()),
              ::testing::MatchesRegex(
                  "500 Internal error occurred: Unable to complete the copy, the accumulated size "
                  "increase of copy is [0-9]+, exceeding the limit 3145728"));
}

TEST_P(DispatchTest, ShowsTheNextWebhookNoKindThatAPatchHasRemoved) {
  answers_["/m1"] = {{.response = Patch(R"([{"op":"remove","path":"/kind"}])")}};
  answers_["/m2"] = {{.response = R"("allowed":true)"}};
  Mutating({Hook("m1.x.y", "/m1"), Hook("m2.x.y", "/m2")});
  EXPECT_EQ(Mutate(ConfigMap()), R"({"a":"1"})");
  ASSERT_EQ(bodies_.size(), 2U);
  EXPECT_THAT(bodies_[0], HasSubstr(R"("object":{"kind":"ConfigMap","apiVersion":"v1",)"));
  EXPECT_THAT(bodies_[1], HasSubstr(R"("object":{"apiVersion":"v1",)"));
}

TEST_P(DispatchTest, NamesWhatIsWrongWithAPatch) {
  const std::pair<std::string, std::string> cases[] = {
      {Patch(R"([{"op":"remove","path":"/data/zz"}])"),
       "500 Internal error occurred: error in remove for path: '/data/zz': Unable to remove "
       "nonexistent key: zz: missing value"},
      {Patch("{}"),
       "500 Internal error occurred: failed calling webhook \"m.x.y\": received undecodable patch "
       "in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
      {Patch(R"([{"op":"replace","path":"/apiVersion","value":"v2"}])"),
       "500 Internal error occurred: no kind \"ConfigMap\" is registered for version \"v2\" in "
       "scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""},
      {Patch(R"([{"op":"add","path":"/data","value":{"a":{}}}])"),
       "500 Internal error occurred: json: cannot unmarshal object into Go struct field "
       "ConfigMap.data of type string"},
  };
  Mutating({Hook("m.x.y", "/m")});
  for (const auto& [response, text] : cases) {
    answers_["/m"] = {{.response = response}};
    EXPECT_EQ(Mutate(ConfigMap()), text);
  }
}

// The text for the client names no webhook.
TEST_P(DispatchTest, TheLogNamesWebhooksThatFail) {
  Mutating({Hook("i.x.y", "/i", R"("failurePolicy":"Ignore")"), Hook("m.x.y", "/m")});
  const auto logged = [&](std::string response) {
    answers_["/i"] = {{.response = Patch("{}")}};
    answers_["/m"] = {{.response = std::move(response)}};
    ::testing::internal::CaptureStderr();
    Mutate(ConfigMap());
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string of_patch = logged(Patch(R"([{"op":"remove","path":"/data/zz"}])"));
  EXPECT_THAT(of_patch, HasSubstr("failed calling webhook, failing open webhook=i.x.y"));
  EXPECT_THAT(of_patch, HasSubstr("the patch of a webhook cannot be applied webhook=m.x.y"));
  EXPECT_THAT(logged(Patch("{}")),
              HasSubstr("failed calling webhook, failing closed webhook=m.x.y"));
}

TEST_P(DispatchTest, CannotPatchWhatIsDeleted) {
  answers_["/m"] = {{.response = Patch(R"([{"op":"add","path":"/x","value":1}])")}};
  Mutating({Hook("m.x.y", "/m", R"("failurePolicy":"Ignore")")});
  admission::Attributes attributes = ConfigMap();
  attributes.operation = admission::kDelete;
  std::swap(attributes.object, attributes.old_object);
  EXPECT_EQ(Mutate(std::move(attributes)),
            "500 Internal error occurred: admission webhook \"m.x.y\" attempted to modify the "
            "object, which is not supported for this operation");
}

// Of an object whose managedFields hold the time of the request, the first patch counts.
TEST_P(DispatchTest, TheFirstPatchChangesAnObjectWithFreshTimes) {
  for (const char* path : {"/m1", "/m2"}) {
    answers_[path] = {{.response = Patch(R"([{"op":"test","path":"/kind","value":"ConfigMap"}])")}};
  }
  Mutating({Hook("m1.x.y", "/m1"), Hook("m2.x.y", "/m2")});
  admission::Attributes attributes = ConfigMap();
  attributes.has_fresh_times = true;
  Mutate(std::move(attributes));
  EXPECT_EQ(Annotations()["mutation.webhook.admission.k8s.io/round_0_index_0"],
            R"({"configuration":"m","webhook":"m1.x.y","mutated":true})");
  EXPECT_EQ(Annotations()["mutation.webhook.admission.k8s.io/round_0_index_1"],
            R"({"configuration":"m","webhook":"m2.x.y","mutated":false})");
}

TEST_P(DispatchTest, CallsAgainWhatALaterWebhookHasOvertaken) {
  answers_["/m1"] = {{.response = Patch(R"([{"op":"add","path":"/data/x","value":"1"}])")}};
  answers_["/m2"] = {{.response = Patch(R"([{"op":"add","path":"/data/y","value":"1"}])")}};
  Mutating({Hook("m1.x.y", "/m1", R"("reinvocationPolicy":"IfNeeded")"),
            Hook("m2.x.y", "/m2", R"("reinvocationPolicy":"IfNeeded")"), Hook("m3.x.y", "/m3")});
  Mutate(ConfigMap(), 2);
  // The first is called again because of the second, whose own change does not count for itself.
  EXPECT_THAT(calls_,
              ElementsAre("/m1?timeout=5s", "/m2?timeout=5s", "/m3?timeout=5s", "/m1?timeout=5s"));
  EXPECT_EQ(Annotations()["mutation.webhook.admission.k8s.io/round_1_index_0"],
            R"({"configuration":"m","webhook":"m1.x.y","mutated":false})");
}

TEST_P(DispatchTest, ConfigurationsAreInForceWhenTheWriteReturns) {
  Validating({Hook("a.x.y", "/a")});
  EXPECT_TRUE(Validate(ConfigMap()).ok());
  answers_["/b"] = {{.response = R"("allowed":false)"}};
  Configure("validatingwebhookconfigurations", "w", {Hook("b.x.y", "/b")});
  EXPECT_FALSE(Validate(ConfigMap()).ok());
  ASSERT_TRUE(
      store_
          ->Delete({"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "w"}, {})
          .ok());
  EXPECT_TRUE(Validate(ConfigMap()).ok());
}

TEST_P(DispatchTest, LeavesConfigurationsThemselvesAlone) {
  answers_["/a"] = {{.response = R"("allowed":false)"}};
  Validating({Hook("a.x.y", "/a")});
  admission::Attributes attributes;
  attributes.operation = admission::kDelete;
  attributes.resource = {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"};
  attributes.kind = {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"};
  EXPECT_TRUE(Validate(std::move(attributes)).ok());
}

TEST_P(DispatchTest, ServesManyThreadsWhileConfigurationsChange) {
  Validating({Hook("a.x.y", "/a"), Hook("b.x.y", "/b")});
  Mutating({Hook("m.x.y", "/m")});
  const auto validating = WebhookPluginCore::Create(Context(), HookType::kValidating).value();
  const auto mutating = WebhookPluginCore::Create(Context(), HookType::kMutating).value();
  const admission::Attributes attributes = ConfigMap();
  std::atomic<int> refused{0};
  const auto work = [&] {
    for (int i = 0; i < 25; ++i) {
      json::Arena arena;
      admission::Recorder recorder;
      admission::Request request(attributes, arena, recorder);
      const auto mutators = mutating->HooksFor(request);
      const auto validators = validating->HooksFor(request);
      if (!DispatchMutating(mutating->services(), *mutators, request).ok()) ++refused;
      if (!DispatchValidating(validating->services(), *validators, request).ok()) ++refused;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (int i = 0; i < 20; ++i) {
    const std::string name = "other-" + std::to_string(i);
    Configure("validatingwebhookconfigurations", name, {Hook("c.x.y", "/c")});
    Configure("mutatingwebhookconfigurations", name, {Hook("n.x.y", "/n")});
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

TEST_P(DispatchTest, KeepsItsConnections) {
  Validating({Hook("a.x.y", "/a"), Hook("b.x.y", "/b")});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Validate(ConfigMap()).ok());
  EXPECT_LE(server_.client->counters().connections_opened, 2U);
}

INSTANTIATE_TEST_SUITE_P(Waiting, DispatchTest, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "OnFiber" : "OnThread"; });

}  // namespace
}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

// Custom resources whose versions a webhook converts: when it is called, with what, and what its
// failures look like. Texts are those of apiextensions-apiserver.

#include "harness/conversion_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "base/strings.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::ConversionWebhook;
using ::testing::HasSubstr;
using testing::TestServer;

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kV1 = "/apis/example.com/v1/namespaces/default/widgets";
constexpr std::string_view kV2 = "/apis/example.com/v2/namespaces/default/widgets";

std::string Widget(std::string_view version, std::string_view name, std::string_view spec) {
  return base::StrCat(R"({"apiVersion":"example.com/)", version,
                      R"(","kind":"Widget","metadata":{"name":")", name, R"("},"spec":)", spec,
                      "}");
}

class ConversionWebhookTest : public ::testing::Test {
 protected:
  void Define(std::string_view storage = "v1", std::string_view versions = R"(["v1","v1beta1"])",
              std::string_view url = {}) {
    const Answer made = server_.Post(kDefinitions, webhook_.Definition(storage, versions, url));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void CreateV1(std::string_view name, std::string_view spec = R"({"address":"h:1"})") {
    const Answer made = server_.Post(kV1, Widget("v1", name, spec));
    ASSERT_EQ(made.status, 201) << made.body;
    webhook_.Forget();
  }
  static std::string At(std::string_view collection, std::string_view name) {
    return base::StrCat(collection, "/", name);
  }
  // A watch in v2 of what happens from now on.
  std::string WatchPath(std::string_view query = {}) {
    const Answer list = server_.Get(kV1);
    return base::StrCat(
        kV2, "?watch=1&resourceVersion=", list["metadata"]["resourceVersion"].AsString(), query);
  }
  // What a GET in v2 of an object stored as v1 is refused with.
  std::string Failure() {
    const Answer got = server_.Get(At(kV2, "a"));
    EXPECT_EQ(got.status, 500) << got.body;
    EXPECT_EQ(got["reason"].AsString(), "");
    return std::string(got.message());
  }

  ConversionWebhook webhook_;
  TestServer server_;
};

TEST_F(ConversionWebhookTest, IsNotCalledWhileVersionsAgree) {
  Define();
  CreateV1("a");

  EXPECT_EQ(server_.Get(At(kV1, "a")).status, 200);
  EXPECT_EQ(server_.Get(kV1).status, 200);

  EXPECT_EQ(webhook_.count(), 0u);
}

TEST_F(ConversionWebhookTest, GetInAnotherVersionIsConverted) {
  Define();
  CreateV1("a", R"({"address":"web:80"})");

  const Answer got = server_.Get(At(kV2, "a"));

  ASSERT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got["apiVersion"].AsString(), "example.com/v2");
  EXPECT_EQ(json::ToString(got["spec"]), R"({"color":"red","host":"web","port":"80"})");
  EXPECT_FALSE(got["metadata"]["resourceVersion"].AsString().empty());
  ASSERT_EQ(webhook_.count(), 1u);
  const json::Document review = webhook_.calls().front();
  EXPECT_EQ(review["apiVersion"].AsString(), "apiextensions.k8s.io/v1");
  EXPECT_EQ(review["kind"].AsString(), "ConversionReview");
  EXPECT_EQ(review["request"]["desiredAPIVersion"].AsString(), "example.com/v2");
  EXPECT_EQ(review["request"]["uid"].AsString().size(), 36u);
  EXPECT_EQ(review["request"]["objects"][0]["apiVersion"].AsString(), "example.com/v1");
  EXPECT_EQ(review["request"]["objects"][0]["spec"]["color"].AsString(), "red");
  EXPECT_FALSE(review["request"]["objects"][0]["metadata"].Has("resourceVersion"));
}

TEST_F(ConversionWebhookTest, ListIsConvertedInOneCall) {
  Define();
  for (const std::string_view name : {"a", "b", "c"}) CreateV1(name);

  const Answer list = server_.Get(kV2);

  ASSERT_EQ(list.status, 200) << list.body;
  ASSERT_EQ(list["items"].size(), 3u);
  for (const json::Value item : list["items"].elements()) {
    EXPECT_EQ(item["apiVersion"].AsString(), "example.com/v2");
    EXPECT_EQ(item["spec"]["host"].AsString(), "h");
  }
  ASSERT_EQ(webhook_.count(), 1u);
  EXPECT_EQ(webhook_.calls().front()["request"]["objects"].size(), 3u);
}

TEST_F(ConversionWebhookTest, TablesAndSelectorsSeeTheConvertedObjects) {
  Define();
  CreateV1("a", R"({"address":"one:1"})");
  CreateV1("b", R"({"address":"two:2"})");

  const Answer table = server_.Call("GET", base::StrCat(kV2, "?fieldSelector=spec.host%3Dtwo"), {},
                                    {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});

  ASSERT_EQ(table.status, 200) << table.body;
  ASSERT_EQ(table["rows"].size(), 1u);
  EXPECT_EQ(json::ToString(table["rows"][0]["cells"]), R"(["b","two"])");
  EXPECT_EQ(webhook_.count(), 1u);
}

TEST_F(ConversionWebhookTest, CreateIsStoredInTheStorageVersionAndAnsweredInTheOther) {
  Define();

  const Answer made = server_.Post(kV2, Widget("v2", "a", R"({"host":"h","port":"1"})"));

  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["apiVersion"].AsString(), "example.com/v2");
  // The default of the stored version comes back with it.
  EXPECT_EQ(made["spec"]["color"].AsString(), "red");
  EXPECT_EQ(webhook_.count(), 2u);
  webhook_.Forget();
  const Answer stored = server_.Get(At(kV1, "a"));
  EXPECT_EQ(stored["spec"]["address"].AsString(), "h:1");
  EXPECT_EQ(webhook_.count(), 0u);
}

TEST_F(ConversionWebhookTest, DryRunIsConvertedLikeTheRealThing) {
  Define();

  const Answer made = server_.Post(base::StrCat(kV2, "?dryRun=All"),
                                   Widget("v2", "a", R"({"host":"h","port":"1"})"));

  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["spec"]["color"].AsString(), "red");
  EXPECT_EQ(webhook_.count(), 2u);
  EXPECT_EQ(server_.Get(At(kV1, "a")).status, 404);
}

TEST_F(ConversionWebhookTest, UpdateAndPatchWorkInEitherVersion) {
  Define();
  CreateV1("a");

  const Answer patched =
      server_.Patch(At(kV2, "a"), "application/merge-patch+json", R"({"spec":{"port":"2"}})");
  ASSERT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(patched["spec"]["port"].AsString(), "2");
  EXPECT_EQ(patched["metadata"]["generation"].AsInt(), 2);
  EXPECT_EQ(server_.Get(At(kV1, "a"))["spec"]["address"].AsString(), "h:2");

  const std::string next = Widget("v2", "a", R"({"host":"n","port":"3"})");
  EXPECT_EQ(server_.Put(At(kV2, "a"), next).status, 422);
  json::Arena arena;
  const json::Value versioned =
      json::SetPath(arena, json::Parse(arena, next).value(), {"metadata", "resourceVersion"},
                    patched["metadata"]["resourceVersion"]);
  const Answer put = server_.Put(At(kV2, "a"), json::ToString(versioned));
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(server_.Get(At(kV1, "a"))["spec"]["address"].AsString(), "n:3");
}

// Who wrote in a version owns fields of that version.
TEST_F(ConversionWebhookTest, FieldsAreOwnedInTheVersionTheyWereWrittenIn) {
  Define();
  const auto apply = [&](std::string_view collection, std::string_view query,
                         std::string_view object) {
    return server_.Patch(base::StrCat(At(collection, "a"), "?", query),
                         "application/apply-patch+yaml", object);
  };
  ASSERT_EQ(apply(kV1, "fieldManager=one",
                  R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},
                      "spec":{"address":"h:1"}})")
                .status,
            201);

  // The same port leaves the address alone: no conflict; another one changes it.
  const std::string same = R"({"apiVersion":"example.com/v2","kind":"Widget",
      "metadata":{"name":"a"},"spec":{"port":"1"}})";
  const Answer shared = apply(kV2, "fieldManager=two", same);
  ASSERT_EQ(shared.status, 200) << shared.body;
  ASSERT_EQ(shared["metadata"]["managedFields"].size(), 2u);
  const std::string other = R"({"apiVersion":"example.com/v2","kind":"Widget",
      "metadata":{"name":"a"},"spec":{"port":"2"}})";
  // The spec that "two" has applied is pruned first. Only what v2 owns of it is given back before the rest is
  // looked for in v1, and a port without its host cannot be converted.
  for (const std::string_view query : {"fieldManager=two", "fieldManager=two&force=true"}) {
    const Answer refused = apply(kV2, query, other);
    EXPECT_EQ(refused.status, 500);
    EXPECT_EQ(refused.message(),
              "failed to prune fields: failed add back owned items: failed to convert pruned "
              "object at version example.com/v1: .spec.port: field not declared in schema");
  }
  const Answer refused = apply(kV2, "fieldManager=three", other);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(
      refused.message(),
      "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.address\nconflicts with "
      "\"two\":\n- .spec.port");
  const std::string both = R"({"apiVersion":"example.com/v2","kind":"Widget",
      "metadata":{"name":"a"},"spec":{"host":"h","port":"2"}})";
  const Answer forced = apply(kV2, "fieldManager=two&force=true", both);
  ASSERT_EQ(forced.status, 200) << forced.body;
  EXPECT_EQ(forced["spec"]["host"].AsString(), "h");
  EXPECT_EQ(forced["spec"]["port"].AsString(), "2");
  ASSERT_EQ(forced["metadata"]["managedFields"].size(), 1u) << forced.body;
  EXPECT_EQ(forced["metadata"]["managedFields"][0]["apiVersion"].AsString(), "example.com/v2");
}

TEST_F(ConversionWebhookTest, StatusAndScaleAreConverted) {
  Define();
  CreateV1("a", R"({"address":"h:1","replicas":2})");

  EXPECT_EQ(server_.Get(At(kV2, "a/scale"))["spec"]["replicas"].AsInt(), 2);
  const Answer scaled = server_.Patch(At(kV2, "a/scale"), "application/merge-patch+json",
                                      R"({"spec":{"replicas":5}})");
  ASSERT_EQ(scaled.status, 200) << scaled.body;
  const Answer status = server_.Patch(At(kV2, "a/status"), "application/merge-patch+json",
                                      R"({"status":{"replicas":4},"spec":{"host":"no"}})");
  ASSERT_EQ(status.status, 200) << status.body;

  const Answer stored = server_.Get(At(kV1, "a"));
  EXPECT_EQ(stored["spec"]["address"].AsString(), "h:1");
  EXPECT_EQ(stored["spec"]["replicas"].AsInt(), 5);
  EXPECT_EQ(stored["status"]["replicas"].AsInt(), 4);
}

TEST_F(ConversionWebhookTest, WatchEventsAreConverted) {
  Define();
  CreateV1("a", R"({"address":"h:1"})");

  const auto initial = server_.Watch(base::StrCat(kV2, "?watch=1&resourceVersion=0"), 1);
  ASSERT_EQ(initial.size(), 1u);
  EXPECT_EQ(initial[0]["object"]["spec"]["host"].AsString(), "h");

  const auto events = server_.Watch(WatchPath(), 2, [&] {
    server_.Post(kV1, Widget("v1", "b", R"({"address":"b:1"})"));
    server_.Delete(At(kV1, "b"));
  });

  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[0]["object"]["apiVersion"].AsString(), "example.com/v2");
  EXPECT_EQ(events[0]["object"]["spec"]["host"].AsString(), "b");
  EXPECT_EQ(events[1]["type"].AsString(), "DELETED");
  EXPECT_EQ(events[1]["object"]["spec"]["host"].AsString(), "b");
}

TEST_F(ConversionWebhookTest, ManyWatchesHaveAnEventConvertedOnce) {
  Define();
  CreateV1("a");
  const std::string path = WatchPath();
  std::vector<json::Document> seen[3];

  seen[0] = server_.Watch(path, 1, [&] {
    seen[1] = server_.Watch(path, 1, [&] {
      seen[2] = server_.Watch(
          path, 1, [&] { server_.Post(kV1, Widget("v1", "b", R"({"address":"b:1"})")); });
    });
  });

  for (const auto& events : seen) {
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0]["object"]["spec"]["host"].AsString(), "b");
  }
  EXPECT_EQ(webhook_.count(), 1u);
}

// matchPolicy: Equivalent brings the object to the version that the rule names.
TEST_F(ConversionWebhookTest, AdmissionWebhooksAreSentTheVersionTheyKnow) {
  Define();
  CreateV1("a");
  std::mutex mutex;
  std::vector<json::Document> reviews;
  net::testing::TestServer hook([&](const std::shared_ptr<net::Exchange>& exchange) {
    json::Document review = json::ParseDocument(exchange->request().body).value();
    net::Response response;
    response.headers.Set("Content-Type", "application/json");
    response.body = base::StrCat(
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")",
        review["request"]["uid"].AsString(),
        R"(","allowed":true,"patchType":"JSONPatch","patch":")",
        base::Base64Encode(R"([{"op":"replace","path":"/spec/host","value":"patched"}])"),
        R"("}})");
    const std::lock_guard lock(mutex);
    reviews.push_back(std::move(review));
    exchange->Respond(std::move(response));
  });
  const Answer configured = server_.Post(
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
      base::StrCat(R"({"metadata":{"name":"m"},"webhooks":[{"name":"m.example.com",
          "clientConfig":{"url":")",
                   hook.Url("/m"), R"(","caBundle":")",
                   base::Base64Encode(hook.certificates.authority.certificate_pem), R"("},
          "rules":[{"operations":["UPDATE"],"apiGroups":["example.com"],"apiVersions":["v2"],
          "resources":["widgets"]}],"sideEffects":"None","admissionReviewVersions":["v1"]}]})"));
  ASSERT_EQ(configured.status, 201) << configured.body;

  const Answer patched = server_.Patch(At(kV1, "a"), "application/merge-patch+json",
                                       R"({"spec":{"address":"new:9"}})");

  ASSERT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(patched["spec"]["address"].AsString(), "patched:9");
  ASSERT_EQ(reviews.size(), 1u);
  const json::Value request = reviews[0]["request"];
  EXPECT_EQ(request["kind"]["version"].AsString(), "v2");
  EXPECT_EQ(request["requestKind"]["version"].AsString(), "v1");
  EXPECT_EQ(request["object"]["spec"]["host"].AsString(), "new");
  EXPECT_EQ(request["oldObject"]["spec"]["host"].AsString(), "h");
}

TEST_F(ConversionWebhookTest, WatchWithAFieldSelectorSeesObjectsComeAndGo) {
  Define();
  CreateV1("a", R"({"address":"h:1"})");
  const auto set = [&](std::string_view address) {
    server_.Patch(At(kV1, "a"), "application/merge-patch+json",
                  base::StrCat(R"({"spec":{"address":")", address, R"("}})"));
  };

  const auto events = server_.Watch(WatchPath("&fieldSelector=spec.host%3Dh"), 3, [&] {
    set("x:1");
    set("y:1");
    set("h:2");
    set("h:3");
  });

  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["type"].AsString(), "DELETED");
  EXPECT_EQ(events[1]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[2]["type"].AsString(), "MODIFIED");
}

TEST_F(ConversionWebhookTest, WatchEndsWithTheErrorOfTheWebhook) {
  Define();
  CreateV1("a");
  webhook_.SetTwist([](json::Arena& arena, json::Value object) {
    return json::With(arena, object, "kind", json::String(arena, "Gadget"));
  });

  const auto events = server_.Watch(
      WatchPath(), 3, [&] { server_.Post(kV1, Widget("v1", "b", R"({"address":"b:1"})")); });

  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["type"].AsString(), "ERROR");
  EXPECT_THAT(events[0]["object"]["message"].AsString(), HasSubstr("invalid kind"));
}

TEST_F(ConversionWebhookTest, StorageVersionCanBeSwitched) {
  Define("v1");
  CreateV1("a");
  json::Arena arena;
  const json::Value versions = json::Parse(arena, webhook_.Definition("v2")).value()["spec"];
  const Answer switched = server_.Patch(
      At(kDefinitions, "widgets.example.com"), "application/merge-patch+json",
      base::StrCat(R"({"spec":{"versions":)", json::ToString(versions["versions"]), "}}"));
  ASSERT_EQ(switched.status, 200) << switched.body;
  EXPECT_EQ(json::ToString(switched["status"]["storedVersions"]), R"(["v1","v2"])");

  // Still stored as v1; written once, as v2.
  EXPECT_EQ(server_.Get(At(kV2, "a"))["spec"]["host"].AsString(), "h");
  EXPECT_EQ(webhook_.count(), 1u);
  const Answer touched = server_.Patch(At(kV2, "a"), "application/merge-patch+json",
                                       R"({"metadata":{"labels":{"x":"y"}}})");
  ASSERT_EQ(touched.status, 200) << touched.body;
  webhook_.Forget();
  EXPECT_EQ(server_.Get(At(kV2, "a"))["spec"]["host"].AsString(), "h");
  EXPECT_EQ(webhook_.count(), 0u);
  EXPECT_EQ(server_.Get(At(kV1, "a"))["spec"]["address"].AsString(), "h:1");
  EXPECT_EQ(webhook_.count(), 1u);
}

TEST_F(ConversionWebhookTest, SpeaksTheFirstReviewVersionItKnows) {
  Define("v1", R"(["v9","v1beta1","v1"])");
  CreateV1("a");

  EXPECT_EQ(server_.Get(At(kV2, "a")).status, 200);

  EXPECT_EQ(webhook_.calls().front()["apiVersion"].AsString(), "apiextensions.k8s.io/v1beta1");
}

// Under limits of one request at a time: what waits for the webhook is not counted.
class WaitingConversionTest : public ::testing::Test {
 protected:
  WaitingConversionTest() {
    EXPECT_EQ(Post(kDefinitions, webhook_.Definition()), 201);
    EXPECT_EQ(Post(kV1, Widget("v1", "a", R"({"address":"h:1"})")), 201);
    webhook_.SetTwist([this, held = false](json::Arena&, json::Value object) mutable {
      if (!std::exchange(held, true)) {
        asked_.set_value();
        release_.get_future().wait();
      }
      return object;
    });
  }

  // A place is free a moment after the answer has come: who is refused asks again for a while.
  static Answer Served(const std::function<Answer()>& call) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (true) {
      Answer answer = call();
      if (answer.status != 429 || std::chrono::steady_clock::now() > deadline) return answer;
    }
  }
  int Post(std::string_view path, const std::string& body) {
    return Served([&] { return server_.Post(path, body); }).status;
  }
  int Get(std::string_view path) {
    return Served([&] { return server_.Get(path); }).status;
  }
  // `meanwhile` runs while the webhook has been asked for `first` and does not answer.
  Answer During(const std::function<Answer()>& first, const std::function<void()>& meanwhile) {
    std::future<Answer> answer = std::async(std::launch::async, [&] { return Served(first); });
    asked_.get_future().wait();
    meanwhile();
    release_.set_value();
    return answer.get();
  }

  std::promise<void> asked_;
  std::promise<void> release_;
  ConversionWebhook webhook_;
  TestServer server_{[](server::Options& options) {
    options.max_requests_inflight = 1;
    options.max_mutating_requests_inflight = 1;
  }};
};

TEST_F(WaitingConversionTest, ReadGivesItsPlaceToOthers) {
  const auto read = [&] { return server_.Get(base::StrCat(kV2, "/a")); };

  const Answer got = During(read, [&] {
    EXPECT_EQ(Get(base::StrCat(kV1, "/a")), 200);
    EXPECT_EQ(Get(kV1), 200);
  });

  EXPECT_EQ(got.status, 200) << got.body;
}

TEST_F(WaitingConversionTest, ListGivesItsPlaceToOthers) {
  const auto list = [&] { return server_.Get(kV2); };

  const Answer got = During(list, [&] { EXPECT_EQ(Get(kV1), 200); });

  EXPECT_EQ(got["items"].size(), 1u) << got.body;
}

TEST_F(WaitingConversionTest, WriteGivesItsPlaceToOthers) {
  const auto write = [&] {
    return server_.Patch(base::StrCat(kV2, "/a"), "application/merge-patch+json",
                         R"({"spec":{"port":"2"}})");
  };

  const Answer patched =
      During(write, [&] { EXPECT_EQ(Post(kV1, Widget("v1", "b", R"({"address":"b:1"})")), 201); });

  ASSERT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(patched["spec"]["port"].AsString(), "2");
}

TEST_F(ConversionWebhookTest, LabelsAndAnnotationsMayChangeOtherMetadataDoesNot) {
  Define();
  CreateV1("a");
  webhook_.SetTwist([](json::Arena& arena, json::Value object) {
    object = json::SetPath(arena, object, {"metadata", "labels"},
                           json::Parse(arena, R"({"l":"1"})").value());
    object = json::SetPath(arena, object, {"metadata", "annotations"},
                           json::Parse(arena, R"({"a":"2"})").value());
    return json::SetPath(arena, object, {"metadata", "finalizers"},
                         json::Parse(arena, R"(["x/y"])").value());
  });

  const Answer got = server_.Get(At(kV2, "a"));

  ASSERT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got["metadata"]["labels"]["l"].AsString(), "1");
  EXPECT_EQ(got["metadata"]["annotations"]["a"].AsString(), "2");
  EXPECT_FALSE(got["metadata"].Has("finalizers"));
}

TEST_F(ConversionWebhookTest, UnsoundObjectsAreRefused) {
  Define();
  CreateV1("a");
  const std::string head = "conversion webhook for example.com/v1, Kind=Widget returned ";
  const auto set = [&](std::initializer_list<std::string_view> path, std::string_view value) {
    const std::vector<std::string_view> names(path);
    webhook_.SetTwist([names, value](json::Arena& arena, json::Value object) {
      return json::SetPath(arena, object, std::span(names), json::Parse(arena, value).value());
    });
  };

  set({"apiVersion"}, R"("example.com/v1")");
  EXPECT_EQ(Failure(), head +
                           "invalid object at index 0: invalid groupVersion (expected "
                           "example.com/v2, received example.com/v1)");
  set({"kind"}, R"("Gadget")");
  EXPECT_EQ(Failure(),
            head + "invalid object at index 0: invalid kind (expected Widget, received Gadget)");
  set({"metadata", "name"}, R"("b")");
  EXPECT_EQ(Failure(), head + "invalid object: must have the same name: a != b");
  set({"metadata", "namespace"}, R"("b")");
  EXPECT_EQ(Failure(), head + "invalid object: must have the same namespace: default != b");
  set({"metadata", "labels"}, R"({"x":1})");
  EXPECT_EQ(Failure(), head +
                           "invalid metadata: metadata.labels[x] must be a string, but is int64 "
                           "in converted object");
  set({"metadata", "annotations"}, "[]");
  EXPECT_EQ(Failure(), head +
                           "invalid metadata: invalid metadata.annotations of type "
                           "[]interface {} in converted object");
  set({"metadata", "labels"}, R"({"a b":"x"})");
  EXPECT_THAT(Failure(), HasSubstr("invalid metadata: metadata.labels: Invalid value: \"a b\""));
}

TEST_F(ConversionWebhookTest, FailingAnswersAreTold) {
  Define();
  CreateV1("a");
  const std::string head = "conversion webhook for example.com/v1, Kind=Widget failed: ";
  std::string body;
  int status = 200;
  webhook_.SetAnswer([&](json::Value review) {
    net::Response response;
    response.status = status;
    response.headers.Set("Content-Type", "application/json");
    const std::string uid(review["request"]["uid"].AsString());
    response.body = body;
    if (const auto at = response.body.find("UID"); at != std::string::npos) {
      response.body.replace(at, 3, uid);
    }
    return response;
  });
  const std::string review = R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1")";

  body = review + "}";
  EXPECT_EQ(Failure(), head + "no response provided");
  body = review + R"(,"response":{"uid":"x"}})";
  EXPECT_THAT(Failure(), HasSubstr(head + "expected response.uid=\""));
  body = review + R"(,"response":{"uid":"UID","result":{"status":"Failure","message":"no"}}})";
  EXPECT_EQ(Failure(), head + "no");
  body = review + R"(,"response":{"uid":"UID"}})";
  EXPECT_EQ(Failure(), head + "response.result.status was '', not 'Success'");
  body = review + R"(,"response":{"uid":"UID","result":{"status":"Success"}}})";
  EXPECT_EQ(Failure(),
            "conversion webhook for example.com/v1, Kind=Widget returned 0 objects, "
            "expected 1");
  body = R"({"kind":"Other","apiVersion":"apiextensions.k8s.io/v1"})";
  EXPECT_THAT(Failure(), HasSubstr(head + "no kind \"Other\" is registered for version"));
  status = 404;
  body = "";
  EXPECT_EQ(Failure(), head + "the server could not find the requested resource");
}

TEST_F(ConversionWebhookTest, UnreachableWebhookFailsEveryVerbButLeavesTheOtherVersionAlone) {
  Define("v1", R"(["v1"])", "https://127.0.0.1:1/convert");
  CreateV1("a");
  const std::string text =
      "conversion webhook for example.com/v1, Kind=Widget failed: Post "
      "\"https://127.0.0.1:1/convert?timeout=30s\": dial tcp 127.0.0.1:1: connect: connection "
      "refused";

  EXPECT_EQ(Failure(), text);
  EXPECT_EQ(server_.Get(kV2).message(), text);
  EXPECT_EQ(server_.Delete(At(kV2, "a")).message(), text);
  EXPECT_THAT(server_.Post(kV2, Widget("v2", "b", "{}")).message(),
              HasSubstr("conversion webhook for example.com/v2, Kind=Widget failed: "));
  EXPECT_EQ(server_.Get(At(kV1, "a")).status, 200);
  const std::string metrics = server_.Get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("apiserver_conversion_webhook_request_total{failure_type="
                                 "\"conversion_webhook_call_failure\",result=\"failure\"}"));
  EXPECT_THAT(metrics, HasSubstr("apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="
                                 "\"widgets.example.com\",from_version=\"v1\",succeeded=\"false\","
                                 "to_version=\"v2\"}"));
}

TEST_F(ConversionWebhookTest, DefinitionGoesThoughItsWebhookIsDead) {
  Define("v1", R"(["v1"])", "https://127.0.0.1:1/convert");
  CreateV1("a");

  EXPECT_EQ(server_.Delete(At(kDefinitions, "widgets.example.com")).status, 200);

  for (int i = 0; i < 500 && server_.Get(At(kDefinitions, "widgets.example.com")).status != 404;
       ++i) {
    continue;
  }
  EXPECT_EQ(server_.Get(At(kDefinitions, "widgets.example.com")).status, 404);
}

}  // namespace
}  // namespace portcullis

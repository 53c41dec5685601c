// SPDX-License-Identifier: Apache-2.0

// Webhooks and requests in versions that Kubernetes has dropped (docs/legacy.md): what a webhook on
// one version sees of a request in another. Scenarios D-1 to D-12, B-4. The reviews of all four
// versions of a Deployment are in testdata/reviews_of_deployments.json; PC_WRITE_GOLDEN=1 writes it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "harness/admission_review.h"
#include "harness/test_server.h"
#include "json/edit.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kBody = R"({"metadata":{"name":"d"},"spec":{"rollbackTo":{"revision":3},
    "template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";

class LegacyVersions : public ::testing::Test {
 protected:
  LegacyVersions() { Start(""); }

  // A server of the release; "" for the newest.
  void Start(const std::string& release) {
    server_.emplace([&](server::Options& options) {
      if (!release.empty()) options.kubernetes_version = release;
      for (const char* version :
           {"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "policy/v1beta1"}) {
        options.runtime_config[version] = "true";
      }
    });
  }

  struct Webhook {
    std::string_view name;
    std::string_view rules;  // [[group, version or versions]…] in order
    std::string_view policy = "Equivalent";
    std::string_view resources = R"(["deployments"])";
    std::string_view type = "validating";
  };
  void Configure(const Webhook& webhook) {
    json::Arena arena;
    std::string rules;
    for (const json::Value& rule : json::Parse(arena, webhook.rules).value().elements()) {
      const json::Value versions = rule[1].is_array() ? rule[1] : json::MakeArray(arena, {rule[1]});
      rules += base::StrCat(rules.empty() ? "" : ",", R"({"operations":["*"],"apiGroups":[")",
                            rule[std::size_t{0}].AsString(), R"("],"apiVersions":)",
                            json::ToString(versions), R"(,"resources":)", webhook.resources, "}");
    }
    const std::string path = base::StrCat("/", webhook.name);
    const Answer made = server_->Post(
        base::StrCat("/apis/admissionregistration.k8s.io/v1/", webhook.type,
                     "webhookconfigurations"),
        base::StrCat(R"({"metadata":{"name":")", webhook.name, R"("},"webhooks":[{"name":")",
                     webhook.name, R"(.example.com","clientConfig":{"url":")", hook_.Url(path),
                     R"(","caBundle":")",
                     base::Base64Encode(hook_.certificates.authority.certificate_pem),
                     R"("},"matchPolicy":")", webhook.policy, R"(","rules":[)", rules,
                     R"(],"sideEffects":"None","admissionReviewVersions":["v1"]}]})"));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void AnswerWith(std::string response) {
    const std::lock_guard lock(mutex_);
    response_ = std::move(response);
  }
  Answer Create(std::string_view group_version) {
    return server_->Post(base::StrCat("/apis/", group_version, "/namespaces/default/deployments"),
                         kBody);
  }
  std::vector<json::Document> reviews() {
    const std::lock_guard lock(mutex_);
    paths_.clear();
    return std::exchange(reviews_, {});
  }
  // By the name of the webhook.
  std::map<std::string, json::Document> ReviewsByName() {
    const std::lock_guard lock(mutex_);
    std::map<std::string, json::Document> by_name;
    for (std::size_t i = 0; i < paths_.size(); ++i) by_name.emplace(paths_[i], reviews_[i]);
    paths_.clear();
    reviews_.clear();
    return by_name;
  }

  std::optional<TestServer> server_;

 private:
  void Judge(const std::shared_ptr<net::Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    reviews_.push_back(json::ParseDocument(exchange->request().body).value());
    paths_.emplace_back(exchange->request().path().substr(1));
    net::Response response = testing::Allow(reviews_.back().root());
    if (!response_.empty()) {
      response.body = base::StrCat(
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")",
          reviews_.back()["request"]["uid"].AsString(), R"(",)", response_, "}}");
    }
    exchange->Respond(std::move(response));
  }

  std::mutex mutex_;
  std::string response_;  // members of it; "": allowed
  std::vector<std::string> paths_;
  std::vector<json::Document> reviews_;
  net::testing::TestServer hook_{
      [this](const std::shared_ptr<net::Exchange>& exchange) { Judge(exchange); }};
};

// D-1, D-2.
TEST_F(LegacyVersions, AnEquivalentRuleSeesTheVersionThatItNames) {
  Configure({"current", R"([["apps","v1"]])"});
  const Answer made = Create("extensions/v1beta1");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["spec"]["rollbackTo"]["revision"].AsInt(), 3);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Value request = seen[0]["request"];
  EXPECT_EQ(json::ToString(request["kind"]),
            R"({"group":"apps","version":"v1","kind":"Deployment"})");
  EXPECT_EQ(json::ToString(request["requestKind"]),
            R"({"group":"extensions","version":"v1beta1","kind":"Deployment"})");
  const json::Value object = request["object"];
  EXPECT_EQ(object["apiVersion"].AsString(), "apps/v1");
  EXPECT_EQ(object["metadata"]["annotations"]["deprecated.deployment.rollback.to"].AsString(), "3");
  EXPECT_FALSE(object["spec"].Has("rollbackTo"));
  EXPECT_EQ(object["spec"]["strategy"]["rollingUpdate"]["maxSurge"].AsInt(), 1);
  EXPECT_EQ(object["spec"]["revisionHistoryLimit"].AsInt(), 2147483647);
}

// The example of Kubernetes' documentation ("Matching requests: matchPolicy"): a webhook on apps/v1
// and apps/v1beta1, and a request to extensions/v1beta1.
TEST_F(LegacyVersions, TheExampleOfMatchPolicy) {
  constexpr std::string_view kRules = R"([["apps",["v1","v1beta1"]]])";
  Configure({"exact", kRules, "Exact"});
  Configure({"equivalent", kRules});
  ASSERT_EQ(Create("extensions/v1beta1").status, 201);
  const auto seen = ReviewsByName();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen.at("equivalent")["request"]["object"]["apiVersion"].AsString(), "apps/v1");
  EXPECT_EQ(json::ToString(seen.at("equivalent")["request"]["requestResource"]),
            R"({"group":"extensions","version":"v1beta1","resource":"deployments"})");
  const Answer same = server_->Patch("/apis/apps/v1beta1/namespaces/default/deployments/d",
                                     "application/merge-patch+json", R"({"spec":{"replicas":2}})");
  ASSERT_EQ(same.status, 200) << same.body;
  for (const auto& [name, review] : ReviewsByName()) {
    EXPECT_EQ(review["request"]["object"]["apiVersion"].AsString(), "apps/v1beta1") << name;
  }
}

// D-5.
TEST_F(LegacyVersions, AnExactRuleSeesItsOwnVersionAlone) {
  Configure({"current", R"([["apps","v1"]])", "Exact"});
  ASSERT_EQ(Create("extensions/v1beta1").status, 201);
  EXPECT_EQ(reviews().size(), 0U);
}

TEST_F(LegacyVersions, ARuleOnAnOldVersionSeesNewRequestsInIt) {
  Configure({"old", R"([["extensions","v1beta1"]])"});
  ASSERT_EQ(Create("apps/v1beta1").status, 201);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Value object = seen[0]["request"]["object"];
  EXPECT_EQ(object["apiVersion"].AsString(), "extensions/v1beta1");
  EXPECT_EQ(object["spec"]["rollbackTo"]["revision"].AsInt(), 3);
  EXPECT_EQ(object["spec"]["revisionHistoryLimit"].AsInt(), 2);
}

// D-6: the first equivalent rule decides about the version.
TEST_F(LegacyVersions, TheFirstRuleThatIsEquivalentDecides) {
  Configure({"both", R"([["extensions","v1beta1"],["apps","v1"]])"});
  Configure({"reversed", R"([["apps","v1"],["extensions","v1beta1"]])"});
  ASSERT_EQ(Create("apps/v1beta1").status, 201);
  const auto seen = ReviewsByName();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen.at("both")["request"]["object"]["apiVersion"].AsString(), "extensions/v1beta1");
  EXPECT_EQ(seen.at("reversed")["request"]["object"]["apiVersion"].AsString(), "apps/v1");
}

// D-7: before it is prepared for the store.
TEST_F(LegacyVersions, ADaemonSetShowsItsTemplateGenerationAsAnAnnotation) {
  Configure({"current", R"([["apps","v1"]])", "Equivalent", R"(["daemonsets"])", "mutating"});
  const Answer made =
      server_->Post("/apis/extensions/v1beta1/namespaces/default/daemonsets", kBody);
  ASSERT_EQ(made.status, 201) << made.body;
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Value object = seen[0]["request"]["object"];
  EXPECT_EQ(
      object["metadata"]["annotations"]["deprecated.daemonset.template.generation"].AsString(),
      "0");
  EXPECT_EQ(object["spec"]["updateStrategy"]["type"].AsString(), "OnDelete");
}

constexpr std::string_view kPatched = R"("allowed":true,"patchType":"JSONPatch","patch":")";

// D-3.
TEST_F(LegacyVersions, AWebhookThatRemovesTheAnnotationClearsTheRollback) {
  Configure({"current", R"([["apps","v1"]])", "Equivalent", R"(["deployments"])", "mutating"});
  AnswerWith(base::StrCat(
      kPatched, base::Base64Encode(R"([{"op":"remove","path":"/metadata/annotations"}])"), "\""));
  const Answer made = Create("extensions/v1beta1");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_FALSE(made["spec"].Has("rollbackTo"));
}

// D-4.
TEST_F(LegacyVersions, AWebhookThatSetsTheAnnotationToNoNumberFailsTheRequest) {
  Configure({"current", R"([["apps","v1"]])", "Equivalent", R"(["deployments"])", "mutating"});
  AnswerWith(
      base::StrCat(kPatched,
                   base::Base64Encode(R"([{"op":"add","path":"/metadata/annotations","value":)"
                                      R"({"deprecated.deployment.rollback.to":"abc"}}])"),
                   "\""));
  const Answer refused = Create("extensions/v1beta1");
  EXPECT_EQ(refused.status, 500) << refused.body;
  EXPECT_EQ(refused.message(),
            "Internal error occurred: failed to parse annotation"
            "[deprecated.deployment.rollback.to]=abc as int64: strconv.ParseInt: parsing \"abc\": "
            "invalid syntax");
}

// Section 6.3: what a webhook has patched gets the defaults of the version it has seen.
TEST_F(LegacyVersions, APatchBringsTheDefaultsOfItsVersion) {
  Start("1.12");
  Configure({"current", R"([["apps","v1"]])", "Equivalent", R"(["deployments"])", "mutating"});
  AnswerWith(base::StrCat(
      kPatched, base::Base64Encode(R"([{"op":"add","path":"/metadata/labels/x","value":"y"}])"),
      "\""));
  const Answer made = Create("extensions/v1beta1");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["metadata"]["labels"]["x"].AsString(), "y");
  EXPECT_EQ(made["spec"]["revisionHistoryLimit"].AsInt(), 10);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_FALSE(seen[0]["request"]["object"]["spec"].Has("revisionHistoryLimit"));
}

// D-10: apps/v1 has no rollback that would be equivalent.
TEST_F(LegacyVersions, ARollbackHasNoEquivalent) {
  ASSERT_EQ(Create("extensions/v1beta1").status, 201);
  Configure({"current", R"([["apps","v1"]])", "Equivalent", R"(["deployments/rollback"])"});
  Configure({"old", R"([["extensions","v1beta1"]])", "Exact", R"(["deployments/rollback"])"});
  const Answer done = server_->Post(
      "/apis/extensions/v1beta1/namespaces/default/deployments/d/rollback",
      R"({"kind":"DeploymentRollback","apiVersion":"extensions/v1beta1","name":"d","rollbackTo":{}})");
  EXPECT_EQ(done.status, 200) << done.body;
  const auto seen = ReviewsByName();
  ASSERT_EQ(seen.size(), 1U);
  const json::Value request = seen.at("old")["request"];
  EXPECT_EQ(request["subResource"].AsString(), "rollback");
  EXPECT_EQ(request["operation"].AsString(), "CREATE");
  EXPECT_EQ(request["object"]["kind"].AsString(), "DeploymentRollback");
}

// D-11: the Scale is of the version of the rule, too.
TEST_F(LegacyVersions, AScaleIsOfTheVersionThatTheRuleNames) {
  ASSERT_EQ(Create("extensions/v1beta1").status, 201);
  constexpr std::pair<std::string_view, std::string_view> kHooks[] = {
      {"current", R"([["apps","v1"]])"},
      {"middle", R"([["apps","v1beta2"]])"},
      {"old", R"([["extensions","v1beta1"]])"}};
  for (const auto& [name, rules] : kHooks) {
    Configure({name, rules, "Equivalent", R"(["deployments/scale"])"});
  }
  const Answer done =
      server_->Patch("/apis/extensions/v1beta1/namespaces/default/deployments/d/scale",
                     "application/merge-patch+json", R"({"spec":{"replicas":3}})");
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done["apiVersion"].AsString(), "extensions/v1beta1");
  EXPECT_EQ(json::ToString(done["status"]),
            R"({"replicas":0,"selector":{"app":"a"},"targetSelector":"app=a"})");
  const auto seen = ReviewsByName();
  ASSERT_EQ(seen.size(), 3U);
  const auto shown = [&](const char* name) {
    const json::Value object = seen.at(name)["request"]["object"];
    return base::StrCat(object["apiVersion"].AsString(), " ", object["kind"].AsString(), " ",
                        json::ToString(object["status"]));
  };
  EXPECT_EQ(shown("current"), R"(autoscaling/v1 Scale {"replicas":0,"selector":"app=a"})");
  EXPECT_EQ(shown("middle"),
            R"(apps/v1beta2 Scale {"replicas":0,"selector":{"app":"a"},"targetSelector":"app=a"})");
  EXPECT_EQ(shown("old"), R"(extensions/v1beta1 Scale {"replicas":0,"selector":{"app":"a"},)"
                          R"("targetSelector":"app=a"})");
}

// D-12, and section 6.6: what is served in two groups is one resource.
TEST_F(LegacyVersions, AResourceOfTwoGroupsIsOne) {
  struct Row {
    std::string_view path;
    std::string_view body;
    std::string_view rule;
    std::string_view resource;
    std::string_view kind;  // of the review
    std::string_view spec;  // of the object, where its versions differ
  };
  constexpr Row kRows[] = {
      {"extensions/v1beta1/namespaces/default/ingresses",
       R"({"metadata":{"name":"x"},"spec":{"backend":{"serviceName":"s","servicePort":"http"}}})",
       R"([["networking.k8s.io","v1"]])", "ingresses",
       R"({"group":"networking.k8s.io","version":"v1","kind":"Ingress"})",
       R"({"defaultBackend":{"service":{"name":"s","port":{"name":"http"}}}})"},
      {"networking.k8s.io/v1/namespaces/default/ingresses",
       R"({"metadata":{"name":"y"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})",
       R"([["extensions","v1beta1"]])", "ingresses",
       R"({"group":"extensions","version":"v1beta1","kind":"Ingress"})",
       R"({"backend":{"serviceName":"s","servicePort":80}})"},
      {"extensions/v1beta1/namespaces/default/networkpolicies",
       R"({"metadata":{"name":"x"},"spec":{"podSelector":{}}})", R"([["networking.k8s.io","v1"]])",
       "networkpolicies", R"({"group":"networking.k8s.io","version":"v1","kind":"NetworkPolicy"})",
       R"({"podSelector":{},"policyTypes":["Ingress"]})"},
      {"extensions/v1beta1/namespaces/default/replicasets", kBody, R"([["apps","v1"]])",
       "replicasets", R"({"group":"apps","version":"v1","kind":"ReplicaSet"})", ""},
      {"extensions/v1beta1/podsecuritypolicies",
       R"({"metadata":{"name":"x"},"spec":{"seLinux":{"rule":"RunAsAny"},"runAsUser":{"rule":"RunAsAny"},
           "supplementalGroups":{"rule":"RunAsAny"},"fsGroup":{"rule":"RunAsAny"}}})",
       R"([["policy","v1beta1"]])", "podsecuritypolicies",
       R"({"group":"policy","version":"v1beta1","kind":"PodSecurityPolicy"})", ""},
      {"events.k8s.io/v1/namespaces/default/events",
       R"({"metadata":{"name":"x"},"eventTime":"2020-01-01T00:00:00.000000Z","type":"Normal",
           "reason":"r","action":"a","reportingController":"a.b/c","reportingInstance":"i",
           "regarding":{"kind":"Pod","namespace":"default","name":"p"}})",
       R"([["","v1"]])", "events", R"({"group":"","version":"v1","kind":"Event"})", ""},
  };
  int number = 0;
  for (const Row& row : kRows) {
    const std::string name = base::StrCat("hook", std::to_string(number++));
    Configure({name, row.rule, "Equivalent", base::StrCat(R"([")", row.resource, R"("])")});
    const Answer made = server_->Post(base::StrCat("/apis/", row.path), row.body);
    ASSERT_EQ(made.status, 201) << row.path << made.body;
    auto seen = ReviewsByName();
    ASSERT_TRUE(seen.contains(name)) << row.path;
    const json::Value request = seen.at(name)["request"];
    EXPECT_EQ(json::ToString(request["kind"]), row.kind) << row.path;
    EXPECT_EQ(request["requestKind"]["group"].AsString(), row.path.substr(0, row.path.find('/')));
    if (row.spec.empty()) continue;
    EXPECT_EQ(json::ToString(request["object"]["spec"]), row.spec) << row.path;
  }
}

// B-4: up to 1.14 a mutating webhook's denial was wrapped.
TEST_F(LegacyVersions, AMutatingDenialIsAnInternalErrorUpTo114) {
  constexpr std::tuple<const char*, int, std::string_view> kReleases[] = {
      {"1.13", 500,
       "Internal error occurred: admission webhook \"no.example.com\" denied the request: not "
       "today"},
      {"1.15", 403, "admission webhook \"no.example.com\" denied the request: not today"}};
  for (const auto& [release, status, message] : kReleases) {
    Start(release);
    Configure({"no", R"([["apps","v1"]])", "Exact", R"(["deployments"])", "mutating"});
    AnswerWith(R"("allowed":false,"status":{"code":403,"message":"not today"})");
    const Answer refused =
        server_->Post("/apis/apps/v1/namespaces/default/deployments",
                      R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"a"}},
            "template":{"metadata":{"labels":{"app":"a"}},
            "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    EXPECT_EQ(refused.status, status) << release << refused.body;
    EXPECT_EQ(refused.message(), message) << release;
  }
}

// What a review has that is the same in each run.
json::Value Settled(json::Arena& arena, json::Value review) {
  json::Value request = json::Without(arena, review["request"], "uid");
  request = json::RemovePath(arena, request, {"userInfo", "extra"});  // names a certificate
  for (const std::string_view field : {"uid", "creationTimestamp", "managedFields"}) {
    request = json::RemovePath(arena, request, {"object", "metadata", field});
  }
  return request;
}

// The whole review that a webhook on each version gets of a request in each version.
TEST_F(LegacyVersions, ReviewsOfDeploymentsInAllVersions) {
  constexpr std::pair<std::string_view, std::string_view> kVersions[] = {
      {"extensions", "v1beta1"}, {"apps", "v1beta1"}, {"apps", "v1beta2"}, {"apps", "v1"}};
  for (const auto& [group, version] : kVersions) {
    const std::string rules = base::StrCat(R"([[")", group, R"(",")", version, R"("]])");
    const std::string equivalent = base::StrCat("equivalent-", group, "-", version);
    const std::string exact = base::StrCat("exact-", group, "-", version);
    Configure({equivalent, rules, "Equivalent"});
    Configure({exact, rules, "Exact"});
  }
  json::Arena arena;
  json::ObjectBuilder all(arena);
  std::vector<std::map<std::string, json::Document>> kept;  // hold what `all` is made of
  for (const auto& [group, version] : kVersions) {
    const std::string from = base::StrCat(group, "/", version);
    const Answer made = server_->Post(
        base::StrCat("/apis/", from, "/namespaces/default/deployments"),
        base::StrCat(R"({"metadata":{"name":")", group, "-", version,
                     R"(","annotations":{"kept":"yes"}},"spec":{)",
                     version == "v1beta1" ? R"("rollbackTo":{"revision":3},)"
                                          : R"("selector":{"matchLabels":{"app":"a"}},)",
                     R"("template":{"metadata":{"labels":{"app":"a"}},)",
                     R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})"));
    ASSERT_EQ(made.status, 201) << made.body;
    const auto& seen = kept.emplace_back(ReviewsByName());
    EXPECT_EQ(seen.size(), 5U) << from;  // all that take equivalents, and the exact one
    EXPECT_TRUE(seen.contains(base::StrCat("exact-", group, "-", version))) << from;
    json::ObjectBuilder by_webhook(arena);
    for (const auto& [name, review] : seen) {
      by_webhook.Set(arena.Copy(name), Settled(arena, review.root()));
    }
    all.Set(arena.Copy(from), by_webhook.Build());
  }
  const std::string text =
      json::ToString(all.Build(), {.sort_keys = true, .escape_html = false, .indent = 1}) + "\n";
  const std::string path =
      std::string(PC_SOURCE_DIR) + "/tests/integration/testdata/reviews_of_deployments.json";
  if (std::getenv("PC_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string golden((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  EXPECT_TRUE(text == golden) << "see what PC_WRITE_GOLDEN=1 changes in " << path;
}

}  // namespace
}  // namespace portcullis

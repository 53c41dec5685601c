// SPDX-License-Identifier: Apache-2.0

// External admission hooks (Kubernetes 1.7 and 1.8, docs/legacy.md): what they are sent in
// admission.k8s.io/v1alpha1, and what becomes of their answers. Scenarios W-1 to W-31.

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/server.h"
#include "net/tls.h"
#include "pki/certificates.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kConfigurations =
    "/apis/admissionregistration.k8s.io/v1alpha1/externaladmissionhookconfigurations";

// A hook behind the Service guard of the namespace team, whose answers a test sets.
class ExternalHooks : public ::testing::Test {
 protected:
  void SetUp() override { Start(net::ClientCertificates::kRequest); }

  void Start(net::ClientCertificates certificates,
             const std::function<void(server::Options&)>& adjust = {}) {
    const auto now = base::SystemClock().Now();
    authority_ = pki::MakeAuthority("hooks", now).value();
    net::ServerTlsOptions tls;
    const auto serving = pki::Issue(authority_,
                                    {.common_name = "guard",
                                     .dns_names = dns_names_,
                                     .ip_addresses = ip_addresses_,
                                     .server = true},
                                    now)
                             .value();
    tls.certificate = {serving.certificate_pem, serving.key_pem, {}};
    tls.client_certificates = certificates;
    tls.client_ca_pem = authority_.certificate_pem;
    const auto client =
        pki::Issue(authority_, {.common_name = "proxy", .client = true}, now).value();
    net::ServerOptions listening;
    listening.tls = net::ServerTls::Create(tls).value();
    hook_ = net::HttpsServer::Listen(
                io_, std::move(listening),
                [this](const std::shared_ptr<net::Exchange>& exchange) { Judge(exchange); })
                .value();
    server_.emplace([&](server::Options& options) {
      options.enable_admission_plugins = {"GenericAdmissionWebhook"};
      options.disable_admission_plugins = {"ServiceAccount"};
      options.runtime_config["admissionregistration.k8s.io/v1alpha1"] = "true";
      // The certificate is guard's alone.
      for (const char* service : {"team/guard:443", "team/second:443"}) {
        options.webhook_service_map[service] =
            base::StrCat("127.0.0.1:", std::to_string(hook_->port()));
      }
      if (adjust) adjust(options);
      if (certificates == net::ClientCertificates::kRequest) return;
      options.proxy_client_cert_file = Write("proxy.crt", client.certificate_pem);
      options.proxy_client_key_file = Write("proxy.key", client.key_pem);
    });
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // A configuration with one hook; `policy` as in JSON, with a comma.
  void Configure(std::string_view rules, std::string_view policy = "",
                 std::string_view service = "guard", std::string_view name = "h",
                 std::string_view bundle = "") {
    const Answer made = server_->Post(
        kConfigurations,
        base::StrCat(
            R"({"metadata":{"name":")", name, R"("},"externalAdmissionHooks":[{"name":)",
            R"("labels.guard.acme.test",)", policy, R"("rules":[)", rules,
            R"(],"clientConfig":{"caBundle":")",
            base::Base64Encode(bundle.empty() ? authority_.certificate_pem : std::string(bundle)),
            R"(","service":{"namespace":"team","name":")", service, R"("}}}]})"));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void Unconfigure() {
    ASSERT_EQ(server_->Delete(base::StrCat(kConfigurations, "/h")).status, 200);
  }
  // As configurations have it.
  std::string Bundle() const { return base::Base64Encode(authority_.certificate_pem); }
  void AnswerWith(std::string body, int status = 200) {
    const std::lock_guard lock(mutex_);
    body_ = std::move(body);
    status_ = status;
  }
  Answer Create(std::string_view name) {
    return server_->Post(kPods,
                         base::StrCat(R"({"metadata":{"name":")", name,
                                      R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})"));
  }
  std::vector<std::string> reviews() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reviews_, {});
  }

  std::vector<std::string> targets() {
    const std::lock_guard lock(mutex_);
    return std::exchange(targets_, {});
  }

  // Of the last call.
  std::string header(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return std::string(headers_.Get(name));
  }

  const base::TemporaryFolder folder_;
  std::optional<TestServer> server_;
  std::atomic<bool> retry_once_ = false;  // the next call is answered with 429
  // Of the hook's certificate.
  std::vector<std::string> dns_names_ = {"guard.team.svc"};
  std::vector<std::string> ip_addresses_;

 private:
  void Judge(const std::shared_ptr<net::Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    reviews_.push_back(exchange->request().body);
    targets_.push_back(exchange->request().target);
    headers_ = exchange->request().headers;
    net::Response response;
    response.status = status_;
    if (retry_once_.exchange(false)) {
      response.status = 429;
      response.headers.Set("Retry-After", "0");
    }
    response.headers.Set("Content-Type", "application/json");
    response.body = body_;
    exchange->Respond(std::move(response));
  }

  pki::KeyPair authority_;
  std::mutex mutex_;
  std::string body_ = R"({"status":{"allowed":true}})";
  int status_ = 200;
  std::vector<std::string> reviews_;
  std::vector<std::string> targets_;
  net::Headers headers_;
  net::IoThreads io_{1};
  std::unique_ptr<net::HttpsServer> hook_;
};

constexpr std::string_view kNewPods =
    R"({"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]})";

TEST_F(ExternalHooks, AReviewHasTheRequestInItsSpec) {
  Configure(kNewPods);
  ASSERT_EQ(Create("p").status, 201);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Document review = json::ParseDocument(seen[0]).value();
  EXPECT_EQ(review["apiVersion"].AsString(), "admission.k8s.io/v1alpha1");
  EXPECT_EQ(review["kind"].AsString(), "AdmissionReview");
  EXPECT_EQ(json::ToString(review["status"]), R"({"allowed":false})");
  const json::Value spec = review["spec"];
  EXPECT_EQ(json::ToString(spec["kind"]), R"({"group":"","version":"v1","kind":"Pod"})");
  EXPECT_EQ(json::ToString(spec["resource"]), R"({"group":"","version":"v1","resource":"pods"})");
  EXPECT_EQ(spec["operation"].AsString(), "CREATE");
  EXPECT_EQ(spec["namespace"].AsString(), "default");
  EXPECT_EQ(spec["object"]["spec"]["containers"][std::size_t{0}]["image"].AsString(), "i");
  // Defaults are there, and so is what the plugins before have done.
  EXPECT_EQ(spec["object"]["spec"]["dnsPolicy"].AsString(), "ClusterFirst");
  EXPECT_EQ(spec["object"]["spec"]["tolerations"].size(), 2U);
  EXPECT_TRUE(spec.Has("oldObject") && spec["oldObject"].is_null());
  EXPECT_FALSE(spec["userInfo"]["username"].AsString().empty());
  for (const std::string_view later : {"uid", "dryRun", "options", "requestKind"}) {
    EXPECT_FALSE(spec.Has(later)) << later;
  }
}

// W-2, W-5, W-6, W-7, W-8, W-10, W-26.
TEST_F(ExternalHooks, AnAnswerAllowsOrDeniesAndChangesNothing) {
  Configure(kNewPods);
  struct Row {
    std::string_view answer;
    int status;
    std::string_view message;
  };
  const Row rows[] = {
      {R"({"status":{"allowed":true,"status":{"status":"Failure","message":"no"}}})", 201, ""},
      {R"({"spec":{"object":{"metadata":{"name":"other"}}},"status":{"allowed":true}})", 201, ""},
      {R"({"status":{"allowed":false,"status":{"message":"label 'team' is mandatory"}}})", 500,
       "label 'team' is mandatory"},
      {R"({"status":{"allowed":false,"status":{"status":"Failure","code":403,"reason":"Forbidden",
          "message":"not today"}}})",
       403, "not today"},
      {R"({"status":{"allowed":false}})", 500,
       "admission webhook \"labels.guard.acme.test\" denied the request without explanation"},
      {"{}", 500,
       "admission webhook \"labels.guard.acme.test\" denied the request without explanation"},
  };
  int number = 0;
  for (const Row& row : rows) {
    AnswerWith(std::string(row.answer));
    const Answer made = Create(base::StrCat("p", std::to_string(number++)));
    EXPECT_EQ(made.status, row.status) << row.answer << made.body;
    if (row.status == 201) continue;
    EXPECT_EQ(made.message(), row.message);
  }
}

// W-9, W-11, W-12, W-30: no answer is ignored, unless the hook says otherwise.
TEST_F(ExternalHooks, AnErrorIsIgnoredUnlessThePolicyIsFail) {
  Configure(kNewPods);
  const std::pair<int, std::string_view> answers[] = {
      {500, "{}"},
      {404, "{}"},
      {200, ""},
      {200, "not JSON"},
      {200, R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"broken"})"}};
  int number = 0;
  for (const auto& [status, body] : answers) {
    AnswerWith(std::string(body), status);
    EXPECT_EQ(Create(base::StrCat("p", std::to_string(number++))).status, 201) << status << body;
  }
  Unconfigure();
  Configure(kNewPods, R"("failurePolicy":"Fail",)");
  for (const auto& [status, body] : answers) {
    AnswerWith(std::string(body), status);
    const Answer refused = Create("q");
    EXPECT_EQ(refused.status, 500) << status << body;
    EXPECT_TRUE(refused.message().starts_with(
        "failed calling admission webhook \"labels.guard.acme.test\": "))
        << refused.message();
  }
}

// W-13, W-14, W-15: a hook that cannot be reached safely is not reached.
TEST_F(ExternalHooks, TheCertificateIsThatOfTheService) {
  const std::string other =
      pki::MakeAuthority("others", base::SystemClock().Now()).value().certificate_pem;
  struct Row {
    std::string_view scenario;
    std::string_view service;
    std::string_view bundle;
    std::string_view message;
  };
  const Row rows[] = {{"W-13", "guard", other, "certificate"},
                      {"W-14", "second", "", "guard.team.svc, not second.team.svc"},
                      {"W-15", "none", "", "service \"none\" not found"}};
  int number = 0;
  for (const Row& row : rows) {
    Configure(kNewPods, R"("failurePolicy":"Fail",)", row.service, "h", row.bundle);
    const Answer refused = Create("refused");
    EXPECT_EQ(refused.status, 500) << row.scenario;
    EXPECT_NE(refused.message().find(row.message), std::string_view::npos)
        << row.scenario << refused.message();
    Unconfigure();
    Configure(kNewPods, "", row.service, "h", row.bundle);
    EXPECT_EQ(Create(base::StrCat("ignored", std::to_string(number++))).status, 201)
        << row.scenario;
    Unconfigure();
  }
  EXPECT_EQ(reviews().size(), 0U);
}

// W-15: a Service needs the port 443 and an address.
TEST_F(ExternalHooks, AServiceHasThePort443AndAnAddress) {
  ASSERT_EQ(server_->Post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status, 201);
  const std::pair<std::string_view, std::string_view> services[] = {
      {R"({"metadata":{"name":"real"},"spec":{"ports":[{"port":8443}]}})",
       "no service port 443 found for service \"real\""},
      {R"({"metadata":{"name":"real"},"spec":{"clusterIP":"None","ports":[{"port":443}]}})",
       "cannot route to service with ClusterIP \"None\""}};
  for (const auto& [service, message] : services) {
    const Answer made = server_->Post("/api/v1/namespaces/team/services", service);
    ASSERT_EQ(made.status, 201) << made.body;
    Configure(kNewPods, R"("failurePolicy":"Fail",)", "real");
    const Answer refused = Create("p");
    EXPECT_EQ(refused.status, 500);
    EXPECT_NE(refused.message().find(message), std::string_view::npos) << refused.message();
    Unconfigure();
    ASSERT_EQ(server_->Delete("/api/v1/namespaces/team/services/real").status, 200);
  }
}

// Section 3.6: up to 1.13 a new object has no name yet, and the path is / without a query.
TEST_F(ExternalHooks, AHookIsCalledAsInItsRelease) {
  Start(net::ClientCertificates::kRequest,
        [](server::Options& options) { options.kubernetes_version = "1.8"; });
  Configure(kNewPods);
  ASSERT_EQ(Create("p").status, 201);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_FALSE(json::ParseDocument(seen[0]).value()["spec"].Has("name"));
  EXPECT_EQ(targets(), std::vector<std::string>{"/"});
  EXPECT_EQ(header("Content-Type"), "application/json");
  EXPECT_EQ(header("Accept"), "application/json, */*");
  EXPECT_EQ(header("User-Agent"), "kube-apiserver-admission");
  EXPECT_EQ(header("Authorization"), "");
}

// Section 3.6: a hook that asks for it is called again, and its last answer counts.
TEST_F(ExternalHooks, AHookMayAskToBeCalledAgain) {
  Configure(kNewPods, R"("failurePolicy":"Fail",)");
  retry_once_ = true;
  EXPECT_EQ(Create("p").status, 201);
  EXPECT_EQ(reviews().size(), 2U);
}

// W-14 in 1.7, which called the address of the Service and wanted the certificate to be that of it.
TEST_F(ExternalHooks, In17TheCertificateIsThatOfTheAddress) {
  const auto start = [&](std::vector<std::string> names, std::vector<std::string> addresses) {
    dns_names_ = std::move(names);
    ip_addresses_ = std::move(addresses);
    Start(net::ClientCertificates::kRequest, [](server::Options& options) {
      options.kubernetes_version = "1.7";
      options.enable_admission_plugins.clear();
      options.disable_admission_plugins.clear();
      options.admission_control = {"GenericAdmissionWebhook"};
    });
    Configure(kNewPods, R"("failurePolicy":"Fail",)");
  };
  start({"guard.team.svc"}, {});
  const Answer refused = Create("p");
  EXPECT_EQ(refused.status, 500);
  EXPECT_NE(refused.message().find("127.0.0.1"), std::string_view::npos) << refused.message();
  start({}, {"127.0.0.1"});
  EXPECT_EQ(Create("p").status, 201);
  EXPECT_EQ(reviews().size(), 1U);
  EXPECT_EQ(targets(), std::vector<std::string>{"/"});
}

// W-3: all hooks are asked, and the client gets one denial.
TEST_F(ExternalHooks, OfSeveralDenialsTheClientGetsOne) {
  Configure(kNewPods);
  Configure(kNewPods, "", "guard", "second");
  AnswerWith(R"({"status":{"allowed":false,"status":{"code":403,"message":"no"}}})");
  const Answer refused = Create("p");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(), "no");
  EXPECT_EQ(reviews().size(), 2U);
}

// W-4, with a hook that breaks instead of hanging: its failure is waited for, and is no verdict.
TEST_F(ExternalHooks, ADenialStandsBesideAFailure) {
  Configure(kNewPods);
  Configure(kNewPods, "", "none", "broken");
  AnswerWith(R"({"status":{"allowed":false,"status":{"code":403,"message":"no"}}})");
  const Answer refused = Create("p");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(), "no");
}

// W-16, W-17, W-18: which requests the resources of a rule stand for.
TEST_F(ExternalHooks, ResourcesOfRulesMayBeStars) {
  struct Row {
    std::string_view resources;
    bool pod;
    bool status;
    bool config_map;
  };
  constexpr Row kRows[] = {
      {R"("pods")", true, false, false},     {R"("pods/status")", false, true, false},
      {R"("pods/*")", true, true, false},    {R"("*")", true, false, true},
      {R"("*/status")", false, true, false}, {R"("*/*")", true, true, true}};
  int number = 0;
  for (const Row& row : kRows) {
    Configure(base::StrCat(
        R"({"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":[)",
        row.resources, "]}"));
    const std::string name = base::StrCat("p", std::to_string(number++));
    ASSERT_EQ(Create(name).status, 201);
    EXPECT_EQ(reviews().size(), row.pod ? 1U : 0U) << row.resources;
    ASSERT_EQ(server_
                  ->Patch(base::StrCat(kPods, "/", name, "/status"), "application/merge-patch+json",
                          R"({"status":{"phase":"Running"}})")
                  .status,
              200);
    EXPECT_EQ(reviews().size(), row.status ? 1U : 0U) << row.resources;
    ASSERT_EQ(server_
                  ->Post("/api/v1/namespaces/default/configmaps",
                         base::StrCat(R"({"metadata":{"name":")", name, R"("}})"))
                  .status,
              201);
    EXPECT_EQ(reviews().size(), row.config_map ? 1U : 0U) << row.resources;
    Unconfigure();
  }
}

// W-25.
TEST_F(ExternalHooks, AConnectionIsReviewedWithItsOptions) {
  Configure(
      R"({"operations":["CONNECT"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/exec"]})");
  AnswerWith(R"({"status":{"allowed":false,"status":{"code":403,"message":"no shells"}}})");
  ASSERT_EQ(Create("p").status, 201);
  const Answer refused = server_->Post(base::StrCat(kPods, "/p/exec?command=sh"), "");
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_EQ(refused.message(), "no shells");
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Document review = json::ParseDocument(seen[0]).value();
  EXPECT_EQ(review["spec"]["operation"].AsString(), "CONNECT");
  EXPECT_EQ(review["spec"]["subResource"].AsString(), "exec");
  EXPECT_EQ(review["spec"]["object"]["kind"].AsString(), "PodExecOptions");
}

// W-28.
TEST_F(ExternalHooks, WithoutTheKindThePluginAllowsEverything) {
  Start(net::ClientCertificates::kRequest,
        [](server::Options& options) { options.runtime_config.clear(); });
  EXPECT_EQ(server_->Get(kConfigurations).status, 404);
  EXPECT_EQ(Create("p").status, 201);
}

// W-29: what a plugin changes behind the hooks they do not see.
TEST_F(ExternalHooks, InAnOrderedChainLaterChangesAreNotReviewed) {
  Start(net::ClientCertificates::kRequest, [](server::Options& options) {
    options.kubernetes_version = "1.8";
    options.enable_admission_plugins.clear();
    options.disable_admission_plugins.clear();
    options.admission_control = {"NamespaceLifecycle", "GenericAdmissionWebhook",
                                 "DefaultTolerationSeconds"};
  });
  Configure(kNewPods);
  const Answer made = Create("p");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["spec"]["tolerations"].size(), 2U);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Document review = json::ParseDocument(seen[0]).value();
  EXPECT_FALSE(review["spec"]["object"]["spec"].Has("tolerations"));
}

// W-31: the proxy's client certificate is shown; without one there is none to show.
TEST_F(ExternalHooks, AHookMayRequireTheClientCertificateOfTheProxy) {
  Start(net::ClientCertificates::kRequire);
  Configure(kNewPods, R"("failurePolicy":"Fail",)");
  EXPECT_EQ(Create("p").status, 201);
  EXPECT_EQ(reviews().size(), 1U);
}

// W-1, W-16, W-24.
TEST_F(ExternalHooks, RulesNameOperationsAndSubresources) {
  Configure(
      R"({"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]},
         {"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/status"]})");
  ASSERT_EQ(Create("p").status, 201);
  EXPECT_EQ(reviews().size(), 0U);
  ASSERT_EQ(server_
                ->Patch(base::StrCat(kPods, "/p/status"), "application/merge-patch+json",
                        R"({"status":{"phase":"Running"}})")
                .status,
            200);
  const auto of_status = reviews();
  ASSERT_EQ(of_status.size(), 1U);
  const json::Document update = json::ParseDocument(of_status[0]).value();
  EXPECT_EQ(update["spec"]["subResource"].AsString(), "status");
  EXPECT_EQ(update["spec"]["oldObject"]["kind"].AsString(), "Pod");
  ASSERT_EQ(server_->Delete(base::StrCat(kPods, "/p?gracePeriodSeconds=0")).status, 200);
  const auto of_delete = reviews();
  ASSERT_FALSE(of_delete.empty());
  const json::Document removal = json::ParseDocument(of_delete[0]).value();
  EXPECT_EQ(removal["spec"]["name"].AsString(), "p");
  EXPECT_TRUE(removal["spec"]["object"].is_null());
  EXPECT_TRUE(removal["spec"]["oldObject"].is_null());
}

// docs/legacy.md: both registrations may be there at once. Hooks are asked first, and webhooks only
// if no hook denies.
TEST_F(ExternalHooks, StandBesideValidatingWebhooks) {
  Configure(kNewPods);
  const Answer webhook = server_->Post(
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      base::StrCat(R"({"metadata":{"name":"w"},"webhooks":[{"name":"w.guard.acme.test","rules":[)",
                   kNewPods, R"(],"sideEffects":"None","admissionReviewVersions":["v1beta1"],)",
                   R"("clientConfig":{"caBundle":")", Bundle(),
                   R"(","service":{"namespace":"team","name":"guard"}}}]})"));
  ASSERT_EQ(webhook.status, 201) << webhook.body;
  AnswerWith(R"({"status":{"allowed":true},"response":{"allowed":true}})");
  ASSERT_EQ(Create("p").status, 201);
  std::vector<std::string> versions;
  for (const std::string& review : reviews()) {
    versions.emplace_back(json::ParseDocument(review).value()["apiVersion"].AsString());
  }
  EXPECT_EQ(versions,
            (std::vector<std::string>{"admission.k8s.io/v1alpha1", "admission.k8s.io/v1beta1"}));
  AnswerWith(R"({"status":{"allowed":false},"response":{"allowed":true}})");
  EXPECT_EQ(Create("q").status, 500);
  EXPECT_EQ(reviews().size(), 1U);
}

// Section 2.14: a hook sees the create of an object that has initializers, and each write that works
// them off.
TEST_F(ExternalHooks, SeeEveryWriteOfAnInitialization) {
  Start(net::ClientCertificates::kRequest, [](server::Options& options) {
    options.enable_admission_plugins.emplace_back("Initializers");
  });
  const Answer initializer =
      server_->Post("/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations",
                    R"({"metadata":{"name":"cfg"},"initializers":[{"name":"a.init.test.io","rules":[
                        {"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}]})");
  ASSERT_EQ(initializer.status, 201) << initializer.body;
  Configure(R"({"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]})");
  const Answer made = server_->Post(
      base::StrCat(kPods, "?includeUninitialized=true"),
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.status, 202) << made.body;
  for (const std::string_view patch :
       {R"({"metadata":{"labels":{"a":"b"}}})", R"({"metadata":{"initializers":null}})"}) {
    ASSERT_EQ(
        server_->Patch(base::StrCat(kPods, "/p"), "application/merge-patch+json", patch).status,
        200);
  }
  std::vector<std::string> seen;
  for (const std::string& review : reviews()) {
    const json::Document document = json::ParseDocument(review).value();
    const json::Value spec = document["spec"];
    const auto waits = [&](std::string_view which) {
      return spec[which]["metadata"].Has("initializers") ? "waits" : "shows";
    };
    seen.push_back(base::StrCat(spec["operation"].AsString(), " ", waits("object"), " ",
                                spec["oldObject"].is_null() ? "" : waits("oldObject")));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"CREATE waits ", "UPDATE waits waits",
                                            "UPDATE shows waits"}));
}

// Section 3.6: the deletion of a collection is one request without a name.
TEST_F(ExternalHooks, TheDeletionOfACollectionIsOneRequest) {
  Start(net::ClientCertificates::kRequest, [](server::Options& options) {
    options.kubernetes_version = "1.8";
    options.enable_admission_plugins.clear();
    options.disable_admission_plugins.clear();
    options.admission_control = {"GenericAdmissionWebhook"};
  });
  Configure(
      R"({"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]})");
  for (const char* name : {"p", "q"}) ASSERT_EQ(Create(name).status, 201);
  ASSERT_EQ(server_->Delete(base::StrCat(kPods, "?gracePeriodSeconds=0")).status, 200);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Document review = json::ParseDocument(seen[0]).value();
  EXPECT_FALSE(review["spec"].Has("name"));
  EXPECT_TRUE(review["spec"]["object"].is_null());
  EXPECT_EQ(server_->Get(kPods)["items"].size(), 0U);
}

// Section 3.4: before 1.10 nothing is exempt.
TEST_F(ExternalHooks, ConfigurationsAreReviewedThemselves) {
  Configure(R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]})");
  ASSERT_EQ(server_->Delete(base::StrCat(kConfigurations, "/h")).status, 200);
  EXPECT_EQ(reviews().size(), 1U);
}

}  // namespace
}  // namespace portcullis

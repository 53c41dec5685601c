// SPDX-License-Identifier: Apache-2.0

// What the server's own writes look like from outside: those of its controllers, and what it keeps
// about itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "harness/test_server.h"
#include "json/reader.h"

namespace portcullis::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

constexpr std::string_view kNamespaces = "/api/v1/namespaces";
constexpr std::string_view kAccountRole =
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/"
    "system:controller:service-account-controller";
constexpr std::string_view kPolicy =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n";

class OwnRequests : public ::testing::Test {
 protected:
  void Adjust(server::Options& options) const {
    options.controllers = {"*"};
    options.admission_trace_history = 100;
    options.audit_policy_file = folder_.path() + "/policy.yaml";
    options.audit_log_path = folder_.path() + "/audit.log";
    std::ofstream(options.audit_policy_file) << kPolicy;
  }

  // The creator is answered when the controllers have been there.
  void MakeNamespace(std::string_view name) {
    const std::string body = base::StrCat(R"({"metadata":{"name":")", name, "\"}}");
    ASSERT_EQ(server_.Post(kNamespaces, body).status, 201);
  }

  // What the audit log tells of requests for a URI that have been answered: JSON lines.
  std::vector<json::Document> Audited(std::string_view uri) const {
    std::vector<json::Document> found;
    std::ifstream log(folder_.path() + "/audit.log");
    for (std::string line; std::getline(log, line);) {
      auto event = json::ParseDocument(line);
      if (event.ok() && (*event)["requestURI"].AsString() == uri &&
          (*event)["stage"].AsString() == "ResponseComplete") {
        found.push_back(*std::move(event));
      }
    }
    return found;
  }

  static Strings Texts(json::Value list) {
    Strings texts;
    for (const json::Value& item : list.elements()) texts.emplace_back(item.AsString());
    return texts;
  }

  base::TemporaryFolder folder_;
  TestServer server_{[this](server::Options& options) { Adjust(options); }};
};

TEST_F(OwnRequests, LeaveNoAdmissionTraces) {
  MakeNamespace("team");
  ASSERT_EQ(server_
                .Post("/api/v1/namespaces/team/services",
                      R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})")
                .status,
            201);
  const Answer list = server_.Get("/debug/admission?format=json");
  Strings resources;
  for (const json::Value& item : list["items"].elements()) {
    resources.emplace_back(item["request"]["resource"].AsString());
  }
  EXPECT_EQ(resources, (Strings{"namespaces", "services"})) << list.body;
}

TEST_F(OwnRequests, OfControllersAreAuditedAsTheirServiceAccounts) {
  MakeNamespace("team");
  const auto events = Audited("/api/v1/namespaces/team/serviceaccounts");
  ASSERT_EQ(events.size(), 1U);
  const json::Document& event = events.front();
  EXPECT_EQ(event["verb"].AsString(), "create");
  EXPECT_EQ(event["user"]["username"].AsString(),
            "system:serviceaccount:kube-system:service-account-controller");
  EXPECT_EQ(Texts(event["user"]["groups"]),
            (Strings{"system:serviceaccounts", "system:serviceaccounts:kube-system",
                     "system:authenticated"}));
  EXPECT_EQ(event["userAgent"].AsString(), "portcullis/service-account-controller");
  EXPECT_EQ(Texts(event["sourceIPs"]), (Strings{"127.0.0.1"}));
  EXPECT_EQ(event["objectRef"]["resource"].AsString(), "serviceaccounts");
  EXPECT_EQ(event["objectRef"]["namespace"].AsString(), "team");
  EXPECT_EQ(event["responseStatus"]["code"].AsInt(), 201);
  EXPECT_EQ(event["annotations"]["authorization.k8s.io/decision"].AsString(), "allow");
  EXPECT_THAT(std::string(event["annotations"]["authorization.k8s.io/reason"].AsString()),
              HasSubstr("system:controller:service-account-controller"));
}

// As kube-apiserver's loopback client: with a uid, and without a credential's id.
TEST_F(OwnRequests, OfTheServerItselfAreAuditedAsKubeApiserversAre) {
  ASSERT_EQ(server_
                .Post("/api/v1/namespaces/default/services",
                      R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})")
                .status,
            201);
  const auto events = Audited("/apis/networking.k8s.io/v1/ipaddresses");
  ASSERT_FALSE(events.empty());
  const json::Value user = events.back()["user"];
  EXPECT_EQ(user["username"].AsString(), "system:apiserver");
  EXPECT_EQ(user["uid"].AsString().size(), 36U);
  EXPECT_EQ(Texts(user["groups"]), (Strings{"system:authenticated", "system:masters"}));
  EXPECT_TRUE(user["extra"].is_null());
  EXPECT_EQ(events.back()["userAgent"].AsString(), "kube-apiserver");
}

TEST_F(OwnRequests, OfControllersNeedTheirRights) {
  ASSERT_EQ(server_.Delete(kAccountRole).status, 200);
  MakeNamespace("team");
  const auto events = Audited("/api/v1/namespaces/team/serviceaccounts");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front()["responseStatus"]["code"].AsInt(), 403);
  EXPECT_EQ(server_.Get("/api/v1/namespaces/team/serviceaccounts/default").status, 404);
}

TEST_F(OwnRequests, AreCounted) {
  MakeNamespace("team");
  EXPECT_THAT(
      server_.Get("/metrics").body,
      HasSubstr(R"(apiserver_request_total{code="201",component="apiserver",dry_run="",group="",)"
                R"(resource="serviceaccounts",scope="resource",subresource="",verb="POST",)"));
}

// "manager operation subresource" of each entry, as a real kube-apiserver shows them.
Strings Owners(const Answer& answer) {
  Strings owners;
  for (const json::Value& entry : answer["metadata"]["managedFields"].elements()) {
    owners.push_back(base::StrCat(entry["manager"].AsString(), " ", entry["operation"].AsString(),
                                  " ", entry["subresource"].AsString()));
  }
  return owners;
}

TEST_F(OwnRequests, OwnTheirFieldsUnderTheirNames) {
  MakeNamespace("team");
  EXPECT_EQ(Owners(server_.Get("/api/v1/namespaces/team/configmaps/kube-root-ca.crt")),
            (Strings{"portcullis Update "}));
  const Strings schema =
      Owners(server_.Get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all"));
  EXPECT_THAT(schema, Contains("api-priority-and-fairness-config-producer-v1 Update "));
  EXPECT_THAT(schema, Contains("api-priority-and-fairness-config-consumer-v1 Apply status"));
  EXPECT_EQ(Owners(server_.Get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")),
            (Strings{"kubernetes-service-cidr-controller Apply status", "kube-apiserver Update "}));
  EXPECT_EQ(Owners(server_.Get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps")),
            (Strings{"kube-apiserver Update "}));
}

TEST_F(OwnRequests, OwnTheConditionsOfDefinitions) {
  constexpr std::string_view kDefinitions =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  ASSERT_EQ(server_
                .Post(kDefinitions, R"({"metadata":{"name":"things.example.com"},"spec":{
                    "group":"example.com","scope":"Namespaced",
                    "names":{"plural":"things","kind":"Thing"},
                    "versions":[{"name":"v1","served":true,"storage":true,
                                 "schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
                .status,
            201);
  const std::string path = base::StrCat(kDefinitions, "/things.example.com");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  Answer answer = server_.Get(path);
  while (answer["status"]["conditions"].size() < 2 && std::chrono::steady_clock::now() < end) {
    answer = server_.Get(path);
  }
  EXPECT_THAT(Owners(answer), Contains("kube-apiserver Update status")) << answer.body;
}

}  // namespace
}  // namespace portcullis::testing

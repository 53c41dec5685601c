// SPDX-License-Identifier: Apache-2.0

// What the creator of an object comes to own: what differs from an object of which no field is
// set, as Go writes it (apiserver, handlers/create.go).

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "harness/test_server.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

std::string Fields(const Answer& made) {
  return json::ToString(made["metadata"]["managedFields"][std::size_t{0}]["fieldsV1"]);
}

TEST(FieldOwners, OfABuiltInObject) {
  TestServer server;
  const Answer made = server.Post(
      "/apis/apps/v1/namespaces/default/deployments",
      R"({"metadata":{"name":"d","labels":{"a":"b"}},"spec":{"selector":{"matchLabels":{"a":"b"}},
          "template":{"metadata":{"labels":{"a":"b"}},
          "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  // Structs that Go always writes are there before anybody sets a field of theirs.
  EXPECT_EQ(Fields(made),
            R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}},)"
            R"("f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},)"
            R"("f:revisionHistoryLimit":{},"f:selector":{},)"
            R"("f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},)"
            R"("f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:a":{}}},)"
            R"("f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},)"
            R"("f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},)"
            R"("f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},)"
            R"("f:schedulerName":{},"f:securityContext":{},)"
            R"("f:terminationGracePeriodSeconds":{}}}}})");
}

TEST(FieldOwners, OfACustomObject) {
  TestServer server;
  const Answer defined =
      server.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                  R"({"metadata":{"name":"foos.example.com"},"spec":{"group":"example.com",
          "scope":"Namespaced","names":{"plural":"foos","kind":"Foo"},"versions":[
          {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
           "properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}}}}]}})");
  ASSERT_EQ(defined.status, 201);
  const Answer made = server.Post("/apis/example.com/v1/namespaces/default/foos",
                                  R"({"apiVersion":"example.com/v1","kind":"Foo",
                                      "metadata":{"name":"f"},"spec":{"a":"b"}})");
  EXPECT_EQ(Fields(made), R"({"f:spec":{".":{},"f:a":{}}})");
}

TEST(FieldOwners, OfWhatTheServerMakesItself) {
  TestServer server;
  const Answer system = server.Get("/api/v1/namespaces/kube-system");
  EXPECT_EQ(system["metadata"]["managedFields"][std::size_t{0}]["manager"].AsString(),
            "kube-apiserver");
  EXPECT_EQ(Fields(system),
            R"({"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}})");
}

}  // namespace
}  // namespace portcullis

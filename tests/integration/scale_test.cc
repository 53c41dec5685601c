// SPDX-License-Identifier: Apache-2.0

// Who owns the replicas of an object that is scaled: the scale subresource shares
// metadata.managedFields with its parent (apimachinery, ScaleHandler).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using ::testing::ElementsAre;
using testing::TestServer;

constexpr std::string_view kDeployment = "/apis/apps/v1/namespaces/default/deployments/d";
constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kFleet = "/apis/example.com/v1/namespaces/default/fleets/f";
constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kApply = "application/apply-patch+yaml";

constexpr std::string_view kDeploymentBody =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1,
        "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i"}]}}}})";
constexpr std::string_view kFleetDefinition =
    R"({"metadata":{"name":"fleets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
        "names":{"plural":"fleets","kind":"Fleet"},"versions":[{"name":"v1","served":true,
        "storage":true,"subresources":{"scale":{"specReplicasPath":".spec.size.ships",
        "statusReplicasPath":".status.ships"}},"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},
        "size":{"type":"object","properties":{"ships":{"type":"integer"}}}}},
        "status":{"type":"object","properties":{"ships":{"type":"integer"}}}}}}}]}})";
constexpr std::string_view kFleetBody =
    R"({"apiVersion":"example.com/v1","kind":"Fleet","metadata":{"name":"f"},
        "spec":{"color":"red","size":{"ships":2}}})";

std::string Scale(std::string_view name, int replicas) {
  return base::StrCat(R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":")", name,
                      R"("},"spec":{"replicas":)", std::to_string(replicas), "}}");
}

std::string As(std::string_view path, std::string_view manager, std::string_view more = {}) {
  return base::StrCat(path, "?fieldManager=", manager, more);
}

// "manager operation subresource", for each entry that holds the path.
std::vector<std::string> Owners(const Answer& object, std::span<const std::string_view> path) {
  std::vector<std::string> out;
  for (const json::Value entry : object["metadata"]["managedFields"].elements()) {
    json::Value at = entry["fieldsV1"];
    for (std::string_view name : path) at = at[name];
    if (!at.is_object()) continue;
    out.push_back(base::StrCat(entry["manager"].AsString(), " ", entry["operation"].AsString(), " ",
                               entry["subresource"].AsString()));
  }
  return out;
}

std::vector<std::string> OwnersOfReplicas(TestServer& server) {
  constexpr std::string_view kPath[] = {"f:spec", "f:replicas"};
  return Owners(server.Get(kDeployment), kPath);
}

TEST(Scale, WhoScalesOwnsTheReplicas) {
  TestServer server;
  const std::string scale = base::StrCat(kDeployment, "/scale");
  ASSERT_EQ(server.Patch(As(kDeployment, "owner"), kApply, kDeploymentBody).status, 201);

  ASSERT_EQ(server.Patch(As(scale, "scaler"), kMerge, R"({"spec":{"replicas":5}})").status, 200);

  EXPECT_THAT(OwnersOfReplicas(server), ElementsAre("scaler Update scale"));
  const Answer refused = server.Patch(As(kDeployment, "owner"), kApply, kDeploymentBody);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.message(),
            "Apply failed with 1 conflict: conflict with \"scaler\" with subresource \"scale\" "
            "using apps/v1: .spec.replicas");
  ASSERT_EQ(server.Put(As(scale, "replacer"), Scale("d", 7)).status, 200);
  EXPECT_THAT(OwnersOfReplicas(server), ElementsAre("replacer Update scale"));
}

TEST(Scale, AnAppliedScaleConflictsWithTheOwnersOfItsParent) {
  TestServer server;
  const std::string scale = base::StrCat(kDeployment, "/scale");
  ASSERT_EQ(server.Patch(As(kDeployment, "owner"), kApply, kDeploymentBody).status, 201);

  const Answer refused = server.Patch(As(scale, "scaler"), kApply, Scale("d", 17));

  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.message(),
            "Apply failed with 1 conflict: conflict with \"owner\": .spec.replicas");
  ASSERT_EQ(server.Patch(As(scale, "scaler", "&force=true"), kApply, Scale("d", 17)).status, 200);
  EXPECT_THAT(OwnersOfReplicas(server), ElementsAre("scaler Apply scale"));
}

TEST(Scale, WhoAppliesTheSameNumberOwnsItToo) {
  TestServer server;
  const std::string scale = base::StrCat(kDeployment, "/scale");
  ASSERT_EQ(server.Patch(As(kDeployment, "owner"), kApply, kDeploymentBody).status, 201);

  ASSERT_EQ(server.Patch(As(scale, "scaler"), kApply, Scale("d", 1)).status, 200);

  EXPECT_THAT(OwnersOfReplicas(server), ElementsAre("scaler Apply scale", "owner Apply "));
}

TEST(Scale, CustomResourcesKeepReplicasWhereTheirDefinitionSays) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, kFleetDefinition).status, 201);
  const std::string scale = base::StrCat(kFleet, "/scale");
  ASSERT_EQ(server.Patch(As(kFleet, "owner"), kApply, kFleetBody).status, 201);
  constexpr std::string_view kPath[] = {"f:spec", "f:size", "f:ships"};

  const Answer refused = server.Patch(As(scale, "scaler"), kApply, Scale("f", 4));
  EXPECT_EQ(refused.message(),
            "Apply failed with 1 conflict: conflict with \"owner\": .spec.replicas");
  ASSERT_EQ(server.Put(As(scale, "scaler"), Scale("f", 4)).status, 200);

  EXPECT_THAT(Owners(server.Get(kFleet), kPath), ElementsAre("scaler Update scale"));
  const Answer again = server.Patch(As(kFleet, "owner"), kApply, kFleetBody);
  EXPECT_EQ(again.message(),
            "Apply failed with 1 conflict: conflict with \"scaler\" with subresource \"scale\" "
            "using example.com/v1: .spec.size.ships");
}

TEST(Scale, OfCustomResourcesIsNeitherAppliedNorMergedByItsType) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, kFleetDefinition).status, 201);
  const std::string scale = base::StrCat(kFleet, "/scale");
  ASSERT_EQ(server.Patch(As(kFleet, "owner"), kApply, kFleetBody).status, 201);

  const Answer applied = server.Patch(As(scale, "scaler", "&force=true"), kApply, Scale("f", 4));
  const Answer merged =
      server.Patch(scale, "application/strategic-merge-patch+json", R"({"spec":{"replicas":4}})");

  EXPECT_EQ(applied.status, 500);
  EXPECT_EQ(applied.message(),
            "failed to convert new object (/f; autoscaling/v1, Kind=Scale) to proper version: "
            "request to convert CR to an invalid group/version: autoscaling/v1");
  EXPECT_EQ(merged.status, 415);
}

TEST(Scale, RefusesAnotherObjectOfTheName) {
  TestServer server;
  const Answer made = server.Patch(As(kDeployment, "owner"), kApply, kDeploymentBody);
  const std::string uid(made["metadata"]["uid"].AsString());

  const Answer refused = server.Patch(base::StrCat(kDeployment, "/scale"), kMerge,
                                      R"({"metadata":{"uid":"x"},"spec":{"replicas":5}})");

  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.message(),
            base::StrCat("Operation cannot be fulfilled on deployments/scale.apps \"d\": "
                         "Precondition failed: UID in precondition: x, UID in object meta: ",
                         uid));
}

// Not of scales, but of subresources too: what an endpoint cannot change keeps its owner.
TEST(Scale, WhoOwnsTheStatusKeepsItThroughWritesOfTheSpec) {
  TestServer server;
  const std::string status = base::StrCat(kDeployment, "/status");
  ASSERT_EQ(server.Patch(As(kDeployment, "owner"), kApply, kDeploymentBody).status, 201);
  server.Patch(As(status, "controller"), kMerge, R"({"status":{"replicas":3}})");
  constexpr std::string_view kStatus[] = {"f:status", "f:replicas"};

  ASSERT_EQ(server.Put(As(kDeployment, "replacer"), kDeploymentBody).status, 200);
  server.Patch(As(status, "other"), kMerge, R"({"spec":{"replicas":9}})");

  EXPECT_THAT(Owners(server.Get(kDeployment), kStatus), ElementsAre("controller Update status"));
  EXPECT_THAT(OwnersOfReplicas(server), ElementsAre("owner Apply "));
  const std::string with_status = base::StrCat(
      kDeploymentBody.substr(0, kDeploymentBody.size() - 1), R"(,"status":{"replicas":7}})");
  EXPECT_EQ(server.Patch(As(kDeployment, "owner"), kApply, with_status).status, 200);
  EXPECT_THAT(Owners(server.Get(kDeployment), kStatus), ElementsAre("controller Update status"));
}

TEST(Scale, IsNoListAndSaysWhatItIs) {
  TestServer server;
  server.Post("/apis/apps/v1/namespaces/default/deployments", kDeploymentBody);
  const Answer refused =
      server.Call("GET", base::StrCat(kDeployment, "/scale"), {},
                  {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(refused.message(),
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            "(*autoscaling.Scale)");
}

}  // namespace
}  // namespace portcullis

// SPDX-License-Identifier: Apache-2.0

// The small pieces of the module: names, field errors, statuses, users, times, views.
#include <gtest/gtest.h>

#include "api/api_status.h"
#include "api/field_error.h"
#include "api/names.h"
#include "api/user_info.h"
#include "api/view/metadata.h"
#include "api/view/pod.h"
#include "golang/time.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

TEST(NamesTest, PrintAsKubernetesPrintsThem) {
  EXPECT_EQ((GroupVersionKind{"", "v1", "Pod"}.ToString()), "/v1, Kind=Pod");
  EXPECT_EQ((GroupKind{"apps", "Deployment"}.ToString()), "Deployment.apps");
  EXPECT_EQ((GroupResource{"", "pods"}.ToString()), "pods");
  EXPECT_EQ(ParseGroupVersion("apps/v1")->group, "apps");
  EXPECT_EQ(ParseGroupVersion("v1")->version, "v1");
  EXPECT_EQ(ParseGroupVersion("a/b/c").status().message(), "unexpected GroupVersion string: a/b/c");
}

TEST(NamesTest, OrderVersionsByStability) {
  const char* ordered[] = {"v10",     "v2",        "v1",        "v11beta2", "v10beta3",
                           "v3beta1", "v12alpha1", "v11alpha2", "foo1",     "foo10"};
  for (std::size_t i = 0; i < std::size(ordered); ++i) {
    for (std::size_t j = 0; j < std::size(ordered); ++j) {
      const int order = CompareKubeVersions(ordered[i], ordered[j]);
      EXPECT_EQ(i < j, order < 0) << ordered[i] << " " << ordered[j];
    }
  }
}

TEST(FieldErrorTest, HasKubernetesTexts) {
  const FieldPath path = FieldPath("spec", "containers").Index(0).Child("env").Key("A");
  EXPECT_EQ(Required(path, "").ToString(), "spec.containers[0].env[A]: Required value");
  EXPECT_EQ(Invalid(path, "x\"", "bad").Body(), R"(Invalid value: "x\"": bad)");
  EXPECT_EQ(Invalid(path, 5, "").Body(), "Invalid value: 5");
  EXPECT_EQ(Invalid(path, true, "").Body(), "Invalid value: true");
  EXPECT_EQ(Invalid(path, BadValue::Omitted(), "d").Body(), "Invalid value: d");
  EXPECT_EQ(Invalid(path, 1e6, "d").Body(), "Invalid value: 1e+06: d");
  EXPECT_EQ(NotSupported(path, "z", {"a", "b"}).Body(),
            R"(Unsupported value: "z": supported values: "a", "b")");
  EXPECT_EQ(Forbidden(path, "no").Body(), "Forbidden: no");
  EXPECT_EQ(Duplicate(path, "d").Body(), R"(Duplicate value: "d")");
  EXPECT_EQ(TooLong(path, 63).Body(), "Too long: may not be more than 63 bytes");
  EXPECT_EQ(TooMany(path, 5, 1).Body(), "Too many: 5: must have at most 1 item");
  EXPECT_EQ(TooMany(path, -1, 3).Body(), "Too many: must have at most 3 items");
  EXPECT_EQ(NotFound(path, "n").Body(), R"(Not found: "n")");
  EXPECT_EQ(InternalFieldError(FieldPath(), "e").ToString(), "<nil>: Internal error: e");
  json::Arena arena;
  EXPECT_EQ(Invalid(path, json::Parse(arena, R"({"a":[1,"<"]})").value(), "d").Body(),
            R"(Invalid value: {"a":[1,"\u003c"]}: d)");
}

TEST(FieldErrorTest, AggregatesNameEachTextOnce) {
  const std::vector<std::string> texts = {"a", "b", "a"};
  EXPECT_EQ(AggregateText(texts), "[a, b]");
  EXPECT_EQ(AggregateText(std::vector<std::string>{"a", "a"}), "a");
  EXPECT_EQ(AggregateText(std::vector<std::string>{}), "");
}

TEST(ApiStatusTest, WritesWhatClientsExpect) {
  json::Arena arena;
  EXPECT_EQ(json::ToString(StatusToJson(arena, NotFoundStatus({"apps", "deployments"}, "d"))),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"deployments.apps \"d\" not found","reason":"NotFound",)"
            R"("details":{"name":"d","group":"apps","kind":"deployments"},"code":404})");
  const FieldErrors errors = {Required(FieldPath("spec"), "")};
  const auto invalid = InvalidStatus({"", "Pod"}, "p", errors);
  EXPECT_EQ(invalid.message(), R"(Pod "p" is invalid: spec: Required value)");
  EXPECT_EQ(invalid.http_code(), 422);
  EXPECT_EQ(invalid.details()->causes[0].reason, "FieldValueRequired");
  EXPECT_EQ(ForbiddenStatus({"", "pods"}, "", "no").message(), "pods is forbidden: no");
  const auto again = StatusFromJson(StatusToJson(arena, invalid));
  EXPECT_EQ(again.message(), invalid.message());
  EXPECT_EQ(again.details()->causes, invalid.details()->causes);
}

TEST(UserInfoTest, SurvivesJson) {
  json::Arena arena;
  const UserInfo user{"u", "1", {"a", "b"}, {{"k", {"v"}}}};
  EXPECT_EQ(UserInfoFromJson(UserInfoToJson(arena, user)), user);
  EXPECT_TRUE(user.InGroup("b"));
}

TEST(TimeTest, ReadsAndWritesAsGo) {
  EXPECT_EQ(golang::FormatTime(*golang::ParseTime("2024-02-29T23:59:59Z")), "2024-02-29T23:59:59Z");
  EXPECT_EQ(golang::FormatTime(*golang::ParseTime("2024-03-01T01:00:00+02:00")),
            "2024-02-29T23:00:00Z");
  EXPECT_EQ(golang::FormatMicroTime(*golang::ParseMicroTime("2024-01-01T00:00:00.000001Z")),
            "2024-01-01T00:00:00.000001Z");
  EXPECT_EQ(golang::ParseTime("2024-13-01T00:00:00Z").status().message(),
            R"(parsing time "2024-13-01T00:00:00Z": month out of range)");
  EXPECT_EQ(golang::ParseTime("2023-02-29T00:00:00Z").status().message(),
            R"(parsing time "2023-02-29T00:00:00Z": day out of range)");
  EXPECT_EQ(golang::ParseTime("2024-01-01T00:00:00Zx").status().message(),
            R"(parsing time "2024-01-01T00:00:00Zx": extra text: "x")");
  EXPECT_EQ(*golang::ParseDuration("1h2m3.5s"), 3'723'500'000'000);
  EXPECT_EQ(golang::ParseDuration("5").status().message(), R"(time: missing unit in duration "5")");
  EXPECT_EQ(golang::ParseDuration("5x").status().message(),
            R"(time: unknown unit "x" in duration "5x")");
  EXPECT_EQ(golang::ParseDuration("").status().message(), R"(time: invalid duration "")");
}

TEST(PodViewTest, VisitsAllContainersInOrder) {
  json::Arena arena;
  const json::Value spec = json::Parse(arena, R"({"containers":[{"name":"c"}],
      "initContainers":[{"name":"i"}],"ephemeralContainers":[{"name":"e"}]})")
                               .value();
  std::vector<std::string> seen;
  view::VisitContainers(
      spec, FieldPath("spec"),
      [&](json::Value container, const FieldPath& path, view::ContainerType) {
        seen.push_back(std::string(container["name"].AsString()) + "@" + path.ToString());
        return true;
      });
  EXPECT_EQ(seen, (std::vector<std::string>{"i@spec.initContainers[0]", "c@spec.containers[0]",
                                            "e@spec.ephemeralContainers[0]"}));
  const json::Value edited =
      view::EditContainers(arena, spec, [&](json::Value container, view::ContainerType type) {
        return type == view::ContainerType::kContainer
                   ? json::With(arena, container, "image", json::String(arena, "x"))
                   : container;
      });
  EXPECT_EQ(edited["containers"][std::size_t{0}]["image"].AsString(), "x");
  EXPECT_TRUE(edited["initContainers"].IsSameAs(spec["initContainers"]));
}

TEST(PodViewTest, FindsTemplates) {
  json::Arena arena;
  const json::Value cron =
      json::Parse(arena,
                  R"({"spec":{"jobTemplate":{"spec":{"template":{"spec":{"nodeName":"n"}}}}}})")
          .value();
  EXPECT_EQ(view::PodSpecOf({"batch", "CronJob"}, cron)["nodeName"].AsString(), "n");
  EXPECT_TRUE(view::PodSpecOf({"", "ConfigMap"}, cron).is_null());
}

TEST(MetadataViewTest, FindsTheController) {
  json::Arena arena;
  const json::Value object = json::Parse(arena, R"({"metadata":{"name":"n","ownerReferences":[
      {"name":"a"},{"name":"b","controller":true}]}})")
                                 .value();
  const view::Metadata metadata(object);
  EXPECT_EQ(metadata.name(), "n");
  EXPECT_EQ(metadata.controller()["name"].AsString(), "b");
  EXPECT_FALSE(metadata.is_being_deleted());
}

}  // namespace
}  // namespace portcullis::api

// SPDX-License-Identifier: Apache-2.0

#include "server/table/table.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"
#include "server/table/cells.h"
#include "server/table/json_path.h"

namespace portcullis::server::table {
namespace {

TEST(Table, AgesAreWrittenAsKubectlWritesThem) {
  struct Case {
    std::int64_t seconds;
    std::string_view text;
  };
  constexpr Case kCases[] = {
      {0, "0s"},      {119, "119s"},    {120, "2m"},        {150, "2m30s"}, {600, "10m"},
      {10800, "3h"},  {12300, "3h25m"}, {28800, "8h"},      {172800, "2d"}, {183600, "2d3h"},
      {691200, "8d"}, {63072000, "2y"}, {64800000, "2y20d"}};
  for (const Case& row : kCases) EXPECT_EQ(HumanDuration(row.seconds), row.text) << row.seconds;
}

std::vector<json::Value> Find(json::Arena& arena, json::Value object, std::string_view text) {
  const auto path = api::ParseJsonPath(text);
  return path.ok() ? FindJsonPath(arena, object, *path) : std::vector<json::Value>();
}

TEST(Table, PathsOfColumnsLeadWhereKubectlWouldGo) {
  json::Arena arena;
  const json::Value object = *json::Parse(arena, R"({"a":{"b":[{"n":"x","v":1},{"n":"y","v":2}],
      "c.d":"dot","e":{"n":"deep"}},"list":[10,20,30,40]})");
  const std::pair<std::string_view, std::string_view> rows[] = {
      {".a.b[0].n", R"(["x"])"},
      {".a.b[-1].n", R"(["y"])"},
      {".a.b[*].n", R"(["x","y"])"},
      {R"(.a.b[?(@.n=="y")].v)", "[2]"},
      {".a.b[?(@.v>1)].n", R"(["y"])"},
      {".a.b[?(@.w)].n", "[]"},
      {".a['c.d']", "[]"},  // the fields c and d
      {R"(.a['c\.d'])", R"(["dot"])"},
      {R"(.a.c\.d)", R"(["dot"])"},
      {".list[1:3]", "[20,30]"},
      {".list[0,3]", "[10,40]"},
      {".list[::3]", "[10,40]"},
      {".list[]", "[10]"},
      {".list[2:2]", "[]"},
      {".list[2:9]", "[]"},
      {".list[9]", "[]"},
      {".a[0]", "[]"},
      {"..n", R"(["x","y","deep"])"},
      {".none.at[3].all", "[]"},
      {".a.b[", "[]"},
      {"a", "[]"},
      {"a.b", "[]"},
      {R"(.a "text")", R"(["text"])"},
      {R"(.a.b[?(@.n>'x')].v)", "[2]"},
      {R"(.a.b[?(@.v!="1")].v)", "[]"},  // of two types
      {".a.b[?(@.v=~1)].v", "[]"},       // no operator
      {".a.b[?(@.n[0])].v", "[1,2]"},    // what cannot be done leaves what was there before
      {R"(.a.b[?(@.n[0]=="x")].v)", "[]"},
  };
  for (const auto& [path, expected] : rows) {
    EXPECT_EQ(json::ToString(json::MakeArray(arena, Find(arena, object, path))), expected) << path;
  }
}

// Twelve descents of forty levels would find thousands of millions of values.
TEST(Table, APathThatMultipliesValuesFindsNone) {
  json::Arena arena;
  json::Value object = json::Value::Int(1);
  for (int level = 0; level < 40; ++level) object = json::MakeObject(arena, {{"a", object}});
  std::string path;
  for (int i = 0; i < 12; ++i) path += "...*";
  EXPECT_TRUE(Find(arena, object, path).empty());
  EXPECT_FALSE(Find(arena, object, "...*...*").empty());
}

TEST(Table, ObjectsAreIncludedByOneOfThreeNames) {
  EXPECT_EQ(ReadIncludeObject("").value(), IncludeObject::kMetadata);
  EXPECT_EQ(ReadIncludeObject("Metadata").value(), IncludeObject::kMetadata);
  EXPECT_EQ(ReadIncludeObject("Object").value(), IncludeObject::kObject);
  EXPECT_EQ(ReadIncludeObject("None").value(), IncludeObject::kNone);
  EXPECT_EQ(ReadIncludeObject("none").status().message(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"none\": must "
            "be 'Metadata', 'Object', 'None', or empty");
}

TEST(Table, ATimeThatIsEmptyIsUnknown) {
  json::Arena arena;
  api::catalog::ResourceInfo info;
  info.custom = true;
  info.columns.push_back({"When", "date", "", "", 0, ".when"});
  const std::pair<std::string_view, std::string_view> rows[] = {{R"({"when":""})", "<unknown>"},
                                                                {R"({"when":"null"})", "<unknown>"},
                                                                {R"({"when":"x"})", "<invalid>"}};
  for (const auto& [object, expected] : rows) {
    const json::Value row = RowPrinter(info, IncludeObject::kNone, "v1")
                                .Row(arena, *json::Parse(arena, object), base::WallTime());
    EXPECT_EQ(row["cells"][std::size_t{0}].AsString(), expected) << object;
  }
}

TEST(Table, APodIsSummedUp) {
  json::Arena arena;
  const json::Value pod = *json::Parse(arena, R"({"metadata":{"name":"p",
      "creationTimestamp":"2020-01-01T00:00:00Z"},"spec":{"containers":[{"name":"a"},{"name":"b"}]},
      "status":{"phase":"Running","containerStatuses":[
        {"ready":true,"restartCount":1,"state":{"running":{}}},
        {"ready":false,"restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})");
  api::catalog::ResourceInfo pods;
  pods.resource = {"", "v1", "pods"};

  const json::Value row =
      RowPrinter(pods, IncludeObject::kNone, "v1").Row(arena, pod, base::WallTime());

  EXPECT_EQ(row["cells"][std::size_t{1}].AsString(), "1/2");
  EXPECT_EQ(row["cells"][std::size_t{2}].AsString(), "CrashLoopBackOff");
  EXPECT_EQ(row["cells"][std::size_t{3}].AsString(), "3");
  EXPECT_TRUE(row["object"].is_null());
}

TEST(Table, AnAutoscalerShowsNoAnnotationsThatStandForFields) {
  json::Arena arena;
  const json::Value autoscaler = *json::Parse(arena, R"({"kind":"HorizontalPodAutoscaler",
      "metadata":{"name":"h","annotations":{"example.com/kept":"x",
        "autoscaling.alpha.kubernetes.io/current-metrics":"[]"}}})");
  api::catalog::ResourceInfo info;
  info.resource = {"autoscaling", "v1", "horizontalpodautoscalers"};

  const json::Value row =
      RowPrinter(info, IncludeObject::kMetadata, "v1").Row(arena, autoscaler, base::WallTime());

  EXPECT_EQ(json::ToString(row["object"]["metadata"]["annotations"]),
            R"({"example.com/kept":"x"})");
}

TEST(Table, AnAutoscalerInV1ShowsTheMetricsThatAreStored) {
  json::Arena arena;
  const json::Value shown = *json::Parse(arena, R"({"kind":"HorizontalPodAutoscaler",
      "apiVersion":"autoscaling/v1","metadata":{"name":"h"},
      "spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,
        "targetCPUUtilizationPercentage":80}})");
  const auto stored = store::Object::Make(
      std::make_shared<const store::CollectionName>(), "n", "h", 1,
      R"({"metadata":{"resourceVersion":")",
      R"("},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,"metrics":[)"
      R"({"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":80}}},)"
      R"({"type":"Pods","pods":{"target":{"averageValue":"1"}}}]}})");
  api::catalog::ResourceInfo info;
  info.resource = {"autoscaling", "v1", "horizontalpodautoscalers"};
  info.kind = {"autoscaling", "v1", "HorizontalPodAutoscaler"};
  info.storage_kind = {"autoscaling", "v2", "HorizontalPodAutoscaler"};

  const json::Value row =
      RowPrinter(info, IncludeObject::kNone, "v1")
          .Row(arena, shown, base::WallTime(), ObjectOfCells(arena, info, stored));

  EXPECT_EQ(row["cells"][std::size_t{2}].AsString(), "cpu: <unknown>/80%, <unknown>/1");
  info.kind = info.storage_kind;
  EXPECT_TRUE(ObjectOfCells(arena, info, stored).is_null());
}

std::string Cells(std::string_view group, std::string_view resource, std::string_view object) {
  json::Arena arena;
  const auto parsed = json::Parse(arena, object);
  api::catalog::ResourceInfo info;
  info.resource = {std::string(group), "v1", std::string(resource)};
  const json::Value row =
      RowPrinter(info, IncludeObject::kNone, "v1").Row(arena, *parsed, base::WallTime());
  std::string text;
  for (const json::Value& cell : row["cells"].elements()) {
    text += cell.is_string() ? std::string(cell.AsString()) : json::ToString(cell);
    text += '|';
  }
  for (const json::Value& condition : row["conditions"].elements()) {
    text += condition["reason"].AsString();
  }
  return text;
}

TEST(Table, TheStatusOfAPodTellsWhatItWaitsFor) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      // Init containers that keep running count as containers; restarts of others are forgotten.
      {R"({"spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"i"},
          {"name":"s","restartPolicy":"Always"}]},"status":{"phase":"Running",
          "initContainerStatuses":[
            {"name":"i","restartCount":3,"state":{"terminated":{"exitCode":0}}},
            {"name":"s","restartCount":1,"started":true,"ready":true,"state":{"running":{}}}],
          "containerStatuses":[{"ready":true,"restartCount":1,"state":{"running":{}}}]}})",
       "|2/2|Running|2|<unknown>|<none>|<none>|<none>|<none>|"},
      {R"({"spec":{"containers":[{}],"initContainers":[{"name":"i"},{"name":"j"}]},
          "status":{"phase":"Pending","initContainerStatuses":[
            {"name":"i","state":{"waiting":{"reason":"PodInitializing"}}}]}})",
       "|0/1|Init:0/2|0|<unknown>|<none>|<none>|<none>|<none>|"},
      {R"({"spec":{"containers":[{}],"initContainers":[{"name":"i"}]},"status":{"phase":"Pending",
          "initContainerStatuses":[{"name":"i","restartCount":4,
            "state":{"terminated":{"exitCode":3}}}]}})",
       "|0/1|Init:ExitCode:3|4|<unknown>|<none>|<none>|<none>|<none>|"},
      {R"({"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"},"spec":{"containers":[{}]},
          "status":{"phase":"Succeeded","containerStatuses":[
            {"state":{"terminated":{"reason":"Completed"}}}]}})",
       "|0/1|Completed|0|<unknown>|<none>|<none>|<none>|<none>|Succeeded"},
      {R"({"spec":{"containers":[{}]},"status":{"phase":"Failed","reason":"Evicted"}})",
       "|0/1|Evicted|0|<unknown>|<none>|<none>|<none>|<none>|Failed"},
  };
  for (const auto& [pod, expected] : rows) EXPECT_EQ(Cells("", "pods", pod), expected) << pod;
}

TEST(Table, CellsTellAnEmptyValueFromNone) {
  EXPECT_EQ(Cells("storage.k8s.io", "storageclasses",
                  R"({"metadata":{"name":"a"},"provisioner":"p","reclaimPolicy":""})"),
            "a|p||Immediate|false|<unknown>|");
  EXPECT_EQ(Cells("networking.k8s.io", "ingressclasses",
                  R"({"metadata":{"name":"a","annotations":{
                      "ingressclass.kubernetes.io/is-default-class":"true"}}})"),
            "a (default)||<none>|<unknown>|");
  EXPECT_EQ(Cells("storage.k8s.io", "csidrivers",
                  R"({"metadata":{"name":"a"},"spec":{"tokenRequests":[{"audience":""}]}})"),
            "a|true|false|false||false|<none>|<unknown>|");
  EXPECT_EQ(Cells("", "nodes", R"({"metadata":{"name":"a"},
                  "status":{"nodeInfo":{"kernelVersion":"6.1","architecture":"arm64"}}})"),
            "a|Unknown|<none>|<unknown>||<none>|<none>|<unknown>|6.1 (arm64)|<unknown>|");
  EXPECT_EQ(Cells("", "nodes", R"({"metadata":{"name":"a"},
                  "status":{"addresses":[{"type":"InternalIP","address":""}]}})"),
            "a|Unknown|<none>|<unknown>|||<none>|<unknown>|<unknown>|<unknown>|");
  EXPECT_EQ(Cells("", "nodes", R"({"metadata":{"name":"a","labels":{"kubernetes.io/role":"agent",
                  "node-role.kubernetes.io/agent":"","node-role.kubernetes.io/a":""}}})"),
            "a|Unknown|a,agent|<unknown>||<none>|<none>|<unknown>|<unknown>|<unknown>|");
}

TEST(Table, CellsOfAnObjectOfWhichNothingIsSet) {
  EXPECT_EQ(Cells("", "services", "{}"), "||<none>|<unknown>|<none>|<unknown>|<none>|");
  EXPECT_EQ(Cells("apps", "deployments", "{}"), "|0/0|0|0|<unknown>||||");
  EXPECT_EQ(Cells("batch", "cronjobs", "{}"), "||<none>|<unset>|0|<none>|<unknown>|||<none>|");
  EXPECT_EQ(Cells("rbac.authorization.k8s.io", "roles", "{}"), "|0001-01-01T00:00:00Z|");
  EXPECT_EQ(Cells("", "limitranges", "{}"), "|0001-01-01T00:00:00Z|");
}

TEST(Table, CellsOfManyValuesShowAFew) {
  EXPECT_EQ(Cells("", "endpoints", R"({"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"fd::1"}],
      "ports":[{"port":80},{"port":81}]}]})"),
            "|10.0.0.1:80,[fd::1]:80,10.0.0.1:81 + 1 more...|<unknown>|");
  EXPECT_EQ(Cells("", "endpoints", R"({"subsets":[{"notReadyAddresses":[{"ip":"1.1.1.1"}]}]})"),
            "||<unknown>|");
  EXPECT_EQ(Cells("networking.k8s.io", "ingresses", R"({"spec":{"rules":[{"host":"a"},{"host":"b"},
      {"host":"c"},{"host":"d"},{}]},"status":{"loadBalancer":{"ingress":[
      {"hostname":"z"},{"ip":"1.1.1.1"},{"ip":"1.1.1.1"}]}}})"),
            "|<none>|a,b,c + 2 more...|1.1.1.1,z|80|<unknown>|");
  EXPECT_EQ(Cells("autoscaling", "horizontalpodautoscalers",
                  R"({"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,
      "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":80}}},
        {"type":"External","external":{"target":{"averageValue":"5"}}},
        {"type":"Pods","pods":{"target":{"averageValue":"1"}}}]},
      "status":{"currentMetrics":[{"resource":{"current":{"averageUtilization":7}}},
        {"external":{"current":{"averageValue":"2"}}}]}})"),
            "|Deployment/d|cpu: 7%/80%, 2/5 (avg) + 1 more...|<unset>|3|0|<unknown>|");
}

TEST(Table, KindsBehindGates) {
  EXPECT_EQ(
      Cells("certificates.k8s.io", "podcertificaterequests",
            R"({"spec":{"podName":"p","serviceAccountName":"s","nodeName":"n","signerName":"a.b/c",
      "unverifiedUserAnnotations":{"x":"y"}},"status":{"conditions":[{"type":"Issued"}]}})"),
      "|p|s|n|a.b/c|Issued|x=y|");
  EXPECT_EQ(Cells("certificates.k8s.io", "clustertrustbundles", R"({"spec":{}})"), "|<none>|");
  EXPECT_EQ(Cells("scheduling.k8s.io", "podgroups",
                  R"({"spec":{"schedulingPolicy":{"gang":{"minCount":1}},
      "podGroupTemplateRef":{"workload":{"workloadName":"w"}}},"status":{"conditions":[
      {"type":"PodGroupScheduled","status":"True"}]}})"),
            "|Gang|w|Scheduled|<unknown>|");
  EXPECT_EQ(Cells("scheduling.k8s.io", "podgroups", R"({"status":{"conditions":[
      {"type":"DisruptionTarget","reason":"R"},{"type":"PodGroupScheduled","status":"False"}]}})"),
            "|Basic|<none>|R|<unknown>|");
  EXPECT_EQ(Cells("resource.k8s.io", "devicetaintrules",
                  R"({"spec":{"taint":{"key":"k","effect":"NoExecute"}}})"),
            "|k||NoExecute||<unknown>|");
  constexpr std::string_view kPools = "resourcepoolstatusrequests";
  EXPECT_EQ(Cells("resource.k8s.io", kPools, R"({"spec":{"driver":"d"}})"),
            "|d|-|-|-|-|-|0|Pending|<none>|");
  EXPECT_EQ(
      Cells("resource.k8s.io", kPools, R"({"spec":{"driver":"d"},"status":{"poolCount":3,"pools":[
      {"totalDevices":2,"allocatedDevices":1},{"totalDevices":3,"validationError":"x"}],
      "conditions":[{"type":"Complete","status":"True"}]}})"),
      "|d|5|0|1|0|1|3|Complete (2/3 pools)|<none>|");
  EXPECT_EQ(Cells("resource.k8s.io", kPools, R"({"spec":{"driver":"d"},"status":{"poolCount":1,
      "conditions":[{"type":"Failed","status":"True"}]}})"),
            "|d|-|-|-|-|-|1|Failed|<none>|");
}

TEST(Table, EventsComeFromAComponentAtAPlace) {
  EXPECT_EQ(Cells("events.k8s.io", "events", R"({"metadata":{"name":"e"},"type":"Normal",
      "reason":"R","regarding":{"kind":"Pod","name":"p","fieldPath":"spec"},
      "reportingController":"c","reportingInstance":"i","note":" n\n"})"),
            "<unknown>|Normal|R|pod/p|spec|c, i|n|<unknown>|1|e|");
}

TEST(Table, SomeStatusesAreNotShown) {
  api::catalog::ResourceInfo info;
  const std::pair<api::GroupVersionResource, bool> rows[] = {
      {{"", "v1", "pods"}, true},
      {{"apiregistration.k8s.io", "v1", "apiservices"}, false},
      {{"scheduling.k8s.io", "v1alpha1", "podgroups"}, false},
      {{"example.com", "v1", "podgroups"}, true}};
  for (const auto& [resource, shown] : rows) {
    info.resource = resource;
    EXPECT_EQ(ShowsStatus(info), shown) << resource.ToString();
  }
}

TEST(Table, OnlyFlowSchemasAreSorted) {
  json::Arena arena;
  api::catalog::ResourceInfo info;
  info.resource = {"flowcontrol.apiserver.k8s.io", "v1", "flowschemas"};
  EXPECT_TRUE(IsSorted(info));
  EXPECT_EQ(Precedence(*json::Parse(arena, R"({"spec":{"matchingPrecedence":9}})")), 9);
  info.custom = true;
  EXPECT_FALSE(IsSorted(info));
  info.resource = {"", "v1", "pods"};
  EXPECT_FALSE(IsSorted(info));
}

}  // namespace
}  // namespace portcullis::server::table

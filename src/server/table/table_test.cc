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
      {".a['c.d']", R"(["dot"])"},
      {R"(.a.c\.d)", R"(["dot"])"},
      {".list[1:3]", "[20,30]"},
      {".list[0,3]", "[10,40]"},
      {"..n", R"(["x","y","deep"])"},
      {".none.at[3].all", "[]"},
      {".a.b[", "[]"},
      {"a", "[]"},
  };
  for (const auto& [path, expected] : rows) {
    EXPECT_EQ(json::ToString(json::MakeArray(arena, FindJsonPath(object, path))), expected) << path;
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

  const json::Value row = Row(arena, pods, pod, IncludeObject::kNone, base::WallTime());

  EXPECT_EQ(row["cells"][std::size_t{1}].AsString(), "1/2");
  EXPECT_EQ(row["cells"][std::size_t{2}].AsString(), "CrashLoopBackOff");
  EXPECT_EQ(row["cells"][std::size_t{3}].AsString(), "3");
  EXPECT_TRUE(row["object"].is_null());
}

}  // namespace
}  // namespace portcullis::server::table

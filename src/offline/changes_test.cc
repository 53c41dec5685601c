// SPDX-License-Identifier: Apache-2.0

#include "offline/changes.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::offline {
namespace {

constexpr char kSent[] =
    R"({"metadata": {"labels": {"a": "1"}}, "spec": {"image": "<old>", "list": [1, 2]}})";

constexpr char kTrace[] = R"({"steps": [
  {"phase": "decode", "stage": "defaulting", "changes": [
    {"op": "add", "path": "/spec/policy", "value": "Always"},
    {"op": "add", "path": "/metadata/managedFields", "value": []}]},
  {"phase": "mutating", "round": 0, "plugin": "Quiet"},
  {"phase": "mutating", "round": 0, "configuration": "c", "webhook": "w", "changes": [
    {"op": "replace", "path": "/spec/image", "value": "new"},
    {"op": "add", "path": "/spec/list/0", "value": {"x": {"y": 0}}},
    {"op": "remove", "path": "/metadata/labels"}]},
  {"phase": "mutating", "round": 1, "policy": "p", "binding": "b", "changes": [
    {"op": "replace", "path": "/spec/image", "value": "newer"}]}]})";

std::string Changes(std::string_view sent, DiffStyle style) {
  json::Arena arena;
  const auto trace = json::Parse(arena, kTrace);
  EXPECT_TRUE(trace.ok());
  return trace.ok() ? ChangesOfTrace(*trace, sent, style) : "";
}

TEST(Changes, AreADiffOfEachStep) {
  EXPECT_EQ(Changes(kSent, DiffStyle::kPlain), R"(decode defaulting
+ spec.policy: Always
mutating c/w
- spec.image: <old>
+ spec.image: new
+ spec.list[0]:
+   x:
+     "y": 0
- metadata.labels:
-   a: "1"
mutating 1 p/b
- spec.image: new
+ spec.image: newer
)");
}

TEST(Changes, WithoutTheObjectThatWasSentShowWhatIsKnown) {
  const std::string text = Changes("", DiffStyle::kPlain);
  EXPECT_NE(text.find("\n+ spec.image: new\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n- metadata.labels\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("<old>"), std::string::npos) << text;
}

TEST(Changes, AreColoredForTerminalsAndEscapedForPages) {
  const std::string colored = Changes(kSent, DiffStyle::kColor);
  EXPECT_NE(colored.find("\x1b[31m- spec.image: <old>\x1b[0m\n\x1b[32m+ spec.image: new\x1b[0m\n"),
            std::string::npos)
      << colored;
  const std::string page = Changes(kSent, DiffStyle::kHtml);
  EXPECT_NE(page.find("<del>- spec.image: &lt;old&gt;</del>\n<ins>+ spec.image: new</ins>\n"),
            std::string::npos)
      << page;
}

TEST(Changes, LongValuesAreCutShort) {
  json::Arena arena;
  std::string list = "1";
  for (int i = 0; i < 99; ++i) list += ", 1";
  const auto trace =
      json::Parse(arena, R"({"steps": [{"phase": "mutating", "plugin": "A", "changes": [
                 {"op": "add", "path": "/list", "value": [)" +
                             list + "]}]}]}");
  ASSERT_TRUE(trace.ok());
  const std::string text = ChangesOfTrace(*trace, "{}", DiffStyle::kPlain);
  EXPECT_NE(text.find("\n+   … 60 more lines\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace portcullis::offline

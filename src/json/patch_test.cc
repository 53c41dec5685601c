// SPDX-License-Identifier: Apache-2.0

#include "json/patch.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

Value MustParse(Arena& arena, std::string_view text) {
  auto value = Parse(arena, text);
  EXPECT_TRUE(value.ok()) << value.status().message() << " in " << text;
  return value.ok() ? *value : Value();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(std::string(PC_SOURCE_DIR "/src/json/testdata/") + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Patch, Cases) {
  Arena arena;
  const Value cases = MustParse(arena, ReadFile("patch_cases.json"));
  ASSERT_GT(cases.size(), 60U);
  for (const Value& entry : cases.elements()) {
    SCOPED_TRACE(entry["name"].AsString());
    const Value document = entry["doc"];
    const std::string before = ToString(document);
    const auto patch = DecodePatch(arena, ToString(entry["patch"]));
    ASSERT_TRUE(patch.ok()) << patch.status().message();
    // Spelling of numbers matters, so the patch is taken as it stands rather than printed again.
    const auto result = ApplyPatch(arena, document, entry["patch"]);
    if (entry.Has("error")) {
      ASSERT_FALSE(result.ok()) << ToString(*result);
      EXPECT_EQ(result.status().message(), entry["error"].AsString());
    } else {
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(ToString(*result), ToString(entry["result"]));
    }
    EXPECT_EQ(ToString(document), before) << "the original has changed";
  }
}

TEST(Patch, DecodeErrors) {
  Arena arena;
  const auto error = [&](std::string_view text) {
    return DecodePatch(arena, text).status().message();
  };
  EXPECT_EQ(error("{}"), "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  EXPECT_EQ(error("\"x\""), "json: cannot unmarshal string into Go value of type jsonpatch.Patch");
  EXPECT_EQ(error("[1]"),
            "json: cannot unmarshal number into Go value of type jsonpatch.Operation");
  EXPECT_EQ(DecodePatch(arena, "[1]", "[]handlers.jsonPatchOp").status().message(),
            "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp");
  EXPECT_EQ(error("[{"), "unexpected end of JSON input");
  EXPECT_EQ(error("nope"), "invalid character 'o' in literal null (expecting 'u')");
  EXPECT_EQ(DecodePatch(arena, "{}", "[]handlers.jsonPatchOp").status().message(),
            "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
  EXPECT_TRUE(DecodePatch(arena, "null")->empty());
}

TEST(Patch, KeepsLiteralsOfNumbers) {
  Arena arena;
  const Value patch = *DecodePatch(arena, R"([{"op":"add","path":"/n","value":30.0}])");
  const Value result = *ApplyPatch(arena, MustParse(arena, "{}"), patch);
  EXPECT_EQ(result["n"].NumberLiteral(), "30.0");
}

TEST(Patch, AddsWhatWasRemoved) {
  Arena arena;
  const auto patched = [&](std::string_view document, std::string_view patch) {
    const auto result = ApplyPatch(arena, MustParse(arena, document), MustParse(arena, patch));
    return result.ok() ? ToString(*result) : std::string(result.status().message());
  };
  EXPECT_EQ(patched(R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"},)"
                                        R"({"op":"add","path":"/a","value":3},)"
                                        R"({"op":"add","path":"/a","value":4},)"
                                        R"({"op":"replace","path":"/b","value":5}])"),
            R"({"a":4,"b":5})");
  EXPECT_EQ(patched(R"({"a":1,"b":2})", R"([{"op":"add","path":"/c","value":3},)"
                                        R"({"op":"remove","path":"/a"},)"
                                        R"({"op":"remove","path":"/c"},)"
                                        R"({"op":"test","path":"","value":{"b":2}},)"
                                        R"({"op":"remove","path":"/a"}])"),
            "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value");
}

TEST(Patch, PutsMembersInOrderWhereOperationsLead) {
  Arena arena;
  const auto patched = [&](std::string_view patch) {
    constexpr std::string_view kDocument =
        R"({"x":{"b":{"d":1,"c":2},"a":3},"o":[{"z":1,"y":{"w":1,"v":2}}],"m":{"l":1,"k":2}})";
    return ToString(*ApplyPatch(arena, MustParse(arena, kDocument), MustParse(arena, patch)));
  };
  EXPECT_EQ(patched("[]"), R"({"x":{"b":{"d":1,"c":2},"a":3},"o":[{"z":1,"y":{"w":1,"v":2}}],)"
                           R"("m":{"l":1,"k":2}})");
  // The objects above the last token, and nothing below them.
  EXPECT_EQ(patched(R"([{"op":"replace","path":"/x/a","value":{"q":1,"p":2}}])"),
            R"({"m":{"l":1,"k":2},"o":[{"z":1,"y":{"w":1,"v":2}}],)"
            R"("x":{"a":{"q":1,"p":2},"b":{"d":1,"c":2}}})");
  // What is moved or copied keeps the order that it has come to, wherever it goes.
  EXPECT_EQ(patched(R"([{"op":"add","path":"/x/b/e","value":4},)"
                    R"({"op":"move","from":"/x/b","path":"/m"},)"
                    R"({"op":"copy","from":"/o/0","path":"/o/0/y/u"}])"),
            R"({"m":{"c":2,"d":1,"e":4},"o":[{"y":{"u":{"y":{"v":2,"w":1},"z":1},"v":2,"w":1},)"
            R"("z":1}],"x":{"a":3}})");
  EXPECT_EQ(patched(R"([{"op":"remove","path":"/x/b/c"},{"op":"move","from":"/m","path":"/x"}])"),
            R"({"o":[{"z":1,"y":{"w":1,"v":2}}],"x":{"l":1,"k":2}})");
  // What is tested is compared all through.
  EXPECT_EQ(patched(R"([{"op":"test","path":"/o","value":[{"z":1,"y":{"w":1,"v":2}}]}])"),
            R"({"m":{"l":1,"k":2},"o":[{"y":{"v":2,"w":1},"z":1}],)"
            R"("x":{"b":{"d":1,"c":2},"a":3}})");
}

TEST(Patch, TestsTextsAsTheyAreSpelled) {
  Arena arena;
  const Value document = MustParse(arena, R"({"a":"<é/","b":"x","c":["é","\u2028\b"]})");
  const auto passes = [&](std::string_view patch) {
    PatchOptions options;
    const auto decoded =
        DecodePatch(arena, patch, "jsonpatch.Patch", {.spelled = &options.spelled});
    return decoded.ok() && ApplyPatch(arena, document, *decoded, options).ok();
  };
  EXPECT_TRUE(passes(R"([{"op":"test","path":"/a","value":"\u003cé/"}])"));
  EXPECT_FALSE(passes(R"([{"op":"test","path":"/a","value":"<é/"}])"));
  EXPECT_FALSE(passes(R"([{"op":"test","path":"/a","value":"\u003Cé/"}])"));
  EXPECT_FALSE(passes(R"([{"op":"test","path":"/a","value":"\u003cé\/"}])"));
  EXPECT_FALSE(passes(R"([{"op":"test","path":"/b","value":"\u0078"}])"));
  EXPECT_FALSE(passes(R"([{"op":"test","path":"/c/0","value":"\u00e9"}])"));
  EXPECT_TRUE(passes(R"([{"op":"test","path":"/c","value":["é","\u2028\b"]}])"));
  EXPECT_TRUE(passes(R"([{"op":"test","path":"","value":)"
                     R"({"a":"\u003cé/","\u0062":"x","c":["é","\u2028\b"]}}])"));
  EXPECT_FALSE(passes(R"([{"op":"test","path":"","value":)"
                      R"({"a":"<é/","b":"x","c":["é","\u2028\b"]}}])"));
  // What the patch has brought itself is spelled as there.
  EXPECT_TRUE(passes(R"([{"op":"add","path":"/d","value":"<"},)"
                     R"({"op":"test","path":"/d","value":"<"}])"));
  EXPECT_FALSE(passes(R"([{"op":"add","path":"/d","value":"<"},)"
                      R"({"op":"test","path":"/d","value":"\u003c"}])"));
}

// kube-apiserver's answers. Go marshals what it copies, which escapes what json.Compact escapes.
TEST(Patch, CopiesTextsAsGoMarshalsThem) {
  struct Case {
    std::string_view added;
    std::string_view copied;  // its spelling at the target
  };
  const std::vector<Case> cases = {
      {R"("<")", R"("\u003c")"},
      {"\"\xE2\x80\xA8\"", R"("\u2028")"},
      {R"("\u0041<\/")", R"("\u0041\u003c\/")"},
      {R"(["a",{"b":"&","c":"\u0041"}])", R"(["a",{"b":"\u0026","c":"\u0041"}])"},
      {R"("\u0041")", R"("\u0041")"},
      {R"("\/")", R"("\/")"},
      {R"("\u003C")", R"("\u003C")"},
      {R"("\ud83d\ude00")", R"("\ud83d\ude00")"},
  };
  Arena arena;
  const auto passes = [&](const Case& each, std::string_view path, std::string_view expected) {
    PatchOptions options;
    const std::string patch =
        base::StrCat(R"([{"op":"add","path":"/z","value":)", each.added,
                     R"(},{"op":"copy","from":"/z","path":"/y"},{"op":"test","path":")", path,
                     R"(","value":)", expected, "}]");
    const auto decoded =
        DecodePatch(arena, patch, "jsonpatch.Patch", {.spelled = &options.spelled});
    return decoded.ok() && ApplyPatch(arena, MustParse(arena, "{}"), *decoded, options).ok();
  };
  for (const Case& each : cases) {
    EXPECT_TRUE(passes(each, "/y", each.copied)) << each.added;
    EXPECT_EQ(passes(each, "/y", each.added), each.added == each.copied) << each.added;
    EXPECT_TRUE(passes(each, "/z", each.added)) << each.added;
  }
}

TEST(Patch, LimitsWhatCopiesAdd) {
  Arena arena;
  std::string text = "[";
  for (int i = 0; i < 40; ++i) {
    text += R"({"op":"copy","from":"/a","path":"/a/-"},)";
  }
  text.back() = ']';
  const Value patch = *DecodePatch(arena, text);
  const auto result = ApplyPatch(arena, MustParse(arena, R"({"a":["0123456789"]})"), patch);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(),
            "Unable to complete the copy, the accumulated size increase of copy is 3932127, "
            "exceeding the limit 3145728");
}

TEST(Patch, LimitsDepth) {
  Arena arena;
  PatchOptions options;
  options.max_depth = 4;
  const Value document = MustParse(arena, R"({"a":{"b":{}}})");
  const auto apply = [&](std::string_view patch) {
    return ApplyPatch(arena, document, *DecodePatch(arena, patch), options);
  };
  EXPECT_TRUE(apply(R"([{"op":"add","path":"/a/b/c","value":{}}])").ok());
  EXPECT_EQ(apply(R"([{"op":"add","path":"/a/b/c","value":[[]]}])").status().message(),
            "error in add for path: '/a/b/c': invalid character '[' exceeded max depth");
  EXPECT_FALSE(apply(R"([{"op":"copy","from":"/a","path":"/a/b/c"}])").ok());
  EXPECT_FALSE(apply(R"([{"op":"add","path":"/x","value":{}},
                         {"op":"move","from":"/a","path":"/x/y"},
                         {"op":"move","from":"/x","path":"/z"},
                         {"op":"add","path":"/z/y/b/c","value":1},
                         {"op":"replace","path":"/z/y/b","value":{"c":{}}}])")
                   .ok());
}

TEST(Patch, LimitsDepthOfWhatHasGrownBeforeItMoves) {
  Arena arena;
  PatchOptions options;
  options.max_depth = 4;
  const Value document = MustParse(arena, R"({"a":{"b":{}},"x":{"y":{}}})");
  const auto apply = [&](std::string_view patch) {
    return ApplyPatch(arena, document, *DecodePatch(arena, patch), options).status().message();
  };
  const std::string_view refused =
      "error in move for path: '/x/a': invalid character '{' exceeded max depth";
  EXPECT_EQ(apply(R"([{"op":"add","path":"/a/b/c","value":1},
                      {"op":"move","from":"/a","path":"/x/a"}])"),
            "");
  EXPECT_EQ(apply(R"([{"op":"add","path":"/a/b/c","value":{}},
                      {"op":"move","from":"/a","path":"/x/a"}])"),
            refused);
  EXPECT_EQ(apply(R"([{"op":"add","path":"/a/b/c","value":1},
                      {"op":"replace","path":"/a/b/c","value":{}},
                      {"op":"move","from":"/a","path":"/x/a"}])"),
            refused);
  EXPECT_EQ(apply(R"([{"op":"add","path":"/x/y/z","value":1},
                      {"op":"move","from":"/x/y","path":"/a/b/c"},
                      {"op":"move","from":"/a","path":"/x/a"}])"),
            refused);
}

TEST(Patch, DeepDocuments) {
  Arena arena;
  const std::string text =
      R"({"a":)" + std::string(9998, '[') + std::string(9998, ']') + R"(,"b":1})";
  const Value document = MustParse(arena, text);
  std::string pointer = "/a";
  for (int i = 0; i < 9997; ++i) pointer += "/0";
  const Value patch =
      *DecodePatch(arena, R"([{"op":"add","path":")" + pointer +
                              R"(/-","value":[]},{"op":"test","path":"/b","value":1},
                                              {"op":"copy","from":"/a","path":"/c"},
                                              {"op":"test","path":"/c","value":1}])");
  EXPECT_EQ(ApplyPatch(arena, document, patch).status().message(),
            "testing value /c failed: test failed");
  EXPECT_TRUE(DeepCopy(arena, document) == document);
}

TEST(Patch, ManyOperationsOnOneArray) {
  Arena arena;
  std::string text = "[";
  for (int i = 0; i < 2000; ++i) text += R"({"op":"add","path":"/l/0","value":1},)";
  text.back() = ']';
  const Value patch = *DecodePatch(arena, text);
  const std::size_t before = arena.bytes_used();
  const Value result = *ApplyPatch(arena, MustParse(arena, R"({"l":[]})"), patch);
  EXPECT_EQ(result["l"].size(), 2000U);
  EXPECT_LT(arena.bytes_used() - before, std::size_t{1} << 20);
}

}  // namespace
}  // namespace portcullis::json

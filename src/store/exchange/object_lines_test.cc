// SPDX-License-Identifier: Apache-2.0

#include "store/exchange/object_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace portcullis::store {
namespace {

constexpr std::string_view kHead =
    R"({"kind":"StoredObjects","version":1,"revision":9,"objects":1})";

std::string ErrorOf(const std::vector<std::string_view>& lines) {
  ObjectLinesReader reader;
  for (const std::string_view line : lines) {
    if (const base::Status added = reader.Add(line); !added.ok()) return added.message();
  }
  const auto content = reader.Finish();
  return content.ok() ? "" : content.status().message();
}

std::string Line(std::string_view key, std::string_view revision, std::string_view object) {
  return base::StrCat(R"({"key":")", key, R"(","revision":)", revision, R"(,"object":)", object,
                      "}");
}

TEST(ObjectLinesTest, GiveBackEveryByte) {
  // Spaces, escapes, a number of another form and a second "object": all of it is kept.
  constexpr std::string_view kObjects[] = {
      R"({"metadata":{"name":"a","namespace":"n","resourceVersion":"5"},"x": 1.50,"object":{"\u0041":"é"}})",
      R"({"resourceVersion":"","metadata":{"resourceVersion":"7","name":"b","namespace":"n"}})",
  };
  Content content;
  const auto name = std::make_shared<const CollectionName>(CollectionName{"", "configmaps"});
  std::string text = HeadLine(9, 2);
  for (const std::string_view bytes : kObjects) {
    const bool first = bytes == kObjects[0];
    const std::string_view digits = first ? R"("5")" : R"("7")";
    const std::size_t at = bytes.find(digits) + 1;
    text += ObjectLine(*Object::Make(name, "n", first ? "a" : "b", first ? 5 : 7,
                                     bytes.substr(0, at), bytes.substr(at + 1)));
  }
  ObjectLinesReader reader;
  for (const std::string_view line : base::Split(text, '\n')) {
    ASSERT_TRUE(reader.Add(line).ok());
  }
  const auto read = reader.Finish();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->revision, 9);
  ASSERT_EQ(read->objects.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->objects[i]->bytes(), kObjects[i]);
    EXPECT_EQ(read->objects[i]->resource(), "configmaps");
  }
  EXPECT_EQ(read->objects[1]->revision(), 7);
  EXPECT_EQ(
      read->objects[1]->WithRevision(12)->bytes(),
      R"({"resourceVersion":"","metadata":{"resourceVersion":"12","name":"b","namespace":"n"}})");
}

TEST(ObjectLinesTest, SayWhatIsWrong) {
  constexpr std::string_view kGood =
      R"({"metadata":{"name":"a","namespace":"n","resourceVersion":"5"}})";
  constexpr std::string_view kKey = "/registry/configmaps/n/a";
  const std::string good = Line(kKey, "5", kGood);
  EXPECT_EQ(ErrorOf({kHead, good}), "");
  EXPECT_EQ(ErrorOf({}), "there is nothing in it");
  EXPECT_EQ(ErrorOf({good}),
            "the first line must have \"kind\":\"StoredObjects\", as store export writes it");
  EXPECT_EQ(ErrorOf({R"({"kind":"StoredObjects","version":2})"}),
            "this version of the format is not known; use a newer portcullis");
  EXPECT_EQ(ErrorOf({R"({"kind":"StoredObjects","version":1,"revision":"9","objects":1})"}),
            "\"revision\" and \"objects\" must be numbers");
  EXPECT_EQ(ErrorOf({kHead}), "the first line says 1 objects, there are 0");
  EXPECT_EQ(ErrorOf({kHead, good, good}), "\"/registry/configmaps/n/a\" is there twice");
  EXPECT_EQ(ErrorOf({kHead, "[]"}), "must be a JSON object");
  EXPECT_EQ(ErrorOf({kHead, Line("/elsewhere/a", "5", kGood)}),
            "\"key\" is \"/elsewhere/a\", not that of an object");
  EXPECT_EQ(ErrorOf({kHead, Line("/registry/configmaps/n/b", "5", kGood)}),
            "the object's name and namespace are not those of its key "
            "\"/registry/configmaps/n/b\"");
  EXPECT_EQ(ErrorOf({kHead, Line(kKey, "6", kGood)}),
            "\"revision\" is 6, metadata.resourceVersion \"5\": they must be equal and at most 9");
  EXPECT_EQ(ErrorOf({kHead, good,
                     Line("/registry/configmaps/n/b", "5",
                          R"({"metadata":{"name":"b","namespace":"n","resourceVersion":"5"}})")}),
            "another object has revision 5, too");
  EXPECT_EQ(ErrorOf({kHead, base::StrCat(R"({"object":)", kGood, R"(,"revision":5,"key":")", kKey,
                                         R"("})")}),
            "\"object\" must be the last member of the line");
  EXPECT_EQ(
      ErrorOf(
          {kHead, Line(kKey, "5",
                       R"({"metadata":{"name":"a","namespace":"n","resourceVersion":"\u0035"}})")}),
      "metadata.resourceVersion must be written without escapes");
}

}  // namespace
}  // namespace portcullis::store

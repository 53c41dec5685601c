// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/value.h"

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"

namespace portcullis::store {
namespace {

// What FromEtcdValue() makes of a value, with a revision in it.
std::string Read(std::string_view value) {
  auto object = FromEtcdValue(value);
  if (!object.ok()) return base::StrCat("error: ", object.status().message());
  return base::StrCat(object->bytes.substr(0, object->revision_at), "7",
                      object->bytes.substr(object->revision_at));
}

TEST(EtcdValue, PutsTheRevisionWhereGoWritesIt) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      // Built-in kinds begin with the kind: the revision is behind the uid.
      {R"({"kind":"A","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u",)"
       R"("creationTimestamp":"t"},"data":{"a":"\"}"}})",
       R"({"kind":"A","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u",)"
       R"("resourceVersion":"7","creationTimestamp":"t"},"data":{"a":"\"}"}})"},
      {R"({"kind":"A","apiVersion":"v1","metadata":{"name":"a","uid":"u"}})",
       R"({"kind":"A","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"7"}})"},
      {R"({"kind":"A","apiVersion":"v1","metadata":{"creationTimestamp":null}})",
       R"({"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"7",)"
       R"("creationTimestamp":null}})"},
      {R"({"kind":"A","apiVersion":"v1","metadata":{}})",
       R"({"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"7"}})"},
      // Quotes and backslashes within strings.
      {R"({"kind":"A\\\\","apiVersion":"\\\"v1\"","metadata":{"name":"\\\\","x":"\\"},"d":{"\"":"\\\""}})",
       R"({"kind":"A\\\\","apiVersion":"\\\"v1\"","metadata":{"name":"\\\\","resourceVersion":"7",)"
       R"("x":"\\"},"d":{"\"":"\\\""}})"},
      {R"({"kind":"A\\\"}","apiVersion":"v1","metadata":{"name":"a\"b\\","labels":{}},"d":"\\"})",
       R"({"kind":"A\\\"}","apiVersion":"v1","metadata":{"name":"a\"b\\","resourceVersion":"7",)"
       R"("labels":{}},"d":"\\"})"},
      // Custom resources are sorted.
      {R"({"apiVersion":"v1","kind":"A","metadata":{"annotations":{"x":"["},"name":"a",)"
       R"("namespace":"n","uid":"u"},"spec":{"a":[1,{}]}})",
       R"({"apiVersion":"v1","kind":"A","metadata":{"annotations":{"x":"["},"name":"a",)"
       R"("namespace":"n","resourceVersion":"7","uid":"u"},"spec":{"a":[1,{}]}})"},
      {R"({"apiVersion":"v1","kind":"A","metadata":{"name":"a"}})",
       R"({"apiVersion":"v1","kind":"A","metadata":{"name":"a","resourceVersion":"7"}})"},
      // Metadata behind other members, and line ends behind the object.
      {"{\"apiVersion\":\"v1\",\"data\":{\"metadata\":{\"name\":1}},\"kind\":\"A\","
       "\"metadata\":{\"uid\":\"u\"}}\n\n",
       R"({"apiVersion":"v1","data":{"metadata":{"name":1}},"kind":"A",)"
       R"("metadata":{"resourceVersion":"7","uid":"u"}})"},
      // Blanks, and a revision that is there.
      {R"({ "kind":"A", "metadata":{"name":"a", "uid":"u"}, "x":[1, 2] })",
       R"({"kind":"A","metadata":{"name":"a","uid":"u","resourceVersion":"7"},"x":[1,2]})"},
      {R"({"kind":"A","metadata":{"name":"a","resourceVersion":"3","generation":1}})",
       R"({"kind":"A","metadata":{"name":"a","resourceVersion":"7","generation":1}})"},
      // One blank behind it stays: it is a note.
      {"{\"kind\":\"A\",\"metadata\":{}} \n",
       "{\"kind\":\"A\",\"metadata\":{\"resourceVersion\":\"7\"}} "},
  };
  for (const auto& [value, expected] : rows) EXPECT_EQ(Read(value), expected);
}

TEST(EtcdValue, RefusesWhatIsNoObject) {
  for (const std::string_view value :
       {"", "{", "{}", "[]", "null", R"({"kind":"A"})", R"({"metadata":1})", R"({"metadata":{)",
        R"({"metadata":{"name":"a}})", R"({"kind":"A","metadata":{"uid":"u",}})"}) {
    EXPECT_TRUE(Read(value).starts_with("error: ")) << value << " gave " << Read(value);
  }
}

TEST(EtcdValue, IsTheObjectWithoutItsRevision) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"metadata":{"uid":"u","resourceVersion":"","x":1}})",
       "{\"metadata\":{\"uid\":\"u\",\"x\":1}}\n"},
      {R"({"metadata":{"uid":"u","resourceVersion":""}})", "{\"metadata\":{\"uid\":\"u\"}}\n"},
      {R"({"metadata":{"resourceVersion":"","x":1}})", "{\"metadata\":{\"x\":1}}\n"},
      {R"({"metadata":{"resourceVersion":""}})", "{\"metadata\":{}}\n"},
  };
  for (const auto& [bytes, value] : rows) {
    const std::size_t at = bytes.find("resourceVersion") + 18;
    EXPECT_EQ(ToEtcdValue({std::string(bytes), at}), value);
  }
}

}  // namespace
}  // namespace portcullis::store

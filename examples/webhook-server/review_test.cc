// SPDX-License-Identifier: Apache-2.0

#include "review.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"
#include "json/value.h"

namespace example {
namespace {

using portcullis::base::Base64Decode;
using portcullis::json::Document;
using portcullis::json::ParseDocument;

constexpr std::string_view kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
  "request":{"uid":"u-1","operation":"CREATE","object":{"metadata":{"name":"a"}}}})";

Document Ask(std::string_view path, std::string_view query = "") {
  auto answer = Answer(path, query, kReview);
  return answer.ok() ? ParseDocument(*answer).value() : Document();
}

std::string PatchOf(const Document& answer) {
  EXPECT_EQ(answer["response"]["patchType"].AsString(), "JSONPatch");
  return Base64Decode(answer["response"]["patch"].AsString()).value_or("");
}

TEST(ReviewTest, AllowsAndDenies) {
  const auto allowed = Ask("/allow");
  EXPECT_EQ(allowed["apiVersion"].AsString(), "admission.k8s.io/v1");
  EXPECT_EQ(allowed["response"]["uid"].AsString(), "u-1");
  EXPECT_TRUE(allowed["response"]["allowed"].AsBool());

  const auto denied = Ask("/deny", "message=not+today&code=418");
  EXPECT_FALSE(denied["response"]["allowed"].AsBool());
  EXPECT_EQ(denied["response"]["status"]["message"].AsString(), "not today");
  EXPECT_EQ(denied["response"]["status"]["code"].AsInt(), 418);
}

TEST(ReviewTest, AnExternalAdmissionHookWantsALabel) {
  const auto ask = [](std::string_view labels) {
    const auto answer =
        Answer("/", "",
               portcullis::base::StrCat(
                   R"({"apiVersion":"admission.k8s.io/v1alpha1","kind":"AdmissionReview","spec":{)",
                   R"("operation":"CREATE","object":{"metadata":{"labels":)", labels,
                   R"(}}},"status":{"allowed":false}})"));
    return ParseDocument(answer.value()).value();
  };
  EXPECT_TRUE(ask(R"({"team":"a"})")["status"]["allowed"].AsBool());
  const auto denied = ask("{}");
  EXPECT_EQ(denied["apiVersion"].AsString(), "admission.k8s.io/v1alpha1");
  EXPECT_FALSE(denied["status"]["allowed"].AsBool());
  EXPECT_EQ(denied["status"]["status"]["message"].AsString(), "label 'team' is mandatory");
}

TEST(ReviewTest, Patches) {
  EXPECT_EQ(PatchOf(Ask("/add-label", "key=a/b&value=c")),
            R"([{"op":"add","path":"/metadata/labels","value":{}},)"
            R"({"op":"add","path":"/metadata/labels/a~1b","value":"c"}])");
  EXPECT_EQ(PatchOf(Ask("/patch", "patch=%5B%5D")), "[]");
}

TEST(ReviewTest, WarnsAndAnnotates) {
  EXPECT_EQ(Ask("/warn", "message=hm")["response"]["warnings"][0].AsString(), "hm");
  EXPECT_EQ(Ask("/audit", "key=k&value=v")["response"]["auditAnnotations"]["k"].AsString(), "v");
}

TEST(ReviewTest, AnswersInTheVersionOfTheQuestion) {
  const auto answer = Answer("/allow", "", R"({"apiVersion":"admission.k8s.io/v1beta1",
      "kind":"AdmissionReview","request":{"uid":"u"}})");
  ASSERT_TRUE(answer.ok());
  EXPECT_NE(answer->find("admission.k8s.io/v1beta1"), std::string::npos);
}

TEST(ReviewTest, ReadsTheDelay) {
  EXPECT_EQ(DelaySeconds("/delay/2.5", ""), 2.5);
  EXPECT_EQ(DelaySeconds("/deny", "seconds=3"), 3);
  EXPECT_EQ(DelaySeconds("/deny", "timeout=3s"), 0);
}

TEST(ReviewTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(Answer("/allow", "", "{").ok());
  EXPECT_FALSE(Answer("/allow", "", R"({"kind":"Pod"})").ok());
  EXPECT_EQ(Answer("/nowhere", "", kReview).status().http_code(), 404);
}

}  // namespace
}  // namespace example

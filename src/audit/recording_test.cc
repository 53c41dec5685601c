// SPDX-License-Identifier: Apache-2.0

#include "audit/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::audit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string EventLine(std::string_view resource, std::string_view object,
                      std::string_view verb = "create", int code = 201) {
  return base::StrCat(
      R"({"kind":"EventLine","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","verb":")",
      verb, R"(","objectRef":{"resource":")", resource,
      R"("},"user":{"username":"a","groups":["g"]},"responseStatus":{"code":)",
      std::to_string(code), "},\"requestObject\":", object, "}");
}

class RecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.folder =
        (std::filesystem::temp_directory_path() / ("recording_test." + std::to_string(::getpid())))
            .string();
  }
  void TearDown() override { std::filesystem::remove_all(options_.folder); }

  // What is recorded of the events.
  std::string Record(const std::vector<std::string>& events) {
    auto recording = Recording::Open(options_, base::SystemClock());
    EXPECT_TRUE(recording.ok()) << recording.status().message();
    if (!recording.ok()) return "";
    for (const std::string& event : events) EXPECT_TRUE((*recording)->Write(event).ok());
    (*recording)->Flush();
    counts_ = (*recording)->counts();
    return base::ReadFile(options_.folder + "/requests.json").value();
  }

  RecordingOptions options_;
  Recording::Counts counts_;
};

TEST_F(RecordingTest, HasNoSecrets) {
  const std::string text = Record({
      EventLine("secrets",
                R"({"data":{"a":"c2VjcmV0"},"stringData":{"b":"hidden"},"type":"Opaque"})"),
      EventLine(
          "secrets",
          R"([{"op":"add","path":"/data/x","value":"c2VjcmV0"},{"op":"add","path":"/data","value":{"y":"c2VjcmV0"}}])",
          "patch", 200),
      EventLine("tokenreviews", R"({"spec":{"token":"hidden"}})"),
      EventLine(
          "pods",
          R"({"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hidden","a":"kept"}}})"),
  });
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, Not(HasSubstr("c2VjcmV0")));
  EXPECT_THAT(
      text,
      HasSubstr(R"("data":{"a":"UkVEQUNURUQ="},"stringData":{"b":"REDACTED"},"type":"Opaque")"));
  EXPECT_THAT(text, HasSubstr(R"("a":"kept")"));
}

TEST_F(RecordingTest, HasNothingOfThePathsThatAreChosen) {
  options_.redact = {"spec.containers[*].env[*].value", "configmaps:data"};
  const std::string text = Record({
      EventLine(
          "pods",
          R"({"spec":{"containers":[{"name":"kept","env":[{"name":"A","value":"hidden"}]}]}})"),
      EventLine(
          "pods",
          R"([{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"A","value":"hidden"}}])",
          "patch", 200),
      EventLine("configmaps", R"({"data":{"x":"hidden"}})"),
      EventLine("others", R"({"data":{"x":"kept too"}})"),
  });
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, HasSubstr(R"("name":"kept","env":[{"name":"A","value":"REDACTED"}])"));
  EXPECT_THAT(text, HasSubstr("kept too"));
  options_.redact = {"."};
  EXPECT_FALSE(Recording::Open(options_, base::SystemClock()).ok());
}

TEST_F(RecordingTest, KeepsFewOfThoseThatAreAlike) {
  options_.per_shape = 1;
  Record({
      EventLine("pods", R"({"spec":{"containers":[{"name":"a"}]}})"),
      EventLine("pods", R"({"spec":{"containers":[{"name":"b"},{"name":"c"}]}})"),  // alike
      EventLine("pods", R"({"spec":{"containers":[{"name":"b","image":"c"}]}})"),   // a field more
      EventLine("pods", R"({"spec":{"containers":[{"name":"a"}]}})", "create",
                403),  // another answer
      EventLine("configmaps", R"({"data":{"a":"1"}})"),
      EventLine("configmaps", R"({"data":{"b":"1","c":"2"}})"),  // alike: the names are data
  });
  EXPECT_EQ(counts_.recorded, 4U);
  EXPECT_EQ(counts_.alike, 2U);
}

TEST_F(RecordingTest, KeepsOneOfSoMany) {
  options_.sample = 3;
  options_.per_shape = 0;
  Record(std::vector<std::string>(7, EventLine("pods", "{}")));
  EXPECT_EQ(counts_.recorded, 3U);
  EXPECT_EQ(counts_.sampled, 4U);
}

TEST_F(RecordingTest, PassesOverWhatCannotBeReplayed) {
  Record({EventLine("pods", "{}", "get", 200), EventLine("pods", "null"),
          EventLine("pods", "null", "delete", 200)});
  EXPECT_EQ(counts_.others, 2U);
  EXPECT_EQ(counts_.recorded, 1U);
}

}  // namespace
}  // namespace portcullis::audit

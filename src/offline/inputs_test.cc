// SPDX-License-Identifier: Apache-2.0

#include "offline/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace portcullis::offline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InputsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("offline_inputs_test." + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  Inputs Read(const std::string& path = ".") {
    InputOptions options;
    options.paths = {(folder_ / path).lexically_normal().string()};
    return ReadInputs(options);
  }

  static std::vector<std::string> Names(const Inputs& inputs) {
    std::vector<std::string> names;
    for (const Manifest& manifest : inputs.manifests) {
      names.push_back(manifest.kind + "/" + manifest.name);
    }
    return names;
  }

  fs::path folder_;
};

constexpr char kConfigMap[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

TEST_F(InputsTest, FindsObjectsByTheirContent) {
  Write("a.yaml", kConfigMap);
  Write("deeper/b.json", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}})");
  Write("values.yaml", "replicas: 3\n");
  Write("notes.txt", kConfigMap);
  Write(".hidden/c.yaml", kConfigMap);
  const Inputs inputs = Read();
  EXPECT_THAT(Names(inputs), ElementsAre("ConfigMap/a", "Pod/b"));
  EXPECT_THAT(inputs.problems, IsEmpty());
  EXPECT_EQ(inputs.ignored, 1U);
}

TEST_F(InputsTest, ReadsDocumentsAndListsWithTheirPlaces) {
  Write("a.yaml",
        "# first\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n"
        "  metadata:\n    name: s\n");
  const Inputs inputs = Read();
  ASSERT_THAT(Names(inputs), ElementsAre("ConfigMap/a", "Secret/s"));
  const std::vector<std::string> name = {"metadata", "name"};
  EXPECT_EQ(inputs.manifests[0].Find(name).line, 4U);
  EXPECT_EQ(inputs.manifests[0].Find({}).line, 2U);
  EXPECT_EQ(inputs.manifests[1].Find(name).line, 12U);
  EXPECT_EQ(inputs.manifests[1].Find(name).column, 5U);
  std::size_t steps = 9;
  const std::vector<std::string> absent = {"metadata", "labels", "x"};
  EXPECT_EQ(inputs.manifests[1].Find(absent, &steps).line, 11U);
  EXPECT_EQ(steps, 1U);
}

TEST_F(InputsTest, EndsAtListsThatAreDeep) {
  std::string text = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})";
  for (int i = 0; i < 8; ++i) text = R"({"apiVersion":"v1","kind":"List","items":[)" + text + "]}";
  Write("a.json", text);
  EXPECT_THAT(Names(Read()), ElementsAre("Pod/a"));
  Write("a.json", R"({"apiVersion":"v1","kind":"List","items":[)" + text + "]}");
  EXPECT_THAT(Read().problems[0].message, HasSubstr("at most 8 levels"));
}

TEST_F(InputsTest, ReadsJsonObjectsBehindOneAnother) {
  const std::string one = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"}{\""}})";
  Write("a.json", one + "\n" + one + one);
  Write("b.json", one + "\n---\n" + one);
  const Inputs inputs = Read();
  EXPECT_THAT(inputs.problems, IsEmpty());
  ASSERT_EQ(inputs.manifests.size(), 5U);
  EXPECT_EQ(inputs.manifests[1].Find({}).line, 2U);
  EXPECT_EQ(inputs.manifests[4].Find({}).line, 3U);
}

TEST_F(InputsTest, ReadsJsonThatIsNoYaml) {
  Write("a.json",
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"b\/c"}})");
  const Inputs inputs = Read();
  EXPECT_THAT(inputs.problems, IsEmpty());
  ASSERT_EQ(inputs.manifests.size(), 1U);
  EXPECT_EQ(inputs.manifests[0].object["data"]["a"].AsString(), "b/c");
}

TEST_F(InputsTest, NamesTheLineOfBrokenYamlInTheFile) {
  Write("a.yaml", std::string(kConfigMap) + "---\napiVersion: v1\nkind: [\n");
  const Inputs inputs = Read();
  EXPECT_THAT(Names(inputs), ElementsAre("ConfigMap/a"));
  ASSERT_EQ(inputs.problems.size(), 1U);
  EXPECT_GE(inputs.problems[0].place.line, 5U);
  EXPECT_THAT(inputs.problems[0].message, HasSubstr("yaml: "));
}

TEST_F(InputsTest, SaysHowToRenderTemplates) {
  Write("t.yaml", "apiVersion: v1\nkind: ConfigMap\n{{- if .x }}\nmetadata: {}\n");
  ASSERT_EQ(Read().problems.size(), 1U);
  EXPECT_THAT(Read().problems[0].message, HasSubstr("helm template"));
}

TEST_F(InputsTest, SaysWhatMakesYamlOfExpressionsAndTabs) {
  const std::pair<const char*, const char*> cases[] = {
      {"kind: A\nspec: x ? true : false\n", "Quote it"},
      {"spec:\n\tname: a\n", "a tab?"},
  };
  for (const auto& [text, hint] : cases) {
    Write("a.yaml", text);
    const Inputs inputs = Read({"a.yaml"});
    ASSERT_EQ(inputs.problems.size(), 1U);
    EXPECT_EQ(inputs.problems[0].place.line, 2U);
    EXPECT_THAT(inputs.problems[0].message, HasSubstr(hint));
  }
}

TEST_F(InputsTest, RefusesBinaryFilesAndNamedFilesWithoutObjects) {
  Write("a.yaml", std::string("\0\1\2", 3));
  const std::string values = Write("values.yaml", "a: 1\n");
  EXPECT_THAT(Read().problems[0].message, HasSubstr("a binary file"));
  EXPECT_THAT(Read("values.yaml").problems[0].message, HasSubstr("holds no Kubernetes object"));
  EXPECT_THAT(Read("absent.yaml").problems[0].message, HasSubstr("no such file or directory"));
}

TEST_F(InputsTest, EndsAtLoopsOfLinksAndReadsEachFileOnce) {
  Write("one/a.yaml", kConfigMap);
  fs::create_directory_symlink(folder_, folder_ / "one/loop");
  fs::create_symlink("a.yaml", folder_ / "one/b.yaml");
  fs::create_symlink("self.yaml", folder_ / "self.yaml");
  const Inputs inputs = Read();
  EXPECT_THAT(Names(inputs), ElementsAre("ConfigMap/a"));
  ASSERT_EQ(inputs.problems.size(), 2U);
  EXPECT_THAT(inputs.problems[0].message, HasSubstr("a link to a directory that it is in"));
  EXPECT_THAT(inputs.problems[1].message, HasSubstr("too many levels of symbolic links"));
}

TEST_F(InputsTest, ReportsFoldersThatCannotBeRead) {
  Write("closed/a.yaml", kConfigMap);
  fs::permissions(folder_ / "closed", fs::perms::none);
  const Inputs inputs = Read();
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every folder";
  ASSERT_EQ(inputs.problems.size(), 1U);
  EXPECT_THAT(inputs.problems[0].message, HasSubstr("permission denied"));
}

TEST_F(InputsTest, KeepsFilesOfOtherProgramsApart) {
  Write("k.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n");
  Write("admission.yaml",
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: []\n");
  const Inputs inputs = Read();
  EXPECT_THAT(inputs.manifests, IsEmpty());
  EXPECT_EQ(inputs.ignored, 2U);
  EXPECT_EQ(inputs.admission_configurations.size(), 1U);
}

TEST_F(InputsTest, FoldersOfFilenameAreNotRecursiveUnlessAsked) {
  Write("a.yaml", kConfigMap);
  Write("deeper/b.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n");
  InputOptions options;
  options.filenames = {folder_.string()};
  EXPECT_THAT(Names(ReadInputs(options)), ElementsAre("ConfigMap/a"));
  options.recursive = true;
  EXPECT_THAT(Names(ReadInputs(options)), ElementsAre("ConfigMap/a", "Pod/b"));
}

}  // namespace
}  // namespace portcullis::offline

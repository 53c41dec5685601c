// SPDX-License-Identifier: Apache-2.0

// Every kind of the registry shows objects that are accepted and objects that are refused: scenarios
// beside its file (src/registry/apps/deployment.yaml), with the answers of a kube-apiserver, recorded
// by tests/reference/scenarios.py. They run through the whole engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "engine/testing/scenario.h"
#include "json/yaml.h"
#include "registry/kind_table.h"

namespace portcullis::engine {
namespace {

const std::string kFolder = PC_SOURCE_DIR "/src/registry/";

std::string Read(const std::string& file) { return base::ReadFile(kFolder + file).value(); }

// Their paths below the folder, without the suffix.
std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    files.push_back(std::filesystem::relative(entry.path(), kFolder).replace_extension().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class KindScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(KindScenario, IsAnsweredAsByKubernetes) {
  const testing::ScenarioResult result = testing::RunScenario(Read(GetParam() + ".yaml"));
  EXPECT_FALSE(result.description.empty());
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Registry, KindScenario, ::testing::ValuesIn(Files()),
                         [](const auto& scenario) {
                           std::string name = scenario.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(Kinds, EachShowsAGoodAndABadObject) {
  struct Shown {
    bool good = false;
    bool bad = false;
  };
  std::map<std::string, Shown> shown;
  json::Arena arena;
  for (const std::string& file : Files()) {
    const auto scenario = json::ParseYaml(arena, Read(file + ".yaml"));
    ASSERT_TRUE(scenario.ok()) << file;
    for (const json::Value& step : (*scenario)["steps"].elements()) {
      Shown& kind = shown[std::string(step["create"].AsString())];
      (step["expect"].Has("error") ? kind.bad : kind.good) = true;
    }
  }
  for (const registry::Kind& kind : registry::KindTable::BuiltIn().kinds()) {
    const std::string name = base::StrCat(kind.resource, kind.group.empty() ? "" : ".", kind.group);
    EXPECT_TRUE(shown[name].good) << name << ": no object that is accepted";
    EXPECT_TRUE(shown[name].bad) << name << ": no object that is refused";
  }
}

}  // namespace
}  // namespace portcullis::engine

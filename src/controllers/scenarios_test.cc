// SPDX-License-Identifier: Apache-2.0

// The controllers' scenarios (testdata/).

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "controllers/controller.h"
#include "controllers/testing/scenario.h"

namespace portcullis::controllers {
namespace {

constexpr const char* kFolder = PC_SOURCE_DIR "/src/controllers/testdata";

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

testing::ScenarioResult RunFile(const std::string& name) {
  std::ifstream file(std::string(kFolder) + "/" + name + ".yaml", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return testing::RunScenario(text);
}

class ControllerScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(ControllerScenario, GoesAsTold) {
  const testing::ScenarioResult result = RunFile(GetParam());
  EXPECT_FALSE(result.description.empty());
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Testdata, ControllerScenario, ::testing::ValuesIn(Names()),
                         [](const auto& scenario) { return scenario.param; });

TEST(Controllers, HaveAScenarioEach) {
  std::set<std::string> told;
  for (const std::string& name : Names()) told.insert(RunFile(name).controller);
  for (const ControllerInfo* info : AllControllers()) {
    EXPECT_TRUE(told.contains(std::string(info->name))) << info->name;
  }
}

}  // namespace
}  // namespace portcullis::controllers

// The engine without a server: its scenarios (testdata/), and what it is made of.

#include "engine/engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/subresources/subresources.h"
#include "engine/testing/scenario.h"
#include "engine/verbs.h"

namespace portcullis::engine {
namespace {

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(PC_SOURCE_DIR "/src/engine/testdata")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class EngineScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(EngineScenario, HasTheExpectedOutcome) {
  const std::string path = PC_SOURCE_DIR "/src/engine/testdata/" + GetParam() + ".yaml";
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const testing::ScenarioResult result = testing::RunScenario(text);
  EXPECT_FALSE(result.description.empty());
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Testdata, EngineScenario, ::testing::ValuesIn(ScenarioNames()),
                         [](const auto& scenario) { return scenario.param; });

TEST(Engine, RefusesReleasesThatItDoesNotKnow) {
  EngineOptions options;
  options.kubernetes_version = "1.99";
  const auto engine = Engine::Create(std::move(options));
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().message(),
            "invalid value \"1.99\" for --kubernetes-version: must be 1.29 to 1.36");
}

TEST(Engine, RefusesResourcesThatAreNotServed) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Operation op((*engine)->world());
  const base::Status status = Resolve(op, {.version = "v1", .resource = "gadgets"});
  EXPECT_EQ(status.message(), "the server could not find the requested resource");
}

TEST(Engine, HasARowForEachSubresourceThatIsNoPlainWrite) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  for (const SubresourceRow& row : Subresources()) {
    if (row.group == "*" || row.resource == "*") continue;
    Operation op((*engine)->world());
    EXPECT_TRUE(Resolve(op, {row.group, "v1", row.resource, row.subresource, "", ""}).ok())
        << row.resource << "/" << row.subresource;
    EXPECT_EQ(FindFunction(op, row.verb), row.function);
    EXPECT_EQ(FindFunction(op, Verb::kDelete), nullptr);
  }
}

}  // namespace
}  // namespace portcullis::engine

// SPDX-License-Identifier: Apache-2.0

// What holds for every plugin, applied to each one that is built in; and the scenarios in their
// testdata folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "admission/config.h"
#include "admission/testing/scenario.h"
#include "base/strings.h"
#include "json/value.h"
#include "plugins/registry.h"
#include "store/memory/memory_store.h"

namespace portcullis::plugins {
namespace {

namespace fs = std::filesystem;
using admission::PluginInfo;
using admission::testing::Effect;

const fs::path kPlugins = fs::path(PC_SOURCE_DIR) / "src" / "plugins";

// Scenarios name files beside them by {{testdata}}.
std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return base::ReplaceAll(text.str(), "{{testdata}}", path.parent_path().string());
}

// "always_pull_images" of "AlwaysPullImages": the folder whose letters are those of the name.
fs::path FolderOf(std::string_view name) {
  for (const auto& entry : fs::directory_iterator(kPlugins)) {
    const std::string folder = entry.path().filename().string();
    if (base::ReplaceAll(folder, "_", "") == base::ToLower(name)) return entry.path();
  }
  return {};
}

const PluginInfo* PluginOf(const fs::path& folder) {
  for (const PluginInfo* info : Registered()) {
    if (base::ToLower(info->name) == base::ReplaceAll(folder.filename().string(), "_", "")) {
      return info;
    }
  }
  return nullptr;
}

std::vector<std::string> ScenarioFiles() {
  std::vector<std::string> files;
  for (const auto& folder : fs::directory_iterator(kPlugins)) {
    const fs::path testdata = folder.path() / "testdata";
    if (!fs::is_directory(testdata)) continue;
    for (const auto& file : fs::directory_iterator(testdata)) {
      if (file.path().extension() == ".yaml") files.push_back(file.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<const PluginInfo*> Plugins() { return Registered(); }

class ScenarioTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, HasTheExpectedOutcome) {
  const fs::path path(GetParam());
  const PluginInfo* plugin = PluginOf(path.parent_path().parent_path());
  ASSERT_NE(plugin, nullptr) << "no plugin for " << path;
  const auto result = admission::testing::RunScenario(*plugin, ReadAll(path));
  EXPECT_FALSE(result.description.empty()) << "a scenario says what it shows";
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
}

std::string ScenarioName(const ::testing::TestParamInfo<std::string>& info) {
  const fs::path path(info.param);
  std::string name =
      path.parent_path().parent_path().filename().string() + "_" + path.stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Plugins, ScenarioTest, ::testing::ValuesIn(ScenarioFiles()), ScenarioName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ScenarioTest);

class ContractTest : public ::testing::TestWithParam<const PluginInfo*> {};

TEST_P(ContractTest, LivesInTheFolderOfItsName) {
  EXPECT_FALSE(FolderOf(GetParam()->name).empty());
}

TEST_P(ContractTest, SaysWhatItIs) {
  const PluginInfo& info = *GetParam();
  EXPECT_FALSE(info.summary.empty());
  EXPECT_NE(info.phases, 0U);
  EXPECT_NE(info.operations, 0U);
  EXPECT_NE(info.create, nullptr);
}

// Objects that no schema has seen: the plugin may refuse them, it must not fall over.
json::Value Garbage(json::Arena& arena, std::mt19937& random, int depth) {
  static constexpr std::string_view kNames[] = {
      "metadata", "spec",  "status",  "name",     "namespace", "labels",     "containers",
      "template", "ports", "rules",   "data",     "resources", "requests",   "limits",
      "cpu",      "image", "volumes", "webhooks", "type",      "annotations"};
  switch (random() % (depth > 4 ? 5 : 7)) {
    case 0:
      return {};
    case 1:
      return json::Value::Bool(random() % 2 == 0);
    case 2:
      return json::Value::Int(static_cast<std::int64_t>(random()) - 1'000'000);
    case 3:
      return json::Value::Double(0.5);
    case 4:
      return json::Value::StringView(kNames[random() % std::size(kNames)]);
    case 5: {
      json::ArrayBuilder list(arena);
      for (auto n = random() % 4; n > 0; --n) list.Add(Garbage(arena, random, depth + 1));
      return list.Build();
    }
    default: {
      json::ObjectBuilder object(arena);
      for (auto n = random() % 6; n > 0; --n) {
        object.Set(kNames[random() % std::size(kNames)], Garbage(arena, random, depth + 1));
      }
      return object.Build();
    }
  }
}

// The configuration of a plugin that cannot be without one.
std::string NeededConfig(std::string_view plugin) {
  if (plugin == "EventRateLimit") {
    return "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n"
           "limits: [{type: SourceAndObject, qps: 1, burst: 1}]\n";
  }
  if (plugin == "ImagePolicyWebhook") {
    const fs::path testdata = FolderOf(plugin) / "testdata";
    return "imagePolicy: {kubeConfigFile: '" + (testdata / "backend.kubeconfig").string() + "'}";
  }
  return {};
}

TEST_P(ContractTest, SurvivesAnyObject) {
  const PluginInfo& info = *GetParam();
  // Scenarios give the plugin a whole world; here it gets an empty one.
  const auto store = store::OpenMemory();
  const std::string needed = NeededConfig(info.name);
  const admission::PluginConfig config = admission::ParsePluginConfig(needed);
  const auto made = info.create(
      {.name = info.name, .config = needed.empty() ? nullptr : &config, .reader = store.get()});
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::mt19937 random(20260101);
  for (int round = 0; round < 200; ++round) {
    json::Arena arena;
    admission::Recorder recorder;
    admission::Attributes attributes;
    static constexpr admission::Operation kOperations[] = {admission::kCreate, admission::kUpdate,
                                                           admission::kDelete, admission::kConnect};
    attributes.operation = kOperations[random() % 4];
    if ((info.operations & attributes.operation) == 0) continue;
    static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
        {"pods", "Pod"},
        {"services", "Service"},
        {"nodes", "Node"},
        {"namespaces", "Namespace"},
        {"events", "Event"}};
    const auto& [resource, kind] = kKinds[random() % std::size(kKinds)];
    attributes.resource = {"", "v1", std::string(resource)};
    attributes.kind = {"", "v1", std::string(kind)};
    attributes.name = "x";
    attributes.object = Garbage(arena, random, 0);
    attributes.old_object = Garbage(arena, random, 0);
    admission::Request request(std::move(attributes), arena, recorder);
    if ((info.phases & admission::kMutate) != 0) (void)(*made)->Mutate(request);
    if ((info.phases & admission::kValidate) != 0) (void)(*made)->Validate(request);
  }
}

TEST_P(ContractTest, SurvivesAnyConfiguration) {
  const PluginInfo& info = *GetParam();
  for (const std::string_view text : {"", "null", "[]", "{", "a: [", "apiVersion: 1\nkind: []",
                                      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", "\xff"}) {
    const admission::PluginConfig config = admission::ParsePluginConfig(std::string(text));
    (void)info.create({.name = info.name, .config = &config});
  }
}

TEST_P(ContractTest, RefusesMalformedConfiguration) {
  const PluginInfo& info = *GetParam();
  // Flags are read elsewhere; Kubernetes passes over node selectors that it cannot read.
  const bool has_file = !info.configuration.empty() && !info.configuration.starts_with("flags ");
  if (!has_file || info.name == "PodNodeSelector") return;
  const admission::PluginConfig config = admission::ParsePluginConfig("[1]");
  const auto made = info.create({.name = info.name, .config = &config});
  EXPECT_THAT(made.status().message(),
              ::testing::HasSubstr("json: cannot unmarshal array into Go"));
}

TEST_P(ContractTest, HasScenariosForBothOutcomes) {
  const PluginInfo& info = *GetParam();
  // These have their tests in webhook/ and policy/.
  if (info.name.ends_with("AdmissionWebhook") || info.name.ends_with("AdmissionPolicy")) {
    GTEST_SKIP();
  }
  std::set<Effect> effects;
  const fs::path testdata = FolderOf(info.name) / "testdata";
  ASSERT_TRUE(fs::is_directory(testdata)) << "no testdata";
  for (const auto& file : fs::directory_iterator(testdata)) {
    if (file.path().extension() != ".yaml") continue;
    effects.insert(admission::testing::RunScenario(info, ReadAll(file.path())).effect);
  }
  // They have one outcome only; that of NamespaceAutoProvision shows in another object, the
  // namespace; InitialResources acts where there is a database (initial_resources_test.cc).
  if (info.name == "AlwaysAdmit" || info.name == "AlwaysDeny" ||
      info.name == "NamespaceAutoProvision" || info.name == "InitialResources") {
    EXPECT_FALSE(effects.empty());
  } else {
    EXPECT_GE(effects.size(), 2U) << "one scenario where it acts and one where it does not";
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, ContractTest, ::testing::ValuesIn(Plugins()),
                         [](const auto& plugin) { return std::string(plugin.param->name); });

TEST(OrderTest, KeepsKubernetesOrder) {
  std::vector<std::string_view> names;
  for (const PluginInfo* info : Registered()) names.push_back(info->name);
  std::vector<std::string_view> expected;
  for (const std::string_view name : KubernetesOrder()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) expected.push_back(name);
  }
  std::vector<std::string_view> known;
  for (const std::string_view name : names) {
    const auto order = KubernetesOrder();
    if (std::find(order.begin(), order.end(), name) != order.end()) known.push_back(name);
  }
  EXPECT_EQ(known, expected);
}

TEST(OrderTest, UnknownNamesRunBeforeTheTail) {
  const PluginInfo ours = {.name = "Zebra"};
  const PluginInfo priority = {.name = "PodResizeValidator"};
  const PluginInfo policy = {.name = "MutatingAdmissionPolicy"};
  std::vector<const PluginInfo*> plugins = {&policy, &ours, &priority};
  SortByOrder(plugins);
  EXPECT_EQ(plugins, (std::vector<const PluginInfo*>{&priority, &ours, &policy}));
}

}  // namespace
}  // namespace portcullis::plugins

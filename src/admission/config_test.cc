// SPDX-License-Identifier: Apache-2.0

#include "admission/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "admission/chain.h"
#include "admission/config_format.h"
#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "release/release.h"

namespace portcullis::admission {
namespace {

using ::testing::ElementsAre;

class Nothing final : public Plugin {};

base::Result<std::unique_ptr<Plugin>> MakeNothing(const PluginContext&) {
  return std::unique_ptr<Plugin>(std::make_unique<Nothing>());
}
base::Result<std::unique_ptr<Plugin>> MakeBroken(const PluginContext&) {
  return base::ConfigError("no config specified");
}

constexpr PluginInfo kA = {.name = "A", .by_default = Default::kOn, .create = &MakeNothing};
constexpr PluginInfo kB = {.name = "B", .by_default = Default::kOff, .create = &MakeNothing};
constexpr PluginInfo kC = {.name = "C", .by_default = Default::kOn, .create = &MakeBroken};
constexpr const PluginInfo* kAll[] = {&kA, &kB, &kC};

std::vector<std::string_view> Select(const PluginFlags& flags) {
  std::vector<std::string_view> names;
  auto selected = SelectPlugins(flags, kAll);
  if (!selected.ok()) return {};
  for (const PluginInfo* info : *selected) names.push_back(info->name);
  return names;
}

std::string SelectError(const PluginFlags& flags) {
  return SelectPlugins(flags, kAll).status().message();
}

TEST(SelectPluginsTest, FollowsDefaultsAndFlags) {
  EXPECT_THAT(Select({}), ElementsAre("A", "C"));
  EXPECT_THAT(Select({.enable = {"B"}, .disable = {"A"}}), ElementsAre("B", "C"));
  EXPECT_THAT(Select({.admission_control = {"C", "B"}}), ElementsAre("B", "C"));
}

TEST(SelectPluginsTest, SaysWhatIsWrong) {
  EXPECT_EQ(SelectError({.enable = {"Unknown"}}),
            "enable-admission-plugins plugin \"Unknown\" is unknown");
  EXPECT_EQ(SelectError({.disable = {"Unknown"}}),
            "disable-admission-plugins plugin \"Unknown\" is unknown");
  EXPECT_EQ(SelectError({.enable = {"B", "A"}, .disable = {"A", "B"}}),
            "[A B] in enable-admission-plugins and disable-admission-plugins overlapped");
  EXPECT_EQ(SelectError({.admission_control = {"Unknown"}}),
            "admission-control plugin \"Unknown\" is unknown");
  EXPECT_EQ(SelectError({.enable = {"A"}, .admission_control = {"B"}}),
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are "
            "mutually exclusive");
}

// docs/legacy.md, F-3 and F-4.
TEST(SelectPluginsTest, UpToV19TheFlagGivesTheOrder) {
  static constexpr PluginInfo kAdmit = {.name = "AlwaysAdmit", .create = &MakeNothing};
  static constexpr PluginInfo kKept = {.name = "Kept", .until_minor = 8, .legacy = true};
  static constexpr PluginInfo kPast = {.name = "Past", .since_minor = 9, .until_minor = 10};
  const PluginInfo* const all[] = {&kAdmit, &kA, &kB, &kC, &kKept, &kPast};
  const auto select = [&](const PluginFlags& flags, std::string_view version) {
    const auto release = release::Release::Open(version).value();
    const auto selected = SelectPlugins(flags, all, {}, release);
    if (!selected.ok()) return std::string(selected.status().message());
    std::vector<std::string_view> names;
    for (const PluginInfo* info : *selected) names.push_back(info->name);
    return base::Join(names, ",");
  };
  EXPECT_EQ(select({.admission_control = {"C", "", "B", "C", "A"}}, "1.7"), "C,B,A");
  EXPECT_EQ(select({.admission_control = {"C", "A"}}, "1.9"), "C,A");
  EXPECT_EQ(select({.admission_control = {"C", "A"}}, "1.10"), "A,C");
  EXPECT_EQ(select({}, "1.9"), "AlwaysAdmit");
  EXPECT_EQ(select({}, "1.10"), "A,C");
  EXPECT_EQ(select({.enable = {"B"}}, "1.8"), "A,B,C");
  EXPECT_EQ(select({.admission_control = {"X"}}, "1.7"), "Unknown admission plugin: X");
  EXPECT_EQ(select({.admission_control = {"Past"}}, "1.7"), "Unknown admission plugin: Past");
  EXPECT_EQ(select({.admission_control = {"Past"}}, "1.10"), "Past");
  EXPECT_EQ(select({.enable = {"Past"}}, "1.36"),
            "enable-admission-plugins plugin \"Past\" is unknown (Kubernetes has dropped it with "
            "v1.11)");
  EXPECT_EQ(select({.enable = {"B"}, .admission_control = {"A"}}, "1.7"),
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are "
            "mutually exclusive");
  EXPECT_EQ(select({.enable = {"Kept"}}, "1.36"), "A,C,Kept");
}

base::Result<PluginConfigs> Parse(std::string_view text) {
  return PluginConfigs::Parse(text, "/nonexistent", kAll);
}

TEST(PluginConfigsTest, FirstEntryOfAnEnabledPluginWins) {
  const auto configs = Parse(
      "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
      "- {name: A, configuration: {x: 1}, path: nowhere}\n- {name: A, configuration: {x: 2}}\n"
      "- {name: Unknown, path: /nowhere}\n- {name: B}\n");
  ASSERT_TRUE(configs.ok()) << configs.status().message();
  ASSERT_NE(configs->For("A"), nullptr);
  EXPECT_EQ(configs->For("A")->document["x"].AsInt(), 1);
  EXPECT_EQ(configs->For("B"), nullptr);
}

TEST(PluginConfigsTest, IsStrict) {
  EXPECT_EQ(
      Parse("{\"apiVersion\":\"apiserver.config.k8s.io/v1\",\"kind\":\"AdmissionConfiguration\""
            ",\"plugins\":[{\"name\":\"A\",\"foo\":1}]}")
          .status()
          .message(),
      "failed to read plugin config: strict decoding error: unknown field \"plugins[0].foo\"");
}

TEST(PluginConfigsTest, ChecksTypes) {
  EXPECT_EQ(
      Parse("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: 1")
          .status()
          .message(),
      "failed to read plugin config: json: cannot unmarshal number into Go struct field "
      "AdmissionConfiguration.plugins of type []v1.AdmissionPluginConfiguration");
}

TEST(PluginConfigsTest, OpensThePathsOfEnabledPlugins) {
  EXPECT_EQ(Parse("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
                  "plugins: [{name: A, path: a.yaml}]\n")
                .status()
                .message(),
            "Couldn't open admission plugin configuration /nonexistent/a.yaml: open "
            "/nonexistent/a.yaml: no such file or directory");
}

TEST(PluginConfigsTest, NamesTheEntriesThatNoEnabledPluginReads) {
  const auto configs = PluginConfigs::Parse(
      "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
      "plugins: [{name: Aa}, {name: B}, {name: A}]\n",
      ".", std::span(kAll).first(1));
  ASSERT_TRUE(configs.ok());
  EXPECT_THAT(configs->passed_over(), ElementsAre("Aa", "B"));
}

TEST(PluginConfigsTest, NamesTheMissingFile) {
  EXPECT_EQ(PluginConfigs::Load("/nonexistent/c.yaml", kAll).status().message(),
            "failed to read plugin config: unable to read admission control configuration from "
            "\"/nonexistent/c.yaml\" [open /nonexistent/c.yaml: no such file or directory]");
}

// docs/legacy.md: the version of v1.7 to v1.16.
TEST(PluginConfigsTest, ReadsTheFirstVersionOfTheFormat) {
  const auto configs = Parse(
      "apiVersion: apiserver.k8s.io/v1alpha1\nkind: AdmissionConfiguration\n"
      "plugins: [{name: A, configuration: {x: 1}}]\n");
  ASSERT_TRUE(configs.ok()) << configs.status().message();
  ASSERT_NE(configs->For("A"), nullptr);
  EXPECT_EQ(configs->For("A")->document["x"].AsInt(), 1);
}

// A file of before that format goes, whole, to the two plugins that had one then.
TEST(PluginConfigsTest, AFileOfNoFormatGoesToTwoPlugins) {
  static constexpr PluginInfo kImages = {.name = "ImagePolicyWebhook", .create = &MakeNothing};
  static constexpr PluginInfo kNodes = {.name = "PodNodeSelector", .create = &MakeNothing};
  const PluginInfo* const all[] = {&kA, &kImages, &kNodes};
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/admission.yaml";
  std::ofstream(path) << "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b}\n";
  const auto configs = PluginConfigs::Load(path, all);
  ASSERT_TRUE(configs.ok()) << configs.status().message();
  for (const char* plugin : {"ImagePolicyWebhook", "PodNodeSelector"}) {
    ASSERT_NE(configs->For(plugin), nullptr) << plugin;
    EXPECT_TRUE(configs->For(plugin)->document.root().Has("podNodeSelectorPluginConfig")) << plugin;
  }
  EXPECT_EQ(configs->For("A"), nullptr);
}

TEST(ConfigFormatTest, SaysWhatGoSays) {
  static constexpr ConfigKind kKinds[] = {{"x/v1", "C"}, {"x/v0", "C", 35}};
  constexpr ConfigFormat kFormat = {.scheme = "s",
                                    .kinds = kKinds,
                                    .types =
                                        "v1.C: list []v1.E, more map[string]int64\n"
                                        "v1.E: size int32, t v1.T=string",
                                    .strict_since = 32};
  const auto error = [&](std::string_view text, int minor = 36) {
    const auto release = release::Release::Open(base::StrCat("1.", std::to_string(minor)));
    return CheckConfig(ParsePluginConfig(std::string(text)), kFormat, *release).message();
  };
  EXPECT_EQ(error("apiVersion: x/v1\nkind: C\nlist: [{size: 1, t: a}]\nmore: {a: 1}"), "");
  EXPECT_EQ(error("kind: C\n"), "Object 'apiVersion' is missing in 'kind: C\n'");
  EXPECT_EQ(error("apiVersion: x/v0\nkind: C", 35), "");
  EXPECT_EQ(error("apiVersion: x/v0\nkind: C"),
            "no kind \"C\" is registered for version \"x/v0\" in scheme \"s\"");
  EXPECT_EQ(error("apiVersion: x/v1\nkind: C\nlist: [{t: 1}]"),
            "json: cannot unmarshal number into Go struct field E.list.t of type v1.T");
  EXPECT_EQ(error("apiVersion: x/v1\nkind: C\nmore: {a: 1.5}"),
            "json: cannot unmarshal number 1.5 into Go struct field C.more of type int64");
  constexpr std::string_view kLoose = "b: 1\nkind: C\nkind: C\napiVersion: x/v1\na: {}\n";
  EXPECT_EQ(error(kLoose),
            "strict decoding error: yaml: unmarshal errors:\n  line 3: key \"kind\" already set in "
            "map, unknown field \"a\", unknown field \"b\"");
  EXPECT_EQ(error(kLoose, 31), "");
  EXPECT_EQ(error("a: b: c"), "yaml: mapping values are not allowed in this context");
  EXPECT_EQ(error("{"),
            "couldn't get version/kind; json parse error: unexpected end of JSON input");
}

TEST(ConfigFormatTest, TellsTheFieldOfAWrongType) {
  static constexpr ConfigKind kKinds[] = {{"x/v1", "C"}};
  const base::Status bad =
      CheckConfig(ParsePluginConfig("apiVersion: x/v1\nkind: C\nlist:\n- size: 1\n- size: a\n"),
                  {.scheme = "s", .kinds = kKinds, .types = "v1.C: list []v1.E\nv1.E: size int32"},
                  release::Release::Newest());
  ASSERT_NE(bad.details(), nullptr);
  EXPECT_EQ(bad.details()->causes.front().field, "list[1].size");
}

TEST(ChainTest, NamesThePluginThatCannotBeMade) {
  const auto chain = Chain::Create(kAll, {}, {});
  EXPECT_EQ(chain.status().message(), "couldn't init admission plugin \"C\": no config specified");
}

}  // namespace
}  // namespace portcullis::admission

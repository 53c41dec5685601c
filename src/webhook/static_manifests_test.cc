// SPDX-License-Identifier: Apache-2.0

#include "webhook/static_manifests.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "base/testing/temporary_folder.h"
#include "webhook/endpoint.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kManifest = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: w.x.y
  clientConfig: {url: "https://h/p"}
  rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]
  sideEffects: None
  admissionReviewVersions: [v1]
)";

std::string Manifest(std::string_view name) { return base::ReplaceAll(kManifest, "NAME", name); }

class StaticManifestsTest : public ::testing::Test {
 protected:
  std::string Compile(const std::vector<admission::ManifestFile>& files) {
    auto hooks = CompileManifests(files, HookType::kValidating, compiler_);
    if (!hooks.ok()) return hooks.status().message();
    std::string out;
    for (const auto& hook : *hooks) out += base::StrCat(hook->uid, ";");
    return out;
  }

  SelectorCache selectors_;
  EndpointCache endpoints_{EndpointOptions{}};
  HookCompiler compiler_{&selectors_, &endpoints_, nullptr};
};

TEST_F(StaticManifestsTest, OrdersConfigurationsByName) {
  EXPECT_EQ(
      Compile({{"a.yaml", Manifest("b.static.k8s.io") + "---\n" + Manifest("a.static.k8s.io")},
               {"b.yaml", "---\n"}}),
      "manifest/a.static.k8s.io/w.x.y/0;manifest/b.static.k8s.io/w.x.y/0;");
}

TEST_F(StaticManifestsTest, SaysWhatIsWrongInWhichFile) {
  EXPECT_EQ(Compile({{"a.yaml", Manifest("a")}}),
            "error loading a.yaml: \"a\" in file \"a.yaml\" must have a name ending with "
            "\".static.k8s.io\"");
  EXPECT_EQ(
      Compile({{"a.yaml", Manifest("a.static.k8s.io")}, {"b.yaml", Manifest("a.static.k8s.io")}}),
      "error loading b.yaml: duplicate name \"a.static.k8s.io\" found in file \"b.yaml\" "
      "(previously seen in "
      "\"a.yaml\")");
  EXPECT_EQ(
      Compile({{"a.yaml", base::ReplaceAll(Manifest("a.static.k8s.io"), "url: \"https://h/p\"",
                                           "service: {namespace: ns, name: s}")}}),
      "error loading a.yaml: webhook \"w.x.y\" in \"a.static.k8s.io\" (file \"a.yaml\"): "
      "clientConfig.service is not "
      "supported for static manifests; use clientConfig.url instead");
  EXPECT_EQ(Compile({{"a.yaml", Manifest("a.static.k8s.io") + "colour: red\n"}}),
            "error loading a.yaml: strict decoding error: unknown field \"colour\"");
}

TEST_F(StaticManifestsTest, NoticesChangedFilesAndKeepsTheLastGoodSet) {
  const base::TemporaryFolder folder;
  const auto write = [&](std::string_view text) {
    std::ofstream(folder.path() + "/a.yaml") << text;
  };
  write(Manifest("a.static.k8s.io"));
  base::FakeClock clock;
  admission::PluginContext context;
  context.name = "ValidatingAdmissionWebhook";
  context.clock = &clock;
  auto manifests =
      StaticManifests::Create(context, folder.path(), HookType::kValidating, compiler_);
  ASSERT_TRUE(manifests.ok()) << manifests.status().message();
  EXPECT_EQ((*manifests)->Get()->size(), 1U);

  write(Manifest("a.static.k8s.io") + "---\n" + Manifest("b.static.k8s.io"));
  EXPECT_EQ((*manifests)->Get()->size(), 1U);
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ((*manifests)->Get()->size(), 2U);

  write("nonsense: [");
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ((*manifests)->Get()->size(), 2U);
}

TEST_F(StaticManifestsTest, AFolderThatIsSlowToReadHoldsUpOneRequestOnly) {
  const base::TemporaryFolder folder;
  std::ofstream(folder.path() + "/a.yaml") << Manifest("a.static.k8s.io");
  base::FakeClock clock;
  admission::PluginContext context;
  context.name = "ValidatingAdmissionWebhook";
  context.clock = &clock;
  const auto manifests =
      StaticManifests::Create(context, folder.path(), HookType::kValidating, compiler_).value();
  // Opening a FIFO blocks until it has a writer.
  const std::string fifo = folder.path() + "/b.yaml";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  clock.Advance(std::chrono::seconds(2));
  std::thread slow([&] { manifests->Get(); });
  const int writer = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // when `slow` reads
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(manifests->Get()->size(), 1U);
  const std::string more = Manifest("b.static.k8s.io");
  EXPECT_EQ(write(writer, more.data(), more.size()), static_cast<ssize_t>(more.size()));
  close(writer);
  slow.join();
  EXPECT_EQ(manifests->Get()->size(), 2U);
}

}  // namespace
}  // namespace portcullis::webhook

// SPDX-License-Identifier: Apache-2.0

// Engines with the flags of old releases over one store: the order of --admission-control, replicas
// whose flags differ, configurations while the store fails (docs/legacy.md).

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "engine/engine.h"
#include "engine/verbs.h"
#include "json/reader.h"
#include "json/writer.h"
#include "store/engine/engine.h"

namespace portcullis::engine {
namespace {

// A disk that can be told to be full.
class FailingJournal final : public store::Journal {
 public:
  explicit FailingJournal(const std::atomic<bool>& fails) : fails_(fails) {}
  base::Status Commit(std::span<const store::EventPtr>, std::optional<std::size_t>&) override {
    return fails_ ? base::InternalError("no space left on device") : base::OkStatus();
  }

 private:
  const std::atomic<bool>& fails_;
};

class LegacyFlags : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> Open(const std::function<void(EngineOptions&)>& adjust) {
    EngineOptions options;
    options.store = &store_;
    options.admission_plugins.disable = {"ServiceAccount"};
    adjust(options);
    if (!options.admission_plugins.admission_control.empty()) {
      options.admission_plugins.disable.clear();
    }
    auto engine = Engine::Create(std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }
  std::unique_ptr<Engine> OpenOrdered(std::vector<std::string> plugins) {
    return Open([&](EngineOptions& options) {
      options.kubernetes_version = "1.7";
      options.admission_plugins.admission_control = std::move(plugins);
    });
  }

  struct Answer {
    int code = 0;
    std::string message;
    json::Document object;
  };
  // A create, or a merge patch of the object that the path names.
  static Answer Write(const Engine& engine, ResourcePath path, std::string_view body,
                      bool dry_run = false) {
    Operation op(engine.world());
    const base::Status status = Resolve(op, path);
    EXPECT_TRUE(status.ok()) << status.message();
    op.verb = path.name.empty() ? Verb::kCreate : Verb::kPatch;
    op.user.name = "admin";
    op.user.groups = {"system:masters"};
    op.dry_run = dry_run;
    Input input;
    input.body = body;
    input.options.dry_run = dry_run;
    input.options.include_uninitialized = true;
    const auto outcome = engine::Write(op, input);
    if (!outcome.ok()) {
      return {outcome.status().http_code(), std::string(outcome.status().message()), {}};
    }
    return {outcome->code, "", json::ParseDocument(json::ToString(outcome->object)).value()};
  }
  static Answer Create(const Engine& engine, std::string_view resource, std::string_view body,
                       bool dry_run = false) {
    const std::string_view ns = resource == "namespaces" ? "" : "team";
    return Write(engine, {.version = "v1", .resource = resource, .ns = ns}, body, dry_run);
  }
  static Answer Configure(const Engine& engine, std::string_view resource, std::string_view body) {
    return Write(
        engine,
        {.group = "admissionregistration.k8s.io", .version = "v1alpha1", .resource = resource},
        body);
  }
  static std::string PendingOf(const Answer& answer) {
    return json::ToString(answer.object["metadata"]["initializers"]["pending"]);
  }
  std::string UsedConfigMaps() const {
    const store::ObjectPtr quota = store_.Get({"", "resourcequotas", "team", "few"});
    return std::string(quota->document()["status"]["used"]["configmaps"].AsString());
  }
  // The namespace team with a quota of nine ConfigMaps.
  void Furnish() {
    const auto engine = Open([](EngineOptions&) {});
    ASSERT_EQ(Create(*engine, "namespaces", R"({"metadata":{"name":"team"}})").code, 201);
    ASSERT_EQ(Create(*engine, "resourcequotas",
                     R"({"metadata":{"name":"few"},"spec":{"hard":{"configmaps":"9"}}})")
                  .code,
              201);
    ASSERT_EQ(Write(*engine,
                    {.version = "v1",
                     .resource = "resourcequotas",
                     .subresource = "status",
                     .ns = "team",
                     .name = "few"},
                    R"({"status":{"hard":{"configmaps":"9"},"used":{"configmaps":"0"}}})")
                  .code,
              200);
  }

  std::atomic<bool> fails_ = false;
  store::Engine store_{std::make_unique<FailingJournal>(fails_), store::Content(), {}};
};

constexpr std::string_view kNamedMap = R"({"metadata":{"name":"a"}})";
constexpr std::string_view kNamedPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
constexpr std::string_view kInitializer = R"({"metadata":{"name":"cfg"},"initializers":[
    {"name":"a.init.test.io","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}]})";
constexpr std::string_view kHook = R"({"metadata":{"name":"cfg"},"externalAdmissionHooks":[
    {"name":"a.guard.test.io","failurePolicy":"Fail","clientConfig":{"caBundle":"","service":
    {"namespace":"team","name":"guard"}},"rules":[{"operations":["CREATE"],"apiGroups":[""],
    "apiVersions":["v1"],"resources":["pods"]}]}]})";
constexpr std::string_view kApi = "admissionregistration.k8s.io/v1alpha1";

// All mechanisms and versions on one server.
TEST_F(LegacyFlags, AllOfItIsServedAtOnce) {
  const auto engine = Open([](EngineOptions& options) {
    options.admission_plugins.enable = {"Initializers", "GenericAdmissionWebhook", "PodPreset",
                                        "PodSecurityPolicy", "DenyEscalatingExec"};
    for (const char* served :
         {"admissionregistration.k8s.io/v1alpha1", "admissionregistration.k8s.io/v1beta1",
          "admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations",
          "admissionregistration.k8s.io/v1beta1/mutatingwebhookconfigurations",
          "extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "batch/v1beta1", "policy/v1beta1",
          "networking.k8s.io/v1beta1/ingresses", "settings.k8s.io/v1alpha1"}) {
      options.runtime_config[served] = true;
    }
  });
  constexpr std::array<std::string_view, 3> kServed[] = {
      {"admissionregistration.k8s.io", "v1alpha1", "initializerconfigurations"},
      {"admissionregistration.k8s.io", "v1alpha1", "externaladmissionhookconfigurations"},
      {"admissionregistration.k8s.io", "v1alpha1", "validatingadmissionpolicies"},
      {"admissionregistration.k8s.io", "v1beta1", "validatingadmissionpolicies"},
      {"admissionregistration.k8s.io", "v1beta1", "validatingwebhookconfigurations"},
      {"admissionregistration.k8s.io", "v1beta1", "mutatingwebhookconfigurations"},
      {"extensions", "v1beta1", "deployments"},
      {"extensions", "v1beta1", "daemonsets"},
      {"extensions", "v1beta1", "replicasets"},
      {"extensions", "v1beta1", "ingresses"},
      {"extensions", "v1beta1", "networkpolicies"},
      {"extensions", "v1beta1", "podsecuritypolicies"},
      {"apps", "v1beta1", "deployments"},
      {"apps", "v1beta1", "statefulsets"},
      {"apps", "v1beta1", "controllerrevisions"},
      {"apps", "v1beta2", "deployments"},
      {"apps", "v1beta2", "daemonsets"},
      {"apps", "v1beta2", "replicasets"},
      {"apps", "v1beta2", "statefulsets"},
      {"apps", "v1beta2", "controllerrevisions"},
      {"batch", "v1beta1", "cronjobs"},
      {"policy", "v1beta1", "poddisruptionbudgets"},
      {"policy", "v1beta1", "podsecuritypolicies"},
      {"networking.k8s.io", "v1beta1", "ingresses"},
      {"settings.k8s.io", "v1alpha1", "podpresets"},
      {"apps", "v1", "deployments"}};
  for (const auto& [group, version, resource] : kServed) {
    Operation op(engine->world());
    EXPECT_TRUE(Resolve(op, {.group = group, .version = version, .resource = resource}).ok())
        << group << "/" << version << "/" << resource;
  }
}

// F-1: the first plugin's refusal is the answer, and what stands behind it does not run.
TEST_F(LegacyFlags, WhatStandsBehindARefusalDoesNotRun) {
  Furnish();
  const auto engine = OpenOrdered({"AlwaysDeny", "ResourceQuota"});
  const Answer refused = Create(*engine, "configmaps", kNamedMap);
  EXPECT_EQ(refused.code, 403);
  EXPECT_NE(refused.message.find("denying all modifications"), std::string::npos)
      << refused.message;
  EXPECT_EQ(UsedConfigMaps(), "0");
}

// F-2: a quota that stands before a refusal is charged although nothing is stored.
TEST_F(LegacyFlags, WhatStandsBeforeARefusalHasBeenDone) {
  Furnish();
  const auto engine = OpenOrdered({"ResourceQuota", "AlwaysDeny"});
  EXPECT_EQ(Create(*engine, "configmaps", kNamedMap).code, 403);
  EXPECT_EQ(UsedConfigMaps(), "1");
  EXPECT_EQ(store_.Get({"", "configmaps", "team", "a"}), nullptr);
}

// F-8: each replica does what its own flags say.
TEST_F(LegacyFlags, ReplicasWithOtherFlagsBehaveOtherwise) {
  Furnish();
  const auto with = Open([](EngineOptions& options) {
    options.admission_plugins.enable = {"Initializers"};
    options.runtime_config[std::string(kApi)] = true;
  });
  const auto without = Open([](EngineOptions&) {});
  ASSERT_EQ(Configure(*with, "initializerconfigurations", kInitializer).code, 201);
  const Answer given = Create(*with, "pods", kNamedPod, true);
  EXPECT_EQ(given.code, 202);
  EXPECT_EQ(PendingOf(given), R"([{"name":"a.init.test.io"}])");
  const Answer free = Create(*without, "pods", kNamedPod, true);
  EXPECT_EQ(free.code, 201);
  EXPECT_EQ(PendingOf(free), "null");
  Operation op(without->world());
  EXPECT_FALSE(Resolve(op, {.group = "admissionregistration.k8s.io",
                            .version = "v1alpha1",
                            .resource = "initializerconfigurations"})
                   .ok());
}

// Everything is stored as in v1: a server without the old versions serves what they have made, and
// through v1 keeps what only they can say.
TEST_F(LegacyFlags, WhatOldVersionsHaveMadeOutlivesThem) {
  Furnish();
  const auto old = Open([](EngineOptions& options) {
    options.runtime_config["extensions/v1beta1"] = true;
    options.runtime_config["admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations"] =
        true;
  });
  ASSERT_EQ(
      Write(*old,
            {.group = "extensions", .version = "v1beta1", .resource = "deployments", .ns = "team"},
            R"({"metadata":{"name":"d"},"spec":{"rollbackTo":{"revision":3},"template":
                     {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .code,
      201);
  ASSERT_EQ(Write(*old,
                  {.group = "admissionregistration.k8s.io",
                   .version = "v1beta1",
                   .resource = "validatingwebhookconfigurations"},
                  R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","clientConfig":
                     {"url":"https://a.b"}}]})")
                .code,
            201);
  const auto plain = Open([](EngineOptions&) {});
  const Answer deployment = Write(
      *plain,
      {.group = "apps", .version = "v1", .resource = "deployments", .ns = "team", .name = "d"},
      R"({"spec":{"replicas":2}})");
  ASSERT_EQ(deployment.code, 200) << deployment.message;
  EXPECT_EQ(
      deployment.object["metadata"]["annotations"]["deprecated.deployment.rollback.to"].AsString(),
      "3");
  const Answer webhook = Write(*plain,
                               {.group = "admissionregistration.k8s.io",
                                .version = "v1",
                                .resource = "validatingwebhookconfigurations",
                                .name = "w"},
                               R"({"metadata":{"labels":{"a":"b"}}})");
  ASSERT_EQ(webhook.code, 200) << webhook.message;
  EXPECT_EQ(webhook.object["webhooks"][std::size_t{0}]["sideEffects"].AsString(), "Unknown");
  EXPECT_EQ(webhook.object["webhooks"][std::size_t{0}]["failurePolicy"].AsString(), "Ignore");
}

// I-24: the plugin polls nothing, hence there is no listing that fails: while the disk is full, what
// is configured applies, and a configuration that could not be stored does not.
TEST_F(LegacyFlags, InitializersStayInForceWhileTheStoreFails) {
  Furnish();
  const auto engine = Open([](EngineOptions& options) {
    options.admission_plugins.enable = {"Initializers"};
    options.runtime_config[std::string(kApi)] = true;
  });
  ASSERT_EQ(Configure(*engine, "initializerconfigurations", kInitializer).code, 201);
  fails_ = true;
  std::string later(kInitializer);
  later.replace(later.find("cfg"), 3, "new").replace(later.find("a.init"), 6, "b.init");
  EXPECT_EQ(Configure(*engine, "initializerconfigurations", later).code, 500);
  EXPECT_EQ(PendingOf(Create(*engine, "pods", kNamedPod, true)), R"([{"name":"a.init.test.io"}])");
  EXPECT_EQ(Create(*engine, "pods", kNamedPod).message,
            "Internal error occurred: no space left on device");
}

// A create that waits for initializers when the server ends; its object is stored (section 2.8).
TEST_F(LegacyFlags, ACreateThatWaitsEndsWithTheServer) {
  Furnish();
  const auto end = [&](const Engine& engine, std::string_view name) {
    const std::atomic<bool> ending{true};
    World world = engine.world();
    world.ending = &ending;
    Operation op(world);
    EXPECT_TRUE(Resolve(op, {.version = "v1", .resource = "pods", .ns = "team"}).ok());
    op.verb = Verb::kCreate;
    op.user.name = "admin";
    op.user.groups = {"system:masters"};
    const std::string body =
        base::StrCat(R"({"metadata":{"name":")", name,
                     R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    Input input;
    input.body = body;
    const auto outcome = engine::Write(op, input);
    EXPECT_FALSE(outcome.ok());
    EXPECT_NE(store_.Get({"", "pods", "team", name}), nullptr);
    return base::StrCat(std::to_string(outcome.status().http_code()), " ",
                        outcome.status().message());
  };
  const auto newest = Open([](EngineOptions& options) {
    options.admission_plugins.enable = {"Initializers"};
    options.runtime_config[std::string(kApi)] = true;
  });
  ASSERT_EQ(Configure(*newest, "initializerconfigurations", kInitializer).code, 201);
  EXPECT_EQ(end(*newest, "p"),
            "504 Timeout: server has timed out waiting for the initialization of pods p");
  const auto oldest = OpenOrdered({"Initializers"});
  EXPECT_EQ(end(*oldest, "q"),
            "500 The create operation against pods could not be completed at this time, please try "
            "again.");
}

// W-27: likewise.
TEST_F(LegacyFlags, HooksStayInForceWhileTheStoreFails) {
  Furnish();
  const auto engine = Open([](EngineOptions& options) {
    options.admission_plugins.enable = {"GenericAdmissionWebhook"};
    options.runtime_config[std::string(kApi)] = true;
  });
  ASSERT_EQ(Configure(*engine, "externaladmissionhookconfigurations", kHook).code, 201);
  fails_ = true;
  const Answer refused = Create(*engine, "pods", kNamedPod);
  EXPECT_EQ(refused.code, 500);
  EXPECT_TRUE(refused.message.starts_with("failed calling admission webhook \"a.guard.test.io\": "))
      << refused.message;
}

}  // namespace
}  // namespace portcullis::engine

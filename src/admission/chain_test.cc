// SPDX-License-Identifier: Apache-2.0

#include "admission/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/errors.h"
#include "admission/survey.h"

namespace portcullis::admission {
namespace {

using ::testing::ElementsAre;

// Plugins that leave a trace of having been asked in the request's warnings.
class Tracing : public Plugin {
 public:
  explicit Tracing(std::string name) : name_(std::move(name)) {}
  base::Status Mutate(Request& request) const override {
    request.Warn(name_ + (request.reinvocation().is_reinvoke() ? " again" : " mutates"));
    return base::OkStatus();
  }
  base::Status Validate(const Request& request) const override {
    request.Warn(name_ + " validates");
    return base::OkStatus();
  }

 private:
  const std::string name_;
};

class Reinvoking final : public Tracing {
 public:
  using Tracing::Tracing;
  base::Status Mutate(Request& request) const override {
    request.reinvocation().RequestReinvocation();
    return Tracing::Mutate(request);
  }
};

class Refusing final : public Tracing {
 public:
  using Tracing::Tracing;
  base::Status Validate(const Request& request) const override {
    return Forbidden(request, "not today");
  }
};

template <typename T>
base::Result<std::unique_ptr<Plugin>> Make(const PluginContext& context) {
  return std::unique_ptr<Plugin>(std::make_unique<T>(std::string(context.name)));
}

constexpr PluginInfo kFirst = {.name = "first",
                               .phases = kMutate | kValidate,
                               .operations = kCreate,
                               .create = &Make<Tracing>};
constexpr PluginInfo kReinvoking = {
    .name = "second", .phases = kMutate, .operations = kCreate, .create = &Make<Reinvoking>};
constexpr PluginInfo kRefusing = {
    .name = "third", .phases = kValidate, .operations = kCreate, .create = &Make<Refusing>};
constexpr PluginInfo kLast = {
    .name = "last", .phases = kValidate, .operations = kAllOperations, .create = &Make<Tracing>};

struct World {
  explicit World(std::initializer_list<const PluginInfo*> plugins) {
    auto made = Chain::Create(std::vector<const PluginInfo*>(plugins), {}, {});
    chain = std::move(made).value();
  }
  Request NewRequest(Operation operation = kCreate) {
    Attributes attributes;
    attributes.operation = operation;
    attributes.resource = {"", "v1", "pods"};
    attributes.name = "p";
    return Request(std::move(attributes), arena, recorder);
  }
  json::Arena arena;
  Recorder recorder;
  std::unique_ptr<Chain> chain;
};

TEST(ChainTest, RunsTheMutatingPassTwiceWhenAsked) {
  World world({&kFirst, &kReinvoking});
  Request request = world.NewRequest();
  EXPECT_TRUE(world.chain->Mutate(request).ok());
  EXPECT_THAT(world.recorder.warnings(),
              ElementsAre("first mutates", "second mutates", "first again", "second again"));
}

TEST(ChainTest, StopsAtTheFirstRefusal) {
  World world({&kFirst, &kRefusing, &kLast});
  const Request request = world.NewRequest();
  EXPECT_EQ(world.chain->Validate(request).message(), "pods \"p\" is forbidden: not today");
  EXPECT_THAT(world.recorder.warnings(), ElementsAre("first validates"));
}

TEST(ForbiddenTest, PassesOnWhatIsForbiddenAlready) {
  World world({});
  const Request request = world.NewRequest();
  const auto text = [&](int code, std::string reason) {
    return Forbidden(request, base::Status::Custom(code, std::move(reason), "no")).message();
  };
  EXPECT_EQ(text(200, "Forbidden"), "no");
  EXPECT_EQ(text(403, ""), "no");
  EXPECT_EQ(text(403, "Odd"), "no");
  EXPECT_EQ(text(403, "NotFound"), "pods \"p\" is forbidden: no");
  EXPECT_EQ(text(500, "Odd"), "pods \"p\" is forbidden: no");
}

TEST(ChainTest, ASurveyAsksThePluginsBehindARefusalToo) {
  World world({&kFirst, &kRefusing, &kLast});
  const Request request = world.NewRequest();
  Survey survey;
  world.recorder.set_survey(&survey);
  EXPECT_TRUE(world.chain->Validate(request).ok());
  EXPECT_THAT(world.recorder.warnings(), ElementsAre("first validates", "last validates"));
  EXPECT_EQ(survey.first().message(), "pods \"p\" is forbidden: not today");
  ASSERT_EQ(survey.refusals().size(), 1U);
  EXPECT_EQ(survey.refusals()[0].actor.name, "third");
  // A plugin that has refused in one phase is not heard twice.
  EXPECT_TRUE(world.chain->Validate(request).ok());
  EXPECT_EQ(survey.refusals().size(), 1U);
}

TEST(ChainTest, PassesOverOtherOperations) {
  World world({&kFirst, &kRefusing, &kLast});
  const Request request = world.NewRequest(kDelete);
  EXPECT_TRUE(world.chain->Validate(request).ok());
  EXPECT_THAT(world.recorder.warnings(), ElementsAre("last validates"));
  EXPECT_FALSE(world.chain->Handles(kDelete, kMutate));
}

// docs/legacy.md, F-1 and F-2: v1.7 and v1.8 run plugins in one pass, in the order of
// --admission-control. What stands before a refusal has been done, what stands behind it has not.
TEST(ChainTest, InOnePhaseEachPluginChangesAndJudgesInItsTurn) {
  const auto release = release::Release::Open("1.8").value();
  PluginContext context;
  context.release = &release;
  const PluginInfo* const plugins[] = {&kFirst, &kRefusing, &kReinvoking};
  World world({});
  world.chain = Chain::Create(plugins, {}, context).value();
  Request request = world.NewRequest();
  EXPECT_FALSE(world.chain->Mutate(request).ok());
  EXPECT_THAT(world.recorder.warnings(), ElementsAre("first mutates", "first validates"));
  EXPECT_FALSE(world.chain->Handles(kCreate, kValidate));
  EXPECT_FALSE(world.chain->Handles(kDelete, kMutate));
  EXPECT_TRUE(world.chain->Validate(request).ok());
}

TEST(ChainTest, DescribesItself) {
  const World world({&kFirst, &kReinvoking});
  EXPECT_EQ(world.chain->LoadedLine(kMutate),
            "Loaded 2 mutating admission controller(s) successfully in the following order: "
            "first,second.");
}

}  // namespace
}  // namespace portcullis::admission

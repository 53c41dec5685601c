// SPDX-License-Identifier: Apache-2.0

// The steps of webhooks in a trace, also of those that are not called. No webhook answers here:
// what calls come to is told by golden traces (tests/conformance/traces).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/catalog_objects.h"
#include "admission/match/conditions.h"
#include "admission/store_feed.h"
#include "api/catalog/catalog.h"
#include "base/clock.h"
#include "base/fiber.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/reader.h"
#include "json/writer.h"
#include "store/memory/memory_store.h"
#include "webhook/mutating_dispatcher.h"
#include "webhook/validating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis::webhook {
namespace {

// Conditions that are "true", "false" or the text of an error, each at a cost of 5 and of so much time.
class FakeConditions final : public admission::match::ConditionEvaluator {
 public:
  using Conditions = std::vector<admission::match::MatchCondition>;
  explicit FakeConditions(base::FakeClock& clock) : clock_(clock) {}
  void set_time(base::Duration time) { time_ = time; }

  std::shared_ptr<const admission::match::ConditionProgram> Compile(
      Conditions conditions) const override {
    return std::make_shared<Program>(*this, std::move(conditions));
  }

 private:
  class Program final : public admission::match::ConditionProgram {
   public:
    Program(const FakeConditions& fake, Conditions conditions)
        : fake_(fake), conditions_(std::move(conditions)) {}
    admission::match::ConditionOutcome Evaluate(
        const admission::match::ConditionInput&) const override {
      admission::match::ConditionOutcome outcome;
      for (const auto& condition : conditions_) {
        outcome.cost += 5;
        fake_.clock_.Advance(fake_.time_);
        if (condition.expression == "true") continue;
        if (condition.expression == "false") {
          outcome.verdict = admission::match::ConditionOutcome::Verdict::kNoMatch;
          outcome.failed_condition = condition.name;
        } else {
          outcome.verdict = admission::match::ConditionOutcome::Verdict::kError;
          outcome.error = condition.expression;
        }
        return outcome;
      }
      return outcome;
    }

   private:
    const FakeConditions& fake_;
    const Conditions conditions_;
  };

  base::FakeClock& clock_;
  base::Duration time_{};
};

class HookStepsTest : public ::testing::Test {
 protected:
  HookStepsTest() : feed_(admission::MakeStoreFeed(*store_)) {
    Put("", "namespaces", R"({"metadata":{"name":"team","labels":{"env":"test"}}})");
  }

  void Put(std::string_view group, std::string_view resource, std::string_view text) {
    json::Arena arena;
    json::Value object = json::Parse(arena, text).value();
    const std::string name(object["metadata"]["name"].AsString());
    object =
        json::SetPath(arena, object, {"metadata", "resourceVersion"}, json::Value::StringView(""));
    store::Encoded encoded;
    encoded.bytes = json::ToString(object);
    encoded.revision_at = encoded.bytes.find(R"("resourceVersion":")") + 19;
    (void)store_->Delete({group, resource, "", name}, {});
    ASSERT_TRUE(store_->Create({group, resource, "", name}, std::move(encoded)).ok());
  }

  // The webhook w of configuration c, with members that replace those of one that matches creates
  // of config maps.
  void Configure(HookType type, std::string_view more) {
    json::Arena arena;
    const json::Value base =
        json::Parse(arena,
                    R"({"name":"w.example.com","clientConfig":{"url":"https://127.0.0.1:9/"},)"
                    R"("rules":[{"operations":["CREATE"],"apiGroups":[""],)"
                    R"("apiVersions":["v1"],"resources":["configmaps"]}],)"
                    R"("namespaceSelector":{},"objectSelector":{},"sideEffects":"None",)"
                    R"("failurePolicy":"Fail","admissionReviewVersions":["v1"]})")
            .value();
    json::ObjectBuilder hook(arena, base);
    const json::Value changes = json::Parse(arena, more).value();
    for (const json::Member& member : changes.members()) hook.Set(member.name(), member.value);
    Put("admissionregistration.k8s.io",
        type == HookType::kMutating ? "mutatingwebhookconfigurations"
                                    : "validatingwebhookconfigurations",
        base::StrCat(R"({"metadata":{"name":"c"},"webhooks":[)", json::ToString(hook.Build()),
                     "]}"));
  }

  admission::Attributes ConfigMap() {
    admission::Attributes attributes;
    attributes.resource = {"", "v1", "configmaps"};
    attributes.kind = {"", "v1", "ConfigMap"};
    attributes.namespace_name = "team";
    attributes.name = "m";
    attributes.object = json::Parse(arena_, R"({"apiVersion":"v1","kind":"ConfigMap",)"
                                            R"("metadata":{"name":"m","namespace":"team",)"
                                            R"("labels":{"app":"a"}},"data":{"x":"1"}})")
                            .value();
    return attributes;
  }

  // "outcome reason: message" of each webhook's step, in order.
  std::string Steps(HookType type, admission::Attributes attributes, int passes = 1) {
    admission::PluginContext context;
    context.reader = store_.get();
    context.feed = feed_.get();
    context.objects = &objects_;
    context.conditions = &conditions_;
    context.clock = &clock_;
    const auto core = WebhookPluginCore::Create(context, type).value();
    admission::Recorder recorder;
    admission::Trace trace(base::SystemClock());
    recorder.set_trace(&trace);
    admission::Request request(std::move(attributes), arena_, recorder);
    for (int pass = 0; pass < passes; ++pass) {
      if (pass == 1) request.reinvocation().BeginSecondPass();
      const bool mutating = type == HookType::kMutating;
      trace.BeginPlugin(request, "plugin", mutating ? admission::kMutate : admission::kValidate);
      const auto hooks = core->HooksFor(request);
      base::Status status;
      if (hooks != nullptr && mutating) {
        status = DispatchMutating(core->services(), *hooks, request);
      } else if (hooks != nullptr) {
        status = DispatchValidating(core->services(), *hooks, request);
      }
      trace.EndPlugin(request, status);
    }
    std::string out;
    for (const admission::TraceStep& step : trace.steps()) {
      const bool is_hook = step.actor.kind == admission::TraceActor::Kind::kWebhook;
      if (!is_hook && step.reason == admission::TraceReason::kNone) continue;
      out += base::StrCat(out.empty() ? "" : "\n", OutcomeText(step.outcome), " ",
                          ReasonText(step.reason), ": ", step.message);
    }
    return out;
  }

  json::Arena arena_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  std::unique_ptr<admission::ObjectFeed> feed_;
  std::shared_ptr<const api::catalog::Catalog> catalog_ =
      api::catalog::Catalog::BuiltIn({}).value();
  admission::CatalogObjects objects_{[this] { return catalog_; }, nullptr};
  base::FakeClock clock_;
  FakeConditions conditions_{clock_};
};

constexpr std::string_view kNoClient =
    "failed calling webhook \"w.example.com\": could not get REST client: this process has no "
    "client "
    "for calls";

TEST_F(HookStepsTest, SayWhyAWebhookIsNotCalled) {
  const struct {
    std::string_view hook;
    std::string step;
  } facts[] = {
      {R"({"rules":[{"operations":["UPDATE"],"apiGroups":[""],"apiVersions":["v1"],)"
       R"("resources":["configmaps"]}]})",
       "Skipped Rules: rules[0]: operations [UPDATE] do not include CREATE"},
      {R"({"rules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],)"
       R"("resources":["deployments"]}]})",
       "Skipped Rules: rules[0]: apiGroups [apps] do not include \"\""},
      {R"({"namespaceSelector":{"matchLabels":{"env":"prod"}}})",
       "Skipped NamespaceSelector: namespaceSelector \"env=prod\" does not select namespace team "
       "(labels env=test)"},
      {R"({"objectSelector":{"matchLabels":{"app":"b"}}})",
       "Skipped ObjectSelector: objectSelector \"app=b\" does not select the object (labels "
       "app=a)"},
      {R"({"matchConditions":[{"name":"yes","expression":"true"},)"
       R"({"name":"no","expression":"false"}]})",
       "Skipped MatchConditions: \"no\" is false"},
      {R"({"failurePolicy":"Ignore","matchConditions":[{"name":"bad","expression":"no such key"}]})",
       "Skipped MatchConditions: no such key (failurePolicy Ignore passes over it)"},
      {R"({"matchConditions":[{"name":"bad","expression":"no such key"}]})",
       "Denied MatchConditions: configmaps \"m\" is forbidden: no such key"},
      {"{}", base::StrCat("Failed FailurePolicy: ", kNoClient)},
      {R"({"failurePolicy":"Ignore"})", base::StrCat("FailedOpen FailurePolicy: ", kNoClient)},
  };
  for (const HookType type : {HookType::kMutating, HookType::kValidating}) {
    for (const auto& fact : facts) {
      Configure(type, fact.hook);
      EXPECT_EQ(Steps(type, ConfigMap()), fact.step) << fact.hook;
    }
  }
}

TEST_F(HookStepsTest, MoveTheirFiberIfConditionsTakeLong) {
  if (!base::Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
  Configure(HookType::kMutating, R"({"matchConditions":[{"name":"no","expression":"false"}]})");
  const std::string expected = Steps(HookType::kMutating, ConfigMap(), 2);
  for (const base::Duration time : {base::Duration(0), base::Duration(base::Fiber::kLong)}) {
    conditions_.set_time(time);
    base::FiberStacks stacks;
    std::function<void()> go_on;
    std::string steps;
    base::Fiber::Run(stacks, [&] {
      base::Fiber::Current()->set_elsewhere(
          [&](std::function<void()> run) { go_on = std::move(run); });
      steps = Steps(HookType::kMutating, ConfigMap(), 2);
    });
    EXPECT_EQ(go_on != nullptr, time != base::Duration(0));
    if (go_on != nullptr) go_on();
    EXPECT_EQ(steps, expected);
  }
}

TEST_F(HookStepsTest, SayWhyADryRunIsRefused) {
  for (const HookType type : {HookType::kMutating, HookType::kValidating}) {
    Configure(type, R"({"sideEffects":"Some","failurePolicy":"Ignore"})");
    admission::Attributes attributes = ConfigMap();
    attributes.dry_run = true;
    EXPECT_EQ(Steps(type, std::move(attributes)),
              "Failed SideEffects: admission webhook \"w.example.com\" does not support dry run");
  }
}

TEST_F(HookStepsTest, NameTheVersionThatMatchPolicyExactLeavesOut) {
  constexpr std::string_view kRules =
      R"("rules":[{"operations":["*"],"apiGroups":["autoscaling"],"apiVersions":["v1"],)"
      R"("resources":["horizontalpodautoscalers"]}])";
  admission::Attributes attributes = ConfigMap();
  attributes.resource = {"autoscaling", "v2", "horizontalpodautoscalers"};
  attributes.kind = {"autoscaling", "v2", "HorizontalPodAutoscaler"};
  Configure(HookType::kValidating, base::StrCat(R"({"matchPolicy":"Exact",)", kRules, "}"));
  EXPECT_EQ(Steps(HookType::kValidating, attributes),
            "Skipped MatchPolicy: the rules match these objects as autoscaling/v1, "
            "Resource=horizontalpodautoscalers, but matchPolicy is Exact and the request is about "
            "autoscaling/v2, Resource=horizontalpodautoscalers");
}

TEST_F(HookStepsTest, SayWhyTheSecondPassLeavesAWebhookOut) {
  Configure(HookType::kMutating, R"({"failurePolicy":"Ignore","reinvocationPolicy":"Never"})");
  EXPECT_EQ(Steps(HookType::kMutating, ConfigMap(), 2),
            base::StrCat("FailedOpen FailurePolicy: ", kNoClient,
                         "\nSkipped ReinvocationPolicy: reinvocationPolicy is Never"));
  Configure(HookType::kMutating, R"({"failurePolicy":"Ignore","reinvocationPolicy":"IfNeeded"})");
  EXPECT_EQ(Steps(HookType::kMutating, ConfigMap(), 2),
            base::StrCat("FailedOpen FailurePolicy: ", kNoClient,
                         "\nSkipped ReinvocationPolicy: the object has not changed since this "
                         "webhook was called"));
}

TEST_F(HookStepsTest, SayThatConfigurationsAreExempt) {
  Configure(HookType::kValidating, "{}");
  admission::Attributes attributes = ConfigMap();
  attributes.resource = {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"};
  attributes.kind = {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"};
  EXPECT_EQ(Steps(HookType::kValidating, std::move(attributes)),
            "Allowed Exempt: webhooks of the API are not asked about webhook configurations and "
            "policies");
}

TEST_F(HookStepsTest, AreNotMadeWithoutATrace) {
  Configure(HookType::kValidating, R"({"rules":[{"operations":["UPDATE"],"apiGroups":[""],)"
                                   R"("apiVersions":["v1"],"resources":["configmaps"]}]})");
  admission::PluginContext context;
  context.reader = store_.get();
  context.feed = feed_.get();
  const auto core = WebhookPluginCore::Create(context, HookType::kValidating).value();
  admission::Recorder recorder;
  const admission::Request request(ConfigMap(), arena_, recorder);
  EXPECT_EQ(core->HooksFor(request), nullptr);
}

}  // namespace
}  // namespace portcullis::webhook

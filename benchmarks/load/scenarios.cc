// SPDX-License-Identifier: Apache-2.0

#include "scenarios.h"

#include <cstdio>
#include <ctime>

#include "base/random.h"
#include "base/strings.h"
#include "objects.h"
#include "watchers.h"

namespace portcullis::load {
namespace {

constexpr std::string_view kRegistration = "/apis/admissionregistration.k8s.io/v1/";
// Between the requests of a scenario that is paced.
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000'000};
// Other servers see new configurations only after a while.
constexpr timespec kSettle{.tv_sec = 1, .tv_nsec = 500'000'000};

// Prepares one scenario and undoes it on destruction.
class Stage {
 public:
  Stage(const Scenario& scenario, const Target& target, const WebhookServer& webhooks)
      : scenario_(scenario),
        target_(target),
        webhooks_(webhooks),
        namespace_(base::StrCat("load-", base::RandomSuffix(6))) {}

  ~Stage() {
    // One by one but many at once: servers take their time over a whole collection.
    const bool listed = scenario_.work == Work::kGet || scenario_.work == Work::kList;
    watchers_.reset();
    RunEach(
        target_, 16, listed ? static_cast<std::size_t>(scenario_.objects) : objects_,
        [&](std::size_t number) {
          return target_.Request(
              "DELETE",
              base::StrCat(Collection(scenario_.work == Work::kCreatePod ? "pods" : "configmaps"),
                           listed ? "/listed-" : "/o-", std::to_string(number),
                           "?gracePeriodSeconds=0"));
        });
    for (auto path = created_.rbegin(); path != created_.rend(); ++path) target_.Delete(*path);
  }

  base::Status Prepare() {
    TRY(Make("/api/v1/namespaces",
             base::StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")",
                          namespace_, R"("}})"),
             namespace_));
    if (scenario_.work == Work::kCreatePod) {
      // Where no controller makes it, the plugin ServiceAccount would refuse the pods.
      TRY(target_.Create(
          Collection("serviceaccounts"),
          R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})"));
    }
    TRY(MakeObjects());
    TRY(MakeWebhooks("validating", scenario_.validating_webhooks, "configmaps"));
    TRY(MakeWebhooks("mutating", scenario_.mutating_webhooks, "configmaps"));
    for (int made = 0; made < scenario_.idle_webhooks; made += 100) {
      TRY(MakeWebhooks("validating", std::min(100, scenario_.idle_webhooks - made), "widgets"));
    }
    TRY(MakePolicies(scenario_.policies, "configmaps"));
    TRY(MakePolicies(scenario_.idle_policies, "widgets"));
    nanosleep(&kSettle, nullptr);
    TRY(StartWatchers());
    if (scenario_.policies > 0 && Refused("refused-0") != 422) {
      return base::ConfigError("the server does not enforce the policies");
    }
    return base::OkStatus();
  }

  // After the load: how many objects it has made.
  void SetObjects(std::size_t count) {
    objects_ = count;
    if (watchers_ == nullptr || watchers_->ended() == 0) return;
    std::fprintf(stderr, "%s: ended %zu of %d watches, so its figures say little\n",
                 target_.options().name.c_str(), watchers_->ended(), scenario_.watchers);
  }

  net::ClientRequest Request(std::size_t number) const {
    if (scenario_.paced) nanosleep(&kPause, nullptr);
    return In(*scenario_.encoding, Unencoded(number));
  }

 private:
  net::ClientRequest Unencoded(std::size_t number) const {
    const std::string name = base::StrCat("o-", std::to_string(number));
    switch (scenario_.work) {
      case Work::kCreateConfigMap:
        return Post("configmaps", ConfigMapText(name));
      case Work::kCreatePod:
        return Post("pods", PodText(name));
      case Work::kGet:
        return target_.Request(
            "GET",
            base::StrCat(Collection("configmaps"), "/listed-",
                         std::to_string(number % static_cast<std::size_t>(scenario_.objects))));
      case Work::kList:
        break;
    }
    return target_.Request("GET", Collection("configmaps"));
  }

  net::ClientRequest Post(std::string_view resource, std::string_view object) const {
    return target_.Request("POST", Collection(resource),
                           std::make_shared<const std::string>(scenario_.encoding->encode(object)));
  }

  std::string Collection(std::string_view resource) const {
    return base::StrCat("/api/v1/namespaces/", namespace_, "/", resource);
  }

  base::Status Make(std::string_view collection, const std::string& body, std::string_view name) {
    TRY(target_.Create(collection, body));
    created_.push_back(base::StrCat(collection, "/", name));
    return base::OkStatus();
  }

  int Refused(std::string_view name) const {
    return target_.Call("POST", Collection("configmaps"), ConfigMapText(name));
  }

  base::Status MakeObjects() {
    if (scenario_.work != Work::kGet && scenario_.work != Work::kList) return base::OkStatus();
    for (int i = 0; i < scenario_.objects; ++i) {
      TRY(target_.Create(Collection("configmaps"),
                         ConfigMapText(base::StrCat("listed-", std::to_string(i)))));
    }
    return base::OkStatus();
  }

  base::Status StartWatchers() {
    if (scenario_.watchers == 0) return base::OkStatus();
    watchers_ = TRY(Watchers::Create(target_.options(), WatchProtocol::kHttp1));
    TRY(watchers_->AddMany(base::StrCat(Collection("configmaps"), "?watch=1"),
                           static_cast<std::size_t>(scenario_.watchers)));
    return watchers_->StartReading();
  }

  base::Status MakeWebhooks(std::string_view kind, int count, std::string_view resource) {
    if (count == 0) return base::OkStatus();
    const bool mutating = kind == "mutating";
    const std::string name = base::StrCat("load-", base::RandomSuffix(8));
    std::vector<std::string> hooks;
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      const auto path = mutating ? base::StrCat("/patch/", number) : std::string("/allow");
      hooks.push_back(base::StrCat(
          R"({"name":"h)", number, R"(.example.com","clientConfig":{"url":")", webhooks_.Url(path),
          R"(","caBundle":")", base::Base64Encode(webhooks_.ca_pem()),
          R"("},"rules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["v1"],)",
          R"("resources":[")", resource,
          R"("]}],"admissionReviewVersions":["v1"],"sideEffects":"None","timeoutSeconds":10})"));
    }
    return Make(base::StrCat(kRegistration, kind, "webhookconfigurations"),
                base::StrCat(R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")",
                             mutating ? "Mutating" : "Validating",
                             R"(WebhookConfiguration","metadata":{"name":")", name,
                             R"("},"webhooks":[)", base::Join(hooks, ","), "]}"),
                name);
  }

  base::Status MakePolicies(int count, std::string_view resource) {
    for (int i = 0; i < count; ++i) {
      const std::string name = base::StrCat("load-", base::RandomSuffix(8));
      const auto head = [&](std::string_view kind) {
        return base::StrCat(R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")", kind,
                            R"(","metadata":{"name":")", name, R"("},"spec":)");
      };
      TRY(Make(base::StrCat(kRegistration, "validatingadmissionpolicies"),
               base::StrCat(
                   head("ValidatingAdmissionPolicy"),
                   R"({"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":)",
                   R"(["*"],"apiVersions":["v1"],"resources":[")", resource,
                   R"("]}]},"validations":[{"expression":"object.metadata.name != 'refused-)",
                   std::to_string(i), R"('"}]}})"),
               name));
      TRY(Make(base::StrCat(kRegistration, "validatingadmissionpolicybindings"),
               base::StrCat(head("ValidatingAdmissionPolicyBinding"), R"({"policyName":")", name,
                            R"(","validationActions":["Deny"]}})"),
               name));
    }
    return base::OkStatus();
  }

  const Scenario& scenario_;
  const Target& target_;
  const WebhookServer& webhooks_;
  const std::string namespace_;
  std::unique_ptr<Watchers> watchers_;
  std::size_t objects_ = 0;
  std::vector<std::string> created_;  // paths to delete, last first
};

}  // namespace

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> kScenarios = {
      {.name = "create-configmap",
       .summary = "create a ConfigMap of 1 KB; no webhook, no policy",
       .recorded = {1279, 11.5, 35, 1.47}},
      {.name = "create-pod",
       .summary = "create a Pod of 2 KB with the default plugins",
       .work = Work::kCreatePod,
       .recorded = {707, 20, 65, 2.53}},
      {.name = "create-pod-protobuf",
       .summary = "create a Pod of 2 KB, in protobuf",
       .work = Work::kCreatePod,
       .encoding = &kProtobuf,
       .recorded = {}},
      {.name = "get", .summary = "get a ConfigMap of 1 KB", .work = Work::kGet, .recorded = {}},
      {.name = "list",
       .summary = "list 500 ConfigMaps of 1 KB",
       .work = Work::kList,
       .recorded = {}},
      {.name = "list-protobuf",
       .summary = "list 500 ConfigMaps of 1 KB, in protobuf",
       .work = Work::kList,
       .encoding = &kProtobuf,
       .recorded = {}},
      {.name = "list-5000",
       .summary = "list 5,000 ConfigMaps of 1 KB",
       .work = Work::kList,
       .objects = 5000,
       .recorded = {}},
      {.name = "watchers-1000",
       .summary = "create a ConfigMap, 20 a second, that 1,000 watchers wait for",
       .watchers = 1000,
       .paced = true,
       .recorded = {}},
      {.name = "watchers-1000-burst",
       .summary = "create a ConfigMap, as fast as it goes, that 1,000 watchers wait for",
       .watchers = 1000,
       .recorded = {}},
      {.name = "validating-1",
       .summary = "create a ConfigMap; 1 validating webhook matches",
       .validating_webhooks = 1,
       .recorded = {864, 17, 51, 1.96}},
      {.name = "validating-10",
       .summary = "create a ConfigMap; 10 validating webhooks match",
       .validating_webhooks = 10,
       .recorded = {294, 48, 125, 5.06}},
      {.name = "mutating-1",
       .summary = "create a ConfigMap; 1 mutating webhook patches",
       .mutating_webhooks = 1,
       .recorded = {597, 25, 70, 2.74}},
      {.name = "mutating-5",
       .summary = "create a ConfigMap; 5 mutating webhooks patch",
       .mutating_webhooks = 5,
       .recorded = {276, 53, 135, 5.88}},
      {.name = "webhooks-1000-idle",
       .summary = "create a ConfigMap; 1,000 webhooks configured, none matches",
       .idle_webhooks = 1000,
       .recorded = {444, 32, 104, 2.45}},
      {.name = "policies-1",
       .summary = "create a ConfigMap; 1 ValidatingAdmissionPolicy matches",
       .policies = 1,
       .recorded = {618, 22, 87, 2.67}},
      {.name = "policies-50",
       .summary = "create a ConfigMap; 50 ValidatingAdmissionPolicies match",
       .policies = 50,
       .recorded = {87, 155, 525, 22.2}},
      {.name = "policies-256",
       .summary = "create a ConfigMap; 256 ValidatingAdmissionPolicies match",
       .policies = 256,
       .recorded = {16, 844, 1266, 120}},
      {.name = "policies-1000-idle",
       .summary = "create a ConfigMap; 1,000 policies configured, none matches",
       .idle_policies = 1000,
       .recorded = {474, 33, 92, 3.03}},
  };
  return kScenarios;
}

base::Result<ScenarioResult> RunScenario(const Scenario& scenario, const Target& target,
                                         const WebhookServer& webhooks, const RunOptions& options) {
  Stage stage(scenario, target, webhooks);
  TRY(stage.Prepare());
  const std::size_t calls_before = webhooks.calls();
  ScenarioResult result;
  result.figures =
      RunLoad(target, options, [&](std::size_t number) { return stage.Request(number); });
  const std::size_t requests = result.figures.highest_number;
  stage.SetObjects(requests);
  if (requests > 0) {
    result.webhook_calls_per_request =
        static_cast<double>(webhooks.calls() - calls_before) / static_cast<double>(requests);
  }
  return result;
}

base::Result<ScenarioDuel> RunScenarioInTurn(const Scenario& scenario, const Target& first,
                                             const Target& second, const WebhookServer& webhooks,
                                             const RunOptions& options) {
  // What watchers are still to get when a slice ends is the next one's: long slices make it small.
  const double slice_seconds = scenario.watchers > 0 ? 1 : 0.15;
  Stage one(scenario, first, webhooks);
  Stage other(scenario, second, webhooks);
  TRY(one.Prepare());
  TRY(other.Prepare());
  const std::size_t calls_before = webhooks.calls();
  const Duel duel = Alternate(
      {&second, [&](std::size_t number) { return other.Request(number); }},
      {&first, [&](std::size_t number) { return one.Request(number); }}, options.connections,
      std::max(1, static_cast<int>(options.seconds / slice_seconds)), slice_seconds);
  one.SetObjects(duel.second.highest_number);
  other.SetObjects(duel.first.highest_number);
  // Both servers call the same webhooks: what is known is the mean of the two.
  const std::size_t requests = duel.first.highest_number + duel.second.highest_number;
  const double calls = requests == 0 ? 0
                                     : static_cast<double>(webhooks.calls() - calls_before) /
                                           static_cast<double>(requests);
  return ScenarioDuel{{duel.second, calls}, {duel.first, calls}, duel.cpu, duel.rate};
}

}  // namespace portcullis::load

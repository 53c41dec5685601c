// SPDX-License-Identifier: Apache-2.0

// Any text as an expression of a policy, evaluated on a pod with every variable bound: a value or
// an error within the budget, whatever the expression does.
#include <cstdlib>

#include "json/reader.h"
#include "kube_cel/access.h"
#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"

namespace cel = portcullis::cel;
namespace json = portcullis::json;
namespace kube_cel = portcullis::kube_cel;

namespace {

constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","namespace":"default","labels":
    {"app":"web","k8s.io/tier":"ü"},"creationTimestamp":"2024-02-29T23:59:60Z","finalizers":[]},
    "spec":{"replicas":3,"ratio":0.5,"on":true,"none":null,"host":"10.0.0.1","net":"10.0.0.0/8",
    "memory":"1.5Gi","version":"1.2.3-rc.1","url":"https://u@h:80/p?q=1&q=2","big":1e300,
    "containers":[{"name":"a","image":"r/i:1","ports":[{"port":80}]},{"name":"b"}]}})";

class Even final : public kube_cel::AccessChecker {
 public:
  const kube_cel::AccessAnswer& Check(const kube_cel::AccessQuestion& question) override {
    answer_.allowed = (question.verb.size() + question.name.size()) % 2 == 0;
    answer_.error = question.group;
    return answer_;
  }

 private:
  kube_cel::AccessAnswer answer_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static kube_cel::Compiler compiler;
  static json::Arena pod_arena;
  static const json::Value pod = json::Parse(pod_arena, kPod).value();
  static const auto scope =
      compiler.EnvironmentOf({.params = true, .authorizer = true, .mutation = true});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expression = kube_cel::Compiler::CompileIn(scope, text, kube_cel::Expected::kAnything);
  if (!expression->ok()) return 0;
  json::Arena arena;
  portcullis::api::UserInfo user;
  user.name = "alice";
  Even checker;
  kube_cel::Inputs inputs;
  for (const auto input : {kube_cel::Input::kObject, kube_cel::Input::kOldObject,
                           kube_cel::Input::kRequest, kube_cel::Input::kParams}) {
    inputs.Set(input, cel::Value::FromJson(&pod));
  }
  inputs.Set(kube_cel::Input::kNamespaceObject, cel::Value::Null());
  inputs.Set(kube_cel::Input::kAuthorizer, kube_cel::MakeAuthorizer(arena, checker, user));
  kube_cel::Evaluation evaluation(arena, inputs);
  kube_cel::Budget budget(kube_cel::kPolicyBudget);
  const kube_cel::Evaluated result = evaluation.Evaluate(*expression, budget);
  if (result.ok()) {
    (void)cel::DebugString(result.value);
    (void)cel::PlainText(result.value);
    (void)cel::ToJson(arena, result.value);
  } else if (result.error.empty() && !result.out_of_budget) {
    std::abort();
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0

#include "controllers/policy_status.h"

#include <algorithm>

#include "api/stored_size.h"
#include "base/strings.h"
#include "json/reader.h"
#include "kube_cel/policy_types.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::string_view kPolicies = "validatingadmissionpolicies";

// Not the object's own document, which would stay in memory as long as the object.
json::Value Parsed(json::Arena& arena, const store::Object& object) {
  const auto root = json::Parse(arena, object.bytes(), {.borrow_text = true});
  return root.ok() ? *root : json::Value();
}

bool Mentions(json::Value policy, std::string_view group) {
  const json::Value spec = policy["spec"];
  if (spec["paramKind"]["apiVersion"].AsString().starts_with(base::StrCat(group, "/"))) return true;
  for (const json::Value& rule : spec["matchConstraints"]["resourceRules"].elements()) {
    for (const json::Value& name : rule["apiGroups"].elements()) {
      if (name.AsString() == group) return true;
    }
  }
  return false;
}

// Keys: "policy/<name>" and "group/<group of a definition that has changed>".
class PolicyStatus final : public Controller {
 public:
  explicit PolicyStatus(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.resource() == kPolicies && object.group() == kGroup) {
      json::Arena arena;
      if (event.type != store::EventType::kDeleted &&
          kube_cel::NeedsTypeChecking(Parsed(arena, object))) {
        enqueue(base::StrCat("policy/", object.name()));
      }
    } else if (object.resource() == "customresourcedefinitions") {
      // Named <plural>.<group>; parsing it would keep it parsed, and definitions are large.
      const std::string_view crd = object.name();
      enqueue(base::StrCat("group/", crd.substr(std::min(crd.find('.') + 1, crd.size()))));
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& key) override {
    const std::string_view name = std::string_view(key).substr(key.find('/') + 1);
    bool done = true;
    if (key.starts_with("policy/")) {
      done = Check(context_.store.Get({kGroup, kPolicies, "", name}));
    } else {
      for (const store::ObjectPtr& policy : context_.store.List({kGroup, kPolicies})) {
        json::Arena arena;
        if (Mentions(Parsed(arena, *policy), name)) done = Check(policy) && done;
      }
    }
    return done ? std::nullopt : std::optional<base::Duration>(1s);
  }

 private:
  // False if it has to be tried again.
  bool Check(const store::ObjectPtr& policy) {
    if (policy == nullptr) return true;
    json::Arena arena;
    const json::Value before = Parsed(arena, *policy);
    const auto catalog = context_.catalog.Get();
    const json::Value after =
        kube_cel::WithTypeChecking(arena, context_.compiler, *catalog, before);
    if (after["status"] == before["status"]) return true;
    json::Value patch = json::MakeObject(
        arena,
        {{"apiVersion", before["apiVersion"]},
         {"kind", before["kind"]},
         {"status",
          json::MakeObject(arena, {{"observedGeneration", after["status"]["observedGeneration"]},
                                   {"typeChecking", after["status"]["typeChecking"]}})}});
    patch = json::SetPath(arena, patch, {"metadata", "name"}, before["metadata"]["name"]);
    const auto written =
        context_.client.Do({.verb = engine::Verb::kPatch,
                            .resource = {std::string(kGroup), "v1", std::string(kPolicies)},
                            .subresource = "status",
                            .name = policy->name(),
                            .body = patch,
                            .patch = engine::PatchType::kApply,
                            .field_manager = kube_cel::kTypeCheckingManager,
                            .force = true});
    // Findings that etcd does not take will not fit the next time either.
    return written.ok() || written.status().reason() == base::Reason::kNotFound ||
           api::IsRequestTooLarge(written.status());
  }

  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {{kGroup, kPolicies},
                                        {"apiextensions.k8s.io", "customresourcedefinitions"}};

}  // namespace

const ControllerInfo kPolicyStatus = {
    .name = "validatingadmissionpolicy-status-controller",
    .account = "validatingadmissionpolicy-status-controller",
    .summary = "checks the expressions of validating policies against the types of their objects",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<PolicyStatus>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers

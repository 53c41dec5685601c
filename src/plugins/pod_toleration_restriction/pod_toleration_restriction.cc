// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_toleration_restriction/pod_toleration_restriction.h"

#include <string>
#include <utility>

#include "admission/errors.h"
#include "api/quota/pod_resources.h"
#include "base/strings.h"
#include "plugins/common/new_pods.h"
#include "plugins/common/state.h"
#include "plugins/common/tolerations.h"
#include "plugins/pod_toleration_restriction/pod_toleration_restriction_config.h"

namespace portcullis::plugins::pod_toleration_restriction {
namespace {

constexpr std::string_view kDefaults = "scheduler.alpha.kubernetes.io/defaultTolerations";
constexpr std::string_view kWhitelist = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

json::Value MemoryPressure(json::Arena& arena) {
  return json::MakeObject(arena,
                          {{"key", json::Value::StringView("node.kubernetes.io/memory-pressure")},
                           {"operator", json::Value::StringView("Exists")},
                           {"effect", json::Value::StringView("NoSchedule")}});
}

// The list in a namespace's annotation; null without the annotation, [] if it is empty.
base::Result<json::Value> FromAnnotation(json::Arena& arena, json::Value ns, std::string_view key) {
  const json::Value* annotation = ns["metadata"]["annotations"].Find(key);
  if (annotation == nullptr) return json::Value();
  const json::Value none = json::MakeArray(arena, {});
  if (annotation->AsString().empty()) return none;
  base::Result<json::Value> parsed = common::DecodeTolerations(arena, annotation->AsString());
  // Kubernetes returns Go's error as it is, which its API answers with code 500.
  if (!parsed.ok()) return admission::PlainError(parsed.status().message());
  return parsed->is_null() ? none : *parsed;
}

class PodTolerationRestriction final : public admission::Plugin {
 public:
  PodTolerationRestriction(const admission::PluginContext& context,
                           PodTolerationRestrictionConfig config)
      : reader_(context.reader), config_(std::move(config)), new_pods_(context) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    json::Arena& arena = request.arena();
    json::Value extra;
    if (new_pods_.Include(request)) {
      extra = TRY(FromAnnotation(arena, TRY(NamespaceOf(request)), kDefaults));
      if (extra.is_null()) extra = config_.default_tolerations();
    }
    if (api::quota::QosOf(request.object()) != api::quota::QosClass::kBestEffort) {
      extra = json::Append(arena, extra, MemoryPressure(arena));
    }
    if (!extra.empty()) {
      const json::Value merged =
          common::MergeTolerations(arena, request.object()["spec"]["tolerations"], extra);
      request.set_object(json::SetPath(arena, request.object(), {"spec", "tolerations"}, merged));
    }
    return Validate(request);
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const json::Value tolerations = request.object()["spec"]["tolerations"];
    if (tolerations.empty()) return base::OkStatus();
    json::Value whitelist =
        TRY(FromAnnotation(request.arena(), TRY(NamespaceOf(request)), kWhitelist));
    const std::string_view owner = whitelist.is_null() ? "cluster" : "namespace";
    if (whitelist.is_null()) whitelist = config_.whitelist();
    if (common::AllowedBy(tolerations, whitelist)) return base::OkStatus();
    return admission::PlainError(
        base::StrCat("pod tolerations (possibly merged with namespace default tolerations) "
                     "conflict with its ",
                     owner, " whitelist"));
  }

 private:
  base::Result<json::Value> NamespaceOf(const admission::Request& request) const {
    const json::Value ns =
        common::RootOf(request.arena(), common::FindNamespace(reader_, request.namespace_name()));
    if (!ns.is_null()) return ns;
    return admission::NotFound("", "namespaces", request.namespace_name());
  }

  const store::Reader* reader_;
  PodTolerationRestrictionConfig config_;
  const common::NewPods new_pods_;
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  PodTolerationRestrictionConfig config = TRY(ParseConfig(context));
  return std::unique_ptr<admission::Plugin>(
      std::make_unique<PodTolerationRestriction>(context, std::move(config)));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodTolerationRestriction",
    .summary = "adds the namespace's tolerations to pods and limits theirs",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods",
    .reads = "namespaces",
    .by_default = admission::Default::kOff,
    .create = &Create,
    .configuration =
        "podtolerationrestriction.admission.k8s.io/v1alpha1 Configuration: default, whitelist",
};

}  // namespace portcullis::plugins::pod_toleration_restriction

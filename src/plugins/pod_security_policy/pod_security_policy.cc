// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_security_policy/pod_security_policy.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/errors.h"
#include "authz/authorizer.h"
#include "base/log.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"
#include "plugins/pod_security_policy/provider.h"

namespace portcullis::plugins::pod_security_policy {
namespace {

constexpr std::string_view kChosen = "kubernetes.io/psp";

struct Allowed {
  json::Value pod;
  std::string_view policy;
};

// Whether an update touches nothing but what garbage collection does.
bool IsGarbageCollection(const admission::Request& request) {
  if (request.operation() != admission::kUpdate) return false;
  const auto rest = [&](json::Value object) {
    for (const std::string_view field : {"ownerReferences", "finalizers", "managedFields"}) {
      object = json::RemovePath(request.arena(), object, {"metadata", field});
    }
    return object;
  };
  return rest(request.object()) == rest(request.old_object());
}

// The users for whom a policy counts: the pod's service account, and who makes the request.
class Users {
 public:
  Users(const authz::Authorizer* authorizer, const admission::Request& request)
      : authorizer_(authorizer), request_(request) {
    const std::string_view account = request.object()["spec"]["serviceAccountName"].AsString();
    if (account.empty()) return;
    const std::string& ns = request.namespace_name();
    account_.emplace();
    account_->name = base::StrCat("system:serviceaccount:", ns, ":", account);
    account_->groups = {"system:serviceaccounts", base::StrCat("system:serviceaccounts:", ns)};
  }

  bool MayUse(std::string_view policy) const {
    return (account_ && May(*account_, policy)) || May(request_.user(), policy);
  }

 private:
  bool May(const api::UserInfo& user, std::string_view policy) const {
    if (authorizer_ == nullptr) return true;
    authz::Attributes attributes;
    attributes.user = &user;
    attributes.verb = "use";
    attributes.version = "*";
    attributes.resource = "podsecuritypolicies";
    attributes.ns = request_.namespace_name();
    attributes.name = policy;
    for (const std::string_view group : {"policy", "extensions"}) {
      attributes.group = group;
      if (authorizer_->Authorize(attributes).allowed()) return true;
    }
    return false;
  }

  const authz::Authorizer* authorizer_;
  const admission::Request& request_;
  std::optional<api::UserInfo> account_;
};

class PodSecurityPolicy final : public admission::Plugin {
 public:
  explicit PodSecurityPolicy(const admission::PluginContext& context)
      : reader_(context.reader), authorizer_(context.authorizer) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods") || request.operation() != admission::kCreate) {
      return base::OkStatus();
    }
    const Allowed allowed = TRY(Judge(request, true));
    request.set_object(json::SetPath(request.arena(), allowed.pod,
                                     {"metadata", "annotations", kChosen},
                                     json::String(request.arena(), allowed.policy)));
    (void)request.Annotate("podsecuritypolicy.policy.k8s.io/admit-policy", allowed.policy);
    return base::OkStatus();
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "pods") || IsGarbageCollection(request)) return base::OkStatus();
    const Allowed allowed = TRY(Judge(request, false));
    (void)request.Annotate("podsecuritypolicy.policy.k8s.io/validate-policy", allowed.policy);
    return base::OkStatus();
  }

 private:
  // In order of names; the one that has been chosen before comes first where it counts.
  std::vector<Provider> Providers(const admission::Request& request, bool changes) const {
    std::vector<Provider> providers;
    for (const store::ObjectPtr& object : common::List(reader_, "policy", "podsecuritypolicies")) {
      auto provider = Provider::Create(common::RootOf(request.arena(), object));
      if (provider.ok()) {
        providers.push_back(*std::move(provider));
      } else {
        base::LogWarning(
            "a PodSecurityPolicy cannot be used",
            {{"policy", std::string(object->name())}, {"error", provider.status().message()}});
      }
    }
    const std::string_view chosen =
        changes ? std::string_view()
                : request.object()["metadata"]["annotations"][kChosen].AsString();
    std::stable_partition(providers.begin(), providers.end(), [&](const Provider& provider) {
      return !chosen.empty() && provider.name() == chosen;
    });
    return providers;
  }

  // The policy that allows the pod, and the pod as it is then. If it may be changed, one that
  // leaves it as it is comes before others.
  base::Result<Allowed> Judge(const admission::Request& request, bool may_change) const {
    const std::vector<Provider> providers = Providers(request, may_change);
    if (providers.empty()) {
      return admission::Forbidden(request, "no providers available to validate pod request");
    }
    const Users users(authorizer_, request);
    std::optional<Allowed> changed;
    std::vector<std::string> objections;
    for (const Provider& provider : providers) {
      const json::Value pod = provider.Mutate(request.arena(), request.object());
      const bool is_changed = !pod.IsSameAs(request.object()) && pod != request.object();
      api::FieldErrors errors;
      provider.Validate(pod, errors);
      if (errors.empty() && is_changed && (!may_change || changed)) continue;
      if (!users.MayUse(provider.name())) continue;
      for (const api::FieldError& error : errors) objections.push_back(error.ToString());
      if (!errors.empty()) continue;
      if (!is_changed) return Allowed{pod, provider.name()};
      changed = Allowed{pod, provider.name()};
    }
    if (changed) return *changed;
    return admission::Forbidden(
        request, base::StrCat("unable to validate against any pod security policy: [",
                              base::Join(objections, " "), "]"));
  }

  const store::Reader* reader_;
  const authz::Authorizer* authorizer_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodSecurityPolicy",
    .summary = "admits pods that a PodSecurityPolicy allows which their user may use",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods",
    .reads = "podsecuritypolicies.policy",
    .by_default = admission::Default::kOff,
    .create = &common::Make<PodSecurityPolicy>,
    .until_minor = 24,
    .legacy = true,
};

}  // namespace portcullis::plugins::pod_security_policy

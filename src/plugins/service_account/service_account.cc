// SPDX-License-Identifier: Apache-2.0

#include "plugins/service_account/service_account.h"

#include <string>

#include "admission/errors.h"
#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/new_pods.h"
#include "plugins/common/pod_references.h"
#include "plugins/common/state.h"
#include "plugins/service_account/service_account_secrets.h"
#include "plugins/service_account/service_account_token.h"

namespace portcullis::plugins::service_account {
namespace {

class ServiceAccount final : public admission::Plugin {
 public:
  explicit ServiceAccount(const admission::PluginContext& context)
      : reader_(context.reader), new_pods_(context) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!Applies(request) || !new_pods_.Include(request)) return base::OkStatus();
    if (common::IsMirrorPod(request.object())) return Validate(request);
    std::string_view name = request.object()["spec"]["serviceAccountName"].AsString();
    if (name.empty()) name = "default";
    const json::Value account = TRY(AccountOf(request, name));
    json::Arena& arena = request.arena();
    json::Value spec = json::With(arena, request.object()["spec"], "serviceAccountName",
                                  json::String(arena, name));
    // The old name of the field is served as a copy.
    spec = json::With(arena, spec, "serviceAccount", json::String(arena, name));
    if (ShouldMountToken(spec, account)) spec = MountToken(arena, spec);
    if (spec["imagePullSecrets"].empty() && !account["imagePullSecrets"].empty()) {
      spec =
          json::With(arena, spec, "imagePullSecrets", NamesOf(arena, account["imagePullSecrets"]));
    }
    request.set_object(json::With(arena, request.object(), "spec", spec));
    return Validate(request);
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!Applies(request)) return base::OkStatus();
    const json::Value pod = request.object();
    if (!new_pods_.Include(request)) {
      if (request.subresource() != "ephemeralcontainers") return base::OkStatus();
      const json::Value account = TRY(AccountOfPod(request));
      const std::string problem = EphemeralSecretsProblem(pod["spec"], account);
      // Kubernetes returns a bare error here, which its API answers with code 500.
      return problem.empty() ? base::OkStatus() : admission::PlainError(problem);
    }
    const std::string problem = common::IsMirrorPod(pod)
                                    ? MirrorPodProblem(pod["spec"])
                                    : SecretsProblem(pod["spec"], TRY(AccountOfPod(request)));
    return problem.empty() ? base::OkStatus() : admission::Forbidden(request, problem);
  }

 private:
  static bool Applies(const admission::Request& request) {
    return request.IsResource("", "pods") && request.object().is_object() &&
           (request.subresource().empty() || request.subresource() == "ephemeralcontainers");
  }

  base::Result<json::Value> AccountOf(const admission::Request& request,
                                      std::string_view name) const {
    const std::string& ns = request.namespace_name();
    const json::Value account =
        common::RootOf(request.arena(), common::Find(reader_, "", "serviceaccounts", ns, name));
    if (!account.is_null()) return account;
    std::string problem = common::NameProblem(name);
    if (problem.empty())
      problem = base::StrCat("serviceaccount ", base::GoQuote(name), " not found");
    return admission::Forbidden(
        request, base::StrCat("error looking up service account ", ns, "/", name, ": ", problem));
  }

  base::Result<json::Value> AccountOfPod(const admission::Request& request) const {
    std::string_view name = request.object()["spec"]["serviceAccountName"].AsString();
    if (!name.empty()) return AccountOf(request, name);
    return admission::Forbidden(
        request, base::StrCat("no service account specified for pod ", request.namespace_name(),
                              "/", api::view::Metadata(request.object()).name()));
  }

  const store::Reader* reader_;
  const common::NewPods new_pods_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ServiceAccount",
    .summary = "gives pods a service account, its token and its pull secrets",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods pods/ephemeralcontainers",
    .reads = "serviceaccounts",
    .by_default = admission::Default::kOn,
    .create = &common::Make<ServiceAccount>,
};

}  // namespace portcullis::plugins::service_account

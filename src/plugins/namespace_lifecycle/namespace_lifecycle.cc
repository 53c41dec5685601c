// SPDX-License-Identifier: Apache-2.0

#include "plugins/namespace_lifecycle/namespace_lifecycle.h"

#include <utility>

#include "admission/errors.h"
#include "base/strings.h"
#include "store/store.h"

namespace portcullis::plugins::namespace_lifecycle {
namespace {

using admission::Request;

bool IsNamespace(const Request& request) {
  return request.kind().group.empty() && request.kind().kind == "Namespace";
}

bool IsImmortal(std::string_view name) {
  return name == "default" || name == "kube-system" || name == "kube-public";
}

base::Status RefuseTerminating(const Request& request) {
  const std::string& name = request.namespace_name();
  base::Status status =
      admission::Forbidden(request, base::StrCat("unable to create new content in namespace ", name,
                                                 " because it is being terminated"));
  base::StatusDetails details =
      status.details() != nullptr ? *status.details() : base::StatusDetails();
  details.causes.push_back({"NamespaceTerminating",
                            base::StrCat("namespace ", name, " is being terminated"),
                            "metadata.namespace"});
  return status.WithDetails(std::move(details));
}

class NamespaceLifecycle final : public admission::Plugin {
 public:
  explicit NamespaceLifecycle(const store::Reader& reader) : reader_(reader) {}

  base::Status Mutate(Request& request) const override {
    if (request.operation() == admission::kDelete && IsNamespace(request) &&
        IsImmortal(request.name())) {
      return admission::Forbidden(request, "this namespace may not be deleted");
    }
    if (request.namespace_name().empty() || IsNamespace(request) ||
        request.operation() == admission::kDelete) {
      return base::OkStatus();
    }
    // Who asks about access must not learn by it whether a namespace exists.
    if (request.IsResource("authorization.k8s.io", "localsubjectaccessreviews")) {
      return base::OkStatus();
    }
    const store::ObjectPtr found = reader_.Get({"", "namespaces", "", request.namespace_name()});
    if (found == nullptr) return admission::NotFound("", "namespaces", request.namespace_name());
    const bool terminating = found->document()["status"]["phase"].AsString() == "Terminating";
    if (request.operation() == admission::kCreate && terminating) {
      return RefuseTerminating(request);
    }
    return base::OkStatus();
  }

 private:
  const store::Reader& reader_;
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  if (context.reader == nullptr) return base::ConfigError("missing namespaceLister");
  return std::unique_ptr<admission::Plugin>(std::make_unique<NamespaceLifecycle>(*context.reader));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "NamespaceLifecycle",
    .summary = "refuses new objects in missing or terminating namespaces",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate | admission::kDelete,
    .reads = "namespaces",
    .by_default = admission::Default::kOn,
    .create = &Create,
};

}  // namespace portcullis::plugins::namespace_lifecycle

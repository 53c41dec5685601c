// SPDX-License-Identifier: Apache-2.0

#include "plugins/namespace_exists/namespace_exists.h"

#include "admission/errors.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::namespace_exists {
namespace {

class NamespaceExists final : public admission::Plugin {
 public:
  explicit NamespaceExists(const admission::PluginContext& context) : reader_(context.reader) {}

  base::Status Validate(const admission::Request& request) const override {
    if (request.namespace_name().empty() ||
        (request.kind().group.empty() && request.kind().kind == "Namespace") ||
        common::FindNamespace(reader_, request.namespace_name()) != nullptr) {
      return base::OkStatus();
    }
    return admission::NotFound("", "namespaces", request.namespace_name());
  }

 private:
  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "NamespaceExists",
    .summary = "refuses requests in namespaces that do not exist",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate | admission::kDelete,
    .reads = "namespaces",
    .by_default = admission::Default::kOff,
    .create = &common::Make<NamespaceExists>,
};

}  // namespace portcullis::plugins::namespace_exists

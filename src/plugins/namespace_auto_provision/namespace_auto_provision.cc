// SPDX-License-Identifier: Apache-2.0

#include "plugins/namespace_auto_provision/namespace_auto_provision.h"

#include "admission/asks_outside.h"
#include "admission/errors.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::namespace_auto_provision {
namespace {

class NamespaceAutoProvision final : public admission::Plugin, public admission::AsksOutside {
 public:
  explicit NamespaceAutoProvision(const admission::PluginContext& context)
      : reader_(context.reader), writer_(context.writer) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!Concerns(request)) return base::OkStatus();
    TRY(request.recorder().CheckMayWait());
    json::Arena& arena = request.arena();
    const json::Value made = json::MakeObject(
        arena,
        {{"apiVersion", json::Value::StringView("v1")},
         {"kind", json::Value::StringView("Namespace")},
         {"metadata",
          json::MakeObject(arena, {{"name", json::String(arena, request.namespace_name())}})}});
    const base::Status outcome = writer_->Create({"", "v1", "namespaces"}, "", made);
    if (outcome.ok() || outcome.reason() == base::Reason::kAlreadyExists) return base::OkStatus();
    return admission::Forbidden(request, outcome);
  }

  admission::Waits WaitsOf(const admission::Request& request) const override {
    return Concerns(request) ? admission::Waits::kOnThread : admission::Waits::kForNothing;
  }

 private:
  // Whether it makes the namespace.
  bool Concerns(const admission::Request& request) const {
    if (request.dry_run() || request.namespace_name().empty() ||
        (request.kind().group.empty() && request.kind().kind == "Namespace")) {
      return false;
    }
    return writer_ != nullptr &&
           common::FindNamespace(reader_, request.namespace_name()) == nullptr;
  }

  const store::Reader* reader_;
  admission::ClusterWriter* writer_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "NamespaceAutoProvision",
    .summary = "creates the namespace of a new object if it is missing",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .reads = "namespaces",
    .by_default = admission::Default::kOff,
    .create = &common::Make<NamespaceAutoProvision>,
};

}  // namespace portcullis::plugins::namespace_auto_provision

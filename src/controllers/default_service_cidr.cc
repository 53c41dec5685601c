// SPDX-License-Identifier: Apache-2.0

#include "controllers/default_service_cidr.h"

#include "engine/boot/boot_objects.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr store::Collection kServiceCidrs{"networking.k8s.io", "servicecidrs"};
constexpr std::string_view kName = "kubernetes";

class DefaultServiceCidr final : public Controller {
 public:
  explicit DefaultServiceCidr(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.object->name() == kName) enqueue(std::string(kName));
  }

  std::optional<base::Duration> Reconcile(const std::string&) override {
    json::Arena arena;
    const base::Status made = Mend(arena);
    if (made.ok() || made.reason() == base::Reason::kAlreadyExists) return std::nullopt;
    return 1s;
  }

 private:
  base::Status Mend(json::Arena& arena) {
    const json::Value wanted = engine::DefaultServiceCidr(arena, *context_.network);
    Request request{
        .verb = engine::Verb::kCreate,
        .resource = {std::string(kServiceCidrs.group), "v1", std::string(kServiceCidrs.resource)},
        .body = wanted};
    store::ObjectPtr stored =
        context_.store.Get({kServiceCidrs.group, kServiceCidrs.resource, "", kName});
    if (stored == nullptr) stored = TRY(context_.client.Do(request));
    if (!engine::LacksReadiness(*stored, wanted)) return base::OkStatus();
    request.verb = engine::Verb::kPatch;
    request.patch = engine::PatchType::kApply;
    request.force = true;
    request.subresource = "status";
    request.name = kName;
    request.field_manager = engine::kServiceCidrController;
    request.body = engine::DefaultServiceCidrStatus(arena, context_.clock);
    return context_.client.Do(request).status();
  }

  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {kServiceCidrs};

}  // namespace

const ControllerInfo kDefaultServiceCidr = {
    .name = "default-service-cidr",
    .account = "",
    .summary = "makes the ServiceCIDR kubernetes again when it has been deleted",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<DefaultServiceCidr>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers

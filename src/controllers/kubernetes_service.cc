// SPDX-License-Identifier: Apache-2.0

#include "controllers/kubernetes_service.h"

#include "engine/boot/boot_objects.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr store::Collection kServices{"", "services"};
constexpr std::string_view kNamespace = "default";
constexpr std::string_view kName = "kubernetes";

class KubernetesService final : public Controller {
 public:
  explicit KubernetesService(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (event.type != store::EventType::kDeleted) return;
    if (object.ns() == kNamespace && object.name() == kName) enqueue(std::string(kName));
  }

  // Its address may still be that of the deleted one, for a moment.
  std::optional<base::Duration> Reconcile(const std::string&) override {
    if (context_.store.Get({"", kServices.resource, kNamespace, kName}) != nullptr) {
      return std::nullopt;
    }
    json::Arena arena;
    const auto made = context_.client.Do(
        {.verb = engine::Verb::kCreate,
         .resource = {"", "v1", std::string(kServices.resource)},
         .ns = kNamespace,
         .body = engine::KubernetesService(arena, context_.service_address, context_.server_port)});
    if (made.ok() || made.status().reason() == base::Reason::kAlreadyExists) return std::nullopt;
    return 1s;
  }

 private:
  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {kServices};

}  // namespace

const ControllerInfo kKubernetesService = {
    .name = "kubernetes-service",
    .account = "",
    .summary = "makes the Service kubernetes again when it has been deleted",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<KubernetesService>(context);
    },
    .hears = kHears,
};

}  // namespace portcullis::controllers

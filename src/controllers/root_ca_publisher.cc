// SPDX-License-Identifier: Apache-2.0

#include "controllers/root_ca_publisher.h"

#include "base/strings.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kName = "kube-root-ca.crt";
constexpr std::string_view kDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters.";

class RootCaPublisher final : public Controller {
 public:
  explicit RootCaPublisher(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (!object.group().empty()) return;
    if (object.resource() == "namespaces" && event.type != store::EventType::kDeleted) {
      enqueue(std::string(object.name()));
    } else if (object.resource() == "configmaps" && object.name() == kName) {
      enqueue(std::string(object.ns()));
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& ns) override {
    const store::ObjectPtr home = context_.store.Get({"", "namespaces", "", ns});
    if (home == nullptr || home->document()["status"]["phase"].AsString() != "Active") {
      return std::nullopt;
    }
    const store::ObjectPtr current = context_.store.Get({"", "configmaps", ns, kName});
    if (current != nullptr && current->document()["data"].size() == 1 &&
        current->document()["data"]["ca.crt"].AsString() == context_.root_ca) {
      return std::nullopt;
    }
    json::Arena arena;
    json::Value map = json::MakeObject(arena, {{"apiVersion", json::Value::StringView("v1")},
                                               {"kind", json::Value::StringView("ConfigMap")}});
    map = json::SetPath(arena, map, {"metadata", "name"}, json::Value::StringView(kName));
    map = json::SetPath(arena, map, {"metadata", "annotations", "kubernetes.io/description"},
                        json::Value::StringView(kDescription));
    map = json::SetPath(arena, map, {"data", "ca.crt"}, json::String(arena, context_.root_ca));
    const bool exists = current != nullptr;
    const auto written =
        context_.client.Do({.verb = exists ? engine::Verb::kUpdate : engine::Verb::kCreate,
                            .resource = {"", "v1", "configmaps"},
                            .ns = ns,
                            .name = exists ? kName : std::string_view(),
                            .body = map});
    if (written.ok() || written.status().reason() == base::Reason::kAlreadyExists) {
      return std::nullopt;
    }
    return 1s;
  }

 private:
  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {{"", "namespaces"}, {"", "configmaps"}};

}  // namespace

const ControllerInfo kRootCaPublisher = {
    .name = "root-ca-certificate-publisher-controller",
    .account = "root-ca-cert-publisher",
    .summary = "puts the server's certificate authority into a ConfigMap of each namespace",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<RootCaPublisher>(context);
    },
    .furnishes_namespaces = true,
    .hears = kHears,
};

}  // namespace portcullis::controllers

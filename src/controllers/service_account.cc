// SPDX-License-Identifier: Apache-2.0

#include "controllers/service_account.h"

#include "base/strings.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

class ServiceAccounts final : public Controller {
 public:
  explicit ServiceAccounts(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (!object.group().empty()) return;
    if (object.resource() == "namespaces" && event.type != store::EventType::kDeleted) {
      enqueue(std::string(object.name()));
    } else if (object.resource() == "serviceaccounts" && object.name() == "default" &&
               event.type == store::EventType::kDeleted) {
      enqueue(std::string(object.ns()));
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& ns) override {
    const store::ObjectPtr home = context_.store.Get({"", "namespaces", "", ns});
    if (home == nullptr || home->document()["status"]["phase"].AsString() != "Active" ||
        context_.store.Get({"", "serviceaccounts", ns, "default"}) != nullptr) {
      return std::nullopt;
    }
    json::Arena arena;
    const json::Value account = json::SetPath(
        arena,
        json::MakeObject(arena, {{"apiVersion", json::Value::StringView("v1")},
                                 {"kind", json::Value::StringView("ServiceAccount")}}),
        {"metadata", "name"}, json::Value::StringView("default"));
    const auto made = context_.client.Do({.verb = engine::Verb::kCreate,
                                          .resource = {"", "v1", "serviceaccounts"},
                                          .ns = ns,
                                          .body = account});
    const bool done = made.ok() || made.status().reason() == base::Reason::kAlreadyExists;
    if (done) return std::nullopt;
    return 1s;
  }

 private:
  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {{"", "namespaces"}, {"", "serviceaccounts"}};

}  // namespace

const ControllerInfo kServiceAccount = {
    .name = "serviceaccount-controller",
    .account = "service-account-controller",
    .summary = "makes the ServiceAccount default in each namespace",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ServiceAccounts>(context);
    },
    .furnishes_namespaces = true,
    .hears = kHears,
};

}  // namespace portcullis::controllers

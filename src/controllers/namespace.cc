// SPDX-License-Identifier: Apache-2.0

#include "controllers/namespace.h"

#include <atomic>
#include <set>

#include "base/mutex.h"
#include "base/strings.h"
#include "controllers/namespace_conditions.h"
#include "store/readable.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFinalizer = "kubernetes";

bool IsTerminating(const store::Object& object) {
  return !object.document()["metadata"]["deletionTimestamp"].is_null();
}

class Namespaces final : public Controller {
 public:
  explicit Namespaces(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.group().empty() && object.resource() == "namespaces") {
      base::MutexLock lock(mutex_);
      if (event.type == store::EventType::kDeleted) {
        ending_.erase(std::string(object.name()));
      } else if (IsTerminating(object)) {
        ending_.insert(std::string(object.name()));
        enqueue(std::string(object.name()));
      }
      return;
    }
    if (object.ns().empty() || event.type != store::EventType::kDeleted) return;
    // Something that held a namespace up may have gone.
    base::MutexLock lock(mutex_);
    if (ending_.contains(std::string(object.ns()))) enqueue(std::string(object.ns()));
  }

  std::optional<base::Duration> Reconcile(const std::string& ns) override {
    const store::ObjectPtr home = context_.store.Get({"", "namespaces", "", ns});
    if (home == nullptr || !IsTerminating(*home)) return std::nullopt;
    json::Arena arena;
    json::Value object = home->document().root();
    json::ArrayBuilder kept(arena);
    for (const json::Value& finalizer : object["spec"]["finalizers"].elements()) {
      if (finalizer.AsString() != kFinalizer) kept.Add(finalizer);
    }
    if (kept.size() == object["spec"]["finalizers"].size()) return std::nullopt;
    const NamespaceLeftovers left = DeleteContent(ns);
    const json::Value conditions = NamespaceConditions(arena, object["status"]["conditions"], left,
                                                       base::FormatTime(context_.clock.Now()));
    if (!conditions.is_null()) {
      object = json::SetPath(arena, object, {"status", "conditions"}, conditions);
      const auto told = Update(ns, "status", object);
      if (!told.ok()) return Outcome(told.status(), 100ms);
      object = json::SetPath(arena, object, {"metadata", "resourceVersion"},
                             json::String(arena, std::to_string((**told).revision())));
    }
    // The next deletion in it brings us back, unless another server holds the object; errors may pass,
    // and finalizers are told again.
    if (!left.errors.empty() || !left.undiscovered.empty()) return 1s;
    if (!left.resources.empty()) return 5s;
    const auto finalized =
        Update(ns, "finalize", json::SetPath(arena, object, {"spec", "finalizers"}, kept.Build()));
    return Outcome(finalized.status(), 100ms);
  }

  void Interrupt() override { is_stopping_ = true; }

 private:
  base::Result<store::ObjectPtr> Update(std::string_view ns, std::string_view subresource,
                                        json::Value object) {
    return context_.client.Do({.verb = engine::Verb::kUpdate,
                               .resource = {"", "v1", "namespaces"},
                               .subresource = subresource,
                               .name = ns,
                               .body = object});
  }

  static std::optional<base::Duration> Outcome(const base::Status& status, base::Duration again) {
    if (status.ok() || status.reason() == base::Reason::kNotFound) return std::nullopt;
    return again;
  }

  // Pods go first: what they use, and what guards them, stays until they are gone.
  NamespaceLeftovers DeleteContent(const std::string& ns) {
    const auto catalog = context_.catalog.Get();
    NamespaceLeftovers left;
    if (const auto* pods = catalog->Find("", "v1", "pods"); pods != nullptr) {
      DeleteAll(*pods, ns, left);
      if (!left.resources.empty()) return left;
    }
    std::set<std::string> seen;
    for (const api::catalog::ResourceInfo* resource : catalog->resources()) {
      if (!resource->namespaced || !resource->HasVerb("delete") ||
          !seen.insert(resource->stored_as().ToString()).second) {
        continue;
      }
      DeleteAll(*resource, ns, left);
    }
    if (context_.aggregated != nullptr) {
      context_.aggregated->EmptyNamespace(ns, IdentityOf(kNamespace.account), is_stopping_, left);
    }
    return left;
  }

  void DeleteAll(const api::catalog::ResourceInfo& resource, const std::string& ns,
                 NamespaceLeftovers& left) {
    const api::GroupResource stored = resource.stored_as();
    const store::Collection collection{stored.group, stored.resource};
    const auto objects = store::ListReadable(context_.store, collection, ns);
    if (!objects.ok()) left.errors.push_back(objects.status().message());
    if (!objects.ok() || objects->empty()) return;
    const auto attempt = [&](engine::Verb verb, std::string_view name) {
      const base::Status status =
          context_.client.Do({.verb = verb, .resource = resource.resource, .ns = ns, .name = name})
              .status();
      if (status.ok() || status.reason() == base::Reason::kNotFound) return;
      left.errors.push_back(status.message());
    };
    if (resource.HasVerb("deletecollection")) {
      attempt(engine::Verb::kDeleteCollection, "");
    } else {
      for (const store::ObjectPtr& object : context_.store.List(collection, ns)) {
        attempt(engine::Verb::kDelete, object->name());
      }
    }
    std::size_t count = 0;
    for (const store::ObjectPtr& object : context_.store.List(collection, ns)) {
      ++count;
      const json::Value finalizers = object->document()["metadata"]["finalizers"];
      for (const json::Value& finalizer : finalizers.elements()) {
        ++left.finalizers[std::string(finalizer.AsString())];
      }
    }
    if (count > 0) {
      left.resources[base::StrCat(resource.resource.resource, ".", resource.resource.group)] =
          count;
    }
  }

  const ControllerContext& context_;
  std::atomic<bool> is_stopping_{false};
  base::Mutex mutex_;
  std::set<std::string> ending_ PC_GUARDED_BY(mutex_);
};

}  // namespace

const ControllerInfo kNamespace = {
    .name = "namespace-controller",
    .account = "namespace-controller",
    .summary = "empties namespaces that are being deleted, then lets go of them",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<Namespaces>(context);
    },
    .sees_uninitialized = true,
};

}  // namespace portcullis::controllers

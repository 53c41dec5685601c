#include "controllers/namespace.h"

#include <set>

#include "base/mutex.h"
#include "base/strings.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFinalizer = "kubernetes";

bool IsTerminating(const store::Object& object) {
  return !object.document()["metadata"]["deletionTimestamp"].is_null();
}

std::string CollectionPath(const api::catalog::ResourceInfo& resource, std::string_view ns) {
  const api::GroupVersionResource& r = resource.resource;
  return base::StrCat(r.group.empty() ? "/api/" : base::StrCat("/apis/", r.group, "/"), r.version,
                      "/namespaces/", ns, "/", r.resource);
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
    if (!Empty(ns)) return std::nullopt;  // the next deletion in it brings us back
    json::Arena arena;
    const json::Value object = home->document().root();
    json::ArrayBuilder kept(arena);
    for (const json::Value& finalizer : object["spec"]["finalizers"].elements()) {
      if (finalizer.AsString() != kFinalizer) kept.Add(finalizer);
    }
    if (kept.size() == object["spec"]["finalizers"].size()) return std::nullopt;
    const auto finalized =
        context_.api.Do("PUT", base::StrCat("/api/v1/namespaces/", ns, "/finalize"),
                        json::SetPath(arena, object, {"spec", "finalizers"}, kept.Build()));
    if (finalized.ok() || finalized.status().reason() == base::Reason::kNotFound) {
      return std::nullopt;
    }
    return 100ms;
  }

 private:
  // Deletes what is left; true if nothing is.
  bool Empty(const std::string& ns) {
    const auto catalog = context_.catalog.Get();
    std::set<std::string> seen;
    bool empty = true;
    for (const api::catalog::ResourceInfo* resource : catalog->resources()) {
      const api::GroupResource stored = resource->stored_as();
      if (!resource->namespaced || !resource->HasVerb("delete") ||
          !seen.insert(stored.ToString()).second) {
        continue;
      }
      const store::Collection collection{stored.group, stored.resource};
      if (context_.store.List(collection, ns).empty()) continue;
      if (resource->HasVerb("deletecollection")) {
        (void)context_.api.Do("DELETE", CollectionPath(*resource, ns), {});
      } else {
        for (const store::ObjectPtr& object : context_.store.List(collection, ns)) {
          (void)context_.api.Do(
              "DELETE", base::StrCat(CollectionPath(*resource, ns), "/", object->name()), {});
        }
      }
      empty &= context_.store.List(collection, ns).empty();
    }
    return empty;
  }

  const ControllerContext& context_;
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
};

}  // namespace portcullis::controllers

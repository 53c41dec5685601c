// SPDX-License-Identifier: Apache-2.0

// A graph of who owns whom is kept by uid from the store's events; objects that have no owners and
// do not wait for dependents are not in it. Work is done per object: one
// that has lost all its owners is deleted; one that waits with the finalizer foregroundDeletion has
// its dependents deleted first; one with the finalizer orphan has itself taken out of their
// ownerReferences (Kubernetes documentation, "Garbage Collection").

#include "controllers/garbage_collector.h"

#include <map>
#include <set>
#include <utility>

#include "base/mutex.h"
#include "base/random.h"
#include "base/strings.h"
#include "json/reader.h"
#include "store/readable.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;
using json::Value;

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

struct Place {
  std::string group;
  std::string resource;
  std::string ns;
  std::string name;
};

struct Node {
  Place place;
  std::vector<std::string> owners;  // uids
};

bool HasFinalizer(Value object, std::string_view name) {
  for (const Value& finalizer : object["metadata"]["finalizers"].elements()) {
    if (finalizer.AsString() == name) return true;
  }
  return false;
}

bool Mentions(std::string_view text, std::string_view word) {
  return memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

// Most objects own nothing, have no owner and are not being deleted: nothing to remember. (The
// names may also stand elsewhere in the text; then it is parsed for nothing.)
bool MayMatter(const store::Object& object) {
  std::string_view text = object.bytes();
  // In stored objects of built-in kinds all that matters stands between the version and the managed fields.
  if (text.starts_with(R"({"kind":)")) {
    constexpr std::string_view kManaged = "\"managedFields\":[";
    text.remove_prefix(object.revision_at());
    const void* const end = memmem(text.data(), text.size(), kManaged.data(), kManaged.size());
    if (end != nullptr) {
      text = text.substr(0, static_cast<std::size_t>(static_cast<const char*>(end) - text.data()));
    }
  }
  return Mentions(text, "\"ownerReferences\"") || Mentions(text, "\"deletionTimestamp\"");
}

class GarbageCollector final : public Controller {
 public:
  explicit GarbageCollector(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    const bool matters =
        MayMatter(object) || (event.previous != nullptr && MayMatter(*event.previous));
    const std::string_view own = object.uid();
    if (own.empty()) return;
    base::MutexLock lock(mutex_);
    if (!matters && !dependents_.contains(own)) return;
    const std::string uid(own);
    // Not the object's own document, which would stay in memory as long as the object.
    json::Arena arena;
    const auto parsed = json::Parse(arena, object.bytes(), {.borrow_text = true});
    if (!parsed.ok()) return;
    const Value root = *parsed;
    const Value metadata = root["metadata"];
    if (event.type == store::EventType::kDeleted) {
      Forget(uid);
      const auto dependents = DependentsOf(uid);
      for (const std::string& dependent : dependents) enqueue(dependent);
      if (!dependents.empty()) Remember(uid);
      // An owner that waits for its dependents may go on.
      for (const Value& owner : metadata["ownerReferences"].elements()) {
        enqueue(std::string(owner["uid"].AsString()));
      }
      return;
    }
    Forget(uid);
    Node node{.place = {object.group(), object.resource(), std::string(object.ns()),
                        std::string(object.name())},
              .owners = {}};
    for (const Value& owner : metadata["ownerReferences"].elements()) {
      node.owners.emplace_back(owner["uid"].AsString());
      dependents_[node.owners.back()].insert(uid);
    }
    const bool waits = !metadata["deletionTimestamp"].is_null() &&
                       (HasFinalizer(root, kForeground) || HasFinalizer(root, kOrphan));
    if (!waits && node.owners.empty()) return;
    nodes_.emplace(uid, std::move(node));
    enqueue(uid);
  }

  std::optional<base::Duration> Reconcile(const std::string& uid) override {
    Place place;
    {
      base::MutexLock lock(mutex_);
      const auto found = nodes_.find(uid);
      if (found == nodes_.end()) return std::nullopt;
      place = found->second.place;
    }
    const store::ObjectPtr stored = Find(uid, place);
    if (stored == nullptr) return std::nullopt;
    const Value object = stored->document().root();
    if (!object["metadata"]["deletionTimestamp"].is_null()) {
      if (HasFinalizer(object, kOrphan)) return Orphan(uid, place, object);
      if (HasFinalizer(object, kForeground)) return DeleteDependents(uid, place, object);
      return std::nullopt;
    }
    return object["metadata"]["ownerReferences"].empty() ? std::nullopt
                                                         : CheckOwners(uid, place, object);
  }

 private:
  void Forget(const std::string& uid) PC_REQUIRES(mutex_) {
    const auto found = nodes_.find(uid);
    if (found == nodes_.end()) return;
    for (const std::string& owner : found->second.owners) {
      const auto siblings = dependents_.find(owner);
      if (siblings == dependents_.end()) continue;
      siblings->second.erase(uid);
      if (siblings->second.empty()) dependents_.erase(siblings);
    }
    nodes_.erase(found);
  }

  std::set<std::string> DependentsOf(const std::string& uid) PC_REQUIRES(mutex_) {
    const auto found = dependents_.find(uid);
    return found == dependents_.end() ? std::set<std::string>() : found->second;
  }

  // Asks for it in the preferred version of the object's kind. What has gone meanwhile, or is not
  // served any more, needs nothing; anything else is tried again.
  std::optional<base::Duration> Send(const Place& place, Request request) {
    const auto catalog = context_.catalog.Get();
    const auto* resource = catalog->FindPreferred(place.group, place.resource);
    if (resource == nullptr) return std::nullopt;
    request.resource = resource->resource;
    request.ns = place.ns;
    request.name = place.name;
    const base::Status status = context_.client.Do(request).status();
    if (status.ok() || status.reason() == base::Reason::kNotFound) return std::nullopt;
    return 1s;
  }

  // The state of the owner that a reference names.
  enum class Owner {
    kPresent,  // or cannot be judged
    kUnreadable,
    kGone,
    kWaiting,  // is being deleted and waits for the object that refers to it
  };

  // An owner counts as present if it is stored under the name the reference gives with the uid it
  // gives, or if that cannot be read.
  Owner Judge(Value reference, const std::string& ns) {
    const auto* resource = ResourceOf(reference);
    if (resource == nullptr) return Owner::kPresent;
    if (resource->namespaced && ns.empty()) return Owner::kPresent;  // no such owner may be named
    const api::GroupResource stored = resource->stored_as();
    const std::string_view owner_ns = resource->namespaced ? std::string_view(ns) : "";
    const auto found = store::GetReadable(
        context_.store, {stored.group, stored.resource, owner_ns, reference["name"].AsString()});
    if (!found.ok()) return Owner::kUnreadable;
    const store::ObjectPtr& owner = *found;
    if (owner == nullptr || owner->uid() != reference["uid"].AsString()) return Owner::kGone;
    const Value object = owner->document().root();
    const bool waits = reference["blockOwnerDeletion"].AsBool() &&
                       !object["metadata"]["deletionTimestamp"].is_null() &&
                       HasFinalizer(object, kForeground);
    return waits ? Owner::kWaiting : Owner::kPresent;
  }

  // Null if the kind is not served. The catalog is held by `catalog_`.
  const api::catalog::ResourceInfo* ResourceOf(Value reference) {
    const auto version = api::ParseGroupVersion(reference["apiVersion"].AsString());
    if (!version.ok()) return nullptr;
    catalog_ = context_.catalog.Get();
    return catalog_->FindKind(
        {version->group, version->version, std::string(reference["kind"].AsString())});
  }

  std::optional<base::Duration> CheckOwners(const std::string& uid, const Place& place,
                                            Value object) {
    json::Arena arena;
    json::ArrayBuilder present(arena);
    bool waited_for = false;
    bool unreadable = false;
    Missing missing;
    const Value references = object["metadata"]["ownerReferences"];
    for (const Value& reference : references.elements()) {
      const Owner owner = Judge(reference, place.ns);
      if (owner == Owner::kPresent || owner == Owner::kUnreadable) present.Add(reference);
      unreadable |= owner == Owner::kUnreadable;
      if (owner == Owner::kGone && !HasDeparted(reference["uid"].AsString())) {
        NoteMissing(reference, missing);
      }
      waited_for |= owner == Owner::kWaiting;
    }
    if (!place.ns.empty()) TellOfOtherNamespaces(place, object, missing);
    if (present.size() == references.size()) {
      return unreadable ? std::optional<base::Duration>(kReadAgain) : std::nullopt;
    }
    // Another owner keeps it: it only leaves the ones that go.
    if (present.size() > 0) return SetOwners(arena, place, object, present.Build());
    // Objects that own each other in a circle would wait for each other: it blocks no owner any more.
    if (waited_for && HasWaitingDependent(uid)) {
      json::ArrayBuilder unblocked(arena);
      for (const Value& reference : references.elements()) {
        const bool blocks = reference["blockOwnerDeletion"].AsBool();
        unblocked.Add(
            blocks ? json::SetPath(arena, reference, {"blockOwnerDeletion"}, Value::Bool(false))
                   : reference);
      }
      if (const auto again = SetOwners(arena, place, object, unblocked.Build())) return again;
    }
    // Otherwise its dependents follow the policy that its finalizers ask for.
    const std::string_view policy =
        (waited_for && !Dependents(uid).empty()) || HasFinalizer(object, kForeground) ? "Foreground"
        : HasFinalizer(object, kOrphan)                                               ? "Orphan"
                                        : "Background";
    return Delete(uid, place, policy);
  }

  // Owners that were seen to go need not be looked for elsewhere.
  void Remember(const std::string& uid) PC_REQUIRES(mutex_) {
    constexpr std::size_t kMost = 4096;
    if (departed_.size() >= kMost) departed_.clear();
    departed_.insert(uid);
  }

  bool HasDeparted(std::string_view uid) {
    base::MutexLock lock(mutex_);
    return departed_.contains(uid);
  }

  // References of one object whose owners are not where they say: by resource and uid.
  using Missing = std::map<api::GroupResource, std::multimap<std::string_view, Value>>;

  void NoteMissing(Value reference, Missing& missing) {
    const auto* resource = ResourceOf(reference);
    if (resource == nullptr || !resource->namespaced) return;
    missing[resource->stored_as()].emplace(reference["uid"].AsString(), reference);
  }

  // References into other namespaces are invalid; an event says so (OwnerRefInvalidNamespace). There may be
  // thousands: each collection is looked through once, and an object has as many events as the recorder of
  // client-go lets pass at once.
  void TellOfOtherNamespaces(const Place& place, Value object, const Missing& missing) {
    constexpr int kMostEvents = 25;
    int events = 0;
    for (const auto& [resource, references] : missing) {
      if (events == kMostEvents || !MaySearch()) return;
      for (const auto& owner : context_.store.List({resource.group, resource.resource})) {
        if (owner->ns() == place.ns) continue;
        const auto [begin, end] = references.equal_range(owner->uid());
        for (auto at = begin; at != end && events < kMostEvents; ++at, ++events) {
          TellOfOtherNamespace(place, object, at->second);
        }
      }
    }
  }

  // A search reads a whole collection, for a message alone: so many at once, then one each second.
  bool MaySearch() {
    constexpr int kMost = 25;
    const base::SteadyTime now = context_.clock.Steady();
    searches_from_ = std::max(searches_from_, now - kMost * 1s) + 1s;
    if (searches_from_ <= now) return true;
    searches_from_ -= 1s;
    return false;
  }

  void TellOfOtherNamespace(const Place& place, Value object, Value reference) {
    json::Arena arena;
    const std::string message = base::StrCat(
        "ownerRef [", reference["apiVersion"].AsString(), "/", reference["kind"].AsString(),
        ", namespace: ", place.ns, ", name: ", reference["name"].AsString(),
        ", uid: ", reference["uid"].AsString(), "] does not exist in namespace \"", place.ns, "\"");
    (void)context_.client.Do({.verb = engine::Verb::kCreate,
                              .resource = {"", "v1", "events"},
                              .ns = place.ns,
                              .body = WarningAbout(arena, place, object, message)});
  }

  Value WarningAbout(json::Arena& arena, const Place& place, Value object,
                     std::string_view message) const {
    constexpr std::string_view kSelf = "garbage-collector-controller";
    const std::string now = base::FormatTime(context_.clock.Now());
    const auto about = json::ObjectBuilder(arena)
                           .Set("apiVersion", object["apiVersion"])
                           .Set("kind", object["kind"])
                           .Set("namespace", std::string_view(place.ns))
                           .Set("name", std::string_view(place.name))
                           .Set("uid", object["metadata"]["uid"])
                           .Build();
    const std::string name = base::StrCat(place.name, ".", base::RandomSuffix(16));
    return json::ObjectBuilder(arena)
        .Set("apiVersion", "v1")
        .Set("kind", "Event")
        .Set("metadata", json::ObjectBuilder(arena).Set("name", std::string_view(name)).Build())
        .Set("involvedObject", about)
        .Set("type", "Warning")
        .Set("reason", "OwnerRefInvalidNamespace")
        .Set("message", message)
        .Set("count", 1)
        .Set("firstTimestamp", std::string_view(now))
        .Set("lastTimestamp", std::string_view(now))
        .Set("source", json::ObjectBuilder(arena).Set("component", kSelf).Build())
        .Set("reportingComponent", kSelf)
        .Build();
  }

  std::optional<base::Duration> Delete(const std::string& uid, const Place& place,
                                       std::string_view policy) {
    return Send(place, {.verb = engine::Verb::kDelete, .uid = uid, .propagation_policy = policy});
  }

  // Patches the version that was read: a conflict keeps owners that were added meanwhile.
  std::optional<base::Duration> SetOwners(json::Arena& arena, const Place& place, Value object,
                                          Value owners) {
    Value patch = json::SetPath(arena, Value(), {"metadata", "ownerReferences"}, owners);
    for (const std::string_view field : {"uid", "resourceVersion"}) {
      patch = json::SetPath(arena, patch, {"metadata", field}, object["metadata"][field]);
    }
    return Send(place, {.verb = engine::Verb::kPatch, .body = patch});
  }

  std::optional<base::Duration> RemoveFinalizer(const Place& place, Value object,
                                                std::string_view finalizer) {
    json::Arena arena;
    json::ArrayBuilder kept(arena);
    for (const Value& item : object["metadata"]["finalizers"].elements()) {
      if (item.AsString() != finalizer) kept.Add(item);
    }
    Value patch = json::SetPath(arena, Value(), {"metadata", "finalizers"}, kept.Build());
    patch = json::SetPath(arena, patch, {"metadata", "resourceVersion"},
                          object["metadata"]["resourceVersion"]);
    return Send(place, {.verb = engine::Verb::kPatch, .body = patch});
  }

  // The object that stands there; null if it is another one, or none.
  store::ObjectPtr Find(std::string_view uid, const Place& place) const {
    store::ObjectPtr found =
        context_.store.Get({place.group, place.resource, place.ns, place.name});
    return found != nullptr && found->uid() == uid ? found : nullptr;
  }

  bool HasWaitingDependent(const std::string& uid) {
    for (const auto& [dependent_uid, place] : Dependents(uid)) {
      const store::ObjectPtr dependent = Find(dependent_uid, place);
      if (dependent == nullptr) continue;
      const Value object = dependent->document().root();
      if (!object["metadata"]["deletionTimestamp"].is_null() && HasFinalizer(object, kForeground)) {
        return true;
      }
    }
    return false;
  }

  // Those that do not block go once the owner is gone.
  std::optional<base::Duration> DeleteDependents(const std::string& uid, const Place& place,
                                                 Value object) {
    bool blocked = false;
    std::optional<base::Duration> again;
    for (const auto& [dependent_uid, dependent_place] : Dependents(uid)) {
      const store::ObjectPtr dependent = Find(dependent_uid, dependent_place);
      if (dependent == nullptr) continue;
      const Value root = dependent->document().root();
      bool blocks = false;
      for (const Value& reference : root["metadata"]["ownerReferences"].elements()) {
        blocks |= reference["uid"].AsString() == uid && reference["blockOwnerDeletion"].AsBool();
      }
      if (!blocks) continue;
      blocked = true;
      if (root["metadata"]["deletionTimestamp"].is_null()) {
        if (CheckOwners(dependent_uid, dependent_place, root)) again = 1s;
      }
    }
    // Events of the dependents queue this object again.
    if (blocked) return again ? again : std::optional<base::Duration>(1s);
    return RemoveFinalizer(place, object, kForeground);
  }

  // Dependents that cannot be read would be collected once they can, if their owner were gone by then.
  bool AllDependentsAreReadable(const Place& owner) const {
    const auto catalog = context_.catalog.Get();
    for (const auto* resource : catalog->resources()) {
      const api::GroupResource stored = resource->stored_as();
      if (!context_.store.WhyUnreadable({stored.group, stored.resource}, owner.ns).ok())
        return false;
    }
    return true;
  }

  std::optional<base::Duration> Orphan(const std::string& uid, const Place& place, Value object) {
    if (!AllDependentsAreReadable(place)) return kReadAgain;
    for (const auto& [dependent_uid, dependent_place] : Dependents(uid)) {
      const store::ObjectPtr dependent = Find(dependent_uid, dependent_place);
      if (dependent == nullptr) continue;
      json::Arena arena;
      json::ArrayBuilder others(arena);
      for (const Value& reference :
           dependent->document()["metadata"]["ownerReferences"].elements()) {
        if (reference["uid"].AsString() != uid) others.Add(reference);
      }
      if (SetOwners(arena, dependent_place, dependent->document().root(), others.Build()))
        return 1s;
    }
    return RemoveFinalizer(place, object, kOrphan);
  }

  std::vector<std::pair<std::string, Place>> Dependents(const std::string& uid) {
    base::MutexLock lock(mutex_);
    std::vector<std::pair<std::string, Place>> out;
    for (const std::string& dependent : DependentsOf(uid)) {
      const auto found = nodes_.find(dependent);
      if (found != nodes_.end()) out.emplace_back(dependent, found->second.place);
    }
    return out;
  }

  const ControllerContext& context_;
  base::Mutex mutex_;
  // Both of the controller's own thread.
  std::shared_ptr<const api::catalog::Catalog> catalog_;
  // Each search moves it on by a second, up to the present.
  base::SteadyTime searches_from_ = base::SteadyTime::min();
  std::map<std::string, Node> nodes_ PC_GUARDED_BY(mutex_);
  std::map<std::string, std::set<std::string>, std::less<>> dependents_ PC_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> departed_ PC_GUARDED_BY(mutex_);
};

}  // namespace

const ControllerInfo kGarbageCollector = {
    .name = "garbage-collector-controller",
    .account = "generic-garbage-collector",
    .summary = "deletes objects whose owners are gone; foreground and orphaning deletion",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<GarbageCollector>(context);
    },
};

}  // namespace portcullis::controllers

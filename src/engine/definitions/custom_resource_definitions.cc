// SPDX-License-Identifier: Apache-2.0

#include "engine/definitions/custom_resource_definitions.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "api/condition.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/definitions/custom_resource_conditions.h"
#include "engine/write/cluster_writer.h"
#include "json/reader.h"
#include "store/readable.h"

namespace portcullis::engine {
namespace {

using json::Value;

constexpr store::Collection kDefinitions{"apiextensions.k8s.io", "customresourcedefinitions"};
constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";
constexpr int kRetries = 8;  // at once, then once a second
constexpr std::chrono::seconds kRetryAfter{1};

bool IsTerminating(Value object) { return !object["metadata"]["deletionTimestamp"].is_null(); }

bool HasCleanupFinalizer(Value object) {
  const auto finalizers = object["metadata"]["finalizers"].elements();
  return std::any_of(finalizers.begin(), finalizers.end(), [](const Value& finalizer) {
    return finalizer.AsString() == kCleanupFinalizer;
  });
}

// Null if it is no JSON, which no store holds.
Value Parsed(json::Arena& arena, const store::ObjectPtr& object) {
  const auto parsed = json::Parse(arena, object->bytes());
  return parsed.ok() ? *parsed : Value();
}

// False if another write has come before; an error ends the work on all objects.
base::Result<bool> IsWritten(const base::Status& status) {
  if (status.reason() == base::Reason::kConflict) return false;
  if (!status.ok() && status.reason() != base::Reason::kNotFound) return status;
  return true;
}

store::Collection InstancesOf(Value definition) {
  const Value spec = definition["spec"];
  return {spec["group"].AsString(), spec["names"]["plural"].AsString()};
}

}  // namespace

class CustomResourceDefinitions::Departures final : public store::Observer {
 public:
  Departures(CustomResourceDefinitions& owner, std::string name, Value definition)
      : owner_(owner), name_(std::move(name)) {
    subscription_ = owner_.world_.store->Subscribe({InstancesOf(definition)}, *this, [] {});
  }

  void OnCommit(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) {
      if (event->type == store::EventType::kDeleted) return owner_.Examine(name_);
    }
  }

 private:
  CustomResourceDefinitions& owner_;
  const std::string name_;
  std::unique_ptr<store::Subscription> subscription_;
};

CustomResourceDefinitions::CustomResourceDefinitions(
    const World& world, base::Published<api::catalog::Catalog>& catalog, MakeConverter converters)
    : world_(world),
      catalog_(catalog),
      converters_(std::move(converters)),
      built_in_(catalog.Get()) {}

CustomResourceDefinitions::~CustomResourceDefinitions() { Stop(); }

void CustomResourceDefinitions::Follow() {
  subscription_ = world_.store->Subscribe({kDefinitions}, *this, [this] { Load(); });
}

void CustomResourceDefinitions::Start() {
  thread_ = std::thread([this] { Run(); });
}

void CustomResourceDefinitions::Stop() {
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  departures_.clear();
  subscription_.reset();
}

void CustomResourceDefinitions::Load() {
  base::MutexLock lock(mutex_);
  for (const store::ObjectPtr& object : world_.store->List(kDefinitions)) Apply(object);
  Publish();
}

void CustomResourceDefinitions::OnCommit(std::span<const store::EventPtr> events) {
  base::MutexLock lock(mutex_);
  for (const store::EventPtr& event : events) {
    if (event->type == store::EventType::kDeleted) {
      definitions_.erase(std::string(event->object->name()));
      pending_.insert(std::string(event->object->name()));
      changed_.NotifyAll();
    } else {
      Apply(event->object);
    }
  }
  Publish();
}

void CustomResourceDefinitions::Apply(const store::ObjectPtr& object) {
  const std::string name(object->name());
  json::Arena arena;
  const Value next = Parsed(arena, object);
  Definition& definition = definitions_[name];
  // No more once the instances are gone, whatever holds the definition itself.
  definition.terminating = api::HasTrueCondition(next, "Terminating");
  if (definition.object == nullptr) {
    definition.group = next["spec"]["group"].AsString();
    definition.names.accepted = ReadNames(next["status"]["acceptedNames"]);
    definition.established = api::HasTrueCondition(next, "Established");
  } else {
    const Value before = Parsed(arena, definition.object);
    definition.stale = definition.stale || !(before["spec"] == next["spec"]) ||
                       api::HasTrueCondition(before, "Terminating") != definition.terminating;
  }
  definition.created = next["metadata"]["creationTimestamp"].AsString();
  definition.requested = ReadNames(next["spec"]["names"]);
  definition.object = object;
  pending_.insert(name);
  changed_.NotifyAll();
}

// Names are given in the order in which the definitions were made.
void CustomResourceDefinitions::Publish() {
  std::vector<std::pair<const std::string, Definition>*> order;
  for (auto& entry : definitions_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.created, a->first) < std::tie(b->second.created, b->first);
  });
  std::unordered_map<std::string_view, NamesInUse> groups;
  for (const auto* entry : order) groups[entry->second.group].Add(entry->second.names.accepted);
  std::vector<std::shared_ptr<const api::catalog::CustomResources>> served;
  for (auto* entry : order) {
    Definition& definition = entry->second;
    NamesInUse& used = groups[definition.group];
    NamesVerdict verdict = used.Judge(definition.requested, definition.names.accepted);
    if (verdict.accepted != definition.names.accepted) {
      used.Remove(definition.names.accepted);
      used.Add(verdict.accepted);
      definition.stale = true;
      pending_.insert(entry->first);
    }
    if (verdict.all != definition.names.all) pending_.insert(entry->first);
    definition.names = std::move(verdict);
    definition.established = definition.established || definition.names.all;
    if (definition.stale) Compile(entry->first, definition);
    if (definition.compiled != nullptr) served.push_back(definition.compiled);
  }
  catalog_.Set(built_in_->WithCustomResources(std::move(served)));
}

void CustomResourceDefinitions::Compile(const std::string& name, Definition& definition) {
  definition.stale = false;
  definition.compiled = nullptr;
  if (!definition.established) return;
  json::Arena arena;
  const Value object = Parsed(arena, definition.object);
  api::catalog::CustomResources::Parts parts;
  parts.object_meta = built_in_->object_meta();
  parts.terminating = definition.terminating;
  parts.names = definition.names.accepted;
  if (converters_) parts.converter = converters_(object);
  auto compiled = api::catalog::CustomResources::Compile(object, std::move(parts));
  if (compiled.ok()) {
    definition.compiled = *std::move(compiled);
    return;
  }
  base::LogWarning("custom resource definition is not served",
                   {{"name", name}, {"error", compiled.status().message()}});
}

void CustomResourceDefinitions::Examine(const std::string& name) {
  base::MutexLock lock(mutex_);
  pending_.insert(name);
  changed_.NotifyAll();
}

void CustomResourceDefinitions::Run() {
  const base::NeedsMemory needs;
  while (true) {
    std::string name;
    {
      base::MutexLock lock(mutex_);
      while (!IsWorkDue()) {
        if (failed_.empty()) {
          changed_.Wait(mutex_);
        } else {
          changed_.WaitUntil(mutex_, retry_at_);
        }
      }
      if (stopping_) return;
      name = *pending_.begin();
      pending_.erase(pending_.begin());
    }
    if (Tried(name)) continue;
    base::MutexLock lock(mutex_);
    if (failed_.empty()) retry_at_ = world_.clock->Steady() + kRetryAfter;
    failed_.insert(name);
  }
}

bool CustomResourceDefinitions::IsWorkDue() {
  if (!failed_.empty() && world_.clock->Steady() >= retry_at_) {
    pending_.merge(failed_);
    failed_.clear();
  }
  return stopping_ || !pending_.empty();
}

bool CustomResourceDefinitions::Tried(const std::string& name) {
  for (int attempt = 0; attempt < kRetries; ++attempt) {
    if (Sync(name)) return true;
  }
  return false;
}

bool CustomResourceDefinitions::Sync(const std::string& name) {
  Definition definition;
  bool known = false;
  {
    base::MutexLock lock(mutex_);
    if (stopping_) return true;
    const auto found = definitions_.find(name);
    known = found != definitions_.end();
    if (known) definition = found->second;
  }
  if (!known) {
    departures_.erase(name);
    return true;
  }
  json::Arena arena;
  const Value object = Parsed(arena, definition.object);
  const std::string now = base::FormatTime(world_.clock->Now());
  Value next = WithVerdict(arena, object, definition.names, now);
  const bool deleting = IsTerminating(object) && HasCleanupFinalizer(object);
  if (deleting && api::HasTrueCondition(next, "Established")) {
    next = WithCondition(arena, next, kDeletingInstances, now);
  }
  if (!(next == object)) return Write(next);
  return !deleting || Finish(name, definition.object);
}

bool CustomResourceDefinitions::Finish(const std::string& name, const store::ObjectPtr& object) {
  json::Arena arena;
  const Value definition = Parsed(arena, object);
  const bool established = api::HasTrueCondition(definition, "Established");
  if (established) {
    // Followed before it is looked at, so that none goes unseen.
    auto& departures = departures_[name];
    if (departures == nullptr) departures = std::make_unique<Departures>(*this, name, definition);
    const base::Result<std::size_t> left = ClearInstances(definition);
    if (!left.ok()) return false;
    if (*left > 0) return true;
  }
  departures_.erase(name);
  json::ArrayBuilder kept(arena);
  for (const Value& finalizer : definition["metadata"]["finalizers"].elements()) {
    if (finalizer.AsString() != kCleanupFinalizer) kept.Add(finalizer);
  }
  if (kept.size() == 0) {
    store::Preconditions preconditions;
    preconditions.revision = object->revision();
    const auto gone = world_.store->Delete(
        {kDefinitions.group, kDefinitions.resource, "", object->name()}, preconditions);
    return gone.ok() || gone.status().reason() == base::Reason::kNotFound;
  }
  const Value next = WithCondition(
      arena, json::SetPath(arena, definition, {"metadata", "finalizers"}, kept.Build()),
      established ? kInstancesDeleted : kNeverEstablished, base::FormatTime(world_.clock->Now()));
  return Write(next);
}

// Finalizers of the objects are honoured: such an object is only marked, and holds the rest up.
// Nothing of this looks into the objects further than their metadata, so that a conversion webhook
// that is gone holds up nothing.
base::Result<std::size_t> CustomResourceDefinitions::ClearInstances(Value definition) {
  const store::Collection collection = InstancesOf(definition);
  // Those of a group of Kubernetes are not served: what is stored there is Kubernetes' own.
  if (built_in_->FindGroup(collection.group) != nullptr) return std::size_t{0};
  const auto items = TRY(store::ListReadable(*world_.store, collection));
  bool all_written = true;
  for (const store::ObjectPtr& item : items) {
    const store::Key key{collection.group, collection.resource, item->ns(), item->name()};
    store::Preconditions preconditions;
    preconditions.revision = item->revision();
    json::Arena arena;
    const Value object = Parsed(arena, item);
    if (object["metadata"]["finalizers"].empty()) {
      all_written &= TRY(IsWritten(world_.store->Delete(key, preconditions).status()));
      continue;
    }
    if (IsTerminating(object)) continue;
    Value marked = json::SetPath(arena, object, {"metadata", "deletionTimestamp"},
                                 json::String(arena, base::FormatTime(world_.clock->Now())));
    marked = json::SetPath(arena, marked, {"metadata", "deletionGracePeriodSeconds"},
                           json::Value::Int(0));
    marked = json::SetPath(arena, marked, {"metadata", "generation"},
                           json::Value::Int(marked["metadata"]["generation"].AsInt() + 1));
    const auto updated = world_.store->Update(key, EncodeAsIs(arena, marked, true), preconditions);
    all_written &= TRY(IsWritten(updated.status()));
  }
  if (!all_written) return base::Conflict("an object was written meanwhile");
  return world_.store->Count(collection);
}

bool CustomResourceDefinitions::Write(Value next) {
  const auto catalog = catalog_.Get();
  const auto* resource = catalog->Find(kDefinitions.group, "v1", kDefinitions.resource);
  if (resource == nullptr) return true;
  const base::Status written = UpdateByServer(world_, *resource, next, "status");
  if (written.ok() || written.reason() == base::Reason::kNotFound) return true;
  if (written.reason() == base::Reason::kConflict) return false;
  base::LogWarning(
      "a custom resource definition was not written",
      {{"name", std::string(next["metadata"]["name"].AsString())}, {"error", written.message()}});
  return true;
}

}  // namespace portcullis::engine

#include "server/custom_resource_definitions.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "server/cluster_writer.h"
#include "server/codec.h"

namespace portcullis::server {
namespace {

using json::Value;

constexpr store::Collection kDefinitions{"apiextensions.k8s.io", "customresourcedefinitions"};
constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";
constexpr int kRetries = 8;

// The names a definition claims in its group, by what they are.
struct Claim {
  std::string_view reason;  // of the NamesAccepted condition if the name is taken
  std::string name;
};
std::vector<Claim> ClaimsOf(Value spec) {
  const Value names = spec["names"];
  std::vector<Claim> out;
  const auto add = [&](std::string_view reason, Value name) {
    if (!name.AsString().empty()) out.push_back({reason, std::string(name.AsString())});
  };
  add("PluralConflict", names["plural"]);
  add("SingularConflict", names["singular"]);
  for (const Value& name : names["shortNames"].elements()) add("ShortNamesConflict", name);
  add("KindConflict", names["kind"]);
  add("ListKindConflict", names["listKind"]);
  return out;
}

bool IsTerminating(Value object) { return !object["metadata"]["deletionTimestamp"].is_null(); }

Value Condition(json::Arena& arena, std::string_view type, bool status, std::string_view reason,
                std::string_view message, std::string_view now) {
  json::ObjectBuilder out(arena);
  out.Set("type", type);
  out.Set("status", status ? "True" : "False");
  out.Set("lastTransitionTime", now);
  out.Set("reason", reason);
  out.Set("message", message);
  return out.Build();
}

// Puts the condition into the list in the place of one of its type; keeps the time if the status
// stays.
Value WithCondition(json::Arena& arena, Value conditions, Value condition) {
  json::ArrayBuilder out(arena);
  bool placed = false;
  for (const Value& old : conditions.elements()) {
    if (!(old["type"] == condition["type"])) {
      out.Add(old);
      continue;
    }
    placed = true;
    out.Add(old["status"] == condition["status"]
                ? json::With(arena, condition, "lastTransitionTime", old["lastTransitionTime"])
                : condition);
  }
  if (!placed) out.Add(condition);
  return out.Build();
}

}  // namespace

CustomResourceDefinitions::CustomResourceDefinitions(
    const Environment& env, base::Published<api::catalog::Catalog>& catalog)
    : env_(env), catalog_(catalog), built_in_(catalog.Get()) {}

CustomResourceDefinitions::~CustomResourceDefinitions() { Stop(); }

void CustomResourceDefinitions::Start() {
  subscription_ = env_.store->Subscribe({kDefinitions}, *this, [this] { Load(); });
  thread_ = std::thread([this] { Run(); });
}

void CustomResourceDefinitions::Stop() {
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  subscription_.reset();
}

void CustomResourceDefinitions::Load() {
  base::MutexLock lock(mutex_);
  for (const store::ObjectPtr& object : env_.store->List(kDefinitions)) Apply(object);
  Publish();
}

void CustomResourceDefinitions::OnCommit(std::span<const store::EventPtr> events) {
  base::MutexLock lock(mutex_);
  for (const store::EventPtr& event : events) {
    if (event->type == store::EventType::kDeleted) {
      definitions_.erase(std::string(event->object->name()));
    } else {
      Apply(event->object);
    }
  }
  Publish();
}

void CustomResourceDefinitions::Apply(const store::ObjectPtr& object) {
  const std::string name(object->name());
  Definition& definition = definitions_[name];
  const bool same_spec = definition.object != nullptr &&
                         definition.object->document()["spec"] == object->document()["spec"];
  definition.object = object;
  pending_.insert(name);
  changed_.NotifyAll();
  if (same_spec) return;
  auto compiled =
      api::catalog::CustomResources::Compile(object->document().root(), built_in_->object_meta());
  definition.compiled = compiled.ok() ? *std::move(compiled) : nullptr;
  definition.compile_error = compiled.ok() ? "" : compiled.status().message();
  if (!definition.compile_error.empty()) {
    base::LogWarning("custom resource definition is not served",
                     {{"name", name}, {"error", definition.compile_error}});
  }
}

// Names are given in the order in which the definitions were made, so that an accepted one never
// loses its names to a later one.
void CustomResourceDefinitions::Publish() {
  std::vector<Definition*> order;
  for (auto& [name, definition] : definitions_) order.push_back(&definition);
  const auto age = [](const Definition* definition) {
    const Value metadata = definition->object->document()["metadata"];
    return std::pair(metadata["creationTimestamp"].AsString(), metadata["name"].AsString());
  };
  std::sort(order.begin(), order.end(),
            [&](const Definition* a, const Definition* b) { return age(a) < age(b); });
  std::set<std::pair<std::string, std::string>> taken;
  std::vector<std::shared_ptr<const api::catalog::CustomResources>> served;
  for (Definition* definition : order) {
    const Value spec = definition->object->document()["spec"];
    const std::string group(spec["group"].AsString());
    definition->refusal_reason.clear();
    definition->refusal.clear();
    const std::vector<Claim> claims = ClaimsOf(spec);
    for (const Claim& claim : claims) {
      if (!taken.contains({group, claim.name})) continue;
      definition->refusal_reason = claim.reason;
      definition->refusal = base::StrCat("\"", claim.name, "\" is already in use");
      break;
    }
    if (!definition->refusal.empty() || definition->compiled == nullptr) continue;
    for (const Claim& claim : claims) taken.insert({group, claim.name});
    served.push_back(definition->compiled);
  }
  catalog_.Set(built_in_->WithCustomResources(std::move(served)));
}

void CustomResourceDefinitions::Run() {
  while (true) {
    std::string name;
    {
      base::MutexLock lock(mutex_);
      while (pending_.empty() && !stopping_) changed_.Wait(mutex_);
      if (stopping_) return;
      name = *pending_.begin();
      pending_.erase(pending_.begin());
    }
    UpdateStatus(name);
  }
}

Value CustomResourceDefinitions::WithConditions(json::Arena& arena, Value object,
                                                const Definition& definition) {
  const std::string now = base::FormatTime(env_.clock->Now());
  Value conditions = object["status"]["conditions"];
  const bool accepted = definition.refusal.empty();
  conditions = WithCondition(
      arena, conditions,
      Condition(arena, "NamesAccepted", accepted,
                accepted ? std::string_view("NoConflicts") : definition.refusal_reason,
                accepted ? std::string_view("no conflicts found") : definition.refusal, now));
  bool established = false;
  for (const Value& condition : conditions.elements()) {
    established |=
        condition["type"].AsString() == "Established" && condition["status"].AsString() == "True";
  }
  if (!established) {
    conditions =
        WithCondition(arena, conditions,
                      accepted ? Condition(arena, "Established", true, "InitialNamesAccepted",
                                           "the initial names have been accepted", now)
                               : Condition(arena, "Established", false, "NotAccepted",
                                           "not all names are accepted", now));
  }
  if (IsTerminating(object)) {
    conditions = WithCondition(arena, conditions,
                               Condition(arena, "Terminating", true, "InstanceDeletionInProgress",
                                         "CustomResource deletion is in progress", now));
  }
  object = json::SetPath(arena, object, {"status", "conditions"}, conditions);
  if (!accepted) return object;
  return json::SetPath(arena, object, {"status", "acceptedNames"}, object["spec"]["names"]);
}

void CustomResourceDefinitions::UpdateStatus(const std::string& name) {
  const auto catalog = catalog_.Get();
  const auto* resource = catalog->Find(kDefinitions.group, "v1", kDefinitions.resource);
  for (int attempt = 0; attempt < kRetries && resource != nullptr; ++attempt) {
    Definition definition;
    {
      base::MutexLock lock(mutex_);
      const auto found = definitions_.find(name);
      if (found == definitions_.end() || stopping_) return;
      definition = found->second;
    }
    json::Arena arena;
    auto object = FromStore(arena, definition.object, resource->kind);
    if (!object.ok()) return;
    if (IsTerminating(*object)) {
      if (Clean(definition.object)) return;
      continue;
    }
    const Value next = WithConditions(arena, *object, definition);
    if (next == *object) return;
    const auto written = WriteObject(env_, *resource, arena, next, definition.object);
    if (written.ok()) return;
    if (written.status().reason() != base::Reason::kConflict) {
      base::LogWarning("status of a custom resource definition was not written",
                       {{"name", name}, {"error", written.status().message()}});
      return;
    }
  }
}

// Deletes the objects of a terminating definition, then lets go of it. False if it must be tried
// again.
bool CustomResourceDefinitions::Clean(const store::ObjectPtr& object) {
  const Value spec = object->document()["spec"];
  const store::Collection collection{spec["group"].AsString(), spec["names"]["plural"].AsString()};
  for (const store::ObjectPtr& item : env_.store->List(collection)) {
    const store::Key key{collection.group, collection.resource, item->ns(), item->name()};
    // Finalizers of the objects are honoured: such an object is only marked, and holds the rest up.
    if (!item->document()["metadata"]["finalizers"].empty()) return true;
    (void)env_.store->Delete(key, {});
  }
  json::Arena arena;
  const auto catalog = catalog_.Get();
  const auto* resource = catalog->Find(kDefinitions.group, "v1", kDefinitions.resource);
  auto current = FromStore(arena, object, resource->kind);
  if (!current.ok()) return true;
  json::ArrayBuilder kept(arena);
  for (const Value& finalizer : (*current)["metadata"]["finalizers"].elements()) {
    if (finalizer.AsString() != kCleanupFinalizer) kept.Add(finalizer);
  }
  store::Preconditions preconditions;
  preconditions.revision = object->revision();
  if (kept.size() == 0) {
    const auto gone = env_.store->Delete(
        {kDefinitions.group, kDefinitions.resource, "", object->name()}, preconditions);
    return gone.ok() || gone.status().reason() == base::Reason::kNotFound;
  }
  if (kept.size() == (*current)["metadata"]["finalizers"].size()) return true;
  const Value next = json::SetPath(arena, *current, {"metadata", "finalizers"}, kept.Build());
  return WriteObject(env_, *resource, arena, next, object).ok();
}

}  // namespace portcullis::server

// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/workload.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "engine/codec/codec.h"
#include "golang/time.h"
#include "json/writer.h"
#include "registry/validation/checks.h"
#include "store/readable.h"

namespace portcullis::controllers::workloads {
namespace {

using namespace std::chrono_literals;
using json::Value;

constexpr base::Duration kFirstRetry = 100ms;
constexpr base::Duration kLastRetry = 60s;

}  // namespace

Value ControllerOf(Value object) {
  for (const Value& owner : object["metadata"]["ownerReferences"].elements()) {
    if (owner["controller"].AsBool()) return owner;
  }
  return {};
}

bool IsControlledBy(Value object, Value owner) {
  const Value controller = ControllerOf(object);
  return !controller.is_null() &&
         controller["uid"].AsString() == owner["metadata"]["uid"].AsString();
}

bool IsEnding(Value object) { return !object["metadata"]["deletionTimestamp"].is_null(); }
std::string_view NameOf(Value object) { return object["metadata"]["name"].AsString(); }
std::string_view NamespaceOf(Value object) { return object["metadata"]["namespace"].AsString(); }
std::string_view AnnotationOf(Value object, std::string_view name) {
  return object["metadata"]["annotations"][name].AsString();
}
std::string_view LabelOf(Value object, std::string_view name) {
  return object["metadata"]["labels"][name].AsString();
}

std::int64_t SecondsOf(Value time) {
  const auto moment = golang::ParseTime(time.AsString());
  return moment.ok() ? moment->seconds : 0;
}

std::string HashOf(Value value, std::int64_t collisions) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  };
  add(json::ToString(value));
  if (collisions != 0) add(std::to_string(collisions));
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out = std::to_string(hash);
  for (char& c : out) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return out;
}

bool IsOfEndingNamespace(const base::Status& status) {
  if (status.details() == nullptr) return false;
  const auto& causes = status.details()->causes;
  return std::any_of(causes.begin(), causes.end(),
                     [](const auto& cause) { return cause.reason == "NamespaceTerminating"; });
}

std::int64_t Scaled(Value number_or_percent, std::int64_t total, bool up) {
  if (number_or_percent.is_int()) return number_or_percent.AsInt();
  const auto percent = registry::PercentOf(number_or_percent);
  if (!percent) return 0;
  return (*percent * total + (up ? 99 : 0)) / 100;
}

void SetCount(json::ObjectBuilder& status, std::string_view name, std::int64_t count) {
  if (count == 0) {
    status.Remove(name);
  } else {
    status.Set(name, count);
  }
}

std::optional<base::Duration> Sooner(std::optional<base::Duration> a,
                                     std::optional<base::Duration> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

void WorkloadController::OnEvent(const store::Event& event, const Enqueue& enqueue) {
  const store::Object& object = *event.object;
  if (object.group() == kind_.group && object.resource() == kind_.resource) {
    enqueue(std::string(object.position()));
    return;
  }
  const auto tell = [&](const store::ObjectPtr& child) {
    const json::Document document = store::DocumentOf(child);
    const Value controller = ControllerOf(document.root());
    if (controller["kind"].AsString() != kind_.kind) return !controller.is_null();
    enqueue(base::StrCat(child->ns(), "/", controller["name"].AsString()));
    return true;
  };
  if (event.previous != nullptr) tell(event.previous);
  if (tell(event.object) || event.type == store::EventType::kDeleted) return;
  // Controlled by nothing: somebody may want it.
  for (const store::ObjectPtr& owner :
       context_.store.List({kind_.group, kind_.resource}, object.ns())) {
    enqueue(std::string(owner->position()));
  }
}

std::optional<base::Duration> WorkloadController::Reconcile(const std::string& position) {
  const auto place = base::Cut(position, "/");
  const store::ObjectPtr stored =
      place ? context_.store.Get({kind_.group, kind_.resource, place->first, place->second})
            : nullptr;
  if (stored == nullptr) {
    failures_.erase(position);
    return std::nullopt;
  }
  arena_.emplace();
  auto again = Sync(Root(stored));
  if (again.ok()) {
    failures_.erase(position);
    return *again;
  }
  const int failures = std::min(failures_[position]++, 16);
  return std::min(kFirstRetry * (1 << failures), kLastRetry);
}

Value WorkloadController::Root(const store::ObjectPtr& object) {
  arena_->Retain(object);
  return object->document().root();
}

Value WorkloadController::Find(const store::Key& key) {
  const store::ObjectPtr object = context_.store.Get(key);
  return object == nullptr ? Value() : Root(object);
}

base::Result<std::vector<Value>> WorkloadController::Claim(
    Value owner, const api::LabelSelector& selector, const api::GroupVersionResource& resource) {
  const store::Collection collection{resource.group, resource.resource};
  const auto all = TRY(store::ListReadable(context_.store, collection, NamespaceOf(owner)));
  std::vector<Value> mine;
  for (const store::ObjectPtr& object : all) {
    const Value root = Root(object);
    const Value controller = ControllerOf(root);
    const bool matches = selector.Matches(root["metadata"]["labels"]);
    if (controller.is_null()) {
      if (!matches || IsEnding(owner) || IsEnding(root)) continue;
      const Value references =
          json::Append(arena(), root["metadata"]["ownerReferences"],
                       Metadata(owner).Build()["ownerReferences"][std::size_t{0}]);
      const Value patch =
          json::SetPath(arena(), Value(), {"metadata", "ownerReferences"}, references);
      TRY(Patch(resource, root, patch));
      mine.push_back(root);
    } else if (controller["uid"].AsString() == owner["metadata"]["uid"].AsString()) {
      if (matches) {
        mine.push_back(root);
      } else if (!IsEnding(owner)) {
        json::ArrayBuilder kept(arena());
        for (const Value& reference : root["metadata"]["ownerReferences"].elements()) {
          if (!reference.IsSameAs(controller)) kept.Add(reference);
        }
        TRY(Patch(resource, root,
                  json::SetPath(arena(), Value(), {"metadata", "ownerReferences"}, kept.Build())));
      }
    }
  }
  return mine;
}

json::ObjectBuilder WorkloadController::Metadata(Value owner) {
  const Value reference =
      json::ObjectBuilder(arena())
          .Set("apiVersion",
               engine::ApiVersion({std::string(kind_.group), std::string(kind_.version), ""}))
          .Set("kind", kind_.kind)
          .Set("name", NameOf(owner))
          .Set("uid", owner["metadata"]["uid"])
          .Set("controller", true)
          .Set("blockOwnerDeletion", true)
          .Build();
  json::ObjectBuilder metadata(arena());
  metadata.Set("namespace", NamespaceOf(owner));
  metadata.Set("ownerReferences", json::MakeArray(arena(), {reference}));
  return metadata;
}

base::Result<Value> WorkloadController::Create(const api::GroupVersionResource& resource,
                                               Value object) {
  const store::ObjectPtr made = TRY(context_.client.Do({.verb = engine::Verb::kCreate,
                                                        .resource = resource,
                                                        .ns = NamespaceOf(object),
                                                        .body = object}));
  return made == nullptr ? object : Root(made);
}

base::Status WorkloadController::Update(const api::GroupVersionResource& resource, Value object) {
  return context_.client
      .Do({.verb = engine::Verb::kUpdate,
           .resource = resource,
           .ns = NamespaceOf(object),
           .name = NameOf(object),
           .body = object})
      .status();
}

base::Status WorkloadController::Patch(const api::GroupVersionResource& resource, Value object,
                                       Value merge_patch) {
  // The uid makes sure that it is that object and no other of its name.
  const Value patch =
      json::SetPath(arena(), merge_patch, {"metadata", "uid"}, object["metadata"]["uid"]);
  return context_.client
      .Do({.verb = engine::Verb::kPatch,
           .resource = resource,
           .ns = NamespaceOf(object),
           .name = NameOf(object),
           .body = patch})
      .status();
}

base::Status WorkloadController::Delete(const api::GroupVersionResource& resource, Value object,
                                        std::string_view propagation) {
  const auto done = context_.client.Do({.verb = engine::Verb::kDelete,
                                        .resource = resource,
                                        .ns = NamespaceOf(object),
                                        .name = NameOf(object),
                                        .uid = object["metadata"]["uid"].AsString(),
                                        .propagation_policy = propagation});
  return done.ok() || done.status().reason() == base::Reason::kNotFound ? base::OkStatus()
                                                                        : done.status();
}

base::Result<Value> WorkloadController::CreatePod(Value owner, Value pod) {
  auto made = Create(kPods, pod);
  if (made.ok()) {
    Record(owner, "Normal", "SuccessfulCreate", {"Created pod: ", NameOf(*made)});
  } else if (!IsOfEndingNamespace(made.status())) {
    Record(owner, "Warning", "FailedCreate", {"Error creating: ", made.status().message()});
  }
  return made;
}

base::Status WorkloadController::DeletePod(Value owner, Value pod) {
  const bool is_there = !Find({"", "pods", NamespaceOf(pod), NameOf(pod)}).is_null();
  base::Status done = Delete(kPods, pod);
  if (!done.ok()) {
    Record(owner, "Warning", "FailedDelete", {"Error deleting: ", done.message()});
  } else if (is_there) {
    Record(owner, "Normal", "SuccessfulDelete", {"Deleted pod: ", NameOf(pod)});
  }
  return done;
}

void WorkloadController::Record(Value owner, std::string_view type, std::string_view reason,
                                std::initializer_list<std::string_view> message) {
  std::string whole;
  for (const std::string_view piece : message) whole += piece;
  events_.Record(owner, type, reason, whole);
}

base::Status WorkloadController::UpdateStatus(Value owner, Value status) {
  const Value stored = Find({kind_.group, kind_.resource, NamespaceOf(owner), NameOf(owner)});
  const Value wanted = json::With(arena(), owner, "status", status);
  if (stored.is_null() || stored == wanted) return base::OkStatus();
  return context_.client
      .Do({.verb = engine::Verb::kUpdate,
           .resource = {std::string(kind_.group), std::string(kind_.version),
                        std::string(kind_.resource)},
           .subresource = "status",
           .ns = NamespaceOf(owner),
           .name = NameOf(owner),
           .body = wanted})
      .status();
}

Value WorkloadController::WithCondition(Value conditions, const Condition& wanted) {
  Value old;
  for (const Value& condition : conditions.elements()) {
    if (condition["type"].AsString() == wanted.type) old = condition;
  }
  const bool same_status = old["status"].AsString() == wanted.status;
  if (same_status && old["reason"].AsString() == wanted.reason &&
      old["message"].AsString() == wanted.message) {
    return conditions;
  }
  json::ObjectBuilder condition(arena());
  condition.Set("type", wanted.type).Set("status", wanted.status);
  if (!wanted.other_time.empty()) condition.Set(wanted.other_time, Now());
  condition.Set("lastTransitionTime", same_status ? old["lastTransitionTime"] : Now());
  if (!wanted.reason.empty()) condition.Set("reason", wanted.reason);
  if (!wanted.message.empty()) condition.Set("message", wanted.message);
  return json::Append(arena(), WithoutCondition(conditions, wanted.type), condition.Build());
}

Value WorkloadController::WithoutCondition(Value conditions, std::string_view type) {
  json::ArrayBuilder kept(arena());
  for (const Value& condition : conditions.elements()) {
    if (condition["type"].AsString() != type) kept.Add(condition);
  }
  return kept.size() == 0 ? Value() : kept.Build();
}

std::int64_t WorkloadController::now() const {
  return std::chrono::floor<std::chrono::seconds>(context_.clock.Now()).time_since_epoch().count();
}

Value WorkloadController::Now() {
  return json::String(*arena_, base::FormatTime(context_.clock.Now()));
}

}  // namespace portcullis::controllers::workloads

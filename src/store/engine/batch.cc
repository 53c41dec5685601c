// SPDX-License-Identifier: Apache-2.0

#include "store/engine/batch.h"

#include <utility>

#include "api/api_status.h"
#include "api/stored_size.h"
#include "base/strings.h"

namespace portcullis::store {
namespace {

api::GroupResource ResourceOf(const Key& key) {
  return {std::string(key.group), std::string(key.resource)};
}

ObjectPtr MakeObject(const Batch::Place& place, const Key& key, const Encoded& object,
                     std::int64_t revision) {
  const std::string_view bytes = object.bytes;
  return Object::Make(place.collection, key.ns, key.name, revision,
                      bytes.substr(0, object.revision_at), bytes.substr(object.revision_at));
}

// Where kube-apiserver would keep the object in etcd; it shows in the text of failed preconditions.
std::string RegistryKey(const Key& key) {
  static constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"endpoints", "services/endpoints"},
      {"ingresses", "ingress"},
      {"nodes", "minions"},
      {"replicationcontrollers", "controllers"},
      {"services", "services/specs"},
  };
  std::string_view folder = key.resource;
  for (const auto& [resource, renamed] : kRenamed) {
    if (key.resource == resource && key.group.find('.') == std::string_view::npos) folder = renamed;
  }
  const bool built_in = key.group.find('.') == std::string_view::npos ||
                        (key.group.ends_with(".k8s.io") && key.group != "apiextensions.k8s.io" &&
                         key.group != "apiregistration.k8s.io");
  return base::StrCat("/registry/", built_in ? "" : key.group, built_in ? "" : "/", folder, "/",
                      key.ns, key.ns.empty() ? "" : "/", key.name);
}

base::Status Mismatch(const Key& key, std::string_view field, std::string_view wanted,
                      std::string_view found) {
  return api::ConflictStatus(
      ResourceOf(key), key.name,
      base::StrCat("StorageError: invalid object, Code: 4, Key: ", RegistryKey(key),
                   ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ", field,
                   " in precondition: ", wanted, ", ", field, " in object meta: ", found));
}

}  // namespace

Batch::Place& Batch::Find(const Key& key) {
  std::string position =
      key.ns.empty() ? std::string(key.name) : base::StrCat(key.ns, "/", key.name);
  std::string full = base::StrCat(key.group, "/", key.resource, "/", position);
  auto it = places_.find(full);
  if (it == places_.end()) {
    it = places_.emplace(std::move(full), lookup_(key, position)).first;
  }
  return it->second;
}

void Batch::Add(PendingWrite& write) {
  write.result = Judge(write);
  if (events_.size() > writers_.size()) writers_.push_back(&write);
}

base::Result<ObjectPtr> Batch::Judge(PendingWrite& write) {
  Place& place = Find(write.key);
  if (write.kind == Change::Kind::kCreate) {
    if (place.stored != nullptr) {
      return api::AlreadyExistsStatus(ResourceOf(write.key), write.key.name);
    }
    return Put(write, place);
  }
  TRY(Check(write, place));
  return write.kind == Change::Kind::kUpdate ? Put(write, place) : Remove(place);
}

base::Status Batch::Check(const PendingWrite& write, const Place& place) {
  const api::GroupResource resource = ResourceOf(write.key);
  if (place.stored == nullptr) return api::NotFoundStatus(resource, write.key.name);
  const Preconditions& wanted = write.preconditions;
  if (!wanted.uid.empty() && wanted.uid != place.stored->uid()) {
    return Mismatch(write.key, "UID", wanted.uid, place.stored->uid());
  }
  if (wanted.revision && *wanted.revision != place.stored->revision()) {
    if (write.kind == Change::Kind::kDelete) {
      return Mismatch(write.key, "ResourceVersion", std::to_string(*wanted.revision),
                      std::to_string(place.stored->revision()));
    }
    return api::ConflictStatus(resource, write.key.name,
                               "the object has been modified; please apply your changes to the "
                               "latest version and try again");
  }
  return base::OkStatus();
}

base::Result<ObjectPtr> Batch::Put(PendingWrite& write, Place& place) {
  // An object counts its bytes in 32 bits. Nearly all are refused long before (api/stored_size.h).
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  if (write.object.bytes.size() > kMostBytes) return api::RequestTooLargeStatus();
  ObjectPtr object = MakeObject(place, write.key, write.object, ++revision_);
  const EventType type = place.stored == nullptr ? EventType::kAdded : EventType::kModified;
  events_.push_back(std::make_shared<const Event>(Event{type, revision_, object, place.stored}));
  place.stored = object;
  return object;
}

base::Result<ObjectPtr> Batch::Remove(Place& place) {
  ObjectPtr last = place.stored->WithRevision(++revision_);
  events_.push_back(
      std::make_shared<const Event>(Event{EventType::kDeleted, revision_, last, place.stored}));
  place.stored = nullptr;
  return last;
}

}  // namespace portcullis::store

// SPDX-License-Identifier: Apache-2.0

#include "store/cache/judge.h"

#include <string>
#include <utility>

#include "api/api_status.h"
#include "api/stored_size.h"
#include "base/strings.h"
#include "store/readable.h"

namespace portcullis::store {
namespace {

// An object counts its bytes in 32 bits. Nearly all are refused long before (api/stored_size.h).
constexpr std::size_t kMostBytes = std::size_t{1} << 28;

base::Status Mismatch(const Change& change, std::string_view prefix, std::string_view field,
                      std::string_view wanted, std::string_view found) {
  const Key& key = change.key;
  return api::ConflictStatus(
      {std::string(key.group), std::string(key.resource)}, key.name,
      base::StrCat("StorageError: invalid object, Code: 4, Key: ", StorageKey(key, prefix),
                   ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ", field,
                   " in precondition: ", wanted, ", ", field, " in object meta: ", found));
}

base::Status CheckPreconditions(const Change& change, const Object& stored,
                                std::string_view prefix) {
  const Preconditions& wanted = change.preconditions;
  if (!wanted.uid.empty() && wanted.uid != stored.uid()) {
    return Mismatch(change, prefix, "UID", wanted.uid, stored.uid());
  }
  if (!wanted.revision || *wanted.revision == stored.revision()) return base::OkStatus();
  if (change.kind == Change::Kind::kDelete) {
    return Mismatch(change, prefix, "ResourceVersion", std::to_string(*wanted.revision),
                    std::to_string(stored.revision()));
  }
  return api::ConflictStatus({std::string(change.key.group), std::string(change.key.resource)},
                             change.key.name,
                             "the object has been modified; please apply your changes to the "
                             "latest version and try again");
}

}  // namespace

base::Status Judge(const Change& change, const Object* stored, std::string_view prefix) {
  const auto resource = [&change] {
    return api::GroupResource{std::string(change.key.group), std::string(change.key.resource)};
  };
  if (change.kind == Change::Kind::kCreate) {
    if (stored != nullptr) return api::AlreadyExistsStatus(resource(), change.key.name);
  } else {
    if (stored == nullptr) return api::NotFoundStatus(resource(), change.key.name);
    TRY(CheckPreconditions(change, *stored, prefix));
  }
  if (change.object.bytes.size() > kMostBytes) return api::RequestTooLargeStatus();
  return base::OkStatus();
}

base::Status JudgeUnreadable(const Change& change, const base::Status& unreadable) {
  const bool is_meant = change.preconditions.revision == kUnreadableRevision;
  if (change.kind == Change::Kind::kDelete && is_meant) return base::OkStatus();
  if (change.kind != Change::Kind::kCreate) return unreadable;
  return api::AlreadyExistsStatus({std::string(change.key.group), std::string(change.key.resource)},
                                  change.key.name);
}

EventPtr MakeEvent(const Change& change, const Place& place, std::int64_t revision) {
  Event event;
  event.revision = revision;
  event.previous = place.stored;
  if (change.kind == Change::Kind::kDelete) {
    event.type = EventType::kDeleted;
    event.object = place.stored->WithRevision(revision);
  } else {
    const std::string_view bytes = change.object.bytes;
    event.type = place.stored == nullptr ? EventType::kAdded : EventType::kModified;
    event.object = Object::Make(place.collection, change.key.ns, change.key.name, revision,
                                bytes.substr(0, change.object.revision_at),
                                bytes.substr(change.object.revision_at));
  }
  return std::make_shared<const Event>(std::move(event));
}

}  // namespace portcullis::store

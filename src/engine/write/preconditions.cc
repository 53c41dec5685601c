// SPDX-License-Identifier: Apache-2.0

#include "engine/write/preconditions.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "registry/validation/checks.h"
#include "store/storage_key.h"

namespace portcullis::engine {
namespace {

// The key under which kube-apiserver keeps an object; part of one of its texts. A dry run has not got as
// far as to the store's prefix.
std::string RegistryKey(const Operation& op, const store::Key& key) {
  return store::StorageKey(key, op.dry_run ? std::string_view() : store::kStoragePrefix);
}

// The store's refusal of an object that is not the one that was meant.
base::Status OtherObject(const Operation& op, const store::Key& key, std::string_view what,
                         std::string_view wanted, std::string_view actual) {
  return api::ConflictStatus(
      op.group_resource(), key.name,
      base::StrCat("StorageError: invalid object, Code: 4, Key: ", RegistryKey(op, key),
                   ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ", what,
                   " in precondition: ", wanted, ", ", what, " in object meta: ", actual));
}

// Go's versions are unsigned; no store gets that far.
constexpr std::uint64_t kNewest = std::numeric_limits<std::int64_t>::max();

}  // namespace

base::Status CheckNameParameter(std::string_view name) {
  if (name.empty()) return base::BadRequest("Name parameter required.");
  const auto faults = registry::IsPathSegmentName(name, false);
  if (faults.empty()) return base::OkStatus();
  return base::BadRequest(
      base::StrCat("Name parameter invalid: ", base::GoQuote(name), ": ", base::Join(faults, ";")));
}

base::Result<RequestedVersion> ReadRequestedVersion(json::Value object) {
  const std::string_view text = object["metadata"]["resourceVersion"].AsString();
  if (text.empty()) return RequestedVersion{};
  const auto number = golang::ParseUint(text);
  if (!number.ok()) return base::Status(base::Reason::kUnknown, number.status().message());
  return RequestedVersion{*number != 0, static_cast<std::int64_t>(std::min(*number, kNewest))};
}

bool HasVersion(json::Value object) {
  const auto version = base::ParseInt(object["metadata"]["resourceVersion"].AsString());
  return version && *version != 0;
}

base::Status CheckUid(const Operation& op, std::string_view name, std::string_view wanted,
                      json::Value live) {
  const std::string_view actual = live["metadata"]["uid"].AsString();
  if (wanted.empty() || wanted == actual) return base::OkStatus();
  return OtherObject(op, KeyOf(op, name), "UID", wanted, actual);
}

base::Status CheckVersion(const Operation& op, const store::Key& key, std::string_view wanted,
                          json::Value live) {
  const std::string_view actual = live["metadata"]["resourceVersion"].AsString();
  if (wanted == actual) return base::OkStatus();
  return OtherObject(op, key, "ResourceVersion", wanted, actual);
}

base::Status CheckNoUid(const Operation& op, const UpdateSpec& spec, json::Value object) {
  const std::string_view uid = object["metadata"]["uid"].AsString();
  if (spec.track_fields || uid.empty()) return CheckUid(op, spec.name, uid, {});
  return api::ConflictStatus(op.group_resource(), spec.name,
                             base::StrCat("uid mismatch: the provided object specified uid ", uid,
                                          ", and no existing object was found"));
}

}  // namespace portcullis::engine

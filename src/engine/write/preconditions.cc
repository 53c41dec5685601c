#include "engine/write/preconditions.h"

#include <string>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::engine {
namespace {

// The key under which kube-apiserver keeps an object; part of one of its texts.
std::string RegistryKey(const Operation& op, std::string_view name) {
  std::string key = "/registry/";
  if (op.resource->custom) key += op.resource->resource.group + "/";
  key += op.resource->resource.resource + "/";
  if (op.resource->namespaced) key += op.ns + "/";
  return key.append(name);
}

}  // namespace

base::Result<RequestedVersion> ReadRequestedVersion(json::Value object) {
  const std::string_view text = object["metadata"]["resourceVersion"].AsString();
  if (text.empty()) return RequestedVersion{};
  const auto number = base::ParseInt(text);
  if (!number || *number < 0) {
    return base::Status(
        base::Reason::kUnknown,
        base::StrCat("strconv.ParseUint: parsing ", base::GoQuote(text), ": invalid syntax"));
  }
  return RequestedVersion{*number != 0, *number};
}

bool HasVersion(json::Value object) {
  const auto version = base::ParseInt(object["metadata"]["resourceVersion"].AsString());
  return version && *version != 0;
}

base::Status CheckUid(const Operation& op, std::string_view name, std::string_view wanted,
                      json::Value live) {
  const std::string_view actual = live["metadata"]["uid"].AsString();
  if (wanted.empty() || wanted == actual) return base::OkStatus();
  return api::ConflictStatus(
      op.group_resource(), name,
      base::StrCat("StorageError: invalid object, Code: 4, Key: ", RegistryKey(op, name),
                   ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                   "precondition: ",
                   wanted, ", UID in object meta: ", actual));
}

base::Status CheckNoUid(const Operation& op, const UpdateSpec& spec, json::Value object) {
  const std::string_view uid = object["metadata"]["uid"].AsString();
  if (spec.track_fields || uid.empty()) return CheckUid(op, spec.name, uid, {});
  return api::ConflictStatus(op.group_resource(), spec.name,
                             base::StrCat("uid mismatch: the provided object specified uid ", uid,
                                          ", and no existing object was found"));
}

}  // namespace portcullis::engine

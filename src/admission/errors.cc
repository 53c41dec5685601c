// SPDX-License-Identifier: Apache-2.0

#include "admission/errors.h"

#include "api/api_status.h"
#include "base/strings.h"

namespace portcullis::admission {

std::string NameForError(const Request& request) {
  if (!request.name().empty()) return request.name();
  const json::Value object = request.object();
  if (object.is_null()) return "Unknown";
  const json::Value metadata = object["metadata"];
  if (!metadata.is_object()) return "Unknown/errorGettingName";
  if (const auto name = metadata["name"].AsString(); !name.empty()) return std::string(name);
  if (const auto prefix = metadata["generateName"].AsString(); !prefix.empty()) {
    return std::string(prefix);
  }
  return "Unknown";
}

base::Status Forbidden(const Request& request, std::string_view detail) {
  return api::ForbiddenStatus(request.resource().group_resource(), NameForError(request), detail);
}

base::Status Forbidden(const Request& request, const base::Status& cause) {
  // An error of an unknown reason is told by its code.
  const bool is_known =
      cause.reason() != base::Reason::kUnknown && cause.reason() != base::Reason::kOther;
  if (cause.reason() == base::Reason::kForbidden || (!is_known && cause.http_code() == 403)) {
    return cause;
  }
  return Forbidden(request, cause.message());
}

base::Status NotFound(std::string_view group, std::string_view resource, std::string_view name) {
  return api::NotFoundStatus({std::string(group), std::string(resource)}, name);
}

base::Status PlainError(std::string message) {
  return base::Status::Custom(500, "", std::move(message));
}

base::Status RequestTimeout() {
  return api::TimeoutStatus("request did not complete within requested timeout", 0);
}

}  // namespace portcullis::admission

// SPDX-License-Identifier: Apache-2.0

// Status objects: what a refused request is answered with, and the makers of the refusals that
// Kubernetes' API machinery words itself (k8s.io/apimachinery/pkg/api/errors).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/names.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

// The Status object of a failure:
// {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":…,"reason":…,
//  "details":{…},"code":…}. REQUIRES: !status.ok().
json::Value StatusToJson(json::Arena& arena, const base::Status& status);
// The Status object that answers a successful delete; `uid` may be empty.
json::Value SuccessStatus(json::Arena& arena, const GroupResource& resource, std::string_view name,
                          std::string_view uid);
// Reads a Status object somebody else has made (a webhook's answer), with their code and reason.
base::Status StatusFromJson(json::Value value);

// `pods "p" not found`
base::Status NotFoundStatus(const GroupResource& resource, std::string_view name);
// `pods "p" already exists`
base::Status AlreadyExistsStatus(const GroupResource& resource, std::string_view name);
// `pods "p" already exists, the server was not able to generate a unique name for the object`
base::Status GenerateNameConflictStatus(const GroupResource& resource, std::string_view name,
                                        int retry_after_seconds);
// `Operation cannot be fulfilled on pods "p": <error>`
base::Status ConflictStatus(const GroupResource& resource, std::string_view name,
                            std::string_view error);
// `pods "p" is forbidden: <error>`; without a name `pods is forbidden: <error>`.
base::Status ForbiddenStatus(const GroupResource& resource, std::string_view name,
                             std::string_view error);
// `Pod "p" is invalid: <errors>` with one cause per error.
base::Status InvalidStatus(const GroupKind& kind, std::string_view name,
                           std::span<const FieldError> errors);
// `create is not supported on resources of kind "pods"`
base::Status MethodNotSupportedStatus(const GroupResource& resource, std::string_view action);
// `The <operation> operation against pods could not be completed at this time, please try again.`
base::Status ServerTimeoutStatus(const GroupResource& resource, std::string_view operation,
                                 int retry_after_seconds);
// `Timeout: <message>`
base::Status TimeoutStatus(std::string_view message, int retry_after_seconds);
base::Status TooManyRequestsStatus(std::string_view message, int retry_after_seconds);
// `Request entity too large: <message>`
base::Status RequestEntityTooLargeStatus(std::string_view message);
// 404 "the server could not find the requested resource": there is no such resource.
base::Status UnknownResourceStatus();
// 405 "the server does not allow this method on the requested resource".
base::Status MethodNotAllowedStatus();
base::Status UnauthorizedStatus();  // "Unauthorized"
// Reason Expired, code 410.
base::Status ResourceExpiredStatus(std::string_view message);
// Conflicts of server-side apply; the causes name the managers and fields.
base::Status ApplyConflictStatus(std::string_view message, std::vector<base::Cause> causes);

}  // namespace portcullis::api

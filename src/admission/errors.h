// SPDX-License-Identifier: Apache-2.0

// The refusals that plugins share, with Kubernetes' texts (builtin-plugins: "Building errors").
#pragma once

#include <string>
#include <string_view>

#include "admission/request.h"
#include "base/status.h"

namespace portcullis::admission {

// The name a refusal gives to the object: the request's name, else the object's name, else its
// generateName, else "Unknown"; "Unknown/errorGettingName" for an object without metadata.
std::string NameForError(const Request& request);

// 403 `<resource[.group]> "<name>" is forbidden: <detail>`.
base::Status Forbidden(const Request& request, std::string_view detail);
// The same around an error; an error that is Forbidden already is returned as it is.
base::Status Forbidden(const Request& request, const base::Status& cause);
// 404 `<resource[.group]> "<name>" not found`; `kind` in details is the resource given.
base::Status NotFound(std::string_view group, std::string_view resource, std::string_view name);
// An error that is no Status in Kubernetes: 500, empty reason, the text itself.
base::Status PlainError(std::string message);
// 504 `Timeout: request did not complete within requested timeout`.
base::Status RequestTimeout();

}  // namespace portcullis::admission

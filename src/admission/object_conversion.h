// SPDX-License-Identifier: Apache-2.0

// An object of a request in another version, for the webhooks and policies that ask for that one.
#pragma once

#include "admission/object_interfaces.h"
#include "admission/request.h"

namespace portcullis::admission {

// Convert() of `objects`, into the request's arena. While a webhook converts, the request's place
// is free for others.
base::Result<json::Value> ConvertFor(const Request& request, const ObjectInterfaces& objects,
                                     json::Value object, const api::GroupVersionKind& kind);

}  // namespace portcullis::admission

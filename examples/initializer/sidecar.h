// SPDX-License-Identifier: Apache-2.0

// What the example initializer does to one pod: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace example {

// The JSON Patch (RFC 6902) that adds a container `log` with `image` to the pod and removes the
// initializer `name` from it, in one write. "" if the pod does not wait for this initializer: it
// has no initializers left, has failed, or another one comes first.
std::string FinishingPatch(portcullis::json::Value pod, std::string_view name,
                           std::string_view image);

}  // namespace example

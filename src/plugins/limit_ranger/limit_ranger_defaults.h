// SPDX-License-Identifier: Apache-2.0

// What a LimitRange fills into containers that leave requests or limits out.
#pragma once

#include "json/value.h"

namespace portcullis::plugins::limit_ranger {

// The pod with the defaults of the range's items of type Container, and, if anything was set, the
// annotation kubernetes.io/limit-ranger that tells what.
json::Value WithDefaults(json::Arena& arena, json::Value pod, json::Value limit_range);

}  // namespace portcullis::plugins::limit_ranger

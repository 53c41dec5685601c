// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/status.h"
#include "engine/operation.h"
#include "json/value.h"

namespace portcullis::engine {

// What is wrong with a review that is put as a question, in Kubernetes' texts
// (pkg/apis/authorization/validation and the REST storages of authentication.k8s.io).
base::Status CheckReview(Operation& op, json::Value object);

}  // namespace portcullis::engine

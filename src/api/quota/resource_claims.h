// SPDX-License-Identifier: Apache-2.0

// ResourceClaims count as objects and by the devices they ask for, per device class.
#pragma once

#include <memory>

#include "api/quota/evaluator.h"

namespace portcullis::api::quota {

std::unique_ptr<const Evaluator> MakeResourceClaimsEvaluator(const EvaluatorOptions& options);

}  // namespace portcullis::api::quota

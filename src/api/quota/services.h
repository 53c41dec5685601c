// SPDX-License-Identifier: Apache-2.0

// Services count as objects, and by the load balancers and node ports they take.
#pragma once

#include <memory>

#include "api/quota/evaluator.h"

namespace portcullis::api::quota {

std::unique_ptr<const Evaluator> MakeServicesEvaluator();

}  // namespace portcullis::api::quota

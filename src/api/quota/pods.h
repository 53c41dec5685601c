// SPDX-License-Identifier: Apache-2.0

// Pods count as objects and by what they request and are limited to.
#pragma once

#include <memory>

#include "api/quota/evaluator.h"

namespace portcullis::api::quota {

std::unique_ptr<const Evaluator> MakePodsEvaluator(const EvaluatorOptions& options);

// True for names of devices and the like: with a domain that is not Kubernetes' own.
bool IsExtendedResourceName(std::string_view name);

}  // namespace portcullis::api::quota

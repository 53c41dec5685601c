// SPDX-License-Identifier: Apache-2.0

// Counts objects: `count/<resource>[.<group>]`, and the older plain names of four core resources.
#pragma once

#include <memory>

#include "api/quota/evaluator.h"

namespace portcullis::api::quota {

std::unique_ptr<const Evaluator> MakeObjectCountEvaluator(const GroupResource& resource);
// "count/pods", "count/deployments.apps".
std::string CountName(const GroupResource& resource);

}  // namespace portcullis::api::quota

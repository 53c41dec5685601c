// SPDX-License-Identifier: Apache-2.0

// The query form of label selectors: `a=b,c in (d,e),!f`.
#pragma once

#include <string_view>
#include <vector>

#include "api/selector/label_selector.h"
#include "base/status.h"

namespace portcullis::api {

// In the order of the text. Error texts are those of k8s.io/apimachinery/pkg/labels.
base::Result<std::vector<LabelSelector::Requirement>> ParseRequirements(std::string_view text);

// labels.NewRequirement: the same checks and texts; sorts the values.
base::Result<LabelSelector::Requirement> MakeRequirement(std::string_view key,
                                                         LabelSelector::Operator op,
                                                         std::vector<std::string> values);

}  // namespace portcullis::api

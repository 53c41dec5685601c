// SPDX-License-Identifier: Apache-2.0

// Several errors as Go's aggregate prints them: "[a, b]", each text once, one alone as it is.
#pragma once

#include <string>
#include <vector>

namespace portcullis::authn {

std::string Aggregate(const std::vector<std::string>& errors);

}  // namespace portcullis::authn

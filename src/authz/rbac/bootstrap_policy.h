// SPDX-License-Identifier: Apache-2.0

// The text of the bootstrap policy, see bootstrap_policy.cc for its grammar.
#pragma once

#include <string_view>

namespace portcullis::authz::rbac {

extern const std::string_view kBootstrapPolicy;

}  // namespace portcullis::authz::rbac

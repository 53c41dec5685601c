// SPDX-License-Identifier: Apache-2.0

// The function reference of CEL as Kubernetes has it, made from the libraries' tables: docs/cel.md.
#pragma once

#include <string>

namespace portcullis::cli {

std::string CelReference();

}  // namespace portcullis::cli
